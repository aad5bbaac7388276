/* SPDX-License-Identifier: GPL-2.0 */
/* Gives up on page request groups that will never resume, so that kernel state stays bounded. */
#ifndef FAULTLINE_GROUPS_H
#define FAULTLINE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/event.h"
#include "bpf/state.h"

/* Processes that have ended. */
struct owner_set {
	struct owner_key *list;
	size_t count, room;
};

/* Once, before it is searched. */
void owner_set_sort(struct owner_set *set);
/* NULL has none. */
bool owner_set_has(const struct owner_set *set, __u32 pid);

typedef int (*group_given_up_fn)(void *self, const struct event *event);

#define GROUPS_KEPT 4096 /* of 65536 */

/*
 * Hands an EVENT_FAULT_UNFINISHED to `give` for every open group of the kernel's `map` that is older
 * than `age_ns` at `now_ns`, or of processes that have `ended` (NULL: none) whatever its age. Those are
 * removed. Of the others GROUPS_KEPT stay, marked, so that stages that come yet are known as theirs. The
 * event's device is still the kernel-side number. Returns 0 or the first error of `give`.
 */
int groups_sweep(int map, __u64 now_ns, __u64 age_ns, const struct owner_set *ended,
		 group_given_up_fn give, void *self);

#endif
