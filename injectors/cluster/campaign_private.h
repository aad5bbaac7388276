/* SPDX-License-Identifier: GPL-2.0 */
/* What campaign.c and campaign_run.c share. */
#ifndef FAULTLINE_CLUSTER_CAMPAIGN_PRIVATE_H
#define FAULTLINE_CLUSTER_CAMPAIGN_PRIVATE_H

#include "injectors/cluster/results.h"
#include "injectors/job/campaign.h"
#include "lib/job/sweep.h"

struct cluster_jobs {
	struct job_text *text;
	struct sweep sweep;
	struct cluster_result_columns columns;
	struct cluster_result *results; /* one per point */
};

/* The plan of one point, to be freed. */
int cluster_point_plan(struct cluster_plan *plan, const struct cluster_jobs *jobs, size_t index);
int cluster_campaign_run(struct cluster_jobs *jobs, const struct campaign_options *options);

#endif
