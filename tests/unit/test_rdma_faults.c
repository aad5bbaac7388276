// SPDX-License-Identifier: GPL-2.0
/* The fault unit of an RDMA device: what it reports, when, and who waits for it. */
#include "tests/unit/rdma_machine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "lib/base/clock.h"

#define BOTH	(VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define WAIT_NS (60 * NSEC_PER_SEC)

/* Two guests, some pairs; memory that is there, and memory that is not. */
static struct machine *machine;
static struct rdma_guest guests[2];
static struct guest_queue queues[2];
static struct guest_pair pairs[2][2]; /* of guest and number */
static struct guest_region there[2], absent[2];
static struct rdma_totals totals[2];
static struct machine_totals all;

#define ABSENT_BYTES (8ull << 20)

static void build(void)
{
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&guests[i], &queues[i], 256);
		for (int n = 0; n < 2; n++)
			guest_pair_create(&queues[i], &pairs[i][n], 64);
		guest_register(&guests[i], &there[i], 4 << 20, true, BOTH);
		guest_register(&guests[i], &absent[i], ABSENT_BYTES, false, BOTH);
	}
	for (int n = 0; n < 2; n++)
		guest_connect(&pairs[0][n], &pairs[1][n]);
}

static void inject_into(__u32 device, enum inject_point point, __s64 times)
{
	const struct injection injection = {
		.point = point,
		.device = device,
		.id = 1,
		.probability = 100,
		.interval = 1,
		.times = times,
	};

	assert_int_equal(inject_arm(machine_injections(machine), &injection), 0);
}

static void inject(enum inject_point point, __s64 times)
{
	inject_into(DEVICE_ALL, point, times);
}

static void stop(void)
{
	rdma_plan_stop(machine, totals, &all);
}

static void post(int guest, int number, enum verbs_opcode opcode, const struct guest_region *near,
		 const struct guest_region *far, __u32 length)
{
	struct verbs_send send = guest_send(opcode, near, 0, length, far, 0);

	guest_post_send(&pairs[guest][number], &send);
}

static void expect(int guest, enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(&queues[guest], &done);
	assert_int_equal(done.status, status);
}

static struct rdma_totals now(int guest)
{
	struct rdma_totals current;

	rdma_totals_now(guests[guest].device, &current);
	return current;
}

