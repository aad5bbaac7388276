// SPDX-License-Identifier: GPL-2.0
/* What waits or is dropped for an absent page names its fault, by the truth log: from when the device finds it. */
#include "tests/unit/rdma_machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"

#define BOTH	     (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define ABSENT_BYTES (1ull << 20)

static struct machine *machine;
static struct rdma_guest guests[2];
static struct guest_queue queues[2];
static struct guest_pair pairs[2];
static struct guest_region there[2], absent[2];
static struct rdma_totals totals[2];
static struct machine_totals all;
static char path[] = "/tmp/faultline-blame-XXXXXX";

static void begin(void)
{
	int descriptor;

	rdma_plan_begin();
	strcpy(path + strlen(path) - 6, "XXXXXX");
	descriptor = mkstemp(path);
	assert_true(descriptor >= 0);
	close(descriptor);
	rdma_plan.truth = path;
	/* Nothing is given up, however busy the machine. */
	for (int i = 0; i < 2; i++)
		rdma_plan.devices[i].response_timeout_ns = 60 * NSEC_PER_SEC;
}

static void build(void)
{
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&guests[i], &queues[i], 64);
		guest_pair_create(&queues[i], &pairs[i], 16);
		guest_register(&guests[i], &there[i], ABSENT_BYTES, true, BOTH);
		guest_register(&guests[i], &absent[i], ABSENT_BYTES, false, BOTH);
	}
	guest_connect(&pairs[0], &pairs[1]);
}

static void post(int guest, enum verbs_opcode opcode, const struct guest_region *near,
		 const struct guest_region *far, __u64 offset)
{
	struct verbs_send send = guest_send(opcode, near, offset, 64, far, offset);

	guest_post_send(&pairs[guest], &send);
}

static void expect(int guest)
{
	struct verbs_completion done;

	guest_wait(&queues[guest], &done);
	assert_int_equal(done.status, VERBS_SUCCESS);
}

static struct rdma_totals now(int guest)
{
	struct rdma_totals current;

	rdma_totals_now(guests[guest].device, &current);
	return current;
}

static void wait_naks(int guest, __u64 count)
{
	__u64 deadline = monotonic_ns() + 60 * NSEC_PER_SEC;

	while (now(guest).transport.rnr_sent < count) {
		assert_true(monotonic_ns() < deadline);
		sched_yield();
	}
}

static __u64 number_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

/* How many of a kind name a fault, and how many do not. */
struct blame {
	__u64 named, unnamed, fault; /* the last of them */
};

static struct blame read_truth(const char *what)
{
	struct blame blame = {0};
	char line[512], kind[64];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	(void)snprintf(kind, sizeof(kind), "\"what\":\"%s\"", what);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, kind))
			continue;
		/* Packets that were dropped for another reason name none. */
		if (!strcmp(what, "packet_dropped") &&
		    number_of(line, "\"code\":") != RDMA_DROP_FAULT &&
		    number_of(line, "\"code\":") != RDMA_DROP_RESPONSE)
			continue;
		blame.fault = number_of(line, "\"fault\":");
		if (blame.fault)
			blame.named++;
		else
			blame.unnamed++;
	}
	fclose(file);
	return blame;
}

static void stop(void)
{
	rdma_plan_stop(machine, totals, &all);
}

static void the_profile_s_time_hides_no_fault(void **state)
{
	for (int profile = RDMA_PROFILE_IDEAL; profile <= RDMA_PROFILE_CONNECTX; profile++) {
		begin();
		for (int i = 0; i < 2; i++) {
			rdma_plan.settings[i]->profile = (enum rdma_profile)profile;
			rdma_plan.settings[i]->read_rnr = true;
		}
		build();
		for (__u64 i = 0; i < 17; i++) {
			post(0, VERBS_WRITE, &there[0], &absent[1], i * PAGE_BYTES);
			expect(0);
			post(0, VERBS_READ, &absent[0], &there[1], i * PAGE_BYTES);
			expect(0);
			post(1, VERBS_WRITE, &absent[1], &there[0], (17 + i) * PAGE_BYTES);
			expect(1);
		}
		stop();
		assert_int_equal(totals[0].faults + totals[1].faults, 3 * 17);
		/* Of a write and of a read; the source of a write waits. */
		assert_true(read_truth("rnr_sent").named >= 2 * 17);
		assert_int_equal(read_truth("rnr_sent").unnamed, 0);
		assert_true(read_truth("packet_dropped").named >= 2 * 17);
		assert_int_equal(read_truth("packet_dropped").unnamed, 0);
		assert_true(read_truth("qp_paused").named >= 17);
		assert_int_equal(read_truth("detect").named, 3 * 17);
		assert_int_equal(read_truth("held").named, 0);
		unlink(path);
	}
}

