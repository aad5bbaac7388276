// SPDX-License-Identifier: GPL-2.0
/* A flight recorder answers for what it kept and says what it let go: events, segments, time. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/histogram.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"
#include "tests/unit/verbs.h"

#define START	 (100 * SECOND) /* 2026-11-21T14:00:00Z */
#define WALL	 (1795269600 * SECOND)
#define INTERVAL 1000000ull
#define EVENTS	 60007u /* a minute */
#define KEEP	 (8 * SECOND)
#define SLOW	 16800000ull /* an I/O: more than record --slow's 10 ms */
#define SLOW_IOS 9

static char recording[64], snapshot[64];

static int setup(void **state)
{
	if (scratch_make(state))
		return -1;
	snprintf(recording, sizeof(recording), "%s/always.flt", scratch);
	snprintf(snapshot, sizeof(snapshot), "%s/snapshot.flt", scratch);
	return 0;
}

/* A minute of `kind`; with `keep_ns` the recorder holds the end of it. */
static void record(__u16 kind, __u64 keep_ns, struct kept_info *kept)
{
	const struct trace_writer_config config = {
		.path = recording, .overwrite = true, .keep_ns = keep_ns};
	const struct host_info host = {.hostname = "node", .start_ns = START};
	const struct clock_anchor anchor = {START, WALL};
	const struct loss_info loss = {.produced = EVENTS, .received = EVENTS};
	struct trace_writer_stats stats;
	struct trace_writer *writer;
	struct stream stream;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	stream.ops->host(stream.self, &host);
	stream.ops->clock(stream.self, &anchor);
	for (__u32 i = 0; i < EVENTS; i++) {
		const struct event e = {.time_ns = START + i * INTERVAL, .kind = kind, .pid = 9};

		stream_events(stream, &e, 1);
		if (i % 499 == 498)
			assert_int_equal(trace_writer_flush(writer), 0);
	}
	stream.ops->loss(stream.self, &loss);
	stream.ops->end(stream.self, START + EVENTS * INTERVAL);
	trace_writer_stats(writer, &stats);
	*kept = stats.kept;
	assert_int_equal(trace_writer_close(writer), 0);
}

struct told {
	struct kept_info kept;
	size_t calls;
	__u64 events, first_ns;
};

static int take_kept(void *self, const struct kept_info *kept)
{
	struct told *told = self;

	told->kept = *kept;
	told->calls++;
	return 0;
}

static int take_events(void *self, const struct event *events, size_t count)
{
	struct told *told = self;

	if (!told->events)
		told->first_ns = events[0].time_ns;
	told->events += count;
	return 0;
}

static struct told read_told(const char *path)
{
	static const struct stream_ops ops = {.kept = take_kept, .events = take_events};
	const struct trace_read_config reading = {.path = path};
	struct told told = {.calls = 0};

	assert_int_equal(trace_read(&reading, (struct stream){&ops, &told}), 0);
	return told;
}

/* What was kept and what was let go are everything, and meet where it is said. */
static void assert_meets(const struct told *told)
{
	assert_int_equal(told->calls, 1);
	assert_true(told->events > 0 && told->kept.events > 0);
	assert_int_equal(told->events + told->kept.events, EVENTS);
	assert_int_equal(told->kept.events, (told->first_ns - START) / INTERVAL);
	assert_true(told->kept.from_ns <= told->first_ns &&
		    told->kept.from_ns + INTERVAL >= told->first_ns);
}

static void kept_and_let_go_are_everything(void **state)
{
	struct kept_info kept;
	struct told told;

	record(EVENT_CPU_FAULT, KEEP, &kept);
	told = read_told(recording);
	assert_meets(&told);
	assert_true(told.kept.segments > 10);
	assert_memory_equal(&kept, &told.kept, sizeof(kept));
	/* A second recorder in the place of the first numbers its segments on, but counts its own. */
	record(EVENT_CPU_FAULT, 3 * KEEP, &kept);
	told = read_told(recording);
	assert_meets(&told);
	assert_in_range(told.kept.segments, 5, 20);
}

static void what_lets_nothing_go_says_nothing(void **state)
{
	struct kept_info kept;
	struct told told;

	record(EVENT_CPU_FAULT, 0, &kept);
	told = read_told(recording);
	assert_int_equal(told.calls, 0);
	assert_int_equal(told.events, EVENTS);
	record(EVENT_CPU_FAULT, 1000 * SECOND, &kept);
	told = read_told(recording);
	assert_int_equal(told.kept.from_ns, 0);
	assert_int_equal(told.events, EVENTS);
	assert_int_equal(kept.from_ns, 0);
}

