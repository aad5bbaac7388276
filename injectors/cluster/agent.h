/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes of a cluster: a host's own (its kernel), clients, guests, targets; and the one that has begun them.
 *
 * Agents 0 to host_count - 1 are the hosts' own, in order. Each is forked, not executed, dies with its parent, and is reaped by it,
 * which tells all others (agent_state, a futex). An agent's number is never another's in a run, but a host that is begun anew
 * keeps its own, with `life` one higher.
 */
#ifndef FAULTLINE_CLUSTER_AGENT_H
#define FAULTLINE_CLUSTER_AGENT_H

#include "injectors/cluster/cluster.h"
#include "lib/base/cluster_step.h"

enum agent_kind { AGENT_HOST, AGENT_CLIENT, AGENT_VM, AGENT_TARGET, AGENT_INITIATOR, AGENT_KINDS };
enum agent_state { AGENT_NEW, AGENT_RUNS, AGENT_DONE, AGENT_FAILED, AGENT_DEAD };

struct agent_info {
	enum agent_kind kind;
	__u32 host;
	__u32 config; /* index of its client_config, vm_config, target_config */
	__u32 number; /* among those of its config */
	char name[64];
};
__u32 agent_count(const struct cluster *cluster);
const struct agent_info *agent_info(const struct cluster *cluster, __u32 agent);
enum agent_state agent_state(const struct cluster *cluster, __u32 agent);
__u32 agent_life(const struct cluster *cluster, __u32 agent);
/* Changes of any agent's state so far; waits until there is one more. -ETIMEDOUT. */
__u32 agent_events(const struct cluster *cluster);
int agent_wait(const struct cluster *cluster, __u32 seen, __u64 timeout_ns);

/*
 * A run ends in order: users first (clients, guests, initiators, threads of [borrow]s return what they have), for which hosts still
 * answer and engines still work; then what hosts have of their own (managers, targets); then lenders stop their engines.
 */
enum cluster_phase { CLUSTER_RUNNING, CLUSTER_USERS_END, CLUSTER_HOSTS_END, CLUSTER_CLOSING };
enum cluster_phase cluster_phase(const struct cluster *cluster);
/* True once users are to end: the run is over or was interrupted. */
bool cluster_stopping(const struct cluster *cluster);
/* Of a host's own process: so much more work (less, if negative) that the run must not end before, as a [borrow] with `ios`. What
 * of a killed process was left does not count. */
void agent_work(struct cluster *cluster, int more);
/* ns since the run's begin, which comes when all hosts are there; 0 before. */
__u64 cluster_run_ns(const struct cluster *cluster);

/* Of a thread that is to be another agent, in tests of one process, and of the parent: what everybody sees of it. */
void agent_state_set(struct cluster *cluster, __u32 agent, enum agent_state state);

/* What an agent's process runs after its threads' set-up; the exit code's errno. A file of its kind defines each. */
int host_run(struct cluster *cluster);	    /* host.c: registry, control thread, engines, borrows */
int client_run(struct cluster *cluster);    /* share_client.c */
int guest_run(struct cluster *cluster);	    /* guest.c */
int target_run(struct cluster *cluster);    /* target.c */
int initiator_run(struct cluster *cluster); /* target.c */

/* A step of a state machine: told to truth and probes (seen.h), and where an injection may kill this process. */
const char *cluster_step_name(enum cluster_step step);
struct step {
	enum cluster_step step;
	__u32 device, borrow, other_host;
	__u64 address, took_ns;
	int error; /* errno, 0: it has succeeded */
};
void cluster_step(struct cluster *cluster, const struct step *step);

#endif
