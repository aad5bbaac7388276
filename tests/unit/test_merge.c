// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/capture/merge.h"

#define START 1000000000ull

static struct merge *merge;

static void push(size_t source, __u64 time_ns)
{
	struct event event = {.time_ns = time_ns, .kind = EVENT_CPU_FAULT, .cpu = source};

	assert_int_equal(merge_push(merge, source, &event), 0);
}

static int three_sources(void **state)
{
	return merge_create(&merge, 3);
}

static int destroy(void **state)
{
	merge_destroy(merge);
	return 0;
}

static void events_of_many_sources_come_out_by_time(void **state)
{
	struct event out[1009];
	size_t taken = 0, count;
	__u64 seed = 7;

	for (size_t i = 0; i < 1009; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		push((seed >> 33) % 3, START + 10 * i);
	}
	do {
		count = merge_take(merge, UINT64_MAX, out + taken, 97);
		taken += count;
	} while (count == 97);
	assert_int_equal(taken, 1009);
	for (size_t i = 0; i < taken; i++)
		assert_int_equal(out[i].time_ns, START + 10 * i);
	assert_int_equal(merge_held(merge), 0);
	assert_int_equal(merge_late(merge), 0);
}

static void nothing_is_released_beyond_the_lowest_promise(void **state)
{
	__u64 now = START + 1000 * MERGE_SLACK_NS;
	struct event out[8];

	push(0, START);
	push(1, START + 10 * MERGE_SLACK_NS);
	push(0, START + 20 * MERGE_SLACK_NS);
	merge_promise(merge, 0, now);
	merge_promise_last(merge, 1); /* a record of source 1 is still being written */
	merge_promise(merge, 2, now);
	assert_int_equal(merge_watermark(merge, now), START + 9 * MERGE_SLACK_NS);
	assert_int_equal(merge_take(merge, merge_watermark(merge, now), out, 8), 1);
	assert_int_equal(out[0].time_ns, START);
	assert_int_equal(merge_held(merge), 2);
}

static void a_record_in_the_making_does_not_hold_others_for_ever(void **state)
{
	__u64 now = START;

	push(1, START);
	merge_promise_last(merge, 1);
	now += 2 * MERGE_HOLD_NS;
	merge_promise(merge, 0, now);
	merge_promise(merge, 2, now);
	assert_int_equal(merge_watermark(merge, now), now - MERGE_HOLD_NS - MERGE_SLACK_NS);
}

static void a_late_event_is_kept_marked_and_counted(void **state)
{
	__u64 now = START + 100 * MERGE_SLACK_NS;
	struct event out[8];

	for (size_t source = 0; source < 3; source++)
		merge_promise(merge, source, now);
	push(0, START + MERGE_SLACK_NS);
	assert_int_equal(merge_take(merge, merge_watermark(merge, now), out, 8), 1);
	push(1, START); /* had been reserved before, stamped long ago */
	push(0, now);
	assert_int_equal(merge_late(merge), 1);
	assert_int_equal(merge_take(merge, UINT64_MAX, out, 8), 2);
	assert_int_equal(out[0].time_ns, START);
	assert_true(out[0].flags & EVENT_LATE);
	assert_false(out[1].flags & EVENT_LATE);
}

static void small_disorder_within_a_source_is_repaired(void **state)
{
	static const int order[] = {0, 2, 1, 5, 4, 3, 6};
	struct event out[8];

	for (size_t i = 0; i < 7; i++)
		push(0, START + order[i]);
	assert_int_equal(merge_take(merge, UINT64_MAX, out, 8), 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(out[i].time_ns, START + i);
	assert_int_equal(merge_late(merge), 0);
}

/* As after a recorder stood still: the logs of all machines come through one source, one behind the other. */
static void backlogs_of_many_machines_are_ordered_in_time(void **state)
{
	enum { MACHINES = 16, EACH = 8192, DOUBLINGS = 4 /* 2^4 machines */ };
	struct event *out = malloc(MACHINES * EACH * sizeof(*out));
	const __u64 events = (__u64)MACHINES * EACH;

	assert_non_null(out);
	for (size_t machine = 0; machine < MACHINES; machine++)
		for (size_t i = 0; i < EACH; i++)
			push(2, START + i * MACHINES + machine);
	assert_int_equal(merge_take(merge, UINT64_MAX, out, events), events);
	for (size_t i = 0; i < events; i++)
		assert_int_equal(out[i].time_ns, START + i);
	/* One look at each for the runs, a move for each doubling; an insertion each took 10^9 of them. */
	assert_in_range(merge_work(merge), events, events * (DOUBLINGS + 2));
	free(out);
}

/* While all is watched, each pass brings a little of each machine behind what waits already. */
static void little_by_little_costs_no_more(void **state)
{
	enum { MACHINES = 16, PASSES = 500, EACH = 20 };
	const __u64 events = (__u64)MACHINES * PASSES * EACH;
	struct event out[4096];
	__u64 taken = 0;

	for (size_t pass = 0; pass < PASSES; pass++) {
		__u64 begin = START + pass * EACH * MACHINES;

		for (size_t machine = 0; machine < MACHINES; machine++)
			for (size_t i = 0; i < EACH; i++)
				push(2, begin + i * MACHINES + machine);
		/* Three passes behind: what waits is more than what comes. */
		taken += merge_take(merge, begin - 3 * EACH * MACHINES, out, 4096);
	}
	assert_true(taken < events);
	assert_in_range(merge_work(merge), events, events * (4 + 3));
}

/* Any order, many of one time: as a stable sort has it, whatever was taken in between. */
static void any_order_comes_out_sorted_and_stable(void **state)
{
	struct event out[700];
	__u64 seed = 11;

	for (size_t round = 0; round < 200; round++) {
		size_t count = 1 + round * 3, back = 1 + round % 40, taken;

		for (size_t i = 0; i < count; i++) {
			struct event event = {.instance = i};

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			event.time_ns = START + i / 4 + back - (seed >> 33) % back;
			assert_int_equal(merge_push(merge, round % 3, &event), 0);
			if (i % 50 == 49)
				assert_int_equal(merge_take(merge, 0, out, 1), 0);
		}
		taken = merge_take(merge, UINT64_MAX, out, count);
		assert_int_equal(taken, count);
		for (size_t i = 1; i < count; i++)
			assert_true(out[i - 1].time_ns < out[i].time_ns ||
				    (out[i - 1].time_ns == out[i].time_ns &&
				     out[i - 1].instance < out[i].instance));
	}
}

static void a_backlog_is_taken_in_portions(void **state)
{
	struct event out[13];
	__u64 expected = START;
	size_t count, total = 0;

	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < 5003; i++)
			push(i % 2, START + round * 5003 + i);
		do {
			count = merge_take(merge, START + round * 5003 + 4000, out, 13);
			for (size_t i = 0; i < count; i++)
				assert_int_equal(out[i].time_ns, expected++);
			total += count;
		} while (count == 13);
	}
	assert_int_equal(total + merge_held(merge), 3 * 5003);
	assert_int_equal(merge_held(merge), 5003 - 4001);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, three_sources, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_many_sources_come_out_by_time),
		TEST(nothing_is_released_beyond_the_lowest_promise),
		TEST(a_record_in_the_making_does_not_hold_others_for_ever),
		TEST(a_late_event_is_kept_marked_and_counted),
		TEST(small_disorder_within_a_source_is_repaired),
		TEST(backlogs_of_many_machines_are_ordered_in_time),
		TEST(little_by_little_costs_no_more),
		TEST(any_order_comes_out_sorted_and_stable),
		TEST(a_backlog_is_taken_in_portions),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
