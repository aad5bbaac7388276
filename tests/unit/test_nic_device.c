// SPDX-License-Identifier: GPL-2.0
/* A NIC in a whole machine: frames that are made up, and pages that leave under them. */
#include "tests/unit/nic_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"
#include "tests/unit/amount.h"

#define FRAMES 601

static struct nic_outcome outcome;

static void tell(const char *what)
{
	const struct frame_totals *frames = &outcome.frames;

	print_message("%s %s: in %llu delivered %llu lost %llu (fault %llu) held %llu ever %llu; "
		      "evicted %llu, skipped %llu, groups %llu\n",
		      what, rx_policies[nic_plan.nic->rx_policy]->name, frames->in,
		      frames->delivered, outcome.lost, frames->lost[LOSS_FAULT], frames->held,
		      frames->held_ever, outcome.evicted, outcome.skipped, outcome.machine.groups);
}

/* What each policy promises, whatever happened to its pages. */
static void run_promised(const char *what)
{
	bool pins = rx_policies[nic_plan.nic->rx_policy]->pins;

	nic_plan_run(&outcome);
	tell(what);
	assert_int_equal(outcome.frames.in, nic_plan.traffic.count);
	assert_int_equal(outcome.frames.held, 0);
	if (nic_plan.nic->rx_policy == RX_POLICY_backup)
		assert_int_equal(outcome.frames.delivered, nic_plan.traffic.count);
	if (nic_plan.nic->rx_policy == RX_POLICY_backup ||
	    nic_plan.nic->rx_policy == RX_POLICY_cache)
		assert_int_equal(outcome.frames.lost[LOSS_FAULT], 0);
	if (pins) {
		assert_int_equal(outcome.lost, outcome.frames.lost[LOSS_NO_BUFFER]);
		assert_int_equal(outcome.machine.groups, 0);
		assert_true(!nic_plan.evict || outcome.skipped > 0);
	} else {
		assert_int_equal(outcome.skipped, 0);
		assert_true(!nic_plan.evict || outcome.machine.groups > 0);
	}
}

#define EACH_POLICY(policy) for (enum rx_policy_index policy = 0; rx_policies[policy]; policy++)

static void every_frame_arrives_or_is_lost(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.device.queues = (__u16)(2 + policy % 3);
		nic_plan.evict = true;
		run_promised("evictions");
	}
}

static void the_reclaimer_takes_pages(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.machine.reclaim_percent = 60;
		nic_plan.machine.reclaim_kind = EVICT_MAJOR;
		nic_plan.machine.reclaim_interval_ns = NSEC_PER_MSEC;
		run_promised("reclaimer");
	}
}

/* A frame of 36 buffers, and where the policy wants fewer, 9. */
static void frames_take_many_buffers(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.nic->mtu = 9000;
		nic_plan.nic->rx_buffer = policy == RX_POLICY_ooo ? 1024 : 256;
		nic_plan.nic->cache_bytes = 4 << 20;
		nic_plan.device.queue_depth = 128;
		nic_plan.traffic.sizes[0] = 64;
		nic_plan.traffic.sizes[1] = 1500;
		nic_plan.traffic.sizes[2] = 9000;
		nic_plan.traffic.rate = 5000;
		nic_plan.evict = true;
		run_promised("many buffers");
	}
}

static void a_header_goes_before_each_frame(void **state)
{
	(void)state;
	for (int offload = NIC_OFFLOAD_CHECKSUM; offload <= NIC_OFFLOAD_SEGMENTS; offload++) {
		nic_plan_begin(RX_POLICY_backup, FRAMES);
		nic_plan.nic->offload = (enum nic_offload)offload;
		nic_plan.evict = true;
		run_promised("offload");
		assert_int_equal(outcome.frames.delivered, FRAMES);
	}
}

/* Interrupts that wait for company are fewer than frames. */
static void interrupts_are_put_together(void **state)
{
	(void)state;
	nic_plan_begin(RX_POLICY_drop, FRAMES);
	nic_plan.nic->interrupt_delay_ns = 5 * NSEC_PER_MSEC;
	nic_plan.nic->interrupt_frames = 16;
	/* Enough for a guest that a busy machine lets wait. */
	nic_plan.device.queue_depth = 512;
	nic_plan.nic->mtu = 1500;
	run_promised("interrupts");
	assert_int_equal(outcome.frames.delivered, FRAMES);
	assert_true(outcome.frames.interrupts > 0);
	assert_true(outcome.frames.interrupts <= FRAMES / 4);
}

