// SPDX-License-Identifier: GPL-2.0
/* What an objective that was violated names as its cause. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

#include "lib/analyze/histogram.h"
#include "tests/unit/slo_rig.h"

static void the_fault_that_stood_in_the_way_is_the_cause(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct slo_rig s;

	slo_rig_begin(
		&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 99});
	slo_rig_fault(&s, 1, 100 * SECOND + 200 * MS);
	slo_rig_slow_io(&s, 100 * SECOND + 209 * MS, 10 * MS, 2);
	/* Slow at another time, and slow on another queue: this fault is not their cause. */
	slo_rig_slow_io(&s, 100 * SECOND + 700 * MS, 10 * MS, 2);
	slo_rig_slow_io(&s, 100 * SECOND + 205 * MS, 10 * MS, 3);
	slo_rig_window(&s, 100, 101, 3);
	slo_rig_window(&s, 101, 101, 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	v = slo_violation(s.slo, 0);
	assert_int_equal(v->metric, SLO_LATENCY);
	assert_int_equal(v->from_ns, 100 * SECOND);
	assert_int_equal(v->ios, 101);
	assert_int_equal(v->slow_ios, 3);
	assert_int_equal(v->overlapped_ios, 1);
	assert_int_equal(v->faults, 1);
	assert_int_equal(v->stage, STAGE_RESOLVE);
	assert_int_equal(v->longest.instance, 1);
	assert_string_equal(slo_cause(v, s.session, text),
			    "1 of 3 slow I/Os overlapped 1 fault; resolve took "
			    "8.00ms of their 8.01ms (100%)");
	slo_rig_end(&s);
}

/* A window of one kind of I/Os between target and what is recorded one by one, and of slower ones. */
static void window_of(struct slo_rig *s, __u64 number, const struct aggregate_bin *bins,
		      __u32 count, __u64 max_ns)
{
	struct aggregate_row row = {
		.key = {.window = number, .device = 1, .kind = EVENT_IO_COMPLETE},
		.counts = {.latency_max_ns = max_ns},
		.bins = count,
	};
	const struct aggregate_frame frame = {
		.window = number, .rows = &row, .row_count = 1, .bins = bins, .bin_count = count};

	for (__u32 i = 0; i < count; i++)
		row.counts.count += bins[i].count;
	assert_int_equal(slo_stream(s->slo).ops->aggregate(s->slo, &frame), 0);
}

static void ios_between_target_and_recording_count_as_slow(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct slo_rig s;

	slo_rig_begin(
		&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 50});
	/* 13 of 20 ms, which a fault overlapped, and 7 of 7 ms, which were only counted. */
	slo_rig_fault(&s, 1, 100 * SECOND + 200 * MS);
	for (int i = 0; i < 13; i++)
		slo_rig_slow_io(&s, 100 * SECOND + 209 * MS, 20 * MS, 2);
	window_of(&s, 100,
		  (struct aggregate_bin[]){{histogram_bucket(MS), 11},
					   {histogram_bucket(7 * MS), 7},
					   {histogram_bucket(20 * MS), 13}},
		  3, 20 * MS);
	/* Next to the target: nobody knows on which side of it. */
	window_of(&s, 101,
		  (struct aggregate_bin[]){{histogram_bucket(5 * MS), 3},
					   {histogram_bucket(7 * MS), 7}},
		  2, 7 * MS);
	/* The slowest is known exactly, though its bucket is the target's. */
	window_of(&s, 102, (struct aggregate_bin[]){{histogram_bucket(5 * MS), 1}}, 1, 5 * MS + 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 3);
	v = slo_violation(s.slo, 0);
	assert_int_equal(v->ios, 31);
	assert_int_equal(v->slow_ios, 20);
	assert_int_equal(v->recorded_ios, 13);
	assert_int_equal(v->overlapped_ios, 13);
	assert_false(v->slow_floor);
	assert_non_null(strstr(slo_cause(v, s.session, text),
			       "13 of 20 slow I/Os (13 recorded one by one) "
			       "overlapped 1 fault; resolve took"));
	v = slo_violation(s.slo, 1);
	assert_int_equal(v->slow_ios, 7);
	assert_true(v->slow_floor);
	assert_non_null(strstr(slo_cause(v, s.session, text),
			       "none of at least 7 slow I/Os was recorded one "
			       "by one"));
	v = slo_violation(s.slo, 2);
	assert_int_equal(v->slow_ios, 1);
	assert_false(v->slow_floor);
	slo_rig_end(&s);
}

static void a_part_of_an_io_is_no_slow_io(void **state)
{
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	slo_rig_fault(&s, 1, 100 * SECOND + 200 * MS);
	slo_rig_slow_io(&s, 100 * SECOND + 209 * MS, 10 * MS, 2);
	slo_rig_push(&s, &(struct event){.time_ns = 100 * SECOND + 209 * MS,
					 .kind = EVENT_IO_COMPLETE,
					 .device = 1,
					 .queue = 2,
					 .value = 10 * MS,
					 .code = IO_FAULTED | IO_PART | IO_SOURCE});
	slo_rig_window(&s, 100, 101, 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violation(s.slo, 0)->recorded_ios, 1);
	assert_int_equal(slo_violation(s.slo, 0)->overlapped_ios, 1);
	slo_rig_end(&s);
}

