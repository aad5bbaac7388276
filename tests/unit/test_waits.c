// SPDX-License-Identifier: GPL-2.0
/* Waits of queue pairs: what belongs to one is what says so, and nothing else. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/waits.h"
#include "lib/base/random.h"
#include "tests/unit/pair_rig.h"

static const size_t chunks[] = {0, 1, 3, 13};

static __u64 count_of(const struct pair_rig *rig, size_t row, const char *column)
{
	return pair_rig_cell(rig, row, column).count;
}

/* QP 17 of vm0/hca sends to a page of vm1/hca that is absent. Told late: what was dropped, and the fault's end. */
static void add_the_classic(struct pair_rig *rig, __u64 token)
{
	pair_rig_fault(rig, PAIR_RIGHT, 1, 10 * US, 310 * US);
	pair_rig_add(rig, told_nak(11 * US, PAIR_RIGHT, 21, token, 640 * US, 1));
	pair_rig_add(rig, told_pair(EVENT_RNR_RECEIVED, 20 * US, PAIR_LEFT, 17, token, 0));
	rig->events[rig->count - 1].length = 640 * US;
	pair_rig_add(rig, told_paused(20 * US, PAIR_LEFT, 17, token, RDMA_WAIT_RNR, 0));
	pair_rig_add(rig, told_resumed(680 * US, 20 * US, PAIR_LEFT, 17, token, RDMA_WAIT_RNR));
	pair_rig_add(rig,
		     told_pair(EVENT_QP_REWOUND, 680 * US, PAIR_LEFT, 17, token, RDMA_RESEND_RNR));
	pair_rig_add(rig, told_packets(EVENT_PACKETS_DROPPED, 700 * US, PAIR_RIGHT, 21, token, 1,
				       RDMA_DROP_FAULT));
	pair_rig_add(rig, told_packets(EVENT_PACKETS_DROPPED, 701 * US, PAIR_RIGHT, 21, token, 13,
				       RDMA_DROP_RNR));
	pair_rig_add(rig, told_packets(EVENT_PACKETS_RESENT, 90 * MS, PAIR_LEFT, 17, token, 14,
				       RDMA_RESEND_RNR));
}

static void the_sentence_is_that_of_the_manual(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		add_the_classic(&rig, 1);
		pair_rig_run(&rig, chunks[i]);
		pair_rig_expect(&rig, 0,
				"QP 17 of vm0/hca waited 660 us: RNR (timer 640 us) for 1 fault of "
				"310 us at vm1/hca; 14 packets dropped, 14 sent again");
		assert_true(pair_rig_finds(&rig, "QP 17 of vm0/hca waited 660 us"));
		assert_int_equal(pair_rig_rows(&rig, waits_write), 1);
		assert_string_equal(pair_rig_cell(&rig, 0, "kind").text, "rnr");
		assert_string_equal(pair_rig_cell(&rig, 0, "side").text, "responder_writes");
		assert_string_equal(pair_rig_cell(&rig, 0, "state").text, "over");
		assert_string_equal(pair_rig_cell(&rig, 0, "peer").text, "vm1/hca");
		assert_int_equal(count_of(&rig, 0, "peer_pair"), 21);
		assert_int_equal(count_of(&rig, 0, "worst_fault"), 310 * US);
		assert_int_equal(waits_unheeded(rig.analysis->waits), 0);
		assert_int_equal(floor_of(rig.analysis), 0);
		pair_rig_end(&rig);
	}
}

