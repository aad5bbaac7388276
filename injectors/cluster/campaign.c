// SPDX-License-Identifier: GPL-2.0
/* Loading a job that emulates hosts. */
#include "injectors/cluster/campaign.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "injectors/cluster/campaign_private.h"
#include "injectors/cluster/options.h"
#include "lib/analyze/slo.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "lib/job/idle_keys.h"

static int cluster_campaign_apply(struct job_text *text, const struct campaign_options *options)
{
	int err = options->overrides.shorten ? job_text_shorten(text) : 0;

	if (!err)
		err = job_overrides_assign(&options->overrides, text);
	if (!err && options->seed)
		err = job_text_need(text, "cluster", "--seed")
			      ?: job_text_set(text, "cluster.seed", options->seed, "--seed");
	return err;
}

int cluster_point_plan(struct cluster_plan *plan, const struct cluster_jobs *jobs, size_t index)
{
	struct job_text *text;
	int err = sweep_point_text(&text, &jobs->sweep, index, jobs->text);

	if (err == -EINVAL)
		err = -EBADMSG;
	if (!err) {
		err = cluster_plan_build(plan, text);
		job_text_free(text);
	}
	return err;
}

/* Every point by itself; what is told of groups is that of the first. */
static int cluster_check_points(struct cluster_jobs *jobs)
{
	struct idle_keys idle = {0};
	int err = 0;

	for (size_t i = 0; !err && i < jobs->sweep.points; i++) {
		struct cluster_plan plan;
		struct job_text *text;

		err = cluster_point_plan(&plan, jobs, i);
		if (err)
			break;
		if (!i)
			cluster_columns_of(&jobs->columns, &plan);
		cluster_plan_free(&plan);
		err = sweep_point_text(&text, &jobs->sweep, i, jobs->text);
		if (!err) {
			err = idle_keys_add(&idle, cluster_options(), text);
			job_text_free(text);
		}
	}
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

static int cluster_check_objectives(const struct cluster_jobs *jobs)
{
	struct slo_set *set;
	int err;

	if (!job_text_section(jobs->text, "slo", NULL))
		return 0;
	set = malloc(sizeof(*set));
	if (!set)
		return failed(-ENOMEM, "no memory for the objectives");
	err = slo_read(jobs->text->path, set);
	free(set);
	return err;
}

static int cluster_check_grid(struct cluster_jobs *jobs, const struct campaign_options *options)
{
	int err = cluster_campaign_apply(jobs->text, options);

	if (!err)
		err = options_check_headings(cluster_options(), jobs->text);
	if (!err)
		err = cluster_plan_check_values(jobs->text);
	if (!err)
		err = sweep_build(&jobs->sweep, jobs->text);
	if (!err)
		err = cluster_check_points(jobs);
	if (!err)
		err = cluster_check_objectives(jobs);
	if (!err)
		err = expect_check(jobs->text,
				   &(struct expression_scope){.sweep = &jobs->sweep,
							      .columns = &jobs->columns.columns});
	return err;
}

static void cluster_jobs_free(struct cluster_jobs *jobs)
{
	free(jobs->results);
	sweep_free(&jobs->sweep);
	job_text_free(jobs->text);
	free(jobs);
}

/* What --short would make of it. */
static int cluster_check_short(const struct job_text *text, const struct campaign_options *options)
{
	struct cluster_jobs *jobs = calloc(1, sizeof(*jobs));
	struct campaign_options shortened = *options;
	int err = -ENOMEM;

	if (!jobs)
		return failed(-ENOMEM, "no memory for the job");
	shortened.overrides.shorten = true;
	jobs->text = job_text_copy(text);
	if (jobs->text)
		err = cluster_check_grid(jobs, &shortened);
	else
		failed(-ENOMEM, "no memory for the job");
	cluster_jobs_free(jobs);
	return err;
}

static int cluster_jobs_load(struct cluster_jobs *jobs, const struct campaign_options *options)
{
	int err = 0;

	if (options->both_grids && !options->overrides.shorten &&
	    job_text_section(jobs->text, "short", NULL))
		err = cluster_check_short(jobs->text, options);
	if (!err)
		err = cluster_check_grid(jobs, options);
	if (err)
		return err;
	jobs->results = calloc(jobs->sweep.points, sizeof(*jobs->results));
	if (!jobs->results)
		return failed(-ENOMEM, "no memory for %zu points", jobs->sweep.points);
	for (size_t i = 0; i < jobs->sweep.points; i++)
		cluster_result_clear(&jobs->results[i]);
	return 0;
}

static int cluster_jobs_print(const struct cluster_jobs *jobs)
{
	char name[512];

	for (size_t i = 0; i < jobs->sweep.points; i++) {
		struct cluster_plan plan;
		int err = cluster_point_plan(&plan, jobs, i);

		if (err)
			return err;
		sweep_point_name(&jobs->sweep, i, name, sizeof(name));
		printf("point %zu of %zu%s%s\n", i + 1, jobs->sweep.points, *name ? ": " : "",
		       printable_of(name).text);
		cluster_plan_print(&plan, stdout);
		cluster_plan_free(&plan);
	}
	return 0;
}

bool cluster_campaign_is(const struct job_text *text)
{
	return job_text_section(text, "host", NULL);
}

int cluster_campaign(struct job_text *text, const struct campaign_options *options,
		     enum cluster_campaign_what what)
{
	struct cluster_jobs *jobs = calloc(1, sizeof(*jobs));
	int err, code = EXIT_OK;

	if (!jobs) {
		job_text_free(text);
		return failure_report(failed(-ENOMEM, "no memory for the job"));
	}
	jobs->text = text;
	err = cluster_jobs_load(jobs, options);
	if (!err && what == CLUSTER_CAMPAIGN_PRINT)
		err = cluster_jobs_print(jobs);
	if (!err && what == CLUSTER_CAMPAIGN_CHECK)
		printf("%s: %zu point%s, nothing wrong\n", printable_of(jobs->text->path).text,
		       jobs->sweep.points, jobs->sweep.points == 1 ? "" : "s");
	if (err)
		code = failure_report(err);
	else if (what == CLUSTER_CAMPAIGN_RUN)
		code = cluster_campaign_run(jobs, options);
	cluster_jobs_free(jobs);
	return code;
}