static void a_snapshot_says_what_it_leaves_out(void **state)
{
	/* Within a frame. */
	const __u64 since = START + 55 * SECOND + 7 * INTERVAL / 2;
	struct kept_info kept;
	struct told ring, told;

	record(EVENT_CPU_FAULT, KEEP, &kept);
	ring = read_told(recording);
	assert_int_equal(trace_snapshot(recording, snapshot, true, since, 0), 0);
	told = read_told(snapshot);
	assert_int_equal(told.calls, 1);
	assert_int_equal(told.events + told.kept.events, EVENTS);
	assert_int_equal(told.kept.segments, ring.kept.segments);
	assert_int_equal(told.kept.from_ns, since);
	assert_int_equal(told.first_ns, since + INTERVAL / 2);
	/* It reaches back beyond what there is: then it holds as much as the recorder. */
	assert_int_equal(trace_snapshot(recording, snapshot, true, START, 0), 0);
	told = read_told(snapshot);
	assert_int_equal(told.calls, 1);
	assert_memory_equal(&told.kept, &ring.kept, sizeof(told.kept));
}

static void assert_says(const char *command, const char *path, int status, const char *const *says)
{
	char line[256];
	struct verb_run run;

	snprintf(line, sizeof(line), command, path);
	run = verb_run(line);
	for (char *at = run.out; (at = strchr(at, '\n'));)
		*at = ' ';
	if (run.status != status)
		fail_msg("%s ends with %d: %s", line, run.status, run.err);
	for (; *says; says++)
		if (!strstr(run.out, *says))
			fail_msg("%s does not say '%s': %s", line, *says, run.out);
	verb_run_free(&run);
}

/* "2026-11-21 14:00:52.123 UTC" */
static void when(__u64 ns, char text[64])
{
	__u64 ms = (ns - START) / 1000000;

	snprintf(text, 64, "2026-11-21 14:%02llu:%02llu.%03llu UTC", ms / 60000, ms / 1000 % 60,
		 ms % 1000);
}

static void the_negative_answer_is_of_what_was_kept(void **state)
{
	char kept_from[64], zero[128], gone[128], events[64], segments[64];
	struct kept_info kept;
	struct told told;

	record(EVENT_CPU_FAULT, KEEP, &kept);
	told = read_told(recording);
	when(told.kept.from_ns, kept_from);
	snprintf(zero, sizeof(zero), "0 page requests between %s and 2026-11-21 14:01:00.007 UTC",
		 kept_from);
	snprintf(gone, sizeof(gone), "Kept is what came after %s.", kept_from);
	snprintf(events, sizeof(events), "%llu events in %llu segments", told.kept.events,
		 told.kept.segments);
	/* Nothing was lost of it: no floor. */
	assert_says("report %s", recording, EXIT_OK,
		    (const char *const[]){zero, gone, events, NULL});
	assert_says("report %s --table summary", recording, EXIT_OK,
		    (const char *const[]){gone, events, NULL});
	assert_says("footprint %s", recording, EXIT_OK, (const char *const[]){gone, events, NULL});
	assert_says("timeline %s", recording, EXIT_OK, (const char *const[]){gone, events, NULL});
	snprintf(events, sizeof(events), "\"let_go_events\":\"%llu\"", told.kept.events);
	snprintf(segments, sizeof(segments), "\"let_go_segments\":\"%llu\"", told.kept.segments);
	assert_says("report %s --json", recording, EXIT_OK,
		    (const char *const[]){events, segments, "\"floor\":\"no\"",
					  "\"complete\":\"no: what was before kept_from", NULL});
	snprintf(events, sizeof(events), "let_go_events,%llu ", told.kept.events);
	snprintf(segments, sizeof(segments), "let_go_segments,%llu ", told.kept.segments);
	assert_says("report %s --csv=- --table loss", recording, EXIT_OK,
		    (const char *const[]){events, segments, "let_go_ns,5", NULL});
	/* What has no beginning began before that, and not before the recording. */
	record(EVENT_FAULT_OVERFLOW, KEEP, &kept);
	assert_says("report %s", recording, EXIT_OK,
		    (const char *const[]){" began before what was kept.", NULL});
	/* Of a whole recording nothing of the kind is said. */
	record(EVENT_CPU_FAULT, 0, &kept);
	assert_says("report %s", recording, EXIT_OK,
		    (const char *const[]){"between 2026-11-21 14:00:00.000 UTC and", NULL});
	assert_says("report %s --json", recording, EXIT_OK,
		    (const char *const[]){"\"complete\":\"yes\"", NULL});
}