/* Another fault, NAK, drop and resend at the very same time, of the same pairs, with another token or none. */
static void time_ties_nothing(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	add_the_classic(&rig, 5);
	pair_rig_fault(&rig, PAIR_RIGHT, 2, 10 * US, 500 * US);
	pair_rig_add(&rig, told_nak(12 * US, PAIR_RIGHT, 22, 6, 20 * US, 2));
	pair_rig_add(&rig, told_paused(30 * US, PAIR_LEFT, 18, 6, RDMA_WAIT_RNR, 0));
	pair_rig_add(&rig, told_resumed(53 * US, 30 * US, PAIR_LEFT, 18, 6, RDMA_WAIT_RNR));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 60 * US, PAIR_RIGHT, 21, 6, 3,
					RDMA_DROP_RNR));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 60 * US, PAIR_RIGHT, 21, 0, 100,
					RDMA_DROP_DUPLICATE));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_RESENT, 60 * US, PAIR_LEFT, 17, 0, 100,
					RDMA_RESEND_SEQUENCE));
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, waits_write), 2);
	assert_int_equal(count_of(&rig, 0, "dropped"), 14);
	assert_int_equal(count_of(&rig, 0, "resent"), 14);
	assert_int_equal(count_of(&rig, 0, "worst_fault"), 310 * US);
	assert_int_equal(count_of(&rig, 1, "pair"), 18);
	assert_int_equal(count_of(&rig, 1, "duration"), 23 * US);
	assert_int_equal(count_of(&rig, 1, "dropped"), 3);
	assert_int_equal(count_of(&rig, 1, "resent"), 0);
	assert_int_equal(count_of(&rig, 1, "worst_fault"), 500 * US);
	pair_rig_end(&rig);
}

/* Two machines number their waits alike, also where the later one has the pid of the earlier one. */
static void a_token_is_its_machines(void **state)
{
	for (size_t i = 0; i < 2 * COUNT(chunks); i++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		rig.pid_again = i % 2;
		add_the_classic(&rig, 1);
		pair_rig_add(&rig, told_nak(12 * US, PAIR_BEYOND, 21, 1, 10 * US, 0));
		pair_rig_add(&rig, told_paused(21 * US, PAIR_ELSEWHERE, 17, 1, RDMA_WAIT_RNR, 0));
		pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 22 * US, PAIR_BEYOND, 21, 1,
						5, RDMA_DROP_RNR));
		pair_rig_add(&rig,
			     told_resumed(32 * US, 21 * US, PAIR_ELSEWHERE, 17, 1, RDMA_WAIT_RNR));
		pair_rig_run(&rig, chunks[i / 2]);
		assert_int_equal(pair_rig_rows(&rig, waits_write), 2);
		pair_rig_expect(&rig, 0,
				"QP 17 of vm0/hca waited 660 us: RNR (timer 640 us) for 1 fault of "
				"310 us at vm1/hca; 14 packets dropped, 14 sent again");
		pair_rig_expect(&rig, 1,
				"QP 17 of vm2/hca waited 11 us: RNR (timer 10 us) for a fault that "
				"no event names at vm3/hca; 5 packets dropped");
		assert_int_equal(count_of(&rig, 1, "faults"), 0);
		pair_rig_end(&rig);
	}
}

