/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A whole campaign: the job file, what the command line changes of it, its points, their results
 * and its expectations.
 */
#ifndef FAULTLINE_JOB_CAMPAIGN_H
#define FAULTLINE_JOB_CAMPAIGN_H

#include "injectors/consent.h"
#include "injectors/job/plan.h"
#include "injectors/job/result.h"
#include "lib/cli/output.h"
#include "lib/job/overrides.h"
#include "lib/job/shelf.h"
#include "lib/job/sweep.h"

struct campaign_options {
	struct job_overrides overrides;
	const char *job; /* path, or the name of a shipped job */
	bool both_grids; /* check the one of [short], too, where it is not applied */
	const char *seed;
	const char *truth;	  /* path; with several points ".N" is appended */
	const char *console;	  /* likewise, of what virtual machines print */
	bool keep_going;	  /* past a point that failed */
	struct consents consents; /* block devices that may be written */
	struct output_options output;
};

struct campaign {
	struct job_text *text;
	struct sweep sweep;
	struct result *results;	    /* one per point */
	struct result_notes *notes; /* likewise */
};

/* The job's text as its file has it, which is read once: it may be a pipe. */
int campaign_read(struct job_text **text, const struct campaign_options *options);
/*
 * Takes a job's text and checks all of it: every point's values, patterns and sizes, and the
 * expectations. Nothing has been started then. -EINVAL: an option is wrong, -EBADMSG: the file is.
 */
int campaign_load(struct campaign *campaign, struct job_text *text,
		  const struct campaign_options *options);
void campaign_free(struct campaign *campaign);

/* The job and plan of one point; the job must outlive the plan. */
struct campaign_point {
	struct job_text *text;
	struct job job;
	struct plan plan;
};
int campaign_point_load(struct campaign_point *point, const struct campaign *campaign,
			size_t index);
void campaign_point_free(struct campaign_point *point);

/* Prints what each point would start, inject, read and write. */
int campaign_print(const struct campaign *campaign, const struct campaign_options *options,
		   FILE *file);

/* Runs all points, writes the table, judges the expectations. Returns an enum exit_code and has
 * printed its errors. */
int campaign_run(struct campaign *campaign, const struct campaign_options *options);

/* judge.c: prints a verdict for each expectation into `file`; EXIT_OK or EXIT_EXPECT. */
int campaign_judge(const struct campaign *campaign, FILE *file);

extern const struct shelf campaign_shelf;

#endif