/* A write's target is not reported as a fault of another side of the pair is open, and no answer comes to that. */
static void what_is_not_reported_names_what_is_in_its_way(void **state)
{
	const struct injection lost = {
		.point = INJECT_RESPONSE_LOST,
		.device = DEVICE_ALL,
		.id = 1,
		.probability = 100,
		.interval = 1,
		.times = -1,
	};
	struct blame naks, drops, detects;

	begin();
	rdma_plan.settings[0]->fault_limit = 1;
	build();
	assert_int_equal(inject_arm(machine_injections(machine), &lost), 0);
	post(0, VERBS_WRITE, &absent[0], &there[1], 0);
	while (!now(0).faults)
		sched_yield();
	post(1, VERBS_WRITE, &there[1], &absent[0], PAGE_BYTES);
	wait_naks(0, 7);
	stop();
	assert_int_equal(totals[0].faults, 1);
	assert_true(totals[0].suppressed >= 7);
	detects = read_truth("detect");
	naks = read_truth("rnr_sent");
	drops = read_truth("packet_dropped");
	assert_int_equal(detects.named, 1);
	assert_true(naks.named >= 7);
	assert_true(drops.named >= 7);
	assert_int_equal(naks.unnamed + drops.unnamed, 0);
	assert_int_equal(naks.fault, detects.fault);
	assert_int_equal(drops.fault, detects.fault);
	unlink(path);
}

/* A device that needs for ever until the host hears of a fault. */
static void what_the_host_has_not_heard_of_is_abandoned(void **state)
{
	for (int destroyed = 0; destroyed < 2; destroyed++) {
		begin();
		rdma_plan.settings[1]->profile = RDMA_PROFILE_CONNECTX;
		build();
		/* Nothing is under way. */
		guests[1].device->faults.detect_ns = 3600 * NSEC_PER_SEC;
		post(0, VERBS_WRITE, &there[0], &absent[1], 0);
		wait_naks(1, 3);
		if (destroyed)
			assert_int_equal(rdma_pair_destroy(guests[1].device, pairs[1].number), 0);
		stop();
		assert_int_equal(totals[1].faults, 0);
		assert_true(read_truth("rnr_sent").named >= 3);
		assert_int_equal(read_truth("rnr_sent").unnamed, 0);
		assert_int_equal(read_truth("detect").named, 1);
		assert_int_equal(read_truth("request").named, 0);
		assert_int_equal(read_truth("abandon").named, 1);
		assert_int_equal(read_truth("resume").named, 0);
		unlink(path);
	}
}

/* Those of a queue pair that is gone are asked for all the same: they were told of. */
static void a_destroyed_pair_s_faults_are_served(void **state)
{
	__u64 deadline;

	begin();
	rdma_plan.settings[1]->profile = RDMA_PROFILE_CONNECTX;
	build();
	guests[1].device->faults.detect_ns = 100 * NSEC_PER_MSEC;
	post(0, VERBS_WRITE, &there[0], &absent[1], 0);
	wait_naks(1, 1);
	assert_int_equal(rdma_pair_destroy(guests[1].device, pairs[1].number), 0);
	deadline = monotonic_ns() + 60 * NSEC_PER_SEC;
	while (!now(1).faults) {
		assert_true(monotonic_ns() < deadline);
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	}
	stop();
	assert_int_equal(read_truth("detect").named, 1);
	assert_int_equal(read_truth("request").named, 1);
	assert_int_equal(read_truth("resume").named + read_truth("abandon").named, 1);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_profile_s_time_hides_no_fault),
		cmocka_unit_test(what_is_not_reported_names_what_is_in_its_way),
		cmocka_unit_test(what_the_host_has_not_heard_of_is_abandoned),
		cmocka_unit_test(a_destroyed_pair_s_faults_are_served),
	};

	return cmocka_run_group_tests_name("rdma_blame", tests, NULL, NULL);
}
