/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a call of the kernel began, noted until it ends: with the task, as a rule. Calls of the DMA API
 * and the IOMMU also begin in interrupts, some in the middle of a look into a task's storage, and there
 * 6.1 refuses any entry, 6.12 one that is to be made. Such a call is noted aside, in a map that needs no
 * memory and is locked only while interrupts are off.
 */
#ifndef FAULTLINE_CALL_BPF_H
#define FAULTLINE_CALL_BPF_H

#include "bpf/emit.bpf.h"

#define CALLS_ASIDE_MAX 256 /* some for each CPU, and those whose end was not seen */

/* Pointers may only be compared: they say whether what ends is what began. */
struct call {
	__u64 object;
	__u64 what;
	__u64 size;
	__u64 started_ns;
};

struct call_key {
	__u64 task;
	__u64 slot; /* which of the calls that a task may be in */
};

MAP(calls_aside, HASH, CALLS_ASIDE_MAX, struct call_key, struct call);

static __always_inline struct call_key call_key_of(__u64 slot)
{
	return (struct call_key){bpf_get_current_task(), slot};
}

static __always_inline void call_aside(__u64 slot, __u64 object, __u64 what, __u64 size)
{
	struct call call = {object, what, size, bpf_ktime_get_ns()};
	struct call_key key = call_key_of(slot);
	struct capture_state *shared = shared_state();

	if (!shared || !shared->running)
		return;
	if (bpf_map_update_elem(&calls_aside, &key, &call, BPF_ANY))
		state_failed();
	else
		count_up(shared->calls_aside);
}

/* `noted`: where the task notes this call; NULL if the kernel refused that. */
static __always_inline void call_begins(struct call *noted, __u64 slot, __u64 object, __u64 what,
					__u64 size)
{
	if (!noted) {
		call_aside(slot, object, what, size);
		return;
	}
	noted->object = object;
	noted->what = what;
	noted->size = size;
	noted->started_ns = bpf_ktime_get_ns();
}

/* The call that ends, into `ended`; false if its beginning was not seen, or another one was since. */
static __always_inline bool call_ends(struct call *noted, __u64 slot, __u64 what,
				      struct call *ended)
{
	struct capture_state *shared = shared_state();
	struct call_key key;

	if (noted && noted->started_ns && noted->what == what) {
		*ended = *noted;
		noted->started_ns = 0;
		return true;
	}
	if (!shared || !shared->calls_aside)
		return false;
	key = call_key_of(slot);
	noted = bpf_map_lookup_elem(&calls_aside, &key);
	if (!noted || noted->what != what)
		return false;
	*ended = *noted;
	bpf_map_delete_elem(&calls_aside, &key);
	return true;
}

#endif