static void each_kind_has_its_words(void **state)
{
	struct event timeout =
		told_pair(EVENT_QP_REWOUND, 90 * MS, PAIR_LEFT, 9, 7, RDMA_RESEND_TIMEOUT);
	struct event nothing = told_nak(1 * MS, PAIR_RIGHT, 3, 8, 10 * US, 0);
	struct pair_rig rig;

	timeout.length = PAIR_START + 10 * MS;
	nothing.address = (__u64)RDMA_DROP_NO_RECEIVE << 32 | 77;
	pair_rig_begin(&rig);
	pair_rig_add(&rig, timeout);
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_RESENT, 91 * MS, PAIR_LEFT, 9, 7, 1,
					RDMA_RESEND_TIMEOUT));
	pair_rig_fault(&rig, PAIR_LEFT, 1, 0, 40 * MS);
	pair_rig_fault(&rig, PAIR_LEFT, 2, 0, 30 * MS);
	pair_rig_add(&rig, told_paused(1 * MS, PAIR_LEFT, 2, 9, RDMA_WAIT_MEMORY, 1));
	/* It turned out that another page was absent, too. */
	pair_rig_add(&rig, told_paused(2 * MS, PAIR_LEFT, 2, 9, RDMA_WAIT_MEMORY, 2));
	pair_rig_add(&rig, told_resumed(41 * MS, 1 * MS, PAIR_LEFT, 2, 9, RDMA_WAIT_MEMORY));
	pair_rig_add(&rig, told_paused(1 * MS, PAIR_LEFT, 4, 10, RDMA_WAIT_READ, 2));
	pair_rig_add(&rig, told_resumed(31 * MS, 1 * MS, PAIR_LEFT, 4, 10, RDMA_WAIT_READ));
	pair_rig_add(&rig, nothing);
	pair_rig_add(&rig, told_paused(2 * MS, PAIR_LEFT, 5, 8, RDMA_WAIT_RNR, 0));
	pair_rig_add(&rig, told_pair(EVENT_QP_ERROR, 3 * MS, PAIR_LEFT, 5, 8, 13));
	pair_rig_run(&rig, 0);
	pair_rig_expect(&rig, 0,
			"QP 9 of vm0/hca waited 80 ms: no acknowledgement came; 1 packet sent "
			"again");
	pair_rig_expect(&rig, 1,
			"QP 2 of vm0/hca waited 40 ms: memory for 2 faults, the worst of 40 ms");
	pair_rig_expect(&rig, 2,
			"QP 4 of vm0/hca waited 30 ms: target of a read for 1 fault of 30 ms");
	pair_rig_expect(&rig, 3,
			"QP 5 of vm0/hca waited 1.0 ms: RNR (timer 10 us) as no receive was posted "
			"at vm1/hca; then in error: RNR_RETRY_EXC_ERR");
	assert_int_equal(pair_rig_rows(&rig, waits_write), 4);
	assert_string_equal(pair_rig_cell(&rig, 0, "kind").text, "timeout");
	assert_string_equal(pair_rig_cell(&rig, 1, "kind").text, "memory");
	assert_string_equal(pair_rig_cell(&rig, 2, "kind").text, "read");
	assert_string_equal(pair_rig_cell(&rig, 3, "state").text, "error");
	assert_string_equal(pair_rig_cell(&rig, 3, "status").text, "RNR_RETRY_EXC_ERR");
	pair_rig_end(&rig);
}

static void one_that_never_ends_is_open(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	add_the_classic(&rig, 1);
	pair_rig_add(&rig, told_nak(1 * MS, PAIR_RIGHT, 21, 2, 640 * US, 3));
	pair_rig_add(&rig, told_paused(1 * MS, PAIR_LEFT, 17, 2, RDMA_WAIT_RNR, 0));
	/* Seconds later, of another pair: what is open stays known. */
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 7 * SECOND, PAIR_RIGHT, 21, 2, 2,
					RDMA_DROP_RNR));
	rig.end_ns = 9 * SECOND + 1 * MS;
	pair_rig_run(&rig, 1);
	pair_rig_expect(&rig, 0,
			"QP 17 of vm0/hca has been waiting for 9.0 s: RNR (timer 640 us) for 1 "
			"fault at vm1/hca; 2 packets dropped");
	assert_int_equal(pair_rig_rows(&rig, waits_write), 2);
	assert_string_equal(pair_rig_cell(&rig, 0, "state").text, "open");
	assert_int_equal(count_of(&rig, 0, "duration"), 9 * SECOND);
	assert_int_equal(waits_count(rig.analysis->waits), 2);
	pair_rig_end(&rig);
}

