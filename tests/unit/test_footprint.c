// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/footprint.h"
#include "lib/analyze/footprint_private.h"
#include "lib/analyze/page_table.h"
#include "lib/analyze/session.h"

#define PAGE 4096ull
#define HUGE (2048 * 1024ull)

static void frame(struct footprint *f, __u64 window, const struct aggregate_page *pages,
		  size_t count)
{
	const struct aggregate_frame frame = {
		.window = window, .pages = pages, .page_count = count};

	assert_int_equal(footprint_stream(f).ops->aggregate(f, &frame), 0);
}

static void touch(struct footprint *f, __u64 window, __u32 device, __u64 page, __u32 reads)
{
	const struct aggregate_page one = {
		.page = page, .device = device, .reads = reads, .pasid = PASID_NONE};

	frame(f, window, &one, 1);
}

static void pages_are_counted_once_at_both_sizes(void **state)
{
	struct footprint *f;
	struct footprint_device d;

	assert_int_equal(footprint_create(&f, NULL), 0);
	for (__u64 w = 100; w < 103; w++) {
		touch(f, w, 1, 7, 2);
		touch(f, w, 1, 8, 1);
		touch(f, w, 1, 512 + w, 1);
		touch(f, w, 2, 7, 1);
	}
	d = footprint_device(f, 1);
	assert_int_equal(d.bytes, 5 * PAGE);
	assert_int_equal(d.huge_bytes, 2 * HUGE);
	assert_int_equal(d.window_bytes, 3 * PAGE);
	assert_int_equal(d.accesses, 12);
	assert_int_equal(d.reads, 12);
	assert_int_equal(footprint_device(f, 2).bytes, PAGE);
	assert_int_equal(footprint_device(f, 3).bytes, 0);
	footprint_destroy(f);
}

static void the_same_page_of_another_pasid_is_another_page(void **state)
{
	const struct aggregate_page pages[] = {{.page = 1, .device = 1, .pasid = 4, .writes = 1},
					       {.page = 1, .device = 1, .pasid = 5, .writes = 1}};
	struct footprint *f;

	assert_int_equal(footprint_create(&f, NULL), 0);
	frame(f, 100, pages, 2);
	assert_int_equal(footprint_device(f, 1).bytes, 2 * PAGE);
	assert_int_equal(footprint_device(f, 1).writes, 2);
	footprint_destroy(f);
}

/* VPRI: consecutive accesses to one 2 MiB page more than 300 s apart; a first access is none. */
static void a_simulated_fault_is_a_long_pause(void **state)
{
	struct footprint *f;

	assert_int_equal(footprint_create(&f, NULL), 0);
	touch(f, 1000, 1, 0, 1);
	touch(f, 1300, 1, 5, 1);
	assert_int_equal(footprint_device(f, 1).simulated_faults, 0);
	touch(f, 1601, 1, 511, 1);
	assert_int_equal(footprint_device(f, 1).simulated_faults, 1);
	touch(f, 5000, 1, 512, 1);
	assert_int_equal(footprint_device(f, 1).simulated_faults, 1);
	touch(f, 5000, 1, 0, 1);
	touch(f, 5000, 1, 1, 1);
	assert_int_equal(footprint_device(f, 1).simulated_faults, 2);
	footprint_destroy(f);
}

static void the_threshold_is_an_option(void **state)
{
	const struct footprint_config config = {.simulated_fault_ns = 60 * AGGREGATE_WINDOW_NS};
	struct footprint *f;

	assert_int_equal(footprint_create(&f, &config), 0);
	touch(f, 1000, 1, 0, 1);
	touch(f, 1060, 1, 0, 1);
	touch(f, 1121, 1, 0, 1);
	assert_int_equal(footprint_device(f, 1).simulated_faults, 1);
	footprint_destroy(f);
}

static void intervals_are_between_accesses_to_a_huge_page(void **state)
{
	const struct histogram *h;
	struct footprint *f;

	assert_int_equal(footprint_create(&f, NULL), 0);
	touch(f, 100, 1, 0, 5);
	touch(f, 110, 1, 1, 1);
	touch(f, 110, 1, 2, 1);
	touch(f, 4110, 1, 3, 3);
	h = footprint_intervals(f, 1);
	/* 4 within the first window, 10 s, 1 within, 4000 s, 2 within */
	assert_int_equal(h->count, 9);
	assert_int_equal(h->buckets[0], 7);
	assert_int_equal(h->buckets[histogram_bucket(10)], 1);
	assert_int_equal(h->buckets[histogram_bucket(4000)], 1);
	assert_int_equal(h->max, 4000);
	assert_null(footprint_intervals(f, 2));
	footprint_destroy(f);
}

