/* SPDX-License-Identifier: GPL-2.0 */
/* Inside a host's process. */
#ifndef FAULTLINE_CLUSTER_HOST_H
#define FAULTLINE_CLUSTER_HOST_H

#include "injectors/cluster/agent.h"

/* Gives back everything that a killed process had: segments, windows, requesters, domains, pages. By its host, or by the parent for a host. */
void agent_bury(struct cluster *cluster, __u32 agent);
/* A thread, host_chores.c: does what is injected into this host's devices, until the run's end. `argument`: the cluster. */
void *host_chores(void *argument);

#endif
