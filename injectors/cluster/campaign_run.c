// SPDX-License-Identifier: GPL-2.0
/* Running a job that emulates hosts: its points, the table, the verdicts. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/cluster/campaign_private.h"
#include "injectors/cluster/run.h"
#include "injectors/emu/truth.h"
#include "injectors/job/guardian.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "lib/job/sweep_table.h"

_Static_assert(CLUSTER_VALUES <= SWEEP_RESULTS_MAX, "a table has room for them");

/* Written by the process that begins the cluster, read by the guardian once that has ended. */
struct cluster_answer {
	const struct cluster_plan *plan;
	const char *truth;
	bool complete;
	int error;
	char sentence[1024];
	struct cluster_result result;
};
struct cluster_progress {
	const struct sweep *sweep;
	size_t point;
	bool shown;
};

static void cluster_body(void *argument)
{
	struct cluster_answer *answer = argument;

	answer->error = cluster_run(answer->plan, answer->truth, &answer->result);
	snprintf(answer->sentence, sizeof(answer->sentence), "%s", failure_text());
	answer->complete = true;
}

static void cluster_show_progress(void *argument, double seconds)
{
	struct cluster_progress *progress = argument;

	if (seconds < 2 || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rpoint %zu of %zu  %.0f s ", progress->point + 1, progress->sweep->points,
		seconds);
	progress->shown = true;
}

static int cluster_point_run(struct cluster_jobs *jobs, size_t index, const char *truth)
{
	struct cluster_progress progress = {.sweep = &jobs->sweep, .point = index};
	struct guardian_task task = {.body = cluster_body,
				     .progress = cluster_show_progress,
				     .progress_argument = &progress};
	struct cluster_answer *answer;
	struct cluster_plan plan;
	int err = cluster_point_plan(&plan, jobs, index);
	pid_t pid;

	if (err)
		return err;
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (answer == MAP_FAILED) {
		cluster_plan_free(&plan);
		return failed(-ENOMEM, "no memory for the answer of the cluster's process");
	}
	answer->plan = &plan;
	answer->truth = truth;
	cluster_result_clear(&answer->result);
	task.argument = answer;
	err = guardian_run(&task, &pid);
	if (progress.shown)
		fprintf(stderr, "\r%79s\r", "");
	/* Also of a run that was stopped: what there was. */
	jobs->results[index] = answer->result;
	if (!err && !answer->complete)
		err = failed(-EIO, "the cluster's process %d ended without a result", pid);
	if (!err && answer->error)
		err = failed(answer->error, "%s", answer->sentence);
	munmap(answer, sizeof(*answer));
	cluster_plan_free(&plan);
	return err;
}

/* Of the point's log; NULL without one. */
static const char *cluster_truth_path(const struct cluster_jobs *jobs,
				      const struct campaign_options *options, size_t index,
				      char path[PATH_MAX])
{
	if (!options->truth || jobs->sweep.points == 1)
		return options->truth;
	snprintf(path, PATH_MAX, "%s.%zu", options->truth, index + 1);
	return path;
}

static int cluster_check_truth(const struct cluster_jobs *jobs,
			       const struct campaign_options *options)
{
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && options->truth && i < jobs->sweep.points; i++)
		err = truth_check(cluster_truth_path(jobs, options, i, path));
	return err;
}

static int cluster_run_named(struct cluster_jobs *jobs, const struct campaign_options *options,
			     size_t index)
{
	char truth[PATH_MAX], name[256];
	int err = cluster_point_run(jobs, index, cluster_truth_path(jobs, options, index, truth));

	if (err && jobs->sweep.points > 1) {
		sweep_point_name(&jobs->sweep, index, name, sizeof(name));
		failed_in(err, "point %zu of %zu (%s)", index + 1, jobs->sweep.points, name);
	}
	return err;
}

static int cluster_run_points(struct cluster_jobs *jobs, const struct campaign_options *options,
			      struct writer *writer, const struct sweep_results *table)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < jobs->sweep.points; i++) {
		int err = cluster_run_named(jobs, options, i), this = EXIT_OK, wrote;

		if (err)
			this = failure_report(err == -EINVAL ? -EBADMSG : err);
		code = code ? code : this;
		wrote = sweep_results_row(table, writer, i, jobs->results[i].values)
				?: writer_flush(writer);
		if (wrote)
			return code ? code : failure_report(guardian_stop ? -EINTR : wrote);
		if (err && (!options->keep_going || err == -EINTR))
			return code;
	}
	return code;
}

