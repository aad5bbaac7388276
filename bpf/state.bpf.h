/* SPDX-License-Identifier: GPL-2.0 */
/* The map of what both sides count and agree upon (struct capture_state): alone, for a program that needs no other. */
#ifndef FAULTLINE_STATE_BPF_H
#define FAULTLINE_STATE_BPF_H

#include "bpf/state.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_state);
} state SEC(".maps");

#endif
