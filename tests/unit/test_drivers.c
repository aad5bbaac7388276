// SPDX-License-Identifier: GPL-2.0
/* Devices that something else than a workload drives: who is waited for, whose pages are evicted, what is pinned. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/pins.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* A driver that no workload is, which ends when it is told to, or never by itself. */
static struct {
	struct driver_setup setup;
	bool done, started, stopped, kept_back;
} guest;

static int guest_create(void **driver, const struct driver_setup *setup)
{
	guest.setup = *setup;
	*driver = &guest;
	return 0;
}

static int guest_start(void *driver)
{
	guest.started = true;
	return 0;
}

static int guest_wait(void *driver, __u64 timeout_ns)
{
	return guest.done ? 0 : -ETIMEDOUT;
}

static void guest_stop(void *driver)
{
	guest.stopped = true;
}

static void guest_destroy(void *driver)
{
}

static long guest_next(void *driver, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	guest.kept_back = true;
	pages[0] = guest.setup.channel->data_address;
	return 1;
}

static void guest_send(void *driver)
{
	guest.kept_back = false;
}

/* A page for each side. */
static long guest_ring(void *driver, unsigned int sides, __u64 *pages, __u32 limit)
{
	long count = 0;

	for (int side = RING_RX; side <= RING_TX; side++)
		if (sides & RING_SIDE(side))
			pages[count++] =
				guest.setup.channel->data_address + (__u64)(5 + side) * PAGE_BYTES;
	return count;
}

static __u64 guest_bytes(void *driver)
{
	return 2 * PAGE_BYTES;
}

static struct device_driver guest_driver;
static struct device_class guest_class;

static struct tenant_config tenant;
static struct device_config device;
static struct workload_config workload;
static struct machine_config plan;
static struct machine *machine;
static struct machine_totals totals;

/* One device, of a model that is a copy engine with a driver of its own. */
static void describe(void)
{
	memset(&guest, 0, sizeof(guest));
	guest_driver = (struct device_driver){.create = guest_create,
					      .start = guest_start,
					      .wait = guest_wait,
					      .stop = guest_stop,
					      .destroy = guest_destroy,
					      .next_pages = guest_next,
					      .send_next = guest_send,
					      .ring_pages = guest_ring,
					      .buffer_bytes = guest_bytes};
	guest_class = accel_class;
	guest_class.driver = &guest_driver;
	guest_class.io = DEVICE_IO_NONE;
	tenant = (struct tenant_config){.name = "vm", .memory = 2 * HUGE_BYTES};
	device = (struct device_config){.name = "net",
					.class = &guest_class,
					.queues = 2,
					.queue_depth = 16,
					.group_pages = 1};
	plan = (struct machine_config){.name = "test",
				       .tenant_count = 1,
				       .device_count = 1,
				       .tenants = &tenant,
				       .devices = &device,
				       .workloads = &workload,
				       .request_queue_entries = 256,
				       .seed = 1,
				       .premap = true};
}

static void start(void)
{
	if (machine_create(&machine, &plan) || machine_start(machine))
		fail_msg("%s", failure_text());
}

static int wait_for_it(__u64 timeout_ns)
{
	static volatile sig_atomic_t no_stop;

	return machine_wait(machine, timeout_ns, &no_stop);
}

static void finish(void)
{
	assert_int_equal(wait_for_it(60 * NSEC_PER_SEC), 0);
	machine_stop(machine);
	assert_true(guest.stopped);
	machine_totals(machine, &totals);
	assert_int_equal(totals.violations, 0);
}

static int teardown(void **state)
{
	machine_destroy(machine);
	machine = NULL;
	return 0;
}

static void a_machine_waits_for_whoever_drives_it(void **state)
{
	describe();
	start();
	assert_true(guest.started);
	assert_ptr_equal(guest.setup.machine, machine);
	assert_null(guest.setup.workload);
	assert_int_equal(wait_for_it(NSEC_PER_MSEC), -ETIMEDOUT);
	assert_non_null(strstr(failure_text(), "vm/net"));
	guest.done = true;
	finish();
	teardown(NULL);
	/* One that never ends by itself keeps nobody. */
	describe();
	guest_driver.wait = NULL;
	start();
	finish();
}

static void assert_evicts(struct evict_order order, long pages, __u32 skipped)
{
	struct evict_outcome outcome;

	assert_int_equal(machine_evict(machine, 0, &order, &outcome), pages);
	assert_int_equal(outcome.asked, pages);
	assert_int_equal(outcome.skipped, skipped);
}

