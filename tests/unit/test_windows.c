// SPDX-License-Identifier: GPL-2.0
/* Aggregate frames from access-log records, without a kernel. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"
#include "lib/capture/windows.h"

#define START (7 * AGGREGATE_WINDOW_NS)

static struct windows *windows;
static struct {
	size_t frames, rows, pages;
	__u64 window, count, bytes, sum, max, bin_total, reads, writes;
	struct aggregate_page first, last;
	bool sorted, incomplete;
	__u64 of[128]; /* windows from START's on */
} seen;

static int take(void *self, const struct aggregate_frame *frame)
{
	(void)self;
	seen.frames++;
	seen.window = frame->window;
	seen.rows = frame->row_count;
	seen.pages = frame->page_count;
	seen.sorted = true;
	seen.incomplete = frame->incomplete;
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];

		assert_int_equal(row->key.window, frame->window);
		seen.count += row->counts.count;
		seen.of[frame->window - START / AGGREGATE_WINDOW_NS] += row->counts.count;
		seen.bytes += row->counts.bytes;
		seen.sum += row->counts.latency_sum_ns;
		if (seen.max < row->counts.latency_max_ns)
			seen.max = row->counts.latency_max_ns;
		for (__u32 b = 0; b < row->bins; b++) {
			seen.bin_total += frame->bins[row->histogram + b].count;
			if (b && frame->bins[row->histogram + b].bucket <=
					 frame->bins[row->histogram + b - 1].bucket)
				seen.sorted = false;
		}
	}
	for (size_t i = 0; i < frame->page_count; i++) {
		seen.reads += frame->pages[i].reads;
		seen.writes += frame->pages[i].writes;
		if (i && frame->pages[i].page <= frame->pages[i - 1].page &&
		    frame->pages[i].device == frame->pages[i - 1].device)
			seen.sorted = false;
	}
	if (frame->page_count) {
		seen.first = frame->pages[0];
		seen.last = frame->pages[frame->page_count - 1];
	}
	return 0;
}

static const struct stream_ops ops = {.aggregate = take};
static const struct stream sink = {&ops, NULL};

static int create(void **state)
{
	memset(&seen, 0, sizeof(seen));
	return windows_create(&windows, NULL, NULL, START);
}

static int destroy(void **state)
{
	windows_destroy(windows);
	return 0;
}

static void add(__u64 time_ns, __u32 device, __u16 queue, __u64 latency_ns)
{
	struct aggregate_key key = {
		.device = device, .kind = EVENT_IO_COMPLETE, .queue = queue, .flags = EVENT_READ};

	assert_int_equal(windows_add(windows, time_ns, &key, 4096, latency_ns), 0);
}

static void a_window_is_pushed_once_and_only_when_it_has_closed(void **state)
{
	for (int i = 0; i < 997; i++)
		add(START + i, 1, i % 3, 1000 + i);
	assert_int_equal(windows_close(windows, START + AGGREGATE_WINDOW_NS, sink), 0);
	assert_int_equal(seen.frames, 0);
	assert_int_equal(
		windows_close(windows, START + AGGREGATE_WINDOW_NS + WINDOW_GRACE_NS, sink), 0);
	assert_int_equal(seen.frames, 1);
	assert_int_equal(seen.window, 7);
	assert_int_equal(seen.rows, 3);
	assert_int_equal(seen.count, 997);
	assert_int_equal(seen.bin_total, 997);
	assert_int_equal(seen.bytes, 997 * 4096);
	assert_int_equal(seen.sum, 997 * 1000 + 996 * 997 / 2);
	assert_int_equal(seen.max, 1996);
	assert_true(seen.sorted);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.frames, 1);
}

static void further_bytes_are_no_further_io(void **state)
{
	const struct aggregate_key key = {
		.device = 1, .kind = EVENT_IO_COMPLETE, .queue = 0, .flags = EVENT_READ};

	assert_int_equal(windows_add_bytes(windows, START, &key, 8192), 0);
	add(START, 1, 0, 5);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.rows, 1);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.bin_total, 1);
	assert_int_equal(seen.bytes, 3 * 4096);
}

static void a_record_after_its_window_is_counted_in_the_next(void **state)
{
	__u64 later = START + AGGREGATE_WINDOW_NS + WINDOW_GRACE_NS;

	assert_int_equal(windows_close(windows, later, sink), 0);
	add(START, 1, 0, 5);
	assert_int_equal(windows_close(windows, later + AGGREGATE_WINDOW_NS, sink), 0);
	assert_int_equal(seen.frames, 1);
	assert_int_equal(seen.window, 8);
	assert_int_equal(seen.count, 1);
}