/*
 * A minute with nine slow I/Os at the begin of each second, counted when it is over. The time between
 * them is filled, so that what is kept begins somewhere within a second.
 */
static void record_ios(__u64 keep_ns)
{
	const struct trace_writer_config config = {
		.path = recording, .overwrite = true, .keep_ns = keep_ns};
	const struct loss_info loss = {.produced = 1, .received = 1};
	struct trace_writer *writer;
	struct stream stream = recording_begin(&writer, &config, START, WALL);

	for (__u64 at = START; at < START + 60 * SECOND; at += SECOND / 100) {
		const struct event io = {.time_ns = at + SLOW,
					 .kind = EVENT_IO_COMPLETE,
					 .device = 1,
					 .queue = 1,
					 .value = SLOW};
		const struct event other = {.time_ns = at + SLOW, .kind = EVENT_CPU_FAULT};
		bool slow = at % SECOND / (SECOND / 100) < SLOW_IOS;

		stream_events(stream, slow ? &io : &other, 1);
		assert_int_equal(trace_writer_flush(writer), 0);
		if (at % SECOND == 99 * (SECOND / 100)) {
			const struct aggregate_bin bin = {histogram_bucket(SLOW), SLOW_IOS};
			const struct aggregate_row row = {
				.key = {.window = at / SECOND,
					.device = 1,
					.kind = EVENT_IO_COMPLETE},
				.counts = {.count = SLOW_IOS, .latency_max_ns = SLOW},
				.bins = 1};
			const struct aggregate_frame frame = {.window = at / SECOND,
							      .rows = &row,
							      .row_count = 1,
							      .bins = &bin,
							      .bin_count = 1};

			stream.ops->aggregate(stream.self, &frame);
		}
	}
	stream.ops->loss(stream.self, &loss);
	stream.ops->end(stream.self, START + 60 * SECOND);
	assert_int_equal(trace_writer_close(writer), 0);
}

/* That no I/O was recorded one by one is not the fault of the limit: these were, and are not there any more. */
static void a_cause_that_was_let_go_is_not_made_up(void **state)
{
	char kept_from[64], first[192], objectives[128], line[256];
	struct verb_run run;
	__u64 from_ns;
	FILE *file;

	snprintf(objectives, sizeof(objectives), "%s/slo.ini", scratch);
	file = fopen(objectives, "w");
	assert_non_null(file);
	fputs("[slo gold]\nlatency_target = 2ms\n", file);
	fclose(file);
	record_ios(KEEP);
	from_ns = read_told(recording).kept.from_ns;
	/* Within a second, after its slow I/Os: their count is there and they are not. */
	assert_true(from_ns % SECOND > SECOND / 5);
	when(from_ns, kept_from);
	snprintf(first, sizeof(first),
		 "none of 9 slow I/Os is known one by one; what was recorded one by one before %s "
		 "was not kept",
		 kept_from);
	snprintf(line, sizeof(line), "slo %%s -c %s", objectives);
	assert_says(line, recording, EXIT_EXPECT,
		    (const char *const[]){first, "Cause: no fault overlapped.",
					  "Kept is what came after", NULL});
	snprintf(line, sizeof(line), "slo %s -c %s --csv=- --table violations", recording,
		 objectives);
	run = verb_run(line);
	assert_int_equal(run.status, EXIT_EXPECT);
	assert_non_null(strstr(run.out, first));
	assert_null(strstr(run.out, "lower slow-I/O limit"));
	/* Of that second only. */
	assert_null(strstr(strstr(run.out, first) + strlen(first), "was not kept"));
	assert_non_null(strstr(run.err, "Kept is what came after"));
	verb_run_free(&run);
	/* Those that were never recorded one by one are another matter. */
	record_ios(0);
	snprintf(line, sizeof(line), "slo %%s -c %s", objectives);
	assert_says(line, recording, EXIT_EXPECT,
		    (const char *const[]){"Cause: no fault overlapped.", NULL});
}

