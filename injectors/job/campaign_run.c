// SPDX-License-Identifier: GPL-2.0
/* Running a campaign: its points one after the other, the table, the verdicts. */
#include <errno.h>
#include <math.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/truth.h"
#include "injectors/job/campaign.h"
#include "injectors/job/guardian.h"
#include "injectors/job/point.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "lib/job/sweep_table.h"

struct output {
	struct writer *writer;
	struct sweep_results results;
	struct job_columns columns;
	struct job_column column[RESULT_COLUMNS];
};

_Static_assert(RESULT_COLUMNS <= SWEEP_RESULTS_MAX, "a table has room for them");

struct campaign_progress {
	const struct campaign *campaign;
	size_t point;
	bool shown;
};

/* What is shown on a terminal of what a NIC gives, and of what I/O gives. */
static const enum result_column shown_of_frames[] = {RESULT_GOODPUT, RESULT_LOST, RESULT_TIMEOUTS,
						     RESULT_MAX_STALL};
static const enum result_column shown_of_stores[] = {RESULT_INSTANCES, RESULT_HITS_PER_S,
						     RESULT_WORST_HIT_RATE};
static const enum result_column shown_of_ios[] = {RESULT_IOPS, RESULT_LATENCY_P99,
						  RESULT_ROUND_TRIP_P99, RESULT_BLOCKED};

static bool has_vm(const struct job_text *text)
{
	for (size_t i = 0; i < text->section_count; i++) {
		const struct job_entry *backend = job_section_entry(&text->sections[i], "backend");

		if (!strcmp(text->sections[i].type, "tenant") && backend &&
		    !strcmp(backend->value, "vm"))
			return true;
	}
	return false;
}

/* Columns that the job can fill take the room of those that it cannot. */
static void choose_columns(struct output *output, const struct job_text *text)
{
	bool frames = job_text_section(text, "kvstore", NULL) ||
		      job_text_section(text, "program", NULL) ||
		      job_text_section(text, "traffic", NULL);
	bool stores = job_text_section(text, "kvstore", NULL) != NULL;
	bool vm = has_vm(text), ios = vm || job_text_section(text, "workload", NULL);

	output->columns = job_columns;
	output->columns.columns = output->column;
	memcpy(output->column, job_columns.columns, sizeof(output->column));
	for (size_t i = 0; frames && i < sizeof(shown_of_frames) / sizeof(*shown_of_frames); i++)
		output->column[shown_of_frames[i]].wide = false;
	for (size_t i = 0; stores && i < sizeof(shown_of_stores) / sizeof(*shown_of_stores); i++)
		output->column[shown_of_stores[i]].wide = false;
	for (size_t i = 0; !ios && i < sizeof(shown_of_ios) / sizeof(*shown_of_ios); i++)
		output->column[shown_of_ios[i]].wide = true;
	/* Beside the faults of devices those of CPUs, if no sweep needs the room. */
	if (vm && !job_text_section(text, "sweep", NULL))
		output->column[RESULT_CPU_FAULTS].wide = false;
}

static int open_output(struct output *output, const struct campaign *campaign,
		       const struct campaign_options *options)
{
	int err = output_open(&output->writer, &options->output, NULL,
			      (const char *const[]){"results", NULL});

	if (err)
		return err;
	choose_columns(output, campaign->text);
	err = sweep_results_begin(&output->results, output->writer, "Results", &campaign->sweep,
				  &output->columns);
	if (err)
		writer_close(output->writer);
	return err;
}

static int write_row(struct output *output, const struct campaign *campaign, size_t point)
{
	int err = sweep_results_row(&output->results, output->writer, point,
				    campaign->results[point].values);

	/* A campaign of an hour that is killed has written what it had. */
	return err ? err : writer_flush(output->writer);
}

static void campaign_show_progress(void *argument, double seconds)
{
	struct campaign_progress *progress = argument;
	const struct sweep *sweep = &progress->campaign->sweep;
	char name[256];

	if (seconds < 2 || !isatty(STDERR_FILENO))
		return;
	sweep_point_name(sweep, progress->point, name, sizeof(name));
	fprintf(stderr, "\rpoint %zu of %zu  %.50s  %.0f s ", progress->point + 1, sweep->points,
		printable_of(name).text, seconds);
	progress->shown = true;
}

/* Of the point's log: `path`, which is big enough, or that of the option; NULL without a log. */
static const char *path_of_point(const struct campaign *campaign, const char *option, size_t index,
				 char path[PATH_MAX])
{
	if (!option || campaign->sweep.points == 1)
		return option;
	snprintf(path, PATH_MAX, "%s.%zu", option, index + 1);
	return path;
}

/* Of all points, before the first one has begun. */
static int check_truth(const struct campaign *campaign, const struct campaign_options *options)
{
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && options->truth && i < campaign->sweep.points; i++)
		err = truth_check(path_of_point(campaign, options->truth, i, path));
	return err;
}

static int run_point(struct campaign *campaign, const struct campaign_options *options,
		     size_t index)
{
	struct campaign_progress progress = {.campaign = campaign, .point = index};
	struct campaign_point point;
	struct point_run run = {.plan = &point.plan,
				.progress = campaign_show_progress,
				.progress_argument = &progress};
	char truth[PATH_MAX], console[PATH_MAX], name[256];
	int err = campaign_point_load(&point, campaign, index);

	if (err)
		return err;
	for (__u32 d = 0; d < point.plan.machine.device_count; d++) {
		struct device_file *file = device_given_file(&point.plan.machine.devices[d]);

		if (file)
			file->consented = consent_given(&options->consents, file->path);
	}
	run.notes = &campaign->notes[index];
	run.truth = path_of_point(campaign, options->truth, index, truth);
	run.console = path_of_point(campaign, options->console, index, console);
	err = point_run(&run, &campaign->results[index]);
	if (progress.shown)
		fprintf(stderr, "\r%79s\r", "");
	if (err && campaign->sweep.points > 1) {
		sweep_point_name(&campaign->sweep, index, name, sizeof(name));
		failed_in(err, "point %zu of %zu (%s)", index + 1, campaign->sweep.points, name);
	}
	campaign_point_free(&point);
	return err;
}

