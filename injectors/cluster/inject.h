/* SPDX-License-Identifier: GPL-2.0 */
/* Injections into a cluster: who asks whether something is to go wrong now. The parent begins and ends them by the clock. */
#ifndef FAULTLINE_CLUSTER_INJECT_H
#define FAULTLINE_CLUSTER_INJECT_H

#include "injectors/cluster/agent.h"

/* One of this kind is under way for this device, host, adapter or agent (CLUSTER_NONE: any), and its probability says yes. */
bool cluster_inject(struct cluster *cluster, enum cluster_inject_kind kind, __u32 target,
		    const struct cluster_injection **found);
/* In cluster_step(): kills this process if an injection wants that here. */
void cluster_inject_step(struct cluster *cluster, enum cluster_step step);

/* Is anything under way that has a begin and an end? */
bool cluster_inject_any(const struct cluster *cluster);
/* Of the parent, by the clock; an event for those who wait for one (agent_events()). */
void cluster_inject_set(struct cluster *cluster, __u32 injection, bool active);
/* Of who carries one out that need not come to it: it has. */
void cluster_inject_done(struct cluster *cluster, const struct cluster_injection *injection);
bool cluster_inject_was_done(const struct cluster *cluster, __u32 injection);
bool cluster_inject_active(const struct cluster *cluster, __u32 injection);

#endif
