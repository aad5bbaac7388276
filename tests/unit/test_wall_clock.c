// SPDX-License-Identifier: GPL-2.0
/* A clock that steps: an event has one time in every table, and --since with that time finds it. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/base/wall_clock.h"
#include "lib/capture/host.h"
#include "lib/trace/trace.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/verbs.h"
#include "tools/top/format.h"

#define MINUTE (60 * SECOND)
#define START  (100 * SECOND)
#define NOON   (1795262400ull * SECOND) /* 2026-11-21T12:00:00Z */

/* Set back by half a minute after the first minute, forward by an hour after the second. */
static const struct clock_anchor anchors[] = {
	{START, NOON},
	{START + MINUTE, NOON + MINUTE / 2},
	{START + 2 * MINUTE, NOON + MINUTE * 3 / 2 + 60 * MINUTE},
};

/* A fault's begin after START, and what every table must call it. */
static const struct {
	__u64 after_ns;
	const char *when;
} faults[] = {
	{1 * SECOND + 7, "2026-11-21T12:00:01.000000007Z"},
	{40 * SECOND, "2026-11-21T12:00:40.000000000Z"},
	{59 * SECOND, "2026-11-21T12:00:59.000000000Z"},
	{MINUTE, "2026-11-21T12:00:30.000000000Z"},
	{70 * SECOND + 11, "2026-11-21T12:00:40.000000011Z"},
	{119 * SECOND, "2026-11-21T12:01:29.000000000Z"},
	{121 * SECOND, "2026-11-21T13:01:31.000000000Z"},
	{300 * SECOND + 13, "2026-11-21T13:04:30.000000013Z"},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static char recording[64];

static int record(void **state)
{
	const struct trace_writer_config config = {.path = recording};
	struct trace_writer *writer;
	struct stream stream;
	size_t told = 0;

	if (scratch_make(state))
		return -1;
	snprintf(recording, sizeof(recording), "%s/run.flt", scratch);
	stream = recording_begin(&writer, &config, START, 0);
	for (__u32 i = 0; i < FAULTS; i++) {
		struct event e = {.time_ns = START + faults[i].after_ns,
				  .kind = EVENT_FAULT_DETECT,
				  .device = 1,
				  .pasid = PASID_NONE,
				  .group = i,
				  .instance = 1,
				  .address = 4096};

		while (told < 3 && anchors[told].monotonic_ns <= e.time_ns)
			stream.ops->clock(stream.self, &anchors[told++]);
		stream_events(stream, &e, 1);
		e.kind = EVENT_FAULT_RESUME;
		e.time_ns += 1000 * (i + 1);
		stream_events(stream, &e, 1);
	}
	stream.ops->end(stream.self, START + 301 * SECOND);
	return trace_writer_close(writer);
}

static struct wall_clock stepped(void)
{
	struct wall_clock clock = {0};

	/* In any order. */
	wall_clock_add(&clock, &anchors[2]);
	wall_clock_add(&clock, &anchors[0]);
	wall_clock_add(&clock, &anchors[1]);
	assert_int_equal(clock.count, 3);
	return clock;
}

static void a_time_is_told_by_the_anchor_before_it(void **state)
{
	struct wall_clock clock = stepped(), none = {0};
	struct clock_anchor again = {START + MINUTE * 3 / 2, NOON + MINUTE};
	char text[UNITS_TEXT], brief[CLOCK_TEXT];

	for (size_t i = 0; i < FAULTS; i++) {
		__u64 at = START + faults[i].after_ns;

		assert_string_equal(units_format_time(wall_clock_at(&clock, at), text),
				    faults[i].when);
		/* The live view's: "HH:MM:SS.mmm". */
		assert_memory_equal(clock_text(brief, &clock, at, true), faults[i].when + 11, 12);
	}
	/* Before the first anchor the first one holds. */
	assert_int_equal(wall_clock_at(&clock, START - SECOND), NOON - SECOND);
	/* One that says nothing new changes nothing, and takes no room. */
	wall_clock_add(&clock, &again);
	assert_int_equal(clock.count, 3);
	assert_int_equal(wall_clock_at(&none, START), 0);
	wall_clock_free(&clock);
}

/* Whatever is told as `when` lies in [since(when), until(when + 1)), at any time of three clocks. */
static void there_and_back_finds_every_time(void **state)
{
	struct wall_clock clock = stepped();

	for (__u64 at = START - 10 * SECOND; at < START + 200 * SECOND; at += SECOND / 3 + 1) {
		__u64 when = wall_clock_at(&clock, at);

		assert_true(wall_clock_since(&clock, when) <= at);
		assert_true(wall_clock_until(&clock, when + 1) > at);
	}
	/* A time that the clock jumped over: what comes next begins the window, what came last ends it. */
	assert_int_equal(wall_clock_since(&clock, NOON + 30 * MINUTE), START + 2 * MINUTE);
	assert_int_equal(wall_clock_until(&clock, NOON + 30 * MINUTE), START + 2 * MINUTE);
	/* Told twice: from the first to the last. */
	assert_int_equal(wall_clock_since(&clock, NOON + 40 * SECOND), START + 40 * SECOND);
	assert_int_equal(wall_clock_until(&clock, NOON + 40 * SECOND), START + 70 * SECOND);
	wall_clock_free(&clock);
}

static struct verb_run run_on(const char *form, const char *when)
{
	char line[256];
	struct verb_run run;

	snprintf(line, sizeof(line), form, recording, when);
	run = verb_run(line);
	if (run.status != EXIT_OK)
		fail_msg("%s: ends with %d: %s", line, run.status, run.err);
	return run;
}

static void assert_holds(const struct verb_run *run, const char *text, const char *what)
{
	if (!strstr(run->out, text))
		fail_msg("%s: %s is not there: %s", what, text, run->out);
}

static void one_fault_has_one_time_in_every_table(void **state)
{
	static const char *const forms[] = {
		"report %s --csv=- --table faults",
		"report %s --json",
		"timeline %s --all --csv=-",
		"timeline %s --all",
		"timeline %s --json",
	};

	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		struct verb_run run = run_on(forms[k], "");

		for (size_t i = 0; i < FAULTS; i++)
			assert_holds(&run, faults[i].when, forms[k]);
		verb_run_free(&run);
	}
}