/* With its pair or its device a wait ends, whether or not anybody tells its own end; another's goes on. */
static void with_its_device_a_wait_ends(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct event reset =
			told_resumed(4 * MS, 1 * MS, PAIR_ELSEWHERE, 17, 2, RDMA_WAIT_MEMORY);
		struct pair_rig rig;

		reset.group = 1;
		pair_rig_begin(&rig);
		add_the_classic(&rig, 1);
		pair_rig_add(&rig, told_paused(1 * MS, PAIR_LEFT, 17, 2, RDMA_WAIT_MEMORY, 0));
		pair_rig_add(&rig, told_paused(1 * MS, PAIR_LEFT, 18, 3, RDMA_WAIT_MEMORY, 0));
		pair_rig_add(&rig, told_paused(1 * MS, PAIR_RIGHT, 17, 4, RDMA_WAIT_MEMORY, 0));
		pair_rig_add(&rig, told_paused(1 * MS, PAIR_ELSEWHERE, 17, 2, RDMA_WAIT_MEMORY, 0));
		pair_rig_add(&rig, reset);
		pair_rig_add(&rig, told_pair(EVENT_QP_ERROR, 6 * MS, PAIR_LEFT, 17, 0, 12));
		pair_rig_add(&rig, told_pair(EVENT_DEVICE_GONE, 9 * MS, PAIR_LEFT, 0, 0, 0));
		rig.end_ns = 9 * SECOND + 1 * MS;
		pair_rig_run(&rig, chunks[i]);
		pair_rig_expect(&rig, 0,
				"QP 17 of vm1/hca has been waiting for 9.0 s: memory for a fault "
				"that no event names");
		pair_rig_expect(&rig, 1,
				"QP 18 of vm0/hca waited 8.0 ms: memory for a fault that no event "
				"names; then its queue pair ended");
		pair_rig_expect(&rig, 2,
				"QP 17 of vm0/hca waited 5.0 ms: memory for a fault that no event "
				"names; then in error: RETRY_EXC_ERR");
		pair_rig_expect(&rig, 3,
				"QP 17 of vm2/hca waited 3.0 ms: memory for a fault that no event "
				"names; then its queue pair ended");
		assert_int_equal(pair_rig_rows(&rig, waits_write), 5);
		assert_string_equal(pair_rig_cell(&rig, 0, "state").text, "open");
		assert_string_equal(pair_rig_cell(&rig, 1, "state").text, "ended");
		assert_string_equal(pair_rig_cell(&rig, 2, "state").text, "error");
		assert_string_equal(pair_rig_cell(&rig, 3, "state").text, "ended");
		assert_string_equal(pair_rig_cell(&rig, 4, "state").text, "over");
		pair_rig_end(&rig);
	}
}

/* Lost on its way, or its hearing was: nobody waited, so there is no wait. */
static void a_nak_alone_is_no_wait(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	pair_rig_add(&rig, told_nak(1 * MS, PAIR_RIGHT, 21, 2, 640 * US, 3));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 2 * MS, PAIR_RIGHT, 21, 2, 2,
					RDMA_DROP_RNR));
	/* Of nobody at all. */
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 2 * MS, PAIR_RIGHT, 21, 99, 2,
					RDMA_DROP_RNR));
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, waits_write), 0);
	assert_int_equal(waits_unheeded(rig.analysis->waits), 1);
	assert_true(pair_rig_finds(&rig, "Nobody is known to have waited for 1 RNR NAK."));
	pair_rig_end(&rig);
}

/* Whichever event of a wait is lost, the others tell what they know. */
static void an_event_is_lost(void **state)
{
	static const __u16 lost[] = {EVENT_RNR_SENT, EVENT_RNR_RECEIVED, EVENT_QP_PAUSED,
				     EVENT_QP_RESUMED, EVENT_QP_REWOUND};

	for (size_t i = 0; i < COUNT(lost); i++) {
		bool open = lost[i] == EVENT_QP_RESUMED, blind = lost[i] == EVENT_RNR_SENT;
		struct pair_rig rig;

		pair_rig_begin(&rig);
		add_the_classic(&rig, 1);
		for (size_t k = 0; k < rig.count; k++)
			if (rig.events[k].kind == lost[i])
				rig.events[k].kind = EVENT_HEAD_ADVANCED;
		pair_rig_run(&rig, 0);
		assert_int_equal(pair_rig_rows(&rig, waits_write), 1);
		assert_int_equal(count_of(&rig, 0, "dropped"), 14);
		assert_int_equal(count_of(&rig, 0, "resent"), 14);
		assert_int_equal(count_of(&rig, 0, "faults"), !blind);
		assert_int_equal(count_of(&rig, 0, "timer"), 640 * US);
		assert_int_equal(count_of(&rig, 0, "duration"),
				 open ? 90 * MS - 20 * US : 660 * US);
		assert_string_equal(pair_rig_cell(&rig, 0, "state").text, open ? "open" : "over");
		assert_string_equal(pair_rig_cell(&rig, 0, "peer").text, blind ? "-" : "vm1/hca");
		pair_rig_end(&rig);
	}
}

