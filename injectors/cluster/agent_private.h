/* SPDX-License-Identifier: GPL-2.0 */
/* What agent.c and agent_run.c have in shared memory. */
#ifndef FAULTLINE_CLUSTER_AGENT_PRIVATE_H
#define FAULTLINE_CLUSTER_AGENT_PRIVATE_H

#include <sys/types.h>

#include "injectors/cluster/agent.h"

struct agent_slot {
	__u32 state; /* enum agent_state; by itself (RUNS), then by its parent */
	__u32 life;
	pid_t pid;
	__u32 work;	/* what the run waits for in it */
	__u32 quiet;	/* of a host: it has ended what ends in this phase (enum cluster_phase) */
	char text[256]; /* why it failed */
	struct agent_info info;
};

struct agents {
	__u32 count;
	__u32 events; /* futex */
	__u32 phase;  /* enum cluster_phase; a change is an event */
	__u64 begun_ns;
	struct agent_slot slots[CLUSTER_AGENTS_MAX];
};

/* One more event, for all who wait. */
void agents_tell(struct agents *agents);

#endif
