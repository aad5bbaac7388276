// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/groups.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdlib.h>

static int by_process(const void *a, const void *b)
{
	const struct owner_key *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int is_of(const void *pid, const void *process)
{
	const __u32 x = *(const __u32 *)pid, y = ((const struct owner_key *)process)->pid;

	return (x > y) - (x < y);
}

static bool given_up(const struct group_state *group, __u64 now_ns, __u64 age_ns,
		     const struct owner_set *ended)
{
	if (owner_set_has(ended, group->owner))
		return true;
	return now_ns > group->first_ns && now_ns - group->first_ns >= age_ns;
}

void owner_set_sort(struct owner_set *set)
{
	qsort(set->list, set->count, sizeof(set->list[0]), by_process);
}

bool owner_set_has(const struct owner_set *set, __u32 pid)
{
	return set && pid && bsearch(&pid, set->list, set->count, sizeof(set->list[0]), is_of);
}

/*
 * A group whose later stages would find nothing: they would get another instance and look like another
 * fault. The number of one that is kept can be taken again all the same: a detect that finds GROUP_TOLD,
 * or a report that finds GROUP_LAST, begins a group of its own. Where the kernel has an object for the
 * group, the object knows the instance.
 */
static bool needs_keeping(const struct group_key *key, const struct group_state *group)
{
	return !key->use && (group->owner || group->stages & GROUP_LAST);
}

/* Whatever its device does to it meanwhile: a stage lost here only tells whether the number is in use. */
static bool groups_keep(int map, const struct group_key *key, struct group_state *group)
{
	group->stages |= GROUP_TOLD;
	return !bpf_map_update_elem(map, key, group, BPF_EXIST);
}

static int groups_give_up(const struct group_key *key, const struct group_state *group,
			  __u64 now_ns, group_given_up_fn give, void *self)
{
	struct event event = {
		.time_ns = now_ns,
		.address = group->address,
		.value = now_ns > group->first_ns ? now_ns - group->first_ns : 0,
		.device = key->device,
		.pasid = key->pasid,
		.group = key->group,
		.instance = group->instance,
		.pid = group->owner,
		.kind = EVENT_FAULT_UNFINISHED,
		.queue = group->queue,
		.code = (__u8)group->latest,
		.flags = EVENT_GROUP,
	};

	return give(self, &event);
}

int groups_sweep(int map, __u64 now_ns, __u64 age_ns, const struct owner_set *ended,
		 group_given_up_fn give, void *self)
{
	struct group_key key, next;
	struct group_state group;
	size_t kept = 0;
	int error = bpf_map_get_next_key(map, NULL, &next);

	while (!error) {
		bool told;

		key = next;
		/* The successor is fetched first: after a delete there is no way to it. */
		error = bpf_map_get_next_key(map, &key, &next);
		if (bpf_map_lookup_elem(map, &key, &group) ||
		    !given_up(&group, now_ns, age_ns, ended))
			continue;
		told = group.stages & (GROUP_ABANDONED | GROUP_TOLD);
		if (!ended && needs_keeping(&key, &group) && kept < GROUPS_KEPT) {
			kept++;
			if (group.stages & GROUP_TOLD || !groups_keep(map, &key, &group))
				continue;
		} else if (bpf_map_lookup_and_delete_elem(map, &key, &group)) {
			continue;
		}
		/* An event of the device has told of it, or the sweep before. */
		if (give && !told) {
			int refused = groups_give_up(&key, &group, now_ns, give, self);

			if (refused)
				return refused;
		}
	}
	return 0;
}
