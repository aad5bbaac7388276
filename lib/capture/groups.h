/* SPDX-License-Identifier: GPL-2.0 */
/* Gives up on page request groups that will never resume, so that kernel state stays bounded. */
#ifndef FAULTLINE_GROUPS_H
#define FAULTLINE_GROUPS_H

#include "bpf/event.h"

typedef int (*group_given_up_fn)(void *self, const struct event *event);

/*
 * Removes from the kernel's `map` every open group older than `age_ns` at `now_ns`, or of process
 * `owner` (0: none) whatever its age, and hands an EVENT_FAULT_UNFINISHED for it to `give`. Its
 * device is still the kernel-side number. Returns 0 or the first error of `give`.
 */
int groups_sweep(int map, __u64 now_ns, __u64 age_ns, __u32 owner, group_given_up_fn give,
		 void *self);

#endif
