// SPDX-License-Identifier: GPL-2.0
/* Whole machines: block and copy devices under load, with faults, evictions, overflow, and stops. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/emu/devices/block.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/page_lock.h"
#include "injectors/emu/port.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define DEVICES_MAX 128

static volatile sig_atomic_t no_stop;
static struct machine *machine;
static struct machine_totals totals;

static struct {
	struct tenant_config tenants[DEVICES_MAX];
	struct device_config devices[DEVICES_MAX];
	struct workload_config workloads[DEVICES_MAX];
	struct machine_config machine;
} plan;

/* `count` tenants with one device each and a workload of `ios` I/Os on it; 0: of half a second. */
static void describe(__u32 count, const struct device_class *class, __u64 ios)
{
	memset(&plan, 0, sizeof(plan));
	for (__u32 i = 0; i < count; i++) {
		snprintf(plan.tenants[i].name, sizeof(plan.tenants[i].name), "t%u", i);
		plan.tenants[i].memory = 2 * HUGE_BYTES;
		snprintf(plan.devices[i].name, sizeof(plan.devices[i].name), "d%u", i);
		plan.devices[i].tenant = i;
		plan.devices[i].class = class;
		plan.devices[i].queues = 2;
		plan.devices[i].queue_depth = 16;
		plan.devices[i].group_pages = 8;
		((struct block_settings *)plan.devices[i].settings.bytes)->file_bytes =
			4 * HUGE_BYTES;
		plan.devices[i].pasid = class->user_addresses;
		snprintf(plan.workloads[i].name, sizeof(plan.workloads[i].name), "w%u", i);
		plan.workloads[i].device = i;
		plan.workloads[i].read_percent = 50;
		plan.workloads[i].sizes[0] = 4 * PAGE_BYTES;
		plan.workloads[i].size_weights[0] = 1;
		plan.workloads[i].size_count = 1;
		plan.workloads[i].pattern = PATTERN_RANDOM;
		plan.workloads[i].depth = 4;
		plan.workloads[i].count = ios;
		plan.workloads[i].duration_ns = ios ? 0 : NSEC_PER_SEC / 2;
		plan.workloads[i].verify = true;
		plan.workloads[i].seed = i + 1;
	}
	plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = count,
		.device_count = count,
		.workload_count = count,
		.tenants = plan.tenants,
		.devices = plan.devices,
		.workloads = plan.workloads,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.seed = 1,
	};
}

static void start(void)
{
	if (machine_create(&machine, &plan.machine))
		fail_msg("machine_create: %s", failure_text());
	if (machine_start(machine))
		fail_msg("machine_start: %s", failure_text());
}

static void finish(void)
{
	if (machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop))
		fail_msg("machine_wait: %s", failure_text());
	machine_stop(machine);
	machine_totals(machine, &totals);
	assert_int_equal(totals.violations, 0);
	for (__u32 i = 0; i < plan.machine.workload_count; i++) {
		const struct workload_result *result = machine_workload(machine, i);

		if (plan.workloads[i].count)
			assert_int_equal(result->ios, plan.workloads[i].count);
		assert_int_equal(result->mismatches, 0);
	}
}

static int teardown(void **state)
{
	machine_destroy(machine);
	machine = NULL;
	return 0;
}

static void a_cold_disk_faults_its_way_in(void **state)
{
	describe(1, &block_class, 503);
	start();
	finish();
	assert_true(totals.faults > 0);
	assert_true(totals.service.groups > 0);
	assert_int_equal(totals.io_errors, 0);
	assert_int_equal(totals.round_trip.count, totals.groups);
}

static void a_premapped_machine_never_faults(void **state)
{
	describe(2, &block_class, 503);
	plan.machine.premap = true;
	plan.devices[1].lookup = LOOKUP_ATS;
	start();
	finish();
	assert_int_equal(totals.faults, 0);
	assert_int_equal(totals.service.requests, 0);
}

static void a_copy_engine_works_on_user_addresses(void **state)
{
	describe(2, &accel_class, 503);
	plan.devices[0].lookup = LOOKUP_ATS;
	start();
	finish();
	assert_true(totals.faults > 0);
	assert_int_equal(totals.io_errors, 0);
}

