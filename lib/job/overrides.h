/* SPDX-License-Identifier: GPL-2.0 */
/* What a command line changes of a job: --set SECTION.KEY=VALUE and --short, in every verb that takes one. */
#ifndef FAULTLINE_JOB_OVERRIDES_H
#define FAULTLINE_JOB_OVERRIDES_H

#include "lib/cli/cli.h"
#include "lib/job/text.h"

#define JOB_SETS 64

struct job_overrides {
	const char *sets[JOB_SETS];
	size_t set_count;
	bool shorten; /* apply [short] */
};

/* For a struct job_overrides. */
extern const struct cli_option job_override_options[];

/* Every --set, with job_text_assign(). */
int job_overrides_assign(const struct job_overrides *overrides, struct job_text *text);

#endif
