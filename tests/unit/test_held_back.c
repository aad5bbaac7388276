// SPDX-License-Identifier: GPL-2.0
/* Faults that their devices knew of before they were allowed to ask: they begin when they were found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/stage.h"

#define SECOND 1000000000ull
#define MS     1000000ull

static struct analysis *analysis;
static struct stream stream;
static struct fault last;

static void take(void *self, const struct fault *fault)
{
	(void)self;
	last = *fault;
}

static int setup(void **state)
{
	const struct device_info devices[] = {
		{.handle = 1, .kind = DEVICE_EMULATED, .name = "vm/disk"},
		{.handle = 2, .kind = DEVICE_PCI, .name = "0000:00:02.0"}};

	(void)state;
	memset(&last, 0, sizeof(last));
	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	for (size_t i = 0; i < 2; i++)
		stream.ops->device(stream.self, &devices[i]);
	faults_subscribe(analysis->faults, (struct fault_sink){NULL, take, NULL});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_destroy(analysis);
	return 0;
}

/* Told at `told_ns`, a millisecond from one timestamp to the next. */
static void fault(__u32 device, __u32 instance, __u64 told_ns, __u64 found_ns)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		const struct event e = {.time_ns = told_ns + k * MS,
					.kind = (__u16)(EVENT_FAULT_DETECT + k),
					.device = device,
					.instance = instance,
					.value = k ? 0 : found_ns};

		assert_int_equal(stream.ops->events(stream.self, &e, 1), 0);
	}
}

static void a_fault_begins_when_it_was_found(void **state)
{
	struct stage_times times;
	struct queue_blocked blocked;

	(void)state;
	fault(1, 1, 10 * SECOND, 10 * SECOND - 4 * MS);
	assert_int_equal(last.state, FAULT_COMPLETE);
	assert_int_equal(fault_first_ns(&last), 10 * SECOND - 4 * MS);
	assert_int_equal(fault_total_ns(&last), 11 * MS);
	assert_int_equal(last.held_ns, 4 * MS);
	stage_times(&last, &times);
	assert_int_equal(times.ns[STAGE_REQUEST], 5 * MS);
	assert_int_equal(times.ns[STAGE_DELIVERY], MS);
	assert_int_equal(queues_get(analysis->queues, 1, 0, &blocked), 0);
	assert_int_equal(blocked.blocked_ns, 11 * MS);
}

/* Recordings made before have 0; a time to come is no time, and kernel paths tell none. */
static void without_a_time_it_was_found_as_it_is_told(void **state)
{
	static const __u64 found[] = {0, 20 * SECOND, 20 * SECOND + 1, UINT64_MAX};

	(void)state;
	for (__u32 i = 0; i < 4; i++) {
		fault(1, i, 20 * SECOND, found[i]);
		assert_int_equal(fault_first_ns(&last), 20 * SECOND);
		assert_int_equal(last.held_ns, 0);
	}
	fault(2, 1, 30 * SECOND, 29 * SECOND);
	assert_int_equal(fault_first_ns(&last), 30 * SECOND);
	assert_int_equal(last.held_ns, 0);
}

static void a_burst_lasts_from_the_first_to_the_last(void **state)
{
	struct burst worst;

	(void)state;
	/* Six within a second as they are told; the last was found two seconds before. */
	for (__u32 i = 0; i < 5; i++)
		fault(1, i, 10 * SECOND + i * 50 * MS, 0);
	fault(1, 5, 10 * SECOND + 250 * MS, 8 * SECOND);
	assert_int_equal(rates_bursts(analysis->rates), 0);
	for (__u32 i = 0; i < 8; i++)
		fault(1, 10 + i, 20 * SECOND + i * 50 * MS, i == 7 ? 20 * SECOND - 100 * MS : 0);
	assert_true(rates_worst_burst(analysis->rates, &worst));
	assert_int_equal(worst.from_ns, 20 * SECOND - 100 * MS);
	assert_int_equal(worst.to_ns, 20 * SECOND + 300 * MS);
	assert_int_equal(worst.faults, 8);
}

#define with_analysis(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_analysis(a_fault_begins_when_it_was_found),
		with_analysis(without_a_time_it_was_found_as_it_is_told),
		with_analysis(a_burst_lasts_from_the_first_to_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
