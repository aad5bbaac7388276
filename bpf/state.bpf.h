/* SPDX-License-Identifier: GPL-2.0 */
/* The map of what both sides count and agree upon (struct capture_state): alone, for a program that needs no other. */
#ifndef FAULTLINE_STATE_BPF_H
#define FAULTLINE_STATE_BPF_H

#include "bpf/map.bpf.h"
#include "bpf/state.h"

MAP_FLAGS(state, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct capture_state);

#endif