static void evictions_beside_io_cost_time_not_data(void **state)
{
	static const enum evict_choice choices[] = {EVICT_NEXT, EVICT_RANDOM};
	struct evict_outcome outcome;
	__u32 asked_sum = 0;
	long evicted_sum = 0, evicted;

	describe(2, &block_class, 0);
	plan.machine.premap = true;
	plan.devices[1].lookup = LOOKUP_ATS;
	start();
	for (int i = 0; i < 40; i++) {
		const struct evict_order order = {.choice = choices[i / 2 % 2],
						  .kind = i % 3 ? EVICT_MAJOR : EVICT_MINOR,
						  .pages = 7};

		evicted = machine_evict(machine, (__u32)i % 2, &order, &outcome);
		assert_true(evicted >= 0);
		asked_sum += outcome.asked;
		evicted_sum += evicted;
	}
	finish();
	assert_true(asked_sum > 0);
	assert_int_equal(evicted_sum, asked_sum);
	assert_true(totals.faults > 0);
	assert_int_equal(totals.memory.evicted_major + totals.memory.evicted_minor, evicted_sum);
}

static void all_of_a_tenant_can_be_evicted_under_load(void **state)
{
	const struct evict_order order = {.choice = EVICT_ALL, .kind = EVICT_MAJOR};
	struct evict_outcome outcome;
	long evicted;

	describe(2, &block_class, 0);
	plan.machine.premap = true;
	start();
	evicted = machine_evict(machine, 1, &order, &outcome);
	assert_true(outcome.asked > 900);
	/* The driver runs on: a page or two of its rings may be back at once each time. */
	assert_true(evicted + 4 >= (long)outcome.asked);
	finish();
	assert_true(totals.faults > 0);
}

static void reclaim_and_a_small_queue_under_load(void **state)
{
	describe(4, &block_class, 0);
	plan.machine.reclaim_percent = 90;
	plan.machine.reclaim_kind = EVICT_MAJOR;
	plan.machine.reclaim_interval_ns = NSEC_PER_MSEC;
	plan.machine.request_queue_entries = 2;
	plan.machine.scheduler = SCHEDULER_SERIAL;
	for (int i = 0; i < 4; i++)
		plan.workloads[i].duration_ns = 60 * NSEC_PER_SEC;
	start();
	assert_int_equal(machine_begin(machine), 0);
	do {
		usleep(10000);
		machine_totals(machine, &totals);
	} while (!totals.service.overflows || totals.memory.evicted_major <= 100 ||
		 totals.service.requests <= totals.service.groups);
	machine_stop(machine);
	machine_totals(machine, &totals);
	assert_int_equal(totals.violations, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(machine_workload(machine, i)->mismatches, 0);
}

static void a_failure_response_is_an_error_to_the_driver(void **state)
{
	struct injection failure = {.point = INJECT_RESPONSE_FAILURE,
				    .device = DEVICE_ALL,
				    .probability = 100,
				    .interval = 7,
				    .times = 5};
	struct workload_result result;

	describe(1, &block_class, 1009);
	if (machine_create(&machine, &plan.machine))
		fail_msg("machine_create: %s", failure_text());
	assert_int_equal(inject_arm(machine_injections(machine), &failure), 0);
	assert_int_equal(machine_start(machine), 0);
	assert_int_equal(machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop), 0);
	machine_stop(machine);
	machine_totals(machine, &totals);
	result = *machine_workload(machine, 0);
	assert_int_equal(totals.service.responses[RESPONSE_FAILURE], 5);
	assert_int_equal(result.mismatches, 0);
	assert_in_range(result.errors, 0, 5);
	assert_int_equal(totals.violations, 0);
}

static void a_stop_in_the_middle_of_faults_ends_everything(void **state)
{
	for (int point = 0; point < INJECT_DELAYS; point++) {
		struct injection slow = {.point = (enum inject_point)point,
					 .device = DEVICE_ALL,
					 .probability = 100,
					 .interval = 1,
					 .times = -1,
					 .delay_ns = 3600 * NSEC_PER_SEC};
		__u64 begun;

		describe(8, &block_class, 100003);
		plan.machine.reclaim_percent = 50;
		plan.machine.reclaim_interval_ns = NSEC_PER_MSEC;
		if (machine_create(&machine, &plan.machine))
			fail_msg("machine_create: %s", failure_text());
		assert_int_equal(inject_arm(machine_injections(machine), &slow), 0);
		assert_int_equal(machine_start(machine), 0);
		begun = monotonic_ns();
		/* Of a request that waits before it is counted there is nothing to see until the stop. */
		do {
			assert_int_equal(machine_wait(machine, 50 * NSEC_PER_MSEC, &no_stop),
					 -ETIMEDOUT);
			machine_totals(machine, &totals);
		} while (!totals.service.groups && monotonic_ns() - begun < 3 * NSEC_PER_SEC);
		begun = monotonic_ns();
		machine_stop(machine);
		assert_true(monotonic_ns() - begun < slow.delay_ns);
		machine_totals(machine, &totals);
		assert_int_equal(totals.violations, 0);
		assert_true(totals.service.groups > 0);
		assert_int_equal(machine_start(machine), -EALREADY);
		machine_destroy(machine);
		machine = NULL;
	}
}

