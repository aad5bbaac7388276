// SPDX-License-Identifier: GPL-2.0
/* When a guest's traffic is steady, and its slowest 100 ms. */
#include "tests/unit/test.h"

#include <string.h>

#include "injectors/emu/nic/frame_windows.h"

#define WINDOW (100 * MS)
#define BEGIN  (1000 * SECOND)

static struct frame_windows windows;

/* A frame of so many bytes at the beginning of each window; 0: none. One of 1 byte ends the last. */
static void play(const __u32 *bytes, size_t count)
{
	memset(&windows, 0, sizeof(windows));
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			frame_windows_add(&windows, BEGIN + i * WINDOW, bytes[i]);
	frame_windows_add(&windows, BEGIN + count * WINDOW, 1);
}

static __u64 least(void)
{
	__u64 bytes;

	assert_true(frame_windows_least(&windows, &bytes));
	return bytes;
}

static void one_that_flows_is_steady_at_once(void **state)
{
	const __u32 even[] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100};

	play(even, COUNT(even));
	assert_int_equal(frame_windows_steady_ns(&windows), WINDOW);
	assert_int_equal(least(), 100);
}

static void one_that_starts_slowly_is_steady_later(void **state)
{
	const __u32 slow[] = {10, 20, 40, 60, 80, 100, 100, 100, 100, 100, 100};

	play(slow, COUNT(slow));
	/* 60 + 80 + 3 * 100 is the first half second with 400 of 500 or more. */
	assert_int_equal(frame_windows_steady_ns(&windows), 4 * WINDOW);
	assert_int_equal(least(), 10);
}

/* A cold ring: a frame now and then, timeouts, and at last all at once. More than half of its windows are empty. */
static void one_that_waits_out_timeouts_is_steady_when_they_end(void **state)
{
	__u32 cold[53] = {0};

	for (size_t i = 0; i < 48; i += 7)
		cold[i] = 5;
	for (size_t i = 48; i < 53; i++)
		cold[i] = 100;
	play(cold, COUNT(cold));
	/* Four of five full ones are 80%. */
	assert_int_equal(frame_windows_steady_ns(&windows), 48 * WINDOW);
	assert_int_equal(least(), 0);
}

static void too_short_is_not_known(void **state)
{
	const __u32 four[] = {100, 100, 100, 100}, five[] = {100, 100, 100, 100, 100};
	__u64 bytes;

	play(four, COUNT(four));
	assert_int_equal(frame_windows_steady_ns(&windows), 0);
	play(five, COUNT(five));
	assert_int_equal(frame_windows_steady_ns(&windows), WINDOW);
	memset(&windows, 0, sizeof(windows));
	assert_int_equal(frame_windows_steady_ns(&windows), 0);
	assert_false(frame_windows_least(&windows, &bytes));
}

/* Held frames are delivered now, those that are not when they came: that may be before. */
static void a_frame_from_before_counts_now(void **state)
{
	memset(&windows, 0, sizeof(windows));
	frame_windows_add(&windows, BEGIN, 7);
	frame_windows_add(&windows, BEGIN - 1, 11);
	frame_windows_add(&windows, BEGIN + 2 * WINDOW, 13);
	frame_windows_add(&windows, BEGIN + WINDOW, 17);
	assert_int_equal(windows.begin_ns, BEGIN);
	assert_int_equal(windows.end_ns, BEGIN + 2 * WINDOW);
	assert_int_equal(windows.bytes[0], 18);
	assert_int_equal(windows.bytes[2], 30);
	assert_int_equal(least(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_flows_is_steady_at_once),
		cmocka_unit_test(one_that_starts_slowly_is_steady_later),
		cmocka_unit_test(one_that_waits_out_timeouts_is_steady_when_they_end),
		cmocka_unit_test(too_short_is_not_known),
		cmocka_unit_test(a_frame_from_before_counts_now),
	};

	return cmocka_run_group_tests_name("frame_windows", tests, NULL, NULL);
}