/* Until a count of a guest's device is so high. */
#define UNTIL(guest, member, least)                                                    \
	do {                                                                           \
		__u64 deadline = monotonic_ns() + WAIT_NS;                             \
		while (now(guest).member < (least)) {                                  \
			if (monotonic_ns() > deadline)                                 \
				fail_msg(#member " does not become %d", (int)(least)); \
			sched_yield();                                                 \
		}                                                                      \
	} while (0)

/* All four kinds are absent at the first guest's, and no answer ever comes. */
static void fault_all_kinds(void)
{
	inject(INJECT_RESPONSE_LOST, -1);
	post(0, 0, VERBS_READ, &absent[0], &there[1], 64);
	post(1, 0, VERBS_READ, &there[1], &absent[0], 64);
	post(1, 1, VERBS_WRITE, &there[1], &absent[0], 64);
	post(0, 1, VERBS_WRITE, &absent[0], &there[1], 64);
}

static void each_kind_has_one_report(void **state)
{
	rdma_plan_begin();
	build();
	fault_all_kinds();
	/* Two of each of two queue pairs; what is tried again meanwhile is not reported. */
	UNTIL(0, faults, 4);
	UNTIL(0, suppressed, 17);
	assert_int_equal(now(0).faults, 4);
	stop();
	assert_int_equal(totals[0].faults, 4);
	assert_int_equal(totals[1].faults, 0);
}

static void a_limit_is_for_all_kinds_together(void **state)
{
	rdma_plan_begin();
	rdma_plan.settings[0]->fault_limit = 1;
	build();
	fault_all_kinds();
	UNTIL(0, faults, 2);
	UNTIL(0, suppressed, 17);
	/* One of each queue pair. */
	assert_int_equal(now(0).faults, 2);
	stop();
}

static void what_is_not_reported_is_after_the_resume(void **state)
{
	rdma_plan_begin();
	rdma_plan.settings[0]->fault_limit = 1;
	build();
	/* A read's responses and a write meet the limit of one. */
	post(0, 0, VERBS_READ, &absent[0], &there[1], 64);
	post(1, 0, VERBS_READ, &there[1], &absent[0], 64);
	expect(0, VERBS_SUCCESS);
	expect(1, VERBS_SUCCESS);
	stop();
	assert_in_range(totals[0].faults, 1, 2);
}

static void a_bit_is_cleared_after_its_delay(void **state)
{
	__u64 start = monotonic_ns();
	struct verbs_send send;

	rdma_plan_begin();
	rdma_plan.settings[1]->clear_delay_ns = 2 * NSEC_PER_SEC;
	build();
	post(0, 0, VERBS_WRITE, &there[0], &absent[1], 64);
	expect(0, VERBS_SUCCESS);
	assert_int_equal(now(1).faults, 1);
	/* Another page, the same kind: in the window it is not reported, and none but the bit's clearing brings it. */
	send = guest_send(VERBS_WRITE, &there[0], 0, 64, &absent[1], PAGE_BYTES);
	guest_post_send(&pairs[0][0], &send);
	UNTIL(1, suppressed, 3);
	assert_int_equal(now(1).faults, 1);
	/* Not that of another queue pair. */
	send = guest_send(VERBS_WRITE, &there[0], 0, 64, &absent[1], 2 * PAGE_BYTES);
	guest_post_send(&pairs[0][1], &send);
	expect(0, VERBS_SUCCESS);
	assert_int_equal(now(1).faults, 2);
	expect(0, VERBS_SUCCESS);
	assert_true(monotonic_ns() - start >= 2 * NSEC_PER_SEC);
	stop();
	assert_int_equal(totals[1].faults, 3);
}

/* The kinds whose retry is the device's, not the peer's: they too come back when the bit is cleared. */
static void the_device_tries_again_by_itself(void **state)
{
	struct verbs_send send;

	rdma_plan_begin();
	rdma_plan.settings[0]->clear_delay_ns = 300 * NSEC_PER_MSEC;
	build();
	post(0, 0, VERBS_WRITE, &absent[0], &there[1], 64);
	expect(0, VERBS_SUCCESS);
	send = guest_send(VERBS_WRITE, &absent[0], PAGE_BYTES, 64, &there[1], 0);
	guest_post_send(&pairs[0][0], &send);
	expect(0, VERBS_SUCCESS);
	post(0, 1, VERBS_READ, &absent[0], &there[1], 2 * PAGE_BYTES);
	expect(0, VERBS_SUCCESS);
	stop();
	assert_int_equal(totals[0].transport.operations[VERBS_WRITE], 2);
	assert_int_equal(totals[0].transport.operations[VERBS_READ], 1);
}

static double round_trip_least(enum rdma_profile profile)
{
	rdma_plan_begin();
	for (int i = 0; i < 2; i++) {
		rdma_plan.settings[i]->profile = profile;
		rdma_plan.settings[i]->rnr_timer = 14;
	}
	build();
	for (__u64 i = 0; i < 31; i++) {
		struct verbs_send send =
			guest_send(VERBS_WRITE, &there[0], 0, 64, &absent[1], i * PAGE_BYTES);

		guest_post_send(&pairs[0][0], &send);
		expect(0, VERBS_SUCCESS);
		send = guest_send(VERBS_WRITE, &absent[0], i * PAGE_BYTES, 64, &there[1], 0);
		guest_post_send(&pairs[0][0], &send);
		expect(0, VERBS_SUCCESS);
	}
	stop();
	assert_int_equal(totals[0].faults, 31);
	assert_int_equal(totals[1].faults, 31);
	assert_int_equal(all.round_trip.count, 62);
	/* Neither is ever cut short, whatever the engine's thread was doing as the answer came. */
	if (profile == RDMA_PROFILE_CONNECTX)
		assert_true(all.parts.device_least_ns >= 198000);
	return (double)all.round_trip.min;
}

static void a_profile_adds_its_times(void **state)
{
	__u64 deadline = monotonic_ns() + WAIT_NS;

	assert_true(round_trip_least(RDMA_PROFILE_CONNECTX) >= 198000);
	/* Three threads have to run at once for it. */
	while (round_trip_least(RDMA_PROFILE_IDEAL) >= 198000)
		assert_true(monotonic_ns() < deadline);
}

static void a_request_is_asked_for_as_a_whole(void **state)
{
	const __u32 bytes = 4 << 20, pages = bytes / PAGE_BYTES;

	for (int prefault = RDMA_PREFAULT_PAGE; prefault <= RDMA_PREFAULT_REQUEST; prefault++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->prefault = (enum rdma_prefault)prefault;
		build();
		post(0, 0, VERBS_WRITE, &absent[0], &absent[1], bytes);
		expect(0, VERBS_SUCCESS);
		post(0, 0, VERBS_READ, &there[0], &absent[1], bytes);
		expect(0, VERBS_SUCCESS);
		stop();
		for (int i = 0; i < 2; i++) {
			assert_int_equal(totals[i].fault_pages, pages);
			assert_int_equal(totals[i].faults,
					 prefault == RDMA_PREFAULT_REQUEST ? 1 : pages);
		}
		/* Of up to 512 pages each, raised at once. */
		assert_int_equal(all.groups, prefault == RDMA_PREFAULT_REQUEST ? 4 : 2 * pages);
	}
}

static void a_list_is_asked_for_as_a_whole(void **state)
{
	struct verbs_send send = {.opcode = VERBS_WRITE, .flags = VERBS_SEND_SIGNALED, .pieces = 6};

	rdma_plan_begin();
	rdma_plan.settings[0]->prefault = RDMA_PREFAULT_REQUEST;
	build();
	/* Six pieces on seven pages, of which one has the end of one and the beginning of another. */
	for (__u32 i = 0; i < 6; i++)
		send.piece[i] =
			(struct verbs_sge){absent[0].at + i * 4 * PAGE_BYTES, 3000, absent[0].key};
	send.piece[1].address = send.piece[0].address + 3000;
	send.remote_address = there[1].at;
	send.remote_key = there[1].key;
	guest_post_send(&pairs[0][0], &send);
	expect(0, VERBS_SUCCESS);
	stop();
	assert_int_equal(totals[0].faults, 1);
	assert_int_equal(totals[0].fault_pages, 6);
}

/* One queue pair waits for ever, at each of its four sides in turn: the other moves on, both ways. */
static void others_do_not_wait(void **state)
{
	for (int side = 0; side < RDMA_SIDES; side++) {
		bool responder = side == RDMA_RESPONDER_READS || side == RDMA_RESPONDER_WRITES;
		bool reads = side == RDMA_INITIATOR_WRITES || side == RDMA_RESPONDER_READS;

		rdma_plan_begin();
		/* Nor does any run out of retries, however long this takes. */
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->timeout_ns = 0;
		build();
		inject(INJECT_RESPONSE_LOST, -1);
		post(0, 0, reads ? VERBS_READ : VERBS_WRITE, responder ? &there[0] : &absent[0],
		     responder ? &absent[1] : &there[1], 64);
		UNTIL(responder ? 1 : 0, faults, 1);
		for (int i = 0; i < 2003; i++) {
			post(0, 1, i % 2 ? VERBS_READ : VERBS_WRITE, &there[0], &there[1], 5000);
			post(1, 1, i % 3 ? VERBS_WRITE : VERBS_READ, &there[1], &there[0], 5000);
			expect(0, VERBS_SUCCESS);
			expect(1, VERBS_SUCCESS);
		}
		stop();
		/* It has not moved. */
		assert_int_equal(totals[0].transport.operations[VERBS_READ] +
					 totals[0].transport.operations[VERBS_WRITE],
				 2003);
	}
}

/* The first two devices' only queue pair waits for ever, at each of its sides in turn: those of other tenants fault, are
 * served and move on. */
static void other_tenants_do_not_wait(void **state)
{
	static struct rdma_guest four[RDMA_PLAN_MOST];
	static struct rdma_totals each[RDMA_PLAN_MOST];
	struct guest_queue queue[RDMA_PLAN_MOST];
	struct guest_pair pair[RDMA_PLAN_MOST];
	struct guest_region region[RDMA_PLAN_MOST];
	struct verbs_completion done;
	struct verbs_send send;

	for (int side = 0; side < RDMA_SIDES; side++) {
		bool responder = side == RDMA_RESPONDER_READS || side == RDMA_RESPONDER_WRITES;
		bool reads = side == RDMA_INITIATOR_WRITES || side == RDMA_RESPONDER_READS;

		rdma_plan_begin();
		rdma_plan.machine.device_count = rdma_plan.machine.tenant_count = 4;
		for (int i = 0; i < 4; i++)
			rdma_plan.settings[i]->timeout_ns = 10 * NSEC_PER_SEC;
		machine = rdma_plan_start(four);
		for (int i = 0; i < 4; i++) {
			guest_queue_create(&four[i], &queue[i], 64);
			guest_pair_create(&queue[i], &pair[i], 16);
			guest_register(&four[i], &region[i], 4 << 20, i < 2 && i == !responder,
				       BOTH);
			if (i % 2)
				guest_connect(&pair[i - 1], &pair[i]);
		}
		inject_into(0, INJECT_RESPONSE_LOST, -1);
		inject_into(1, INJECT_RESPONSE_LOST, -1);
		send = guest_send(reads ? VERBS_READ : VERBS_WRITE, &region[0], 0, 64, &region[1],
				  0);
		guest_post_send(&pair[0], &send);
		do
			rdma_totals_now(four[responder].device, &each[responder]);
		while (!each[responder].faults);
		for (__u64 i = 0; i < 127; i++) {
			send = guest_send(i % 2 ? VERBS_READ : VERBS_WRITE, &region[2],
					  2 * i * PAGE_BYTES, 5000, &region[3], 2 * i * PAGE_BYTES);
			guest_post_send(&pair[2], &send);
			guest_wait(&queue[2], &done);
			assert_int_equal(done.status, VERBS_SUCCESS);
		}
		assert_false(guest_poll(&queue[0], &done));
		rdma_plan_stop(machine, each, &all);
		assert_true(each[2].faults >= 127 && each[3].faults >= 127);
		assert_int_equal(each[0].transport.operations[VERBS_READ] +
					 each[0].transport.operations[VERBS_WRITE],
				 0);
	}
}

/* What becomes of a fault that cannot be served: both sides say so, nobody hangs. */
static void what_cannot_be_had_fails_the_request(void **state)
{
	for (int side = 0; side < RDMA_SIDES; side++) {
		bool responder = side == RDMA_RESPONDER_READS || side == RDMA_RESPONDER_WRITES;
		bool reads = side == RDMA_INITIATOR_WRITES || side == RDMA_RESPONDER_READS;
		struct verbs_completion done;

		rdma_plan_begin();
		build();
		inject(INJECT_RESPONSE_FAILURE, -1);
		post(0, 0, reads ? VERBS_READ : VERBS_WRITE, responder ? &there[0] : &absent[0],
		     responder ? &absent[1] : &there[1], 64);
		guest_wait(&queues[0], &done);
		assert_int_not_equal(done.status, VERBS_SUCCESS);
		stop();
		assert_true(totals[0].errors > 0);
	}
}

static void a_policy_says_what_a_fault_costs(void **state)
{
	for (__u32 policy = 0; policy < 2; policy++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++) {
			rdma_plan.settings[i]->fault = policy;
			rdma_plan.settings[i]->timeout_ns =
				policy ? 50 * NSEC_PER_MSEC : NSEC_PER_SEC * 30;
		}
		build();
		for (__u64 i = 0; i < 17; i++) {
			struct verbs_send send = guest_send(VERBS_WRITE, &there[0], 0, 64,
							    &absent[1], i * PAGE_BYTES);

			guest_post_send(&pairs[0][0], &send);
			expect(0, VERBS_SUCCESS);
		}
		stop();
		assert_int_equal(totals[1].faults, 17);
		if (policy) {
			assert_int_equal(totals[1].transport.rnr_sent, 0);
			assert_true(totals[0].transport.resent[RDMA_RESEND_TIMEOUT] >= 17);
		} else {
			assert_true(totals[1].transport.rnr_sent >= 17);
			assert_int_equal(totals[0].transport.resent[RDMA_RESEND_TIMEOUT], 0);
			assert_int_equal(totals[0].transport.resent[RDMA_RESEND_RNR],
					 totals[1].transport.dropped[RDMA_DROP_FAULT] +
						 totals[1].transport.dropped[RDMA_DROP_RNR]);
		}
	}
}