static void *read_first_page(void *argument)
{
	__u64 word;

	return (void *)(long)port_dma_read(machine->devices[0].port, 0, PASID_NONE,
					   machine->devices[0].iova_offset, &word, sizeof(word));
}

static void *stop_machine(void *argument)
{
	machine_stop(machine);
	return NULL;
}

/* Who looks for machines finds this many. */
static int machines_found(void)
{
	DIR *directory = opendir(getenv("FAULTLINE_RUN_DIR"));
	int found = 0;

	assert_non_null(directory);
	for (const struct dirent *entry; (entry = readdir(directory));)
		found += entry->d_name[0] != '.';
	closedir(directory);
	return found;
}

/* A device gives its fault up as it stops; the host is still at it, and probes tell what it does. */
static void a_machine_is_known_until_its_service_has_run_dry(void **state)
{
	pthread_t reader, stopper;
	int least = 1;
	void *read;

	describe(1, &block_class, 1);
	plan.machine.workload_count = 0;
	start();
	assert_int_equal(machines_found(), 1);
	page_lock(machine->tenants[0].locks, 0);
	assert_int_equal(pthread_create(&reader, NULL, read_first_page, NULL), 0);
	do {
		machine_totals(machine, &totals);
	} while (!totals.service.groups);
	assert_int_equal(pthread_create(&stopper, NULL, stop_machine, NULL), 0);
	pthread_join(reader, &read);
	for (int i = 0; i < 20 && least; i++) {
		usleep(10000);
		least = machines_found();
	}
	page_unlock(machine->tenants[0].locks, 0);
	pthread_join(stopper, NULL);
	assert_int_equal((long)read, -ESHUTDOWN);
	assert_int_equal(least, 1);
	assert_int_equal(machines_found(), 0);
}

static void a_hundred_and_twenty_eight_tenants_run_at_once(void **state)
{
	describe(128, &block_class, 31);
	start();
	finish();
	assert_int_equal(totals.ios, 128 * 31);
	assert_true(totals.faults >= 128);
}

static void wrong_descriptions_are_refused(void **state)
{
	describe(2, &block_class, 1);
	plan.devices[1].tenant = 2;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	assert_non_null(strstr(failure_text(), "d1"));
	describe(2, &block_class, 1);
	plan.workloads[1].device = 0;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	assert_non_null(strstr(failure_text(), "w0"));
	describe(1, &block_class, 1);
	plan.devices[0].group_pages = 513;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	describe(1, &block_class, 1);
	plan.machine.request_queue_entries = 12;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	describe(1, &block_class, 1);
	plan.tenants[0].memory = 4096;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	describe(1, &block_class, 1);
	plan.machine.tenant_count = 1001;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	describe(1, &block_class, 1);
	plan.devices[0].class = NULL;
	assert_int_equal(machine_create(&machine, &plan.machine), -EINVAL);
	assert_non_null(strstr(failure_text(), "d0"));
	/* What only the running device can tell: cleaned up after a half start. */
	describe(1, &block_class, 1);
	plan.workloads[0].depth = 17;
	assert_int_equal(machine_create(&machine, &plan.machine), 0);
	assert_int_equal(machine_start(machine), -EINVAL);
}

#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(a_cold_disk_faults_its_way_in),
		MACHINE_TEST(a_premapped_machine_never_faults),
		MACHINE_TEST(a_copy_engine_works_on_user_addresses),
		MACHINE_TEST(evictions_beside_io_cost_time_not_data),
		MACHINE_TEST(all_of_a_tenant_can_be_evicted_under_load),
		MACHINE_TEST(reclaim_and_a_small_queue_under_load),
		MACHINE_TEST(a_failure_response_is_an_error_to_the_driver),
		MACHINE_TEST(a_stop_in_the_middle_of_faults_ends_everything),
		MACHINE_TEST(a_machine_is_known_until_its_service_has_run_dry),
		MACHINE_TEST(a_hundred_and_twenty_eight_tenants_run_at_once),
		MACHINE_TEST(wrong_descriptions_are_refused),
	};
	char directory[] = "/tmp/faultline-test-XXXXXX";
	int failures;

	/* Not in the way of machines that are observed. */
	if (!mkdtemp(directory) || setenv("FAULTLINE_RUN_DIR", directory, 1))
		return 1;
	failures = cmocka_run_group_tests_name("machine", tests, NULL, NULL);
	rmdir(directory);
	return failures;
}
