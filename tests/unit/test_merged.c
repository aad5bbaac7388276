// SPDX-License-Identifier: GPL-2.0
/* Stages that hold the time of unseen ones are marked where people read, and only there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/stage.h"
#include "lib/trace/trace.h"
#include "tests/unit/scratch.h"
#include "tests/unit/verbs.h"

#define SECOND 1000000000ull
#define START  (100 * SECOND)
#define MAPPED EVENT_FAULT_MAPPED

static char recording[64];

static int setup(void **state)
{
	if (scratch_make(state))
		return -1;
	snprintf(recording, sizeof(recording), "%s/run.flt", scratch);
	return 0;
}

/* Three faults, most of whose time ends at `mapped`; `without` is a timestamp that is not seen. */
static void record(unsigned int without)
{
	const struct trace_writer_config config = {.path = recording, .overwrite = true};
	const struct host_info host = {.hostname = "node", .start_ns = START};
	const struct device_info device = {.handle = 1, .kind = DEVICE_EMULATED, .name = "t/d"};
	struct trace_writer *writer;
	struct stream stream;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	stream.ops->host(stream.self, &host);
	stream.ops->device(stream.self, &device);
	for (__u32 i = 0; i < 3; i++) {
		__u64 at = START + i * SECOND / 4;

		for (unsigned int k = EVENT_FAULT_DETECT; k <= EVENT_FAULT_RESUME; k++) {
			const struct event e = {.time_ns = at += k == MAPPED ? 900000 : 1000,
						.kind = (__u16)k,
						.device = 1,
						.pasid = PASID_NONE,
						.group = i,
						.instance = 1,
						.address = 4096};

			if (k != without)
				stream_events(stream, &e, 1);
		}
	}
	stream.ops->end(stream.self, START + SECOND);
	assert_int_equal(trace_writer_close(writer), 0);
}

static struct verb_run run_on(const char *form)
{
	char line[128];
	struct verb_run run;

	snprintf(line, sizeof(line), form, recording);
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

	(void)state;
	record(EVENT_FAULT_RESOLVED);
	run = run_on("report %s");
	assert_int_equal(run.status, 0);
	/* The device's slowest stage, and the stage's own row. */
	assert_int_equal(count(run.out, "map*"), 2);
	assert_int_equal(count(run.out, "respond*"), 0);
	assert_int_equal(count(run.out, STAGE_MERGED_NOTE), 1);
	assert_int_equal(count(run.out, "Worst stage: resolve+map, "), 1);
	verb_run_free(&run);
	run = run_on("top -b -i %s 10");
	assert_int_equal(run.status, 0);
	assert_int_equal(count(run.out, "map*"), 1);
	assert_int_equal(count(run.out, STAGE_MERGED_NOTE), 1);
	verb_run_free(&run);
}

static void nothing_is_marked_where_all_was_seen(void **state)
{
	struct verb_run run;

	(void)state;
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

	(void)state;
	record(EVENT_FAULT_RESOLVED);
	run = run_on("report %s --csv=- --table stages");
	assert_int_equal(count(run.out, "*"), 0);
	assert_int_equal(count(run.out, ",map,3,3,"), 4);
	verb_run_free(&run);
	run = run_on("report %s --csv=- --table summary");
	assert_int_equal(count(run.out, ",map,"), 1);
	verb_run_free(&run);
	run = run_on("top -b -i %s --csv 10");
	assert_int_equal(count(run.out, "*"), 0);
	verb_run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_text_marks_merged_stages),
		cmocka_unit_test(nothing_is_marked_where_all_was_seen),
		cmocka_unit_test(programs_read_plain_names),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
