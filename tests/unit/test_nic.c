// SPDX-License-Identifier: GPL-2.0
/* A NIC in a whole machine: frames that are made up, and pages that leave under them. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/nic/nic_settings.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

static volatile sig_atomic_t no_stop;

static struct {
	struct tenant_config tenant;
	struct device_config device;
	struct traffic_config traffic;
	struct machine_config machine;
} plan;

static struct nic_settings *settings(void)
{
	return (struct nic_settings *)plan.device.settings.bytes;
}

static void describe(enum rx_policy_index policy, __u64 frames)
{
	memset(&plan, 0, sizeof(plan));
	strcpy(plan.tenant.name, "vm");
	plan.tenant.memory = 4 * HUGE_BYTES;
	strcpy(plan.device.name, "net");
	plan.device.class = &nic_class;
	plan.device.queues = 2;
	plan.device.queue_depth = 64;
	plan.device.group_pages = 8;
	*settings() = (struct nic_settings){
		.rx_policy = policy,
		.rx_buffer = 2048,
		.mtu = 1500,
		.wire = NIC_WIRE_GENERATOR,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.cache_bytes = 256 * 1024,
		/* Room for every frame: none may be lost. */
		.backup_entries = 8192,
		.bitmap_entries = 8192,
	};
	strcpy(plan.traffic.name, "frames");
	plan.traffic = (struct traffic_config){
		.name = "frames",
		.flows = 13,
		.sizes = {64, 577, 1514},
		.size_weights = {3, 2, 1},
		.size_count = 3,
		.rate = 10000,
		.count = frames,
		.verify = true,
		.seed = 7,
	};
	plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = 1,
		.device_count = 1,
		.traffic_count = 1,
		.tenants = &plan.tenant,
		.devices = &plan.device,
		.traffics = &plan.traffic,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.premap = true,
		.seed = 1,
	};
}

struct evictor {
	struct machine *machine;
	bool stop;
	__u64 evicted, pinned;
};

static void *evict(void *argument)
{
	struct evictor *evictor = argument;
	struct evict_outcome outcome;
	long evicted;

	while (!__atomic_load_n(&evictor->stop, __ATOMIC_ACQUIRE)) {
		const struct evict_order order = {
			.choice = EVICT_RANDOM, .pages = 3, .kind = EVICT_MAJOR};

		evicted = machine_evict(evictor->machine, 0, &order, &outcome);
		if (evicted < 0)
			break;
		evictor->evicted += (__u64)evicted;
		evictor->pinned += outcome.skipped;
		sleep_until(monotonic_ns() + 500 * NSEC_PER_USEC);
	}
	return NULL;
}

static struct frame_totals run(bool evictions, struct evictor *evictor)
{
	struct frame_totals totals;
	struct machine *machine;
	pthread_t thread;

	*evictor = (struct evictor){0};
	if (machine_create(&machine, &plan.machine) || machine_start(machine) ||
	    machine_begin(machine))
		fail_msg("%s", failure_text());
	evictor->machine = machine;
	if (evictions)
		assert_int_equal(pthread_create(&thread, NULL, evict, evictor), 0);
	if (machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop))
		fail_msg("%s", failure_text());
	__atomic_store_n(&evictor->stop, true, __ATOMIC_RELEASE);
	if (evictions)
		pthread_join(thread, NULL);
	machine_stop(machine);
	totals = *machine_frames(machine, 0);
	machine_destroy(machine);
	return totals;
}

static __u64 lost_of(const struct frame_totals *totals)
{
	__u64 lost = 0;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += totals->lost[reason];
	return lost;
}

static void every_frame_arrives_or_is_lost(void **state)
{
	(void)state;
	for (const struct rx_policy *const *policy = rx_policies; *policy; policy++) {
		struct frame_totals totals;
		struct evictor evictor;

		describe((enum rx_policy_index)(policy - rx_policies), 5003);
		totals = run(true, &evictor);
		print_message(
			"%-6s in %llu delivered %llu lost %llu (fault %llu, none %llu) held %llu ever "
			"%llu, evicted %llu\n",
			(*policy)->name, totals.in, totals.delivered, lost_of(&totals),
			totals.lost[LOSS_FAULT], totals.lost[LOSS_NO_BUFFER], totals.held,
			totals.held_ever, evictor.evicted);
		assert_int_equal(totals.in, 5003);
		assert_int_equal(totals.in, totals.delivered + lost_of(&totals) + totals.held);
		assert_int_equal(totals.mismatches, 0);
		assert_int_equal(totals.halted, 0);
		if (!strcmp((*policy)->name, "backup"))
			assert_int_equal(totals.delivered, 5003);
		if ((*policy)->pins)
			assert_int_equal(totals.lost[LOSS_FAULT], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_arrives_or_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