/* What a disk tells, or a device nobody knows, is of no RDMA device's wait; token 0 is none. */
static void others_have_no_part(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	add_the_classic(&rig, 1);
	pair_rig_add(&rig, told_nak(1 * US, 999, 21, 1, 10 * US, 0));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 5 * US, 999, 21, 1, 7, 0));
	pair_rig_add(&rig, told_paused(5 * US, PAIR_LEFT, 17, 0, RDMA_WAIT_RNR, 0));
	pair_rig_fault(&rig, PAIR_DISK, 1, 0, 900 * US);
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, waits_write), 1);
	assert_int_equal(count_of(&rig, 0, "dropped"), 14);
	assert_int_equal(count_of(&rig, 0, "worst_fault"), 310 * US);
	pair_rig_end(&rig);
}

/* What is told of a wait long after it is over belongs to none; before, it does. */
static void what_lingers_is_bounded(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		pair_rig_add(&rig, told_paused(0, PAIR_LEFT, 1, 3, RDMA_WAIT_RNR, 0));
		pair_rig_add(&rig, told_resumed(5 * MS, 0, PAIR_LEFT, 1, 3, RDMA_WAIT_RNR));
		pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED,
						5 * MS + WAIT_LINGER_NS + (late ? 1 : 0),
						PAIR_RIGHT, 21, 3, 2, RDMA_DROP_RNR));
		pair_rig_run(&rig, 0);
		assert_int_equal(pair_rig_rows(&rig, waits_write), 1);
		assert_int_equal(count_of(&rig, 0, "dropped"), late ? 0 : 2);
		pair_rig_end(&rig);
	}
}

/* So many at once; then their number is a floor. */
static void a_full_table_makes_floors(void **state)
{
	for (__u32 more = 0; more < 2; more++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		for (__u32 i = 0; i < WAITS_AT_ONCE + more; i++)
			pair_rig_add(&rig, told_paused(i, PAIR_LEFT, i, i + 1, RDMA_WAIT_RNR, 0));
		pair_rig_run(&rig, 0);
		assert_int_equal(waits_count(rig.analysis->waits), WAITS_AT_ONCE);
		assert_int_equal(floor_of(rig.analysis), more << FLOOR_TABLES);
		pair_rig_end(&rig);
	}
}

/* Of many only the longest are listed; all are counted. */
static void the_longest_are_kept(void **state)
{
	enum { WAITS = 2 * WAITS_KEPT + 1009 };
	struct pair_rig rig;

	pair_rig_begin(&rig);
	for (__u64 i = 0; i < WAITS; i++) {
		__u64 from = i * MS, length = 1 + (i * 7919) % WAITS;

		pair_rig_add(&rig, told_paused(from, PAIR_LEFT, 1, i + 1, RDMA_WAIT_RNR, 0));
		pair_rig_add(&rig,
			     told_resumed(from + length, from, PAIR_LEFT, 1, i + 1, RDMA_WAIT_RNR));
	}
	pair_rig_run(&rig, 0);
	assert_int_equal(waits_count(rig.analysis->waits), WAITS);
	assert_true(pair_rig_rows(&rig, waits_write) >= WAITS_KEPT);
	for (size_t i = 0; i < WAITS_KEPT; i++)
		assert_int_equal(count_of(&rig, i, "duration"), WAITS - i);
	assert_int_equal(floor_of(rig.analysis), 0);
	pair_rig_end(&rig);
}

static void a_period_has_what_began_in_it(void **state)
{
	static const __u64 since[] = {0, 19 * US, 20 * US, 21 * US};

	for (size_t i = 0; i < COUNT(since); i++)
		for (size_t k = 0; k < COUNT(since); k++) {
			bool in = since[i] <= 20 * US && (!since[k] || since[k] > 20 * US);
			struct pair_rig rig;

			pair_rig_begin(&rig);
			add_the_classic(&rig, 1);
			rig.config.period.since_ns = PAIR_START + since[i];
			rig.config.period.until_ns = since[k] ? PAIR_START + since[k] : 0;
			pair_rig_run(&rig, 0);
			assert_int_equal(pair_rig_rows(&rig, waits_write), in);
			if (in) {
				assert_int_equal(count_of(&rig, 0, "duration"), 660 * US);
				assert_int_equal(count_of(&rig, 0, "dropped"), 14);
				assert_int_equal(count_of(&rig, 0, "worst_fault"), 310 * US);
			}
			pair_rig_end(&rig);
		}
}

#define MANY 997

