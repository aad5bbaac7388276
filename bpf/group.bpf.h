/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The account of open page request groups, shared by all sources of faults: who gets an instance,
 * who is given up. A group is entered under its number; when the kernel makes an object for it, the
 * entry moves under its instance, so that the number is free for the next.
 */
#ifndef FAULTLINE_GROUP_BPF_H
#define FAULTLINE_GROUP_BPF_H

#include "bpf/device.bpf.h"

/* Each is given out once; in which order CPUs get them means nothing. */
static __always_inline __u32 instance_new(void)
{
	struct capture_state *shared = shared_state();

	return shared ? __sync_fetch_and_add(&shared->instances, 1) + 1 : 0;
}

/*
 * Nothing more comes for this group: its number was taken again, or the kernel has let it go. `last`:
 * the kind that it ended with.
 */
static __always_inline void group_over(struct probe_counter *counter, const struct group_key *key,
				       const struct group_state *group, __u64 now, __u8 last)
{
	struct event *event = event_if_wanted(counter, EVENT_FAULT_UNFINISHED);

	if (!event)
		return;
	event_of_fault(event, key, group->instance);
	event->address = group->address;
	event->value = now - group->first_ns;
	event->queue = group->queue;
	event->code = last;
	event->flags = EVENT_GROUP;
	event_submit(counter, event);
}

static __always_inline void group_unfinished(struct probe_counter *counter,
					     const struct group_key *key,
					     const struct group_state *group, __u64 now)
{
	group_over(counter, key, group, now, group->latest);
}

/* Enters `fresh` with an instance of its own. NULL and counted if there is no room. */
static __always_inline struct group_state *group_open(const struct group_key *key,
						      struct group_state *fresh)
{
	struct group_state *group;

	fresh->instance = instance_new();
	bpf_map_update_elem(&groups, key, fresh, BPF_NOEXIST);
	group = bpf_map_lookup_elem(&groups, key);
	if (!group)
		state_failed();
	return group;
}

#endif
