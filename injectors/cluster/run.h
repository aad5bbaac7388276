/* SPDX-License-Identifier: GPL-2.0 */
/* One run of a cluster: its processes begun, shaken, ended in order, and what is left of it afterwards. */
#ifndef FAULTLINE_CLUSTER_RUN_H
#define FAULTLINE_CLUSTER_RUN_H

#include "injectors/cluster/results.h"

/*
 * In a process of its own, which has no other thread and no other child. `truth`: path of the log, NULL: none. -EINTR: stopped;
 * -ETIMEDOUT; -EIO with what is left if not all is as before. The result has what there was in any case, but for NANs.
 */
int cluster_run(const struct cluster_plan *plan, const char *truth, struct cluster_result *result);

#endif
