/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Of the one that begins a cluster: starts its processes, learns of their ends, ends them in order.
 *
 * SIGCHLD must be blocked, and this process have no other thread: hosts are forked from it while others run.
 */
#ifndef FAULTLINE_CLUSTER_AGENT_RUN_H
#define FAULTLINE_CLUSTER_AGENT_RUN_H

#include <sys/types.h>

#include "injectors/cluster/agent.h"

/* Forks one that is not there: with a life more if it was before. */
int agent_start(struct cluster *cluster, __u32 agent);
/* Takes notice of who has ended; returns how many. `died` is told of each that did so by a signal. */
__u32 agents_reap(struct cluster *cluster, void (*died)(struct cluster *cluster, __u32 agent));
/* True if every agent of that kind is in a state from `state` on. */
bool agents_all(const struct cluster *cluster, bool hosts, enum agent_state state);
/* Work of living hosts that the run waits for. */
bool agents_work_left(const struct cluster *cluster);
/* Every living host has ended what ends in this phase. */
bool agents_hosts_quiet(const struct cluster *cluster, enum cluster_phase phase);
bool agent_is_quiet(const struct cluster *cluster, __u32 agent, enum cluster_phase phase);
/* Why it has failed; "": it did not. */
const char *agent_text(const struct cluster *cluster, __u32 agent);
void cluster_begin(struct cluster *cluster);
void cluster_phase_set(struct cluster *cluster, enum cluster_phase phase);
/* SIGKILL; agents_reap() tells of it. */
void agent_kill(struct cluster *cluster, __u32 agent);
pid_t agent_pid(const struct cluster *cluster, __u32 agent);

/* Of an agent's own process. */
void agent_ready(struct cluster *cluster);
void agent_quiet(struct cluster *cluster, enum cluster_phase phase);

#endif
