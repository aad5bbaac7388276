/* SPDX-License-Identifier: GPL-2.0 */
/* A job that emulates hosts, from its file to its verdicts: what campaign.h of injectors/job is for one machine. */
#ifndef FAULTLINE_CLUSTER_CAMPAIGN_H
#define FAULTLINE_CLUSTER_CAMPAIGN_H

#include <stdbool.h>

#include "injectors/job/campaign.h"

/* Does this job have [host] sections? */
bool cluster_campaign_is(const struct job_text *text);

enum cluster_campaign_what { CLUSTER_CAMPAIGN_CHECK, CLUSTER_CAMPAIGN_PRINT, CLUSTER_CAMPAIGN_RUN };
/* Takes the job's text, checks all of it, then does what is wanted. Returns an enum exit_code and has printed its errors. */
int cluster_campaign(struct job_text *text, const struct campaign_options *options,
		     enum cluster_campaign_what what);

#endif
