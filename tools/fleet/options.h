/* SPDX-License-Identifier: GPL-2.0 */
/* From the text of a job to the fleet of one point. */
#ifndef FAULTLINE_TOOLS_FLEET_OPTIONS_H
#define FAULTLINE_TOOLS_FLEET_OPTIONS_H

#include "lib/job/idle_keys.h"
#include "lib/job/options.h"
#include "lib/job/column.h"
#include "tools/fleet/fleet.h"

#define FLEET_MACHINES_MAX 1000000

const struct option_table *fleet_options(void);
extern const struct job_columns fleet_columns;

/* Gives a job every section that is there once, so that --set finds them. */
int fleet_complete(struct job_text *text);
/* Policies with commas between them become the last dimension of the sweep. */
int fleet_sweep_policies(struct job_text *text);
/* Each value by itself, also one that a sweep replaces in every point. -EBADMSG. */
int fleet_check_values(const struct job_text *text);
/* From text to numbers; job_wrong() with the place and what is accepted. */
int fleet_configure(struct fleet_config *config, const struct job_text *text,
		    struct idle_keys *idle);

#endif