/* top begins where what was kept begins, and says so: the time before it was no time without faults. */
static void top_is_of_what_was_kept(void **state)
{
	char kept_from[64], gone[128];
	struct kept_info kept;
	struct verb_run run;
	__u64 from_ns;

	/* A whole recording, a flight recorder's, and what a trigger saved of it. */
	for (int how = 0; how < 3; how++) {
		const char *path = how == 2 ? snapshot : recording;
		char first[UNITS_TEXT], line[256];
		int flight = how > 0;

		record(EVENT_CPU_FAULT, flight ? KEEP : 0, &kept);
		if (how == 2)
			assert_int_equal(
				trace_snapshot(recording, snapshot, true, START + 57 * SECOND, 0),
				0);
		from_ns = flight ? read_told(path).kept.from_ns : START;
		when(from_ns, kept_from);
		snprintf(gone, sizeof(gone), "Kept is what came after %s.", kept_from);
		snprintf(line, sizeof(line), "top -b -i %s 1", path);
		run = verb_run(line);
		assert_int_equal(run.status, EXIT_OK);
		for (char *at = run.out; (at = strchr(at, '\n'));)
			*at = ' ';
		if ((strstr(run.out, gone) != NULL) != flight)
			fail_msg("%s says: %s", line, run.out);
		verb_run_free(&run);
		snprintf(line, sizeof(line), "top -i %s --csv 1", path);
		run = verb_run(line);
		assert_int_equal(run.status, EXIT_OK);
		if ((strstr(run.err, gone) != NULL) != flight)
			fail_msg("%s says: %s", line, run.err);
		/* The first row is of the first second. */
		units_format_time(WALL + from_ns + SECOND - START, first);
		assert_non_null(strchr(run.out, '\n'));
		if (strncmp(strchr(run.out, '\n') + 1, first, strlen(first)) != 0)
			fail_msg("%s does not begin with %s: %.200s", line, first, run.out);
		verb_run_free(&run);
	}
}

/* The second in which a recording ends is closed early: its frame's time lies ahead of all others. */
static void the_last_window_takes_nothing_away(void **state)
{
	const struct trace_writer_config config = {
		.path = recording, .overwrite = true, .keep_ns = KEEP};
	const struct aggregate_frame frame = {.window = (START + 60 * SECOND) / SECOND};
	struct trace_writer_stats before, after;
	struct trace_writer *writer;
	struct stream stream;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	for (__u32 i = 0; i < 60; i++) {
		const struct event e = {.time_ns = START + (i + 1) * SECOND,
					.kind = EVENT_CPU_FAULT};

		stream_events(stream, &e, 1);
		assert_int_equal(trace_writer_flush(writer), 0);
	}
	trace_writer_stats(writer, &before);
	assert_true(before.kept.from_ns + KEEP <= START + 60 * SECOND);
	stream.ops->aggregate(stream.self, &frame);
	trace_writer_stats(writer, &after);
	assert_memory_equal(&before.kept, &after.kept, sizeof(before.kept));
	assert_int_equal(trace_writer_close(writer), 0);
}

static void a_window_before_it_holds_nothing(void **state)
{
	struct kept_info kept;

	record(EVENT_CPU_FAULT, KEEP, &kept);
	assert_says("report %s --since 14:00:01 --until 14:00:02", recording, EXIT_OK,
		    (const char *const[]){"Nothing was recorded in the time asked for", NULL});
}

/* Nobody reads notes beside tables: there it is said on standard error, and is no loss. */
static void tables_have_it_said_beside_them(void **state)
{
	static const char *const forms[] = {"report %s --csv=- --table summary",
					    "timeline %s --csv=-", "footprint %s --json",
					    "doctor %s --csv=- --table probes"};
	char line[256], kept_from[64], says[128];
	struct kept_info kept;

	for (int flight = 0; flight < 2; flight++) {
		record(EVENT_CPU_FAULT, flight ? KEEP : 0, &kept);
		when(flight ? read_told(recording).kept.from_ns : START, kept_from);
		snprintf(says, sizeof(says), "faultline: Kept is what came after %s.", kept_from);
		for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
			struct verb_run run;

			snprintf(line, sizeof(line), forms[i], recording);
			run = verb_run(line);
			assert_int_equal(run.status, EXIT_OK);
			if ((strstr(run.err, says) != NULL) != flight)
				fail_msg("%s says: %s", line, run.err);
			assert_true(flight || !*run.err);
			verb_run_free(&run);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_and_let_go_are_everything),
		cmocka_unit_test(what_lets_nothing_go_says_nothing),
		cmocka_unit_test(a_snapshot_says_what_it_leaves_out),
		cmocka_unit_test(the_negative_answer_is_of_what_was_kept),
		cmocka_unit_test(tables_have_it_said_beside_them),
		cmocka_unit_test(a_cause_that_was_let_go_is_not_made_up),
		cmocka_unit_test(top_is_of_what_was_kept),
		cmocka_unit_test(a_window_before_it_holds_nothing),
		cmocka_unit_test(the_last_window_takes_nothing_away),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
