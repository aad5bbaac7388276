/* SPDX-License-Identifier: GPL-2.0 */
/* From the text of a job to the scenario of one point. */
#ifndef FAULTLINE_TOOLS_FABRIC_OPTIONS_H
#define FAULTLINE_TOOLS_FABRIC_OPTIONS_H

#include "lib/job/column.h"
#include "lib/job/idle_keys.h"
#include "lib/job/options.h"
#include "tools/fabric/scenario.h"

const struct option_table *fabric_job_options(void);
extern const struct job_columns fabric_job_columns;

/* [run] and [fabric], so that --set finds them, and all scenarios as the last dimension of the sweep unless [run] chooses one. */
int fabric_job_complete(struct job_text *text);
int fabric_job_sweep(struct job_text *text);
/* Each value by itself, also one that a sweep replaces in every point. -EBADMSG. */
int fabric_job_check(const struct job_text *text);
/* job_wrong() with the place and what is accepted. Free it with scenario_free(), also after an error. */
int scenario_configure(struct scenario *scenario, const struct job_text *text,
		       struct idle_keys *idle);
void scenario_free(struct scenario *scenario);

#endif