static void percent_needs_known_memory(void **state)
{
	const struct device_info known = {.handle = 1, .name = "a", .memory = 1 << 20};
	const struct device_info unknown = {.handle = 2, .name = "b"};
	struct session *session;

	assert_int_equal(session_create(&session), 0);
	session_stream(session).ops->device(session, &known);
	session_stream(session).ops->device(session, &unknown);
	assert_true(footprint_percent(session, 1, 1 << 18) == 25);
	assert_true(isnan(footprint_percent(session, 2, 1 << 18)));
	assert_true(isnan(footprint_percent(session, 9, 1 << 18)));
	session_destroy(session);
}

/* Random pages beside a plain array of counters. */
static void the_table_holds_any_number_of_pages(void **state)
{
	enum { PAGES = 50021, TOUCHES = 400009 };
	struct page_table table = {0};
	__u32 *counts = calloc(PAGES, sizeof(*counts));
	size_t distinct = 0, found = 0;
	unsigned int seed = 71;

	for (int i = 0; i < TOUCHES; i++) {
		__u32 page = (__u32)rand_r(&seed) % PAGES;
		struct page_entry *entry =
			page_table_make(&table, page % 3, page % 2 ? PASID_NONE : 1, page);

		assert_non_null(entry);
		assert_int_equal(entry->accesses, counts[page]);
		distinct += !counts[page];
		entry->accesses = ++counts[page];
	}
	assert_int_equal(table.used, distinct);
	for (size_t i = 0; i < table.capacity; i++) {
		const struct page_entry *e = &table.entries[i];

		if (!e->accesses)
			continue;
		found++;
		assert_int_equal(e->accesses, counts[e->page]);
		assert_int_equal(e->device, e->page % 3);
	}
	assert_int_equal(found, distinct);
	assert_true(table.capacity < 4 * distinct);
	page_table_free(&table);
	free(counts);
}

static void expect_window(struct footprint *f, __u32 device, size_t index, __u64 number,
			  __u64 bytes, __u64 huge_bytes, __u64 accesses)
{
	const struct device_footprint *d = footprint_find(f, device);

	assert_in_range(index, 0, d->window_count - 1);
	assert_int_equal(d->windows[index].number, number);
	assert_int_equal(d->windows[index].bytes, bytes);
	assert_int_equal(d->windows[index].huge_bytes, huge_bytes);
	assert_int_equal(d->windows[index].accesses, accesses);
}

static void a_page_counts_once_in_each_window(void **state)
{
	const struct footprint_config config = {.window_ns = 30 * AGGREGATE_WINDOW_NS};
	struct footprint *f;

	assert_int_equal(footprint_create(&f, &config), 0);
	touch(f, 100, 1, 7, 1);
	touch(f, 101, 1, 8, 2);
	touch(f, 129, 1, 7, 1);
	/* A second later it is the next window. */
	touch(f, 130, 1, 7, 1);
	touch(f, 131, 2, 512, 1);
	touch(f, 220, 1, 7, 1);
	expect_window(f, 1, 0, 0, 2 * PAGE, HUGE, 4);
	expect_window(f, 1, 1, 1, PAGE, HUGE, 1);
	expect_window(f, 1, 2, 4, PAGE, HUGE, 1);
	expect_window(f, 2, 0, 1, PAGE, HUGE, 1);
	assert_int_equal(footprint_find(f, 1)->window_count, 3);
	footprint_destroy(f);
}

static void windows_begin_with_the_period(void **state)
{
	const struct footprint_config config = {.window_ns = 10 * AGGREGATE_WINDOW_NS,
						.period.since_ns = 105 * AGGREGATE_WINDOW_NS};
	struct footprint *f;

	assert_int_equal(footprint_create(&f, &config), 0);
	touch(f, 100, 1, 7, 1);
	touch(f, 105, 1, 7, 1);
	touch(f, 114, 1, 7, 1);
	touch(f, 115, 1, 7, 1);
	expect_window(f, 1, 0, 0, PAGE, HUGE, 2);
	expect_window(f, 1, 1, 1, PAGE, HUGE, 1);
	footprint_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_counted_once_at_both_sizes),
		cmocka_unit_test(the_same_page_of_another_pasid_is_another_page),
		cmocka_unit_test(a_simulated_fault_is_a_long_pause),
		cmocka_unit_test(the_threshold_is_an_option),
		cmocka_unit_test(intervals_are_between_accesses_to_a_huge_page),
		cmocka_unit_test(percent_needs_known_memory),
		cmocka_unit_test(a_page_counts_once_in_each_window),
		cmocka_unit_test(windows_begin_with_the_period),
		cmocka_unit_test(the_table_holds_any_number_of_pages),
	};

	return cmocka_run_group_tests_name("footprint", tests, NULL, NULL);
}