static void pages_are_asked_for_ahead(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.device.group_pages = 1;
		nic_plan.nic->prefault = rx_policies[policy]->pins ? 0 : 17;
		nic_plan.nic->fault_limit = 2;
		nic_plan.evict = true;
		run_promised("prefault");
	}
}

/* What goes out comes back: faults on the way out pause, they lose nothing. */
static void what_is_sent_comes_back(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.nic->wire = NIC_WIRE_LOOP;
		nic_plan.sides = RING_SIDE(RING_TX);
		nic_plan.evict = true;
		nic_plan_inject(INJECT_RESOLVE, 10, 3 * NSEC_PER_MSEC);
		nic_plan_run(&outcome);
		tell("loop");
		assert_int_equal(outcome.frames.sent, FRAMES);
		assert_int_equal(outcome.frames.sent_lost, 0);
		assert_int_equal(outcome.frames.in + outcome.frames.lost[LOSS_BEFORE_NIC], FRAMES);
	}
}

static void lookups_and_memories(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.device.lookup = LOOKUP_ATS;
		nic_plan.device.devtlb = (struct cache_config){.entries = 64, .ways = 8};
		nic_plan.evict = true;
		run_promised("ats");
	}
}

static void nothing_hangs(const char *what, enum inject_point point, __u32 probability,
			  __u64 delay_ns)
{
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, 505);
		nic_plan.traffic.rate = 5000;
		nic_plan.device.response_timeout_ns = 5 * NSEC_PER_MSEC;
		nic_plan.device.reenable_ns = 2 * NSEC_PER_MSEC;
		/* Fewer pages leave than come back. */
		nic_plan.sides = 0;
		nic_plan.pause_ns = 10 * NSEC_PER_MSEC;
		nic_plan.rounds = 10;
		nic_plan.evict = true;
		nic_plan_inject(point, probability, delay_ns);
		run_promised(what);
	}
}

static void injections_lose_what_the_policy_says(void **state)
{
	(void)state;
	nothing_hangs("overflow", INJECT_OVERFLOW, 50, 0);
	nothing_hangs("response lost", INJECT_RESPONSE_LOST, 50, 0);
	nothing_hangs("failure", INJECT_RESPONSE_FAILURE, 50, 0);
	nothing_hangs("duplicate", INJECT_DUPLICATE, 50, 0);
	nothing_hangs("late response", INJECT_RESPOND, 20, 12 * NSEC_PER_MSEC);
}

/* Most answers come after the device has given up, and with them the next ones: it asks ever more seldom, or each
 * of its requests would find those of before still being served. */
static void late_answers_do_not_gather(void **state)
{
	(void)state;
	nic_plan_begin(RX_POLICY_cache, 1009);
	nic_plan.device.response_timeout_ns = 5 * NSEC_PER_MSEC;
	nic_plan.sides = 0;
	nic_plan.pause_ns = 10 * NSEC_PER_MSEC;
	nic_plan.rounds = 20;
	nic_plan.evict = true;
	nic_plan_inject(INJECT_RESPOND, 40, 12 * NSEC_PER_MSEC);
	run_promised("mostly late");
}

static void frames_lost_on_the_wire_are_its_own(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, FRAMES);
		nic_plan.machine.seed = 5;
		nic_plan_inject(INJECT_FRAME_LOSS, 10, 0);
		nic_plan_run(&outcome);
		tell("wire");
		assert_true(outcome.frames.lost[LOSS_WIRE] > 0);
		/* A busy machine's guest may be late with its buffers, but nothing faults. */
		assert_int_equal(outcome.frames.lost[LOSS_FAULT], 0);
		assert_int_equal(outcome.frames.delivered + outcome.lost, FRAMES);
		assert_int_equal(outcome.frames.in, FRAMES);
	}
}

static void it_stops_in_the_middle(void **state)
{
	__u64 in = 0;

	(void)state;
	EACH_POLICY(policy)
	for (__u64 wire = NIC_WIRE_GENERATOR; wire <= NIC_WIRE_LOOP; wire++) {
		nic_plan_begin(policy, 0);
		nic_plan.nic->wire = (enum nic_wire)wire;
		nic_plan.traffic.duration_ns = 60 * NSEC_PER_SEC;
		nic_plan.evict = true;
		nic_plan.stop_after_ns = 50 * NSEC_PER_MSEC;
		nic_plan_inject(INJECT_RESPOND, 100, 20 * NSEC_PER_MSEC);
		nic_plan_run(&outcome);
		tell("stopped");
		in += outcome.frames.in;
	}
	/* Of one that a busy machine began late none may have come. */
	assert_true(in > 0);
}