static void read_rnr_spares_the_responses(void **state)
{
	__u64 dropped[2];

	for (int wish = 0; wish < 2; wish++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->read_rnr = wish;
		build();
		post(0, 0, VERBS_READ, &absent[0], &there[1], 4 << 20);
		expect(0, VERBS_SUCCESS);
		stop();
		dropped[wish] = totals[0].transport.dropped[RDMA_DROP_RESPONSE];
		assert_int_equal(totals[0].fault_pages, 1024);
		if (wish)
			assert_true(totals[0].transport.rnr_sent > 0);
		else
			assert_int_equal(totals[0].transport.rnr_sent, 0);
	}
	assert_true(dropped[0] > 0);
}

/* An end that has it alone does as if it had not: nobody is told what it does not know, and no timeout is needed (there is none). */
static void read_rnr_needs_both_ends(void **state)
{
	for (int end = 0; end < 2; end++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++) {
			rdma_plan.settings[i]->read_rnr = i == end;
			rdma_plan.settings[i]->timeout_ns = 0;
		}
		build();
		for (int i = 0; i < 11; i++)
			post(0, 0, VERBS_READ, &absent[0], &there[1], 64 << 10);
		for (int i = 0; i < 11; i++)
			expect(0, VERBS_SUCCESS);
		stop();
		for (int i = 0; i < 2; i++) {
			const struct transport_counters *counters = &totals[i].transport;

			assert_int_equal(counters->rnr_sent + counters->rnr_received, 0);
			assert_int_equal(counters->dropped[RDMA_DROP_STATE], 0);
			/* No gap was seen either, which would take a retry. */
			assert_int_equal(counters->dropped[RDMA_DROP_SEQUENCE], 0);
			assert_int_equal(counters->resent[RDMA_RESEND_SEQUENCE], 0);
		}
		assert_int_equal(totals[0].transport.dropped[RDMA_DROP_RESPONSE],
				 totals[1].transport.resent[RDMA_RESEND_READ]);
		assert_true(totals[0].transport.asked_again > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_one_report),
		cmocka_unit_test(a_limit_is_for_all_kinds_together),
		cmocka_unit_test(what_is_not_reported_is_after_the_resume),
		cmocka_unit_test(a_bit_is_cleared_after_its_delay),
		cmocka_unit_test(the_device_tries_again_by_itself),
		cmocka_unit_test(a_profile_adds_its_times),
		cmocka_unit_test(a_request_is_asked_for_as_a_whole),
		cmocka_unit_test(a_list_is_asked_for_as_a_whole),
		cmocka_unit_test(others_do_not_wait),
		cmocka_unit_test(other_tenants_do_not_wait),
		cmocka_unit_test(what_cannot_be_had_fails_the_request),
		cmocka_unit_test(a_policy_says_what_a_fault_costs),
		cmocka_unit_test(read_rnr_spares_the_responses),
		cmocka_unit_test(read_rnr_needs_both_ends),
	};

	return cmocka_run_group_tests_name("rdma_faults", tests, NULL, NULL);
}
