// SPDX-License-Identifier: GPL-2.0
/* Stages that hold the time of unseen ones are marked where people read, and only there. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/stage.h"
#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/verbs.h"
#include "tools/record.h"

#define START  (100 * SECOND)
#define MAPPED EVENT_FAULT_MAPPED

static char recording[64], objectives[64];
static unsigned int slow = MAPPED; /* the timestamp that most of a fault's time ends at */

static int setup(void **state)
{
	FILE *file;

	if (scratch_make(state))
		return -1;
	snprintf(recording, sizeof(recording), "%s/run.flt", scratch);
	snprintf(objectives, sizeof(objectives), "%s/slo.ini", scratch);
	file = fopen(objectives, "w");
	if (!file)
		return -1;
	fputs("[slo few]\nfault_rate = 1\n", file);
	return fclose(file);
}

/*
 * Three faults, most of whose time ends at `slow`, told to `also`, too, if it is not NULL. The last
 * `lack` of them lack the timestamp `without`.
 */
static void record_for(unsigned int without, __u32 lack, const struct stream *also)
{
	const struct trace_writer_config config = {
		.path = recording, .overwrite = true, .keep_ns = also ? 60 * SECOND : 0};
	struct trace_writer *writer;
	struct stream stream = recording_begin(&writer, &config, START, 0);

	for (__u32 i = 0; i < 3; i++) {
		__u64 at = START + i * SECOND / 4;

		for (unsigned int k = EVENT_FAULT_DETECT; k <= EVENT_FAULT_RESUME; k++) {
			const struct event e = {.time_ns = at += k == slow ? 900000 : 1000,
						.kind = (__u16)k,
						.device = 1,
						.pasid = PASID_NONE,
						.group = i,
						.instance = 1,
						.address = 4096};

			if (k == without && i + lack >= 3)
				continue;
			stream_events(stream, &e, 1);
			if (also)
				stream_events(*also, &e, 1);
		}
	}
	stream.ops->end(stream.self, START + SECOND);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void record(unsigned int without)
{
	record_for(without, 3, NULL);
}

static struct verb_run run_on(const char *form)
{
	char line[128];
	struct verb_run run;

	snprintf(line, sizeof(line), form, recording, objectives);
	run = verb_run(line);
	/* Sentences are cut into lines. */
	for (char *at = run.out; (at = strchr(at, '\n'));)
		*at = ' ';
	return run;
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

static void default_text_marks_merged_stages(void **state)
{
	struct verb_run run;

	record(EVENT_FAULT_RESOLVED);
	run = run_on("report %s");
	assert_int_equal(run.status, 0);
	/* The device's slowest stage, and the stage's own row. */
	assert_int_equal(count(run.out, "map*"), 2);
	assert_int_equal(count(run.out, "respond*"), 0);
	assert_int_equal(count(run.out, STAGE_MERGED_NOTE), 1);
	assert_int_equal(count(run.out, "Worst stage: resolve+map, "), 1);
	assert_int_equal(count(run.out, " of it in resolve+map."), 1);
	verb_run_free(&run);
	run = run_on("top -b -i %s 10");
	assert_int_equal(run.status, 0);
	assert_int_equal(count(run.out, "map*"), 1);
	assert_int_equal(count(run.out, STAGE_MERGED_NOTE), 1);
	assert_int_equal(count(run.out, "went into resolve+map ("), 1);
	verb_run_free(&run);
}

/* No stage's name is so long that its mark is cut away. */
static void every_stage_is_marked(void **state)
{
	static const struct {
		const char *form;
		size_t marks; /* in its tables, or in the drawing of each fault */
		bool note;
	} runs[] = {
		{"report %s", 2, true}, {"timeline %s", 3, false}, {"top -b -i %s 10", 1, true}};

	for (slow = EVENT_FAULT_ISR; slow <= EVENT_FAULT_RESUME; slow++) {
		unsigned int stage = slow - EVENT_FAULT_DETECT - 1;
		char marked[STAGE_MARKED_TEXT], cause[STAGE_LABEL + 8], label[STAGE_LABEL];
		struct verb_run run;

		record(slow - 1);
		for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
			/* A drawing has the mark in a column of its own. */
			snprintf(marked, sizeof(marked), runs[i].note ? "%s*" : "%-8s*",
				 stage_name(stage));
			run = run_on(runs[i].form);
			assert_int_equal(run.status, 0);
			assert_int_equal(count(run.out, marked), runs[i].marks);
			assert_int_equal(count(run.out, STAGE_MERGED_NOTE), runs[i].note);
			assert_int_equal(count(run.out, "~"), 0);
			verb_run_free(&run);
		}
		run = run_on("slo %s -c %s");
		snprintf(cause, sizeof(cause), "%s took ", stage_label(stage, 1, label));
		assert_int_equal(count(run.out, cause), 1);
		verb_run_free(&run);
	}
	slow = MAPPED;
}

static void causes_name_merged_stages(void **state)
{
	struct verb_run run;

	for (__u32 lack = 0; lack <= 3; lack++) {
		record_for(EVENT_FAULT_RESOLVED, lack, NULL);
		run = run_on("slo %s -c %s");
		assert_int_equal(run.status, EXIT_EXPECT);
		assert_int_equal(count(run.out, "resolve+map took "), lack ? 1 : 0);
		assert_int_equal(count(run.out, "map took "), 1);
		verb_run_free(&run);
		/* Also where only some of the faults lack it: the table marks these, too. */
		run = run_on("report %s");
		assert_int_equal(count(run.out, "Worst stage: resolve+map, "), lack ? 1 : 0);
		assert_int_equal(count(run.out, "map*"), lack ? 2 : 0);
		verb_run_free(&run);
	}
	/* top judges, too: a violation is its worst finding. */
	run = run_on("top -b -i %s -c %s 10");
	assert_int_equal(count(run.out, "objective fault_rate broken"), 1);
	assert_int_equal(count(run.out, "resolve+map took "), 1);
	verb_run_free(&run);
}

/* What record prints when it saves a snapshot. */
static void a_trigger_names_merged_stages(void **state)
{
	/* A stage that is not seen at all triggers by the one that has its time. */
	const struct {
		const char *rule;
		unsigned int without;
		const char *says;
	} cases[] = {
		{"map>500us", 0, ": map took 900us\n"},
		{"map>500us", EVENT_FAULT_RESOLVED, ": resolve+map took 901us\n"},
		{"resolve>500us", EVENT_FAULT_RESOLVED, ": resolve+map took 901us\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_options options = {
			.writer = {.path = recording, .keep_ns = 60 * SECOND},
			.around_ns = SECOND,
			.snapshots = {recording, 100, 1 << 20}};
		FILE *said = tmpfile();
		char line[256] = "";
		struct trigger *trigger;
		struct stream stream;
		int before;

		assert_int_equal(trigger_parse(cases[i].rule, &options.rule), 0);
		assert_int_equal(trigger_create(&trigger, &options), 0);
		stream = trigger_stream(trigger);
		record_for(cases[i].without, 3, &stream);
		stream.ops->end(stream.self, START + SECOND);
		before = dup(STDERR_FILENO);
		dup2(fileno(said), STDERR_FILENO);
		trigger_finish(trigger, 0);
		dup2(before, STDERR_FILENO);
		close(before);
		trigger_destroy(trigger);
		rewind(said);
		assert_non_null(fgets(line, sizeof(line), said));
		assert_non_null(strstr(line, cases[i].says));
		fclose(said);
	}
}

static void nothing_is_marked_where_all_was_seen(void **state)
{
	struct verb_run run;

	record(0);
	run = run_on("report %s");
	assert_int_equal(run.status, 0);
	assert_int_equal(count(run.out, "Worst stage: map, "), 1);
	assert_int_equal(count(run.out, "*"), 0);
	verb_run_free(&run);
	run = run_on("top -b -i %s 10");
	assert_int_equal(count(run.out, "*"), 0);
	verb_run_free(&run);
}

static void programs_read_plain_names(void **state)
{
	struct verb_run run;

	record(EVENT_FAULT_RESOLVED);
	run = run_on("report %s --csv=- --table stages");
	assert_int_equal(count(run.out, "*"), 0);
	assert_int_equal(count(run.out, ",map,3,3,"), 4);
	verb_run_free(&run);
	/* The name of the stage, and of how many faults it holds the time of unseen ones. */
	run = run_on("report %s --csv=- --table summary");
	assert_int_equal(count(run.out, ",map,"), 1);
	assert_int_equal(count(run.out, ",merged "), 1);
	assert_int_equal(count(run.out, ",100500001000,3 "), 1);
	verb_run_free(&run);
	run = run_on("top -b -i %s --csv 10");
	assert_int_equal(count(run.out, "*"), 0);
	assert_int_equal(count(run.out, ",map,"), 1);
	assert_int_equal(count(run.out, ",merged,"), 1);
	verb_run_free(&run);
	run = run_on("slo %s -c %s --csv=- --table violations");
	assert_int_equal(count(run.out, ",map,"), 1);
	assert_int_equal(count(run.out, ",merged,"), 1);
	assert_int_equal(count(run.out, "%),3,"), 1);
	verb_run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_text_marks_merged_stages),
		cmocka_unit_test(every_stage_is_marked),
		cmocka_unit_test(causes_name_merged_stages),
		cmocka_unit_test(a_trigger_names_merged_stages),
		cmocka_unit_test(nothing_is_marked_where_all_was_seen),
		cmocka_unit_test(programs_read_plain_names),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