static void no_overlap_is_said(void **state)
{
	char text[SLO_CAUSE_TEXT];
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	slo_rig_fault(&s, 1, 100 * SECOND + 200 * MS);
	slo_rig_slow_io(&s, 100 * SECOND + 700 * MS, 10 * MS, 2);
	slo_rig_window(&s, 100, 101, 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_string_equal(slo_cause(slo_violation(s.slo, 0), s.session, text),
			    "no fault overlapped");
	slo_rig_end(&s);
}

static void slow_ios_that_were_only_counted_have_no_known_cause(void **state)
{
	char text[SLO_CAUSE_TEXT];
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	slo_rig_fault(&s, 1, 100 * SECOND + 200 * MS);
	slo_rig_window(&s, 100, 101, 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_non_null(strstr(slo_cause(slo_violation(s.slo, 0), s.session, text), "one by one"));
	slo_rig_end(&s);
}

/*
 * I/Os behind faults, each alone on its queue, and later in the window `others` of both that have nothing to do with
 * each other: faults of queue 2, I/Os of queue 3.
 */
static void crowded_window(struct slo_rig *s, const char *cause, __u64 dropped, __u32 others)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];

	slo_rig_begin(s, (struct slo_objective){.latency_target_ns = 5 * MS});
	for (__u32 i = 0; i < 4; i++) {
		slo_rig_fault(s, i + 1, 100 * SECOND + i * (100 * MS));
		slo_rig_slow_io(s, 100 * SECOND + i * (100 * MS) + 9 * MS, 10 * MS, 2);
	}
	for (__u32 i = 0; i < others; i++) {
		slo_rig_fault(s, i + 10, 100 * SECOND + 500 * MS + i * 5000ull);
		slo_rig_slow_io(s, 100 * SECOND + 511 * MS + i * 5000ull, 10 * MS, 3);
	}
	slo_rig_window(s, 100, others + 13, others + 4);
	slo_rig_finish(s);
	assert_int_equal(slo_violations(s->slo), 1);
	v = slo_violation(s->slo, 0);
	if (!strstr(slo_cause(v, s->session, text), cause))
		fail_msg("%s", text);
	assert_int_equal(slo_dropped(s->slo), dropped);
	assert_int_equal(v->not_kept_ios != 0, dropped);
	assert_int_equal(v->not_kept_faults != 0, dropped);
	slo_rig_end(s);
}

static void what_came_later_makes_no_fault_forgotten(void **state)
{
	struct slo_rig s;

	crowded_window(&s, "4 of 20004 slow I/Os overlapped 4 faults; resolve took 32.0ms of", 0,
		       20000);
}

/* Neither acquitted nor called not recorded, and the numbers are floors. */
static void what_was_not_kept_is_said(void **state)
{
	struct slo_rig s;

	crowded_window(&s,
		       "no fault that was kept overlapped the 65536 of 66004 slow I/Os that were "
		       "kept one by one; 468 slow I/Os and 468 faults that ended by ",
		       1, 66000);
}

/* Until it is judged, what a window or a burst began with is not forgotten, however long it lasts. */
static void long_windows_keep_their_causes(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.min_iops = 100,
						 .has_burst = true,
						 .burst = 5,
						 .latency_target_ns = 5 * MS,
						 .window_ns = 50 * SECOND});
	slo_rig_window(&s, 49, 1, 0);
	for (__u32 i = 0; i < 1000; i++)
		slo_rig_fault(&s, i + 1, 50 * SECOND + i * (100 * MS));
	slo_rig_slow_io(&s, 151 * SECOND, 100 * SECOND, 2);
	slo_rig_window(&s, 150, 101, 1);
	slo_rig_window(&s, 200, 101, 0);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 4);
	assert_null(slo_violation(s.slo, 4));
	for (size_t i = 0; i < 4; i++) {
		v = slo_violation(s.slo, i);
		slo_cause(v, s.session, text);
		if (v->metric == SLO_BURST || v->from_ns == 50 * SECOND)
			assert_int_equal(v->faults, 1000);
		else if (v->metric == SLO_LATENCY) /* most of it long before its window */
			assert_int_equal(v->overlapped_ios, 1);
		assert_int_equal(strstr(text, "at least") != NULL, v->not_kept_faults != 0);
	}
	slo_rig_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fault_that_stood_in_the_way_is_the_cause),
		cmocka_unit_test(no_overlap_is_said),
		cmocka_unit_test(ios_between_target_and_recording_count_as_slow),
		cmocka_unit_test(a_part_of_an_io_is_no_slow_io),
		cmocka_unit_test(slow_ios_that_were_only_counted_have_no_known_cause),
		cmocka_unit_test(what_came_later_makes_no_fault_forgotten),
		cmocka_unit_test(what_was_not_kept_is_said),
		cmocka_unit_test(long_windows_keep_their_causes),
	};

	return cmocka_run_group_tests_name("slo_cause", tests, NULL, NULL);
}
