/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The baseline: a process that mediates, as NVMe-oF's target does (PV section 7.4.3): docs/smartio.md, "Baseline".
 *
 * An initiator on another host writes a capsule into the target's memory and tells it; the target has the controller read into, or
 * write from, a bounce buffer of its own, copies between that and the initiator's buffer, and writes a reply. target.c: what
 * both share; target_serve.c: the target; target_initiator.c: who asks.
 */
#ifndef FAULTLINE_CLUSTER_TARGET_H
#define FAULTLINE_CLUSTER_TARGET_H

#include "injectors/cluster/cluster.h"

int targets_create(struct cluster *cluster);

/* Of a target that is dead: nobody connects to what it had. */
void target_forget(struct cluster *cluster, __u32 agent);

#endif