/* A recorder that was stopped finds the logs of many seconds at once. */
static void what_a_recorder_finds_late_is_counted_in_its_second(void **state)
{
	const int ios[] = {101, 0, 103, 107, 109, 113};

	for (__u64 i = 0; i < 6; i++)
		for (int io = 0; io < ios[i]; io++)
			add(START + i * AGGREGATE_WINDOW_NS + io, 1, 0, 5);
	assert_int_equal(
		windows_close(windows, START + 5 * AGGREGATE_WINDOW_NS + WINDOW_GRACE_NS, sink), 0);
	assert_int_equal(seen.frames, 4);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.frames, 5);
	for (int i = 0; i < 6; i++)
		assert_int_equal(seen.of[i], ios[i]);
	assert_false(seen.incomplete);
}

static void beyond_what_is_kept_open_the_last_second_is_a_floor(void **state)
{
	for (__u64 i = 0; i < 67; i++) {
		add(START + i * AGGREGATE_WINDOW_NS, 1, 0, 5);
		assert_int_equal(windows_add_pages(windows, START + i * AGGREGATE_WINDOW_NS, 1, 0,
						   i << 12, 1, EVENT_READ),
				 0);
	}
	assert_int_equal(
		windows_close(windows, START + 63 * AGGREGATE_WINDOW_NS + WINDOW_GRACE_NS, sink),
		0);
	assert_int_equal(seen.frames, 63);
	assert_false(seen.incomplete);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.frames, 64);
	assert_true(seen.incomplete);
	assert_int_equal(seen.of[63], 4);
	assert_int_equal(seen.reads, 67);
	/* And on it goes. */
	add(START + 65 * AGGREGATE_WINDOW_NS, 1, 0, 5);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.of[65], 1);
	assert_false(seen.incomplete);
}

/* All windows together have no more than two of them may have. */
static void pages_of_many_open_windows_have_one_limit(void **state)
{
	for (__u64 i = 0; i < 3; i++)
		for (__u64 page = 0; page < AGGREGATE_PAGES_MAX; page++)
			assert_int_equal(windows_add_pages(windows, START + i * AGGREGATE_WINDOW_NS,
							   1, 0, page << 12, 1, EVENT_READ),
					 0);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.reads, 2 * AGGREGATE_PAGES_MAX);
	assert_true(seen.incomplete);
}

static void a_clock_that_lies_loses_no_count(void **state)
{
	add(0, 1, 0, 5);
	add(UINT64_MAX, 1, 0, 5);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.count, 2);
}

static void pages_of_a_request_are_counted_one_by_one(void **state)
{
	/* 3 bytes into a page to 1 byte into another: five pages. */
	assert_int_equal(windows_add_pages(windows, START, 2, 9, 0x10003, 4 * 4096 - 2, EVENT_READ),
			 0);
	assert_int_equal(windows_add_pages(windows, START, 2, 9, 0x12000, 1, EVENT_WRITE), 0);
	assert_int_equal(windows_add_pages(windows, START, 1, 9, 0x99000, 4096, EVENT_WRITE), 0);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.pages, 6);
	assert_int_equal(seen.reads, 5);
	assert_int_equal(seen.writes, 2);
	assert_int_equal(seen.first.device, 1);
	assert_int_equal(seen.last.page, 0x14);
	assert_true(seen.sorted);
}

static void many_pages_and_rows_keep_their_counts(void **state)
{
	for (__u64 pass = 0; pass < 3; pass++)
		for (__u64 page = 0; page < 20011; page++)
			assert_int_equal(windows_add_pages(windows, START, 1, 0, page * 7 << 12, 1,
							   EVENT_READ),
					 0);
	for (__u16 queue = 0; queue < 4099; queue++)
		add(START, 1, queue, queue);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.pages, 20011);
	assert_int_equal(seen.reads, 3 * 20011);
	assert_int_equal(seen.rows, 4099);
	assert_true(seen.sorted);
}

/* So many counters that a frame would not hold them: the second says that it is a floor. */
static void more_rows_than_a_frame_holds_are_a_floor(void **state)
{
	for (__u32 device = 1; device <= 70000; device++)
		add(START, device, 0, 1);
	assert_int_equal(windows_close(windows, UINT64_MAX, sink), 0);
	assert_int_equal(seen.rows, 65536);
	assert_true(seen.incomplete);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_is_pushed_once_and_only_when_it_has_closed),
		TEST(further_bytes_are_no_further_io),
		TEST(a_record_after_its_window_is_counted_in_the_next),
		TEST(what_a_recorder_finds_late_is_counted_in_its_second),
		TEST(beyond_what_is_kept_open_the_last_second_is_a_floor),
		TEST(pages_of_many_open_windows_have_one_limit),
		TEST(a_clock_that_lies_loses_no_count),
		TEST(pages_of_a_request_are_counted_one_by_one),
		TEST(many_pages_and_rows_keep_their_counts),
		TEST(more_rows_than_a_frame_holds_are_a_floor),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
