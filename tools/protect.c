// SPDX-License-Identifier: GPL-2.0
/* faultline protect: what to pin, judged by the accesses of recordings. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "tools/progress.h"
#include "tools/protect/study.h"
#include "tools/verbs.h"

#define THREADS_MAX 256

/* A tenant at a point is a world of its own, so that threads share nothing. */
struct study_pool {
	struct study *study;
	atomic_size_t next, done;
	atomic_int error;
	pthread_mutex_t lock;
	char sentence[512]; /* of the first that failed */
};

static size_t study_runs(const struct study *study)
{
	return study->sweep.points * study->tenant_count;
}

static void fail_run(struct study_pool *pool, size_t run, int err)
{
	const struct study *study = pool->study;
	char name[256];

	pthread_mutex_lock(&pool->lock);
	if (!pool->error) {
		pool->error = err;
		sweep_point_name(&study->sweep, run / study->tenant_count, name, sizeof(name));
		snprintf(pool->sentence, sizeof(pool->sentence), "%s%s%s", name, *name ? ": " : "",
			 failure_text());
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *study_work(void *argument)
{
	struct study_pool *pool = argument;
	struct study *study = pool->study;
	const struct study_keep keep = {study_whole(study) && study_wants(study, "protect_curve"),
					study_whole(study) &&
						study_wants(study, "protect_actions")};
	size_t run;

	while (!pool->error && (run = pool->next++) < study_runs(study)) {
		int err =
			study_run(&study->outcomes[run], &study->configs[run / study->tenant_count],
				  study->tenants[run % study->tenant_count], keep);

		if (err)
			fail_run(pool, run, err);
		pool->done++;
	}
	return NULL;
}

static int study_run_all(struct study *study)
{
	struct study_pool pool = {.study = study, .lock = PTHREAD_MUTEX_INITIALIZER};
	size_t threads = study->threads ?: (size_t)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
	pthread_t ids[THREADS_MAX];

	if (threads > study_runs(study))
		threads = study_runs(study);
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started < threads && !pthread_create(&ids[started], NULL, study_work, &pool))
		started++;
	if (!started)
		study_work(&pool);
	while (started && !pool.error && pool.done < study_runs(study)) {
		usleep(pool.done ? 100000 : 10000);
		progress_show(pool.done, study_runs(study), "accesses");
	}
	while (started)
		pthread_join(ids[--started], NULL);
	progress_end();
	return pool.error ? failed(pool.error, "%s", pool.sentence) : 0;
}

static int study_simulate(struct study *study)
{
	int err;

	study->outcomes = calloc(study_runs(study) ?: 1, sizeof(study->outcomes[0]));
	study->values = calloc(study->sweep.points * STUDY_COLUMNS, sizeof(study->values[0]));
	if (!study->outcomes || !study->values)
		return failed(-ENOMEM, "no memory for %zu points", study->sweep.points);
	err = study_run_all(study);
	for (size_t point = 0; !err && point < study->sweep.points; point++) {
		struct study_total total;

		err = study_total(&total, study, point);
		study_values(&study->values[point * STUDY_COLUMNS], &total);
	}
	return err;
}

/* Clocks of several hosts are several: then times are monotonic ns. */
static void study_clock(const struct study *study, struct writer *writer)
{
	const struct wall_clock *clock = session_clock(study->recordings[0]->session);

	for (size_t i = 0; study->recording_count == 1 && i < clock->count; i++)
		writer_clock(writer, &clock->anchors[i]);
}

static int study_facts(const struct study *study, struct writer *writer)
{
	if (study->output.to.format != OUTPUT_JSON)
		return 0;
	writer_fact(writer, "label", "model");
	for (size_t i = 0; i < study->recording_count; i++) {
		const struct study_recording *recording = study->recordings[i];
		char name[STUDY_NAME];

		writer_fact(writer,
			    study->recording_count == 1 ? "source"
							: study_recording_name(recording, name),
			    study_sources[recording->source]);
	}
	return writer_error(writer);
}

static int write_sources(const struct study *study, struct writer *writer)
{
	static const char *const what[SOURCES] = {
		[SOURCE_AUTO] = "no accesses at all",
		[SOURCE_PAGES] = "pages of each second",
		[SOURCE_SINGLE] = "single I/Os",
		[SOURCE_MAPPINGS] = "DMA mappings",
	};

	for (size_t i = 0; i < study->recording_count; i++) {
		char name[STUDY_NAME];

		writer_note(writer, "%s: %s.", study_recording_name(study->recordings[i], name),
			    what[study->recordings[i]->source]);
	}
	if (!study->tenant_count)
		writer_note(writer,
			    "No access was recorded: they come from the access log of emulated "
			    "devices or from DMA mappings, which are not there for the devices "
			    "and the time asked for.");
	return writer_error(writer);
}

static int study_execute(struct study *study)
{
	struct writer *writer;
	int err = study_prepare(study);

	if (!err)
		err = common_open_writer(&writer, &study->output, study->arguments, study_tables);
	if (err)
		return err;
	study_clock(study, writer);
	err = study_simulate(study);
	if (!err)
		err = study_facts(study, writer);
	if (!err)
		err = study_write(study, writer);
	if (!err)
		err = write_sources(study, writer);
	if (!err)
		return writer_close(writer);
	writer_abandon(writer);
	return err;
}

/* Why numbers are floors; EXIT_LOSS if they are, EXIT_INPUT for a recording that is damaged. */
static int study_limits(const struct study *study)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < study->recording_count; i++) {
		const struct study_recording *r = study->recordings[i];
		const struct printable path = printable_of(r->path);
		char text[FLOOR_TEXT];

		if (r->floor)
			fprintf(stderr, "faultline: %s: counts are floors: %s\n", path.text,
				floor_text(r->floor, text));
		if (r->counted_only)
			fprintf(stderr,
				"faultline: %s: counts are floors: %llu of its I/Os were not recorded one by "
				"one; record with --kind io_complete to have all\n",
				path.text, r->counted_only);
		if ((r->floor || r->counted_only) && !code)
			code = EXIT_LOSS;
		if (r->damage)
			code = common_failed(failed(r->damage, "%s", r->sentence));
	}
	return code;
}

static int study_judge(const struct study *study)
{
	const struct expression_scope scope = {&study->sweep, &study_columns, study->values};
	int code = expect_judge(study->text, &scope,
				study->output.to.format == OUTPUT_TEXT ? stdout : stderr);
	int limits = study_limits(study);

	return limits == EXIT_INPUT || code == EXIT_OK ? limits : code;
}

static int print_keys(void)
{
	return common_print_keys(study_options());
}

int verb_protect(int argc, char **argv)
{
	struct study study = {0};
	int err = study_parse(&study, argc, argv), code;

	if (err)
		return EXIT_USAGE;
	if (study.keys)
		return print_keys();
	err = study_execute(&study);
	code = err ? common_failed(err) : study_judge(&study);
	study_free(&study);
	return code;
}
