/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of run.h share. */
#ifndef FAULTLINE_CLUSTER_RUN_PRIVATE_H
#define FAULTLINE_CLUSTER_RUN_PRIVATE_H

#include "injectors/cluster/agent_run.h"
#include "injectors/cluster/run.h"

enum run_injection_state { INJECTION_WAITS, INJECTION_ACTS, INJECTION_OVER };
struct run_injection {
	enum run_injection_state state;
	bool fired;
	__u64 end_ns; /* of the run; UINT64_MAX: its end */
};
struct run_error { /* the first one counts */
	int error;
	char sentence[1024];
};
struct cluster_process {  /* what is known of each agent beside the cluster's own */
	__u64 bury_ns;	  /* of the clock: when what it had is given back; 0: nothing to do */
	__u64 restart_ns; /* of the clock; 0: never */
	__u32 killer;	  /* the injection that has just killed it, + 1; 0: none */
};
struct run_before { /* the first process */
	__u64 windows, requesters, mapped, pinned;
	__u64 checksums[CLUSTER_HOSTS_MAX];
};
struct cluster_runner {
	struct cluster *cluster;
	const struct cluster_plan *plan;
	struct cluster_outcome outcome;
	struct run_injection *injections;
	struct cluster_process processes[CLUSTER_AGENTS_MAX];
	struct run_before before;
	struct run_error first;
	__u64 look_ns;
};

/* Keeps what failure_text() says. */
void run_keep_error(struct cluster_runner *runner, int error);

/* run_inject.c: what is due by the clock begins and ends; all that acts ends. */
void run_injections(struct cluster_runner *runner);
void run_injections_end(struct cluster_runner *runner);
/* A process was killed: by an injection that begins it anew? A host's own take all of it along. */
void run_injection_killed(struct cluster_runner *runner, __u32 agent);

/* run_failed.c: how many users of a run of that length (0: until all is done) have failed; who, and why. */
__u32 run_failed(const struct cluster *cluster, __u64 duration_ns);
void run_note_failed(const struct cluster *cluster, __u64 duration_ns,
		     struct cluster_result *result);

/* run_left.c: what there is before anybody is started; and what is left that was not there. */
void run_left_before(struct cluster_runner *runner);
void run_left_after(struct cluster_runner *runner);

#endif
