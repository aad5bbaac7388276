/* SPDX-License-Identifier: GPL-2.0 */
/* One run of a machine: created, started, shaken, stopped, summarised, in a process of its own. */
#ifndef FAULTLINE_JOB_POINT_H
#define FAULTLINE_JOB_POINT_H

#include "injectors/job/plan.h"
#include "injectors/job/result.h"

struct point_run {
	const struct plan *plan;
	const char *truth;   /* path, NULL: none */
	const char *console; /* path of what virtual machines print, NULL: it is not kept */
	/* Called in the parent, see guardian.h; may be NULL. */
	void (*progress)(void *argument, double seconds);
	void *progress_argument;
	struct result_notes *notes; /* filled; may be NULL */
};

/* Fills the result. -EINTR if stopped by a signal; else a negative errno with a sentence. */
int point_run(const struct point_run *run, struct result *result);

#endif
