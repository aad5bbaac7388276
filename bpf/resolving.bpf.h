/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From resolving_begin() to resolving_end() the current task resolves this fault: CPU faults and
 * handle_mm_fault() in it are the fault's (mm.bpf.c, mmfault.bpf.c).
 */
#ifndef FAULTLINE_RESOLVING_BPF_H
#define FAULTLINE_RESOLVING_BPF_H

#include "bpf/emit.bpf.h"

/* A kernel path lets handle_mm_fault() be looked at as long as a task resolves for it. */
static __always_inline bool resolving_in_kernel(__u32 source)
{
	return source == RESOLVING_IOPF || source == RESOLVING_ODP;
}

static __always_inline void resolving_begin(__u32 source, const struct group_key *key,
					    __u32 instance)
{
	struct capture_state *shared = shared_state();
	struct resolving *resolving = task_entry_make(&resolving_tasks);

	if (!resolving || !shared)
		return;
	if (resolving_in_kernel(source) && !resolving_in_kernel(resolving->active))
		__sync_fetch_and_add(&shared->resolvers, 1);
	resolving->active = source;
	resolving->key = *key;
	resolving->instance = instance;
	resolving->mm_faults = 0;
	resolving->mm_ns = 0;
	resolving->mm_cause = MM_NONE;
	resolving->mm_major = 0;
	/* Only ever set: who sees it late misses what the first fault of all does in its first moment. */
	shared->handlers = 1;
}

/* What the current task resolves, NULL if nothing; for most hosts one load. */
static __always_inline struct resolving *resolving_now(void)
{
	struct capture_state *shared = shared_state();
	struct resolving *resolving;

	if (!shared || !shared->handlers)
		return NULL;
	resolving = task_entry(&resolving_tasks, 0);
	return resolving && resolving->active ? resolving : NULL;
}

/* An event of a task that may resolve a fault: then it is that fault's. */
static __always_inline void event_of_resolving(struct event *event,
					       const struct resolving *resolving)
{
	if (resolving)
		event_of_fault(event, &resolving->key, resolving->instance);
}

/* The running task handles faults: from now on its wakeups are events (sched.bpf.c). */
static __always_inline void handler_register(void)
{
	task_entry_make(&handler_threads);
}

static __always_inline void resolving_end(__u32 source)
{
	struct capture_state *shared = shared_state();
	struct resolving *resolving = resolving_now();

	if (!shared || !resolving || resolving->active != source)
		return;
	resolving->active = RESOLVING_NONE;
	if (resolving_in_kernel(source))
		__sync_fetch_and_sub(&shared->resolvers, 1);
}

/* Most recordings ask for no process or for one, which spares them the look into the map. */
static __always_inline bool pid_wanted(__u32 pid)
{
	struct capture_state *shared = shared_state();

	if (!shared || !shared->pid)
		return false;
	return shared->pid == pid || bpf_map_lookup_elem(&pids, &pid);
}

#endif
