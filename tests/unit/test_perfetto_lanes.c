// SPDX-License-Identifier: GPL-2.0
/* Slices that overlap, on lanes: whatever the order in which they are told, none overlaps another of its track. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/random.h"
#include "tools/perfetto/lanes.h"

#define SLICES 20011

struct rig {
	FILE *file;
	struct packets *packets;
	struct lanes lanes;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct wall_clock clock = {0};

	rig->file = fopen("/dev/null", "w");
	rig->lanes.name = "faults";
	*state = rig;
	return packets_open(&rig->packets, rig->file, "null", &clock, 1);
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	lanes_free(&rig->lanes);
	packets_close(rig->packets);
	fclose(rig->file);
	free(rig);
	return 0;
}

static void one_after_the_other_share_a_lane(void **state)
{
	struct rig *rig = *state;
	__u64 first = lanes_place(&rig->lanes, rig->packets, 10, 20);

	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 20, 20), first);
	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 20, 31), first);
	assert_int_not_equal(lanes_place(&rig->lanes, rig->packets, 30, 40), first);
	assert_int_equal(rig->lanes.count, 2);
}

/* A long one is told after short ones that were within it: it began before they ended. */
static void what_began_before_has_another_lane(void **state)
{
	struct rig *rig = *state;
	__u64 first = lanes_place(&rig->lanes, rig->packets, 10, 20);

	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 30, 40), first);
	assert_int_not_equal(lanes_place(&rig->lanes, rig->packets, 5, 100), first);
	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 45, 50), first);
}

/* The lane is taken that was left last, so that one that began early finds another. */
static void the_lane_that_ended_last_is_taken(void **state)
{
	struct rig *rig = *state;
	__u64 early = lanes_place(&rig->lanes, rig->packets, 0, 15);
	__u64 late = lanes_place(&rig->lanes, rig->packets, 10, 20);

	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 30, 40), late);
	assert_int_equal(lanes_place(&rig->lanes, rig->packets, 18, 45), early);
	assert_int_equal(rig->lanes.count, 2);
}

/* In an order that is nearly that of their ends, as faults come. */
static void none_overlaps(void **state)
{
	struct rig *rig = *state;
	static __u64 until[4 * SLICES];
	struct random random = {7};
	__u64 tracks = 0;

	for (__u64 i = 0; i < SLICES; i++) {
		__u64 from = 100 * i + random_below(&random, 5000);
		__u64 to = from + random_below(&random, 7000) / (1 + random_below(&random, 50));
		__u64 track = lanes_place(&rig->lanes, rig->packets, from, to);

		assert_true(track < 4 * SLICES);
		assert_true(until[track] <= from);
		until[track] = to;
		tracks = track > tracks ? track : tracks;
		for (size_t k = 1; k < rig->lanes.count; k++)
			assert_true(rig->lanes.all[k - 1].until_ns <= rig->lanes.all[k].until_ns);
	}
	/* A dozen are open at once. */
	assert_in_range(tracks, 12, 24);
}

/* More than are remembered: each a track for itself, and the others go on. */
static void more_than_there_is_room_for(void **state)
{
	struct rig *rig = *state;
	__u64 last = 0;

	for (__u64 i = 0; i < LANES_MAX + 1009; i++) {
		__u64 track = lanes_place(&rig->lanes, rig->packets, i, 1000003 + i);

		assert_int_equal(track, last + 1);
		last = track;
	}
	assert_int_equal(rig->lanes.count, LANES_MAX);
	assert_true(lanes_place(&rig->lanes, rig->packets, 2000003, 2000005) <= LANES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_after_the_other_share_a_lane, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_began_before_has_another_lane, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_lane_that_ended_last_is_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(none_overlaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_than_there_is_room_for, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
