// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/unknown.h"
#include "tools/top/collect.h"

#define START	(77 * SECOND)
#define SECONDS 11
#define RATE	97 /* faults of the first device in each second */

struct fixture {
	struct analysis *analysis;
	struct stream to;
	struct collect_filter filter;
	struct collector *collector;
	struct top_model model;
	__u32 written;
};

static void add_device(struct fixture *f, __u32 handle, const char *vm, __u32 pid)
{
	struct device_info device = {.handle = handle, .pid = pid, .comm = "qemu"};

	snprintf(device.name, sizeof(device.name), "tenant%u/disk", handle);
	snprintf(device.vm, sizeof(device.vm), "%s", vm);
	f->to.ops->device(f->to.self, &device);
}

static int setup(void **state)
{
	const struct host_info host = {.hostname = "moon", .start_ns = START};
	struct fixture *f = calloc(1, sizeof(*f));

	if (analysis_create(&f->analysis, NULL) ||
	    collector_create(&f->collector, f->analysis, &f->filter, 0))
		return -1;
	f->to = analysis_stream(f->analysis);
	f->to.ops->host(f->to.self, &host);
	add_device(f, 1, "gold", 4001);
	add_device(f, 2, "", 4002);
	add_device(f, 3, "", 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collector_destroy(f->collector);
	analysis_destroy(f->analysis);
	top_model_free(&f->model);
	free(f);
	return 0;
}

static void write_fault(struct fixture *f, __u64 time_ns)
{
	struct event events[FAULT_STAGES];

	for (int k = 0; k < FAULT_STAGES; k++)
		events[k] = (struct event){.time_ns = time_ns + (__u64)k * 1000,
					   .address = 0x1000ull * (f->written + 1),
					   .length = 4096,
					   .device = 1,
					   .pasid = PASID_NONE,
					   .group = f->written,
					   .instance = f->written,
					   .kind = (__u16)(EVENT_FAULT_DETECT + k),
					   .flags = EVENT_READ};
	f->written++;
	assert_int_equal(f->to.ops->events(f->to.self, events, FAULT_STAGES), 0);
}

/* RATE evenly spread faults a second, up to (not including) `until_ns`. */
static void fault_until(struct fixture *f, __u64 until_ns)
{
	for (;;) {
		__u64 next = START + f->written * SECOND / RATE;

		if (next >= until_ns)
			return;
		write_fault(f, next);
	}
}

static void look(struct fixture *f, __u64 now_ns)
{
	assert_int_equal(collect_observe(f->collector, now_ns, SECOND, false), 0);
	assert_int_equal(collect_model(f->collector, &f->model), 0);
}

/* A timer is never exact; neither a second nor a fault may get lost or come twice for that. */
static void uneven_intervals_give_one_value_a_second(void **state)
{
	static const int jitter_ms[SECONDS] = {3, 19, 2, 17, 1, 20, 0, 11, 13, 5, 7};
	struct fixture *f = *state;
	const struct top_device *device;
	__u64 before = START;
	double sum = 0;

	for (int i = 0; i < SECONDS; i++) {
		__u64 now = START + (__u64)(i + 1) * SECOND + (__u64)jitter_ms[i] * 1000000;

		fault_until(f, now);
		look(f, now);
		device = top_find(&f->model, 1);
		assert_non_null(device);
		assert_int_equal(device->history_count, i + 1);
		assert_true(device->history[i] > RATE - 2 && device->history[i] < RATE + 2);
		sum += device->live.rate * (double)(now - before) / 1e9;
		before = now;
	}
	assert_true(sum > f->written - 0.01 && sum < f->written + 0.01);
	assert_int_equal(f->model.faults, f->written);
}

static void short_intervals_are_gathered_into_seconds(void **state)
{
	struct fixture *f = *state;

	for (int i = 1; i <= 10 * SECONDS; i++) {
		__u64 now = START + (__u64)i * (SECOND / 10);

		fault_until(f, now);
		look(f, now);
	}
	assert_in_range(top_find(&f->model, 1)->history_count, SECONDS - 1, SECONDS);
}

/* Of the time since the look before, whatever interval was asked for: a last one is shorter, and some take hours. */
static void blocked_is_of_the_time_since_the_look_before(void **state)
{
	static const __u64 looks[] = {1000, 1100, 2000, 3602000}, blocked_ms[] = {0, 80, 900, 40};
	struct fixture *f = *state;
	struct event event = {.time_ns = START + 1020 * MS,
			      .kind = EVENT_FAULT_ISR,
			      .device = 1,
			      .pasid = PASID_NONE,
			      .group = 1,
			      .instance = 1};

	for (int i = 0; i < 4; i++) {
		__u64 elapsed = looks[i] - (i ? looks[i - 1] : 0);
		double percent;

		if (i == 3) {
			event.kind = EVENT_FAULT_RESPONSE;
			event.flags = EVENT_LAST;
			event.time_ns = START + 2040 * MS;
		}
		if (i == 1 || i == 3)
			assert_int_equal(f->to.ops->events(f->to.self, &event, 1), 0);
		look(f, START + looks[i] * MS);
		percent = top_find(&f->model, 1)->live.blocked_percent;
		assert_true(fabs(percent / 100 * (double)elapsed - (double)blocked_ms[i]) < 1e-6);
	}
}

static void a_long_interval_fills_its_seconds(void **state)
{
	struct fixture *f = *state;
	const struct top_device *device;

	fault_until(f, START + 5 * SECOND);
	look(f, START + 5 * SECOND);
	device = top_find(&f->model, 1);
	assert_int_equal(device->history_count, 5);
	for (int i = 0; i < 5; i++)
		assert_true(device->history[i] > RATE - 1 && device->history[i] < RATE + 1);
}

static void history_is_bounded(void **state)
{
	struct fixture *f = *state;

	for (int i = 1; i <= TOP_HISTORY + 7; i++)
		look(f, START + (__u64)i * SECOND);
	assert_int_equal(top_find(&f->model, 1)->history_count, TOP_HISTORY);
	look(f, START + 1000000 * SECOND);
	assert_int_equal(top_find(&f->model, 1)->history_count, TOP_HISTORY);
}

static void owners_are_vm_process_or_kernel(void **state)
{
	struct fixture *f = *state;

	look(f, START + SECOND);
	assert_string_equal(top_find(&f->model, 1)->owner, "gold");
	assert_string_equal(top_find(&f->model, 2)->owner, "qemu:4002");
	assert_string_equal(top_find(&f->model, 3)->owner, "kernel");
}

static void tell_probe(struct fixture *f, const char *name, __u32 state)
{
	struct probe_info probe = {.state = state, .reason = "the emulator has no such probe"};

	snprintf(probe.name, sizeof(probe.name), "%s", name);
	assert_int_equal(f->to.ops->probe(f->to.self, &probe), 0);
}

/* Of one device, and so of the sum. */
static void totals_know_what_they_lack(void **state)
{
	struct fixture *f = *state;
	const struct device_info emulated = {.handle = 4, .kind = DEVICE_EMULATED, .name = "vm/d"};

	look(f, START + SECOND);
	assert_int_equal(f->model.unknown, 0);
	/* No probe that sees faults: their number is not 0. */
	tell_probe(f, "fault_detect", PROBE_OFF);
	look(f, START + 2 * SECOND);
	assert_int_equal(f->model.unknown, UNKNOWN_FAULTS | UNKNOWN_STATES);
	assert_true(isnan(f->model.rate));
	tell_probe(f, "fault_detect", PROBE_ON);
	tell_probe(f, "fault_abandon", PROBE_OFF);
	assert_int_equal(f->to.ops->device(f->to.self, &emulated), 0);
	look(f, START + 3 * SECOND);
	assert_int_equal(f->model.unknown, UNKNOWN_ABANDONED | UNKNOWN_BLOCKED | UNKNOWN_STATES);
	assert_true(f->model.rate == 0);
}

static void filter_takes_names_or_owners(void **state)
{
	struct fixture *f = *state;

	f->filter.devices[f->filter.device_count++] = "tenant1/*";
	f->filter.pids[f->filter.pid_count++] = 4002;
	look(f, START + SECOND);
	assert_int_equal(f->model.device_count, 2);
	assert_null(top_find(&f->model, 3));
}

static void detail_has_the_newest_faults_first(void **state)
{
	struct fixture *f = *state;
	struct top_detail *detail = calloc(1, sizeof(*detail));

	fault_until(f, START + SECOND);
	collect_detail(f->collector, detail, 1);
	assert_int_equal(detail->fault_count, TOP_FAULTS);
	assert_int_equal(detail->faults[0].group, f->written - 1);
	assert_int_equal(detail->faults[1].group, f->written - 2);
	collect_detail(f->collector, detail, 4711);
	assert_int_equal(detail->fault_count, 0);
	free(detail);
}

#define BEGIN (START + 400 * MS)
#define END   (START + 5200 * MS)

/* I/Os of the first device by the second, whose first and last it is there for a part of, as capture tells of them. */
static void tell_ios(struct fixture *f, __u64 *told, __u64 now_ns)
{
	static const __u64 counts[] = {600, 1000, 3000, 0, 500, 200};

	for (; *told < sizeof(counts) / sizeof(counts[0]) &&
	       (now_ns == END || START + (*told + 1) * SECOND + 250 * MS <= now_ns);
	     ++*told) {
		const struct aggregate_row row = {
			.key = {.device = 1, .kind = EVENT_IO_COMPLETE, .queue = QUEUE_NONE},
			.counts = {.count = counts[*told]}};
		const struct aggregate_frame frame = {
			.window = START / SECOND + *told, .rows = &row, .row_count = 1};

		assert_int_equal(f->to.ops->aggregate(f->to.self, &frame), 0);
	}
}

static double ios_per_s(__u64 now_ns, __u64 interval_ns)
{
	if (now_ns == END)
		return interval_ns > END - BEGIN ? 5300 / 4.8 : 700 / 1.2;
	if (now_ns < START + 2300 * MS)
		return NAN;
	if (interval_ns == 2 * SECOND)
		return now_ns < START + 4 * SECOND ? 1600 / 1.6 : 3000 / 2.0;
	return now_ns < START + 3300 * MS ? 1000 : now_ns < START + 4300 * MS ? 3000 : 0;
}

/* Of all whole seconds since the last, not of the newest alone; the last interval has what is left. */
static void ios_are_of_the_seconds_told_since_the_look_before(void **state)
{
	static const __u64 intervals[] = {200 * MS, SECOND, 2 * SECOND, 10 * SECOND};
	const struct host_info host = {.hostname = "moon", .start_ns = BEGIN};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		struct fixture *f;
		__u64 told = 0, now = BEGIN;
		int looks = 0;

		assert_int_equal(setup((void **)&f), 0);
		f->to.ops->host(f->to.self, &host);
		while (now < END) {
			const struct top_device *device;
			double rate;

			now = now + intervals[i] < END ? now + intervals[i] : END;
			rate = ios_per_s(now, intervals[i]);
			tell_ios(f, &told, now);
			assert_int_equal(
				collect_observe(f->collector, now, intervals[i], now == END), 0);
			assert_int_equal(collect_model(f->collector, &f->model), 0);
			device = top_find(&f->model, 1);
			assert_int_equal(isnan(device->io_rate), isnan(rate));
			assert_true(isnan(rate) || fabs(device->io_rate - rate) < 1e-6);
			looks++;
		}
		assert_int_equal(looks, (END - BEGIN + intervals[i] - 1) / intervals[i]);
		assert_int_equal(top_find(&f->model, 1)->ios, 5300);
		teardown((void **)&f);
	}
}

/* What is on screen before the first interval has gone by. */
static void the_first_screen_has_a_time_and_a_finding(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(collect_model(f->collector, &f->model), 0);
	assert_int_equal(f->model.now_ns, START);
	assert_string_not_equal(f->model.worst.text, "");
}

#define with_analysis(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_analysis(the_first_screen_has_a_time_and_a_finding),
		with_analysis(uneven_intervals_give_one_value_a_second),
		with_analysis(short_intervals_are_gathered_into_seconds),
		cmocka_unit_test(ios_are_of_the_seconds_told_since_the_look_before),
		with_analysis(blocked_is_of_the_time_since_the_look_before),
		with_analysis(a_long_interval_fills_its_seconds),
		with_analysis(history_is_bounded),
		with_analysis(totals_know_what_they_lack),
		with_analysis(owners_are_vm_process_or_kernel),
		with_analysis(filter_takes_names_or_owners),
		with_analysis(detail_has_the_newest_faults_first),
	};

	return cmocka_run_group_tests_name("top collect", tests, NULL, NULL);
}
