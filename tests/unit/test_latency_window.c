// SPDX-License-Identifier: GPL-2.0
/* The ring of the newest latencies, and faults' percentiles over a window against sorted samples. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/analyze/live.h"
#include "lib/analyze/stages.h"

#define START (77 * SECOND)
#define MOST  (1u << 18)

static void add(struct window *window, __u32 owner)
{
	struct window_sample *sample = window_add(window);

	assert_non_null(sample);
	assert_int_equal(sample->count, 1);
	assert_int_equal(sample->measured, 0);
	sample->owner = owner;
	sample->measured = 1;
}

static void samples_leave_when_they_are_as_old_as_the_window(void **state)
{
	struct window *window = window_create();
	__u32 added = 0;

	assert_null(window_add(NULL));
	for (__u32 second = 1; second <= 13; second++) {
		for (__u32 i = 0; i < 1000 * second; i++)
			add(window, added++);
		window_look(window, START + second * SECOND, 3 * SECOND);
		/* This second's and those of the two before, oldest first. */
		assert_int_equal(window_count(window),
				 second < 3 ? added : 1000 * (3 * second - 3));
		assert_int_equal(window_at(window, 0)->owner, added - window_count(window));
		assert_int_equal(window_at(window, window_count(window) - 1)->owner, added - 1);
		assert_false(window_is_cut(window));
	}
	/* To look again at the same time changes nothing. */
	window_look(window, START + 13 * SECOND, 3 * SECOND);
	assert_int_equal(window_count(window), 36000);
	window_look(window, START + 16 * SECOND, 3 * SECOND);
	assert_int_equal(window_count(window), 0);
	window_destroy(window);
	window_destroy(NULL);
}

static void too_many_are_told(void **state)
{
	struct window *window = window_create();

	assert_int_equal(WINDOW_MOST, MOST);
	for (__u32 i = 0; i < MOST; i++)
		add(window, i);
	window_look(window, START, SECOND);
	assert_int_equal(window_count(window), MOST);
	assert_false(window_is_cut(window));
	add(window, MOST);
	window_look(window, START + SECOND / 2, SECOND);
	assert_int_equal(window_count(window), MOST);
	assert_int_equal(window_at(window, 0)->owner, 1);
	assert_true(window_is_cut(window));
	/* What was cut would have left by now. */
	window_look(window, START + SECOND, SECOND);
	assert_int_equal(window_count(window), 1);
	assert_false(window_is_cut(window));
	/* More between two looks than are kept. */
	for (__u32 i = 0; i < MOST + 7; i++)
		add(window, i);
	window_look(window, START + 2 * SECOND, SECOND);
	assert_int_equal(window_count(window), MOST);
	assert_int_equal(window_at(window, 0)->owner, 7);
	assert_true(window_is_cut(window));
	window_destroy(window);
}

/* A fault whose resolve stage takes `ns`; the other six take 1 us each. */
static void fault(struct stream to, __u32 number, __u64 time_ns, __u64 ns)
{
	struct event events[FAULT_STAGES];

	for (int k = 0; k < FAULT_STAGES; k++)
		events[k] = (struct event){.time_ns = time_ns + (__u64)k * 1000 +
						      (k >= 4 ? ns - 1000 : 0),
					   .address = 0x1000ull * (number + 1),
					   .length = 4096,
					   .device = 1,
					   .pasid = PASID_NONE,
					   .group = number,
					   .instance = number,
					   .kind = (__u16)(EVENT_FAULT_DETECT + k),
					   .flags = EVENT_READ};
	assert_int_equal(to.ops->events(to.self, events, FAULT_STAGES), 0);
}

static int by_value(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void near(__u64 value, __u64 exact)
{
	assert_in_range(value, exact - exact / 50, exact + exact / 50);
}

static void compare(const struct live_latency *latency, const __u64 *resolves, size_t count)
{
	__u64 sorted[128];

	assert_int_equal(latency->count, count);
	assert_int_equal(latency->stages[STAGE_RESOLVE].count, count);
	memcpy(sorted, resolves, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	assert_int_equal(latency->max_ns, sorted[count - 1] + 6000);
	assert_int_equal(latency->stages[STAGE_RESOLVE].max_ns, sorted[count - 1]);
	near(latency->p50_ns, sorted[(count + 1) / 2 - 1] + 6000);
	near(latency->stages[STAGE_RESOLVE].p50_ns, sorted[(count + 1) / 2 - 1]);
	assert_int_equal(latency->slowest_stage, STAGE_RESOLVE);
}

static void faults_are_measured_over_the_window(void **state)
{
	const struct host_info host = {.hostname = "moon", .start_ns = START};
	const struct device_info device = {.handle = 1, .name = "disk"};
	const struct analysis_config config = {.windowed = true};
	struct analysis *analysis;
	__u64 resolves[128];
	struct live_device row;
	struct stream to;
	__u32 count = 0;

	assert_int_equal(analysis_create(&analysis, &config), 0);
	to = analysis_stream(analysis);
	to.ops->host(to.self, &host);
	to.ops->device(to.self, &device);
	for (__u32 second = 1; second <= 13; second++) {
		__u64 now = START + second * SECOND;
		size_t in = second + second - 1;

		for (__u32 i = 0; i < second; i++, count++) {
			resolves[count] = (1 + (count * 37) % 101) * 10000;
			fault(to, count, now - SECOND + 7000000 * i, resolves[count]);
		}
		assert_false(live_look(analysis, now, 2 * SECOND));
		assert_int_equal(live_device(analysis, 1, now, SECOND, &row), 0);
		if (in > count)
			in = count;
		compare(&row.latency[LATENCY_WINDOW], resolves + count - in, in);
		compare(&row.latency[LATENCY_SINCE_START], resolves, count);
	}
	assert_int_equal(count, 91);
	live_look(analysis, START + 99 * SECOND, 2 * SECOND);
	assert_int_equal(live_device(analysis, 1, START + 99 * SECOND, SECOND, &row), 0);
	assert_int_equal(row.latency[LATENCY_WINDOW].count, 0);
	assert_int_equal(row.latency[LATENCY_WINDOW].slowest_stage, STAGES);
	assert_int_equal(row.latency[LATENCY_SINCE_START].count, 91);
	analysis_destroy(analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_leave_when_they_are_as_old_as_the_window),
		cmocka_unit_test(too_many_are_told),
		cmocka_unit_test(faults_are_measured_over_the_window),
	};

	return cmocka_run_group_tests_name("latency window", tests, NULL, NULL);
}