/* As fast as they come, FAULTLINE_FRAMES of them: a million is `FAULTLINE_FRAMES=1000000`. Of fewer than 65536 the backup
 * ring has room for all, however late a busy machine is; rings of 256 go round many times. */
static void many_frames(void **state)
{
	const char *wanted = getenv("FAULTLINE_FRAMES");

	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, wanted ? strtoull(wanted, NULL, 10) : 12007);
		nic_plan.traffic.rate = 100000;
		nic_plan.nic->backup_entries = RX_BITMAP_BITS_MAX;
		nic_plan.nic->bitmap_entries = RX_BITMAP_BITS_MAX;
		nic_plan.device.queue_depth = 256;
		nic_plan.evict = true;
		nic_plan.pause_ns = 3 * NSEC_PER_MSEC;
		run_promised("many frames");
	}
}

/* Under ASan that takes minutes, and many_frames() has the same there. */
#ifdef __SANITIZE_ADDRESS__
#define MANY 12007
#else
#define MANY amount(1000003, 100003)
#endif

/* In full a million. The backup ring has room for what comes in two seconds, however late a busy machine is. */
static void the_backup_ring_keeps_many_in_order(void **state)
{
	(void)state;
	nic_plan_begin(RX_POLICY_backup, MANY);
	nic_plan.traffic.rate = 30000;
	nic_plan.nic->backup_entries = RX_BITMAP_BITS_MAX;
	nic_plan.nic->bitmap_entries = RX_BITMAP_BITS_MAX;
	nic_plan.device.queue_depth = 256;
	nic_plan.evict = true;
	nic_plan.pause_ns = 3 * NSEC_PER_MSEC;
	run_promised("a million");
	assert_int_equal(outcome.frames.mismatches, 0);
}

/* What a frame lacks is asked for together: of three buffers on pages of their own a group has all. */
static void a_frame_is_one_request(void **state)
{
	(void)state;
	nic_plan_begin(RX_POLICY_backup, 211);
	nic_plan.machine.premap = false;
	nic_plan.nic->mtu = 9000;
	nic_plan.nic->rx_buffer = 4096;
	nic_plan.traffic.sizes[0] = 9000;
	nic_plan.traffic.size_count = 1;
	nic_plan.traffic.size_weights[0] = 1;
	nic_plan_run(&outcome);
	tell("a frame's buffers");
	assert_int_equal(outcome.lost, 0);
	assert_true(outcome.machine.faults > 100);
	assert_true(outcome.machine.groups * 2 <= outcome.machine.faults);
}

/* A queue that is full refuses at once, and is not asked without end. */
static void what_overflows_is_asked_for_ever_more_seldom(void **state)
{
	(void)state;
	EACH_POLICY(policy)
	{
		nic_plan_begin(policy, 0);
		nic_plan.machine.premap = false;
		nic_plan.traffic.duration_ns = 60 * NSEC_PER_SEC;
		nic_plan.stop_after_ns = 300 * NSEC_PER_MSEC;
		nic_plan_inject(INJECT_OVERFLOW, 100, 0);
		nic_plan_run(&outcome);
		tell("overflows");
		/* 1, 2, 4 ... ms between them, of two rings that both receive and send. A late end is a few more. */
		if (policy != RX_POLICY_pin)
			assert_in_range(outcome.machine.service.overflows, 2, 2 * 2 * 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_one_request),
		cmocka_unit_test(what_overflows_is_asked_for_ever_more_seldom),
		cmocka_unit_test(every_frame_arrives_or_is_lost),
		cmocka_unit_test(the_reclaimer_takes_pages),
		cmocka_unit_test(frames_take_many_buffers),
		cmocka_unit_test(a_header_goes_before_each_frame),
		cmocka_unit_test(interrupts_are_put_together),
		cmocka_unit_test(pages_are_asked_for_ahead),
		cmocka_unit_test(what_is_sent_comes_back),
		cmocka_unit_test(lookups_and_memories),
		cmocka_unit_test(injections_lose_what_the_policy_says),
		cmocka_unit_test(late_answers_do_not_gather),
		cmocka_unit_test(frames_lost_on_the_wire_are_its_own),
		cmocka_unit_test(it_stops_in_the_middle),
		cmocka_unit_test(many_frames),
		cmocka_unit_test(the_backup_ring_keeps_many_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