/* Sentences and other tables: the longest fault, which is the last, and the first of a device. */
static void sentences_and_summaries_say_the_same(void **state)
{
	struct verb_run run = run_on("report %s", "");

	for (char *at = run.out; (at = strchr(at, '\n'));)
		*at = ' ';
	assert_holds(&run, "From 2026-11-21 12:00:00.000 UTC to 2026-11-21 13:04:31.000 UTC",
		     "from");
	assert_holds(&run, "at 2026-11-21 13:04:30.000 UTC", "longest");
	verb_run_free(&run);
	run = run_on("report %s --csv=- --table summary", "");
	assert_holds(&run, faults[0].when, "first");
	assert_holds(&run, faults[FAULTS - 1].when, "last");
	verb_run_free(&run);
}

static void since_its_own_time_finds_a_fault(void **state)
{
	for (size_t i = 0; i < FAULTS; i++) {
		struct verb_run run =
			run_on("timeline %s --all --csv=- --since %s", faults[i].when);

		assert_holds(&run, faults[i].when, "--since");
		/* The first is the earliest by any clock: it is left out of all but its own window. */
		assert_true(!i == !!strstr(run.out, faults[0].when));
		verb_run_free(&run);
		run = run_on("timeline %s --all --csv=- --until %s", faults[i].when);
		if (i == 0)
			assert_null(strstr(run.out, faults[0].when));
		else
			assert_holds(&run, faults[0].when, "--until");
		verb_run_free(&run);
	}
}

/* A report whose From is later than its longest fault says that the clock was set, when, and by how much. */
static void a_report_says_that_the_clock_was_set(void **state)
{
	static const struct {
		const char *until, *said;
	} parts[] = {
		{"+60s", NULL},
		{"+90s", "The clock was set back by 30.0s, to 2026-11-21 12:00:30.000 UTC; times"},
		{"+4m", "The clock was set forward by 1h00m, to 2026-11-21 13:01:30.000 UTC, the "
			"greatest of 2 steps; times"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct verb_run run = run_on("report %s --until %s", parts[i].until);

		for (char *at = run.out; (at = strchr(at, '\n'));)
			*at = ' ';
		if (parts[i].said)
			assert_holds(&run, parts[i].said, parts[i].until);
		else
			assert_null(strstr(run.out, "clock was set"));
		verb_run_free(&run);
	}
}

static void what_is_slewed_is_no_step(void **state)
{
	struct wall_clock clock = {0};
	struct wall_clock_step step;

	for (__u64 i = 0; i < 100; i++) {
		const struct clock_anchor slewed = {START + i * MINUTE,
						    NOON + i * (MINUTE - 30 * SECOND / 1000)};

		wall_clock_add(&clock, &slewed);
	}
	assert_int_equal(clock.count, 100);
	assert_false(wall_clock_step(&clock, 0, UINT64_MAX, &step));
	wall_clock_free(&clock);
	clock = stepped();
	/* Of those within alone: a step at the very end changes no time. */
	assert_false(wall_clock_step(&clock, START, START + MINUTE, &step));
	assert_true(wall_clock_step(&clock, START, START + MINUTE + 1, &step));
	assert_int_equal(step.at_ns, START + MINUTE);
	assert_true(step.by_ns == -(__s64)(30 * SECOND));
	assert_false(wall_clock_step(&clock, START + 2 * MINUTE, UINT64_MAX, &step));
	wall_clock_free(&clock);
}

static void a_step_is_told_from_slewing(void **state)
{
	const struct clock_anchor before = {SECOND, NOON},
				  slewed = {2 * SECOND, NOON + SECOND + 500000},
				  forward = {2 * SECOND, NOON + SECOND + 2000000},
				  back = {2 * SECOND, NOON + SECOND - 2000000};

	assert_false(host_clock_stepped(&before, &slewed));
	assert_true(host_clock_stepped(&before, &forward));
	assert_true(host_clock_stepped(&before, &back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_is_told_by_the_anchor_before_it),
		cmocka_unit_test(there_and_back_finds_every_time),
		cmocka_unit_test(one_fault_has_one_time_in_every_table),
		cmocka_unit_test(sentences_and_summaries_say_the_same),
		cmocka_unit_test(since_its_own_time_finds_a_fault),
		cmocka_unit_test(a_report_says_that_the_clock_was_set),
		cmocka_unit_test(what_is_slewed_is_no_step),
		cmocka_unit_test(a_step_is_told_from_slewing),
	};

	return cmocka_run_group_tests(tests, record, scratch_remove);
}