/* What numbers do not say: each sentence once, with its point if there are several. */
static void cluster_tell_notes(const struct cluster_jobs *jobs, FILE *file)
{
	char name[512];

	for (size_t i = 0; i < jobs->sweep.points; i++) {
		const struct cluster_result *result = &jobs->results[i];

		if (!*result->starved && !*result->note && !*result->idle)
			continue;
		sweep_point_name(&jobs->sweep, i, name, sizeof(name));
		if (*result->starved)
			fprintf(file, "Starved%s%s: %s.\n", *name ? " at " : "",
				printable_of(name).text, printable_of(result->starved).text);
		if (*result->note)
			fprintf(file, "Failed%s%s: %s.\n", *name ? " at " : "",
				printable_of(name).text, printable_of(result->note).text);
		if (*result->idle)
			fprintf(file,
				"Never fired%s%s: %s: its time, or its step of its process, did not "
				"come, or nothing was lent that could be taken back.\n",
				*name ? " at " : "", printable_of(name).text,
				printable_of(result->idle).text);
	}
}

/* As a word of its own. */
static bool cluster_names(const char *expression, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = expression; (at = strstr(at, name)); at += length) {
		bool begins =
			at == expression || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');

		if (begins && !(isalnum((unsigned char)at[length]) || at[length] == '_'))
			return true;
	}
	return false;
}

/* Users' errors are the run's, unless the job judges them itself. */
static int cluster_failed_users(const struct cluster_jobs *jobs)
{
	const struct job_section *section = job_text_section(jobs->text, "expect", NULL);

	for (size_t i = 0; section && i < section->entry_count; i++)
		if (cluster_names(section->entries[i].value, "failed"))
			return EXIT_OK;
	for (size_t i = 0; i < jobs->sweep.points; i++)
		if (jobs->results[i].values[CLUSTER_FAILED] > 0)
			return EXIT_FAIL;
	return EXIT_OK;
}

static double *cluster_values(const struct cluster_jobs *jobs)
{
	size_t count = jobs->columns.columns.count;
	double *values = calloc(jobs->sweep.points * count, sizeof(*values));

	for (size_t i = 0; values && i < jobs->sweep.points; i++)
		memcpy(&values[i * count], jobs->results[i].values, count * sizeof(*values));
	return values;
}

static int cluster_judge(const struct cluster_jobs *jobs, FILE *file)
{
	double *values = cluster_values(jobs);
	int code;

	if (!values)
		return failure_report(failed(-ENOMEM, "no memory for the verdicts"));
	code = expect_judge(jobs->text,
			    &(struct expression_scope){.sweep = &jobs->sweep,
						       .columns = &jobs->columns.columns,
						       .values = values},
			    file);
	free(values);
	return code;
}

int cluster_campaign_run(struct cluster_jobs *jobs, const struct campaign_options *options)
{
	FILE *told = options->output.to.format == OUTPUT_TEXT ? stdout : stderr;
	struct sweep_results table;
	struct writer *writer;
	int err, code;

	guardian_catch_stops();
	err = cluster_check_truth(jobs, options);
	if (!err)
		err = output_open(&writer, &options->output, NULL,
				  (const char *const[]){"results", NULL});
	if (err)
		return failure_report(err == -EINVAL ? -EIO : err);
	err = sweep_results_begin(&table, writer, "Results", &jobs->sweep, &jobs->columns.columns);
	if (err) {
		writer_close(writer);
		return failure_report(err);
	}
	code = cluster_run_points(jobs, options, writer, &table);
	writer_end(writer);
	err = writer_close(writer);
	cluster_tell_notes(jobs, told);
	if (err && !code)
		code = failure_report(err);
	if (!code || (options->keep_going && code != EXIT_INTERRUPTED)) {
		int judged = cluster_judge(jobs, told);

		code = code ? code : judged;
	}
	return code ? code : cluster_failed_users(jobs);
}