/* All points; the exit code of the first that failed. */
static int campaign_run_points(struct campaign *campaign, const struct campaign_options *options,
			       struct output *output)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < campaign->sweep.points; i++) {
		int err = run_point(campaign, options, i);

		if (err) {
			int this = failure_report(err == -EINVAL ? -EBADMSG : err);

			code = code ? code : this;
			if (!options->keep_going || err == -EINTR)
				return code;
		}
		err = write_row(output, campaign, i);
		if (err)
			return failure_report(guardian_stop ? -EINTR : err);
	}
	return code;
}

int campaign_judge(const struct campaign *campaign, FILE *file)
{
	const struct expression_scope scope = {.sweep = &campaign->sweep,
					       .columns = &job_columns,
					       .values = campaign->results->values};

	return expect_judge(campaign->text, &scope, file);
}

struct concern {
	const struct result *worst;
	char points
		[256]; /* in parentheses: how many, and which was the worst; empty if there is one */
};

/* The point that has most of what the column counts; false if none has any. */
static bool find_concern(const struct campaign *campaign, enum result_column column,
			 struct concern *concern)
{
	size_t points = campaign->sweep.points, concerned = 0, worst = 0, used;
	char *text = concern->points;

	for (size_t i = 0; i < points; i++) {
		double count = campaign->results[i].values[column];

		if (!(count > 0))
			continue;
		if (!concerned++ || count > campaign->results[worst].values[column])
			worst = i;
	}
	concern->worst = &campaign->results[worst];
	*text = '\0';
	if (points > 1) {
		used = (size_t)snprintf(text, sizeof(concern->points),
					" (%zu of %zu points, most in ", concerned, points);
		sweep_point_name(&campaign->sweep, worst, text + used,
				 sizeof(concern->points) - used - 1);
		strcat(text, ")");
	}
	return concerned > 0;
}

/* Percentiles of I/Os that were sent say nothing of a device that took none: told, not only tabled. */
static void say_unsent(const struct campaign *campaign, FILE *file)
{
	struct concern concern;
	const double *values;

	if (!find_concern(campaign, RESULT_UNSENT, &concern))
		return;
	values = concern.worst->values;
	fprintf(file,
		"Never sent, as queues were full: %.0f of %.0f I/Os that were due%s.\n"
		"Their latencies count up to the end only.\n",
		values[RESULT_UNSENT], values[RESULT_UNSENT] + values[RESULT_IOS],
		printable_of(concern.points).text);
}

/* Nor does a rate of I/Os say that they did what they were to do: what fails may be fast. */
static void say_failed(const struct campaign *campaign, FILE *file)
{
	struct concern concern;

	const struct result_notes *notes;

	if (!find_concern(campaign, RESULT_ERRORS, &concern))
		return;
	notes = &campaign->notes[concern.worst - campaign->results];
	fprintf(file, "Failed: %.0f", concern.worst->values[RESULT_ERRORS]);
	if (!isnan(concern.worst->values[RESULT_IOS]))
		fprintf(file, " of %.0f I/Os", concern.worst->values[RESULT_IOS]);
	fprintf(file, ", of %s%s.\n", printable_of(notes->failing).text,
		printable_of(concern.points).text);
}

/* What a program was to tell and did not is missing in the table: why is told once. */
static void say_unread(const struct campaign *campaign, FILE *file)
{
	const struct result_notes *first = NULL;
	size_t points = 0;

	for (size_t i = 0; i < campaign->sweep.points; i++) {
		if (!*campaign->notes[i].unread)
			continue;
		first = first ? first : &campaign->notes[i];
		points++;
	}
	if (first)
		fprintf(file, "No result of a program at %zu of %zu points: %s.\n", points,
			campaign->sweep.points, printable_of(first->unread).text);
}

/* What programs of guests have printed, point by point. */
static void say_printed(const struct campaign *campaign, FILE *file)
{
	for (size_t i = 0; i < campaign->sweep.points; i++) {
		const char *line = campaign->notes[i].printed;

		while (*line) {
			char text[512];
			size_t end = strcspn(line, "\n");

			snprintf(text, sizeof(text), "%.*s", (int)end, line);
			for (char *tab = text; (tab = strchr(tab, '\t'));)
				*tab = ' ';
			fprintf(file, "%s\n", printable_of(text).text);
			line += end + (line[end] == '\n');
		}
	}
}

int campaign_run(struct campaign *campaign, const struct campaign_options *options)
{
	struct output output;
	FILE *told = options->output.to.format == OUTPUT_TEXT ? stdout : stderr;
	int err, code;

	guardian_catch_stops();
	err = check_truth(campaign, options);
	if (!err)
		err = open_output(&output, campaign, options);
	if (err)
		return failure_report(err == -EINVAL ? -EIO : err);
	code = campaign_run_points(campaign, options, &output);
	writer_end(output.writer);
	err = writer_close(output.writer);
	say_unsent(campaign, told);
	say_failed(campaign, told);
	say_unread(campaign, told);
	say_printed(campaign, told);
	if (err && !code)
		code = failure_report(err);
	if (!code || (options->keep_going && code != EXIT_INTERRUPTED)) {
		int judged = campaign_judge(campaign, told);

		code = code ? code : judged;
	}
	return code;
}