static void a_driver_names_the_pages_of_its_device(void **state)
{
	const unsigned int rx = RING_SIDE(RING_RX), tx = RING_SIDE(RING_TX);

	describe();
	start();
	assert_evicts((struct evict_order){EVICT_NEXT, EVICT_MAJOR, 1, 0}, 1, 0);
	assert_false(guest.kept_back);
	/* The other one of its two. */
	assert_evicts((struct evict_order){EVICT_RANDOM, EVICT_MINOR, 1, 0}, 1, 0);
	assert_evicts((struct evict_order){EVICT_RANDOM, EVICT_MINOR, 1, 0}, 0, 0);
	assert_evicts((struct evict_order){EVICT_RING, EVICT_MAJOR, 0, tx}, 1, 0);
	assert_false(guest_memory_present(guest.setup.memory,
					  guest.setup.channel->data_address + 6 * PAGE_BYTES));
	assert_evicts((struct evict_order){EVICT_RING, EVICT_MAJOR, 0, rx | tx}, 1, 0);
	/* What it does not say it does not have. */
	guest_driver.next_pages = NULL;
	guest_driver.ring_pages = NULL;
	assert_evicts((struct evict_order){EVICT_NEXT, EVICT_MAJOR, 1, 0}, 0, 0);
	assert_evicts((struct evict_order){EVICT_RING, EVICT_MAJOR, 0, rx | tx}, 0, 0);
	guest.done = true;
	finish();
}

/* Whatever an injection chooses, pinned pages are passed over, and neither asked for nor failed. */
static void evictions_pass_over_pinned_pages(void **state)
{
	const struct evict_order all = {.choice = EVICT_ALL, .kind = EVICT_MAJOR};
	struct evict_outcome outcome;
	__u64 data;
	long evicted;

	describe();
	start();
	data = guest.setup.channel->data_address;
	assert_int_equal(machine_pin(machine, 0, data, 2 * PAGE_BYTES, true), 0);
	assert_int_equal(machine_pin(machine, 0, data + 5 * PAGE_BYTES, 1, true), 0);
	assert_evicts((struct evict_order){EVICT_NEXT, EVICT_MAJOR, 1, 0}, 0, 1);
	assert_evicts((struct evict_order){EVICT_RANDOM, EVICT_MAJOR, 2, 0}, 0, 2);
	assert_evicts((struct evict_order){EVICT_RING, EVICT_MAJOR, 0, RING_SIDES}, 1, 1);
	evicted = machine_evict(machine, 0, &all, &outcome);
	assert_int_equal(evicted, outcome.asked);
	assert_int_equal(outcome.skipped, 3);
	assert_int_equal(outcome.asked, (2 * HUGE_BYTES >> PAGE_BITS) - 4);
	machine_totals(machine, &totals);
	assert_int_equal(totals.pinned, 3);
	assert_int_equal(totals.pinned_skipped, 1 + 2 + 1 + 3);
	assert_int_equal(machine_unpin(machine, 0, data, 2 * PAGE_BYTES), 0);
	assert_evicts((struct evict_order){EVICT_NEXT, EVICT_MAJOR, 1, 0}, 1, 0);
	guest.done = true;
	finish();
	assert_int_equal(totals.pinned, 1);
	assert_int_equal(totals.pinned_most, 3);
}

static void a_workload_needs_a_model_that_takes_it(void **state)
{
	describe();
	plan.workload_count = 1;
	snprintf(workload.name, sizeof(workload.name), "load");
	assert_int_equal(machine_create(&machine, &plan), -EINVAL);
	assert_non_null(strstr(failure_text(), "load"));
	assert_non_null(strstr(failure_text(), "accepted: block, accel"));
}

#define DRIVER_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DRIVER_TEST(a_machine_waits_for_whoever_drives_it),
		DRIVER_TEST(a_driver_names_the_pages_of_its_device),
		DRIVER_TEST(evictions_pass_over_pinned_pages),
		DRIVER_TEST(a_workload_needs_a_model_that_takes_it),
	};
	char directory[] = "/tmp/faultline-test-XXXXXX";
	int failures;

	/* Not in the way of machines that are observed. */
	if (!mkdtemp(directory) || setenv("FAULTLINE_RUN_DIR", directory, 1))
		return 1;
	failures = cmocka_run_group_tests_name("drivers", tests, NULL, NULL);
	rmdir(directory);
	return failures;
}