/* What each wait must come to. */
struct expected {
	__u64 from, length, dropped, resent, fault;
	__u32 pair;
	bool elsewhere;
};

static void add_random(struct pair_rig *rig, struct expected *x, __u32 i, struct random *random)
{
	__u32 left = x->elsewhere ? PAIR_ELSEWHERE : PAIR_LEFT;
	__u32 right = x->elsewhere ? PAIR_BEYOND : PAIR_RIGHT;
	/* Both machines number theirs from 1. */
	__u64 token = i / 2 + 1;
	__u64 fault = random_below(random, 2 * MS) + 8;

	x->from = random_below(random, 50 * MS) + 1 * MS;
	x->length = 1 + random_below(random, MS);
	x->pair = (__u32)(random_below(random, 7));
	if (random_below(random, 3)) {
		x->fault = fault;
		pair_rig_fault(rig, right, i + 1, x->from - 100 * US, fault);
	}
	pair_rig_add(rig, told_nak(x->from - 50 * US, right, x->pair, token, 10 * US,
				   x->fault ? i + 1 : 0));
	pair_rig_add(rig, told_paused(x->from, left, x->pair, token, RDMA_WAIT_RNR, 0));
	pair_rig_add(rig, told_resumed(x->from + x->length, x->from, left, x->pair, token,
				       RDMA_WAIT_RNR));
	for (__u64 runs = random_below(random, 4); runs; runs--) {
		__u32 packets = 1 + (__u32)(random_below(random, 31));
		bool drop = random_below(random, 2);

		*(drop ? &x->dropped : &x->resent) += packets;
		pair_rig_add(rig, told_packets(drop ? EVENT_PACKETS_DROPPED : EVENT_PACKETS_RESENT,
					       x->from + random_below(random, 100 * MS),
					       drop ? right : left, x->pair, token, packets,
					       drop ? RDMA_DROP_RNR : RDMA_RESEND_RNR));
	}
}

/* Hundreds at once, in two machines that use the same tokens: each row is one of them, and each has a row. */
static void many_at_once_are_told_apart(void **state)
{
	static struct expected expected[MANY];
	struct pair_rig rig;
	struct random random = {13};

	memset(expected, 0, sizeof(expected));
	pair_rig_begin(&rig);
	for (__u32 i = 0; i < MANY; i++) {
		expected[i].elsewhere = i % 2;
		add_random(&rig, &expected[i], i, &random);
	}
	pair_rig_run(&rig, 13);
	assert_int_equal(pair_rig_rows(&rig, waits_write), MANY);
	for (size_t row = 0; row < MANY; row++) {
		bool elsewhere = !strcmp(pair_rig_cell(&rig, row, "device").text, "vm2/hca");
		__u64 i = (count_of(&rig, row, "token") - 1) * 2 + elsewhere;
		const struct expected *x = &expected[i];

		assert_true(i < MANY && x->length);
		assert_int_equal(count_of(&rig, row, "duration"), x->length);
		assert_int_equal(count_of(&rig, row, "pair"), x->pair);
		assert_int_equal(count_of(&rig, row, "dropped"), x->dropped);
		assert_int_equal(count_of(&rig, row, "resent"), x->resent);
		assert_int_equal(count_of(&rig, row, "faults"), x->fault != 0);
		if (x->fault)
			assert_int_equal(count_of(&rig, row, "worst_fault"), x->fault);
		/* No second row of it. */
		expected[i].length = 0;
	}
	pair_rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sentence_is_that_of_the_manual),
		cmocka_unit_test(time_ties_nothing),
		cmocka_unit_test(a_token_is_its_machines),
		cmocka_unit_test(each_kind_has_its_words),
		cmocka_unit_test(one_that_never_ends_is_open),
		cmocka_unit_test(with_its_device_a_wait_ends),
		cmocka_unit_test(a_nak_alone_is_no_wait),
		cmocka_unit_test(an_event_is_lost),
		cmocka_unit_test(others_have_no_part),
		cmocka_unit_test(what_lingers_is_bounded),
		cmocka_unit_test(a_full_table_makes_floors),
		cmocka_unit_test(the_longest_are_kept),
		cmocka_unit_test(a_period_has_what_began_in_it),
		cmocka_unit_test(many_at_once_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
