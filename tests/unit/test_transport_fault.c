// SPDX-License-Identifier: GPL-2.0
/* The transport where a page is absent, a side and a policy a test. */
#include "tests/unit/rdma_two.h"

#include <errno.h>
#include <string.h>

#define DONE(...) ((const int[]){__VA_ARGS__, -1})

static void begin(struct two *two, const char *policy)
{
	struct transport_settings settings = two_settings(policy);

	two_create(two, &settings);
}

static const struct transport_counters *count(const struct two_end *end)
{
	return transport_counters(end->pair);
}

static void send_all(struct two *two)
{
	while (two_take(two, &two->a))
		two_give(two, &two->b);
}

/* The send queue stops, what arrives does not. */
static void initiator_reads(void **state)
{
	struct two two;

	begin(&two, "npf");
	two_send(&two.a, VERBS_WRITE, 0, 4096, 600, 0);
	two_send(&two.a, VERBS_READ, 8192, 0, 10, 0);
	two_send(&two.b, VERBS_WRITE, 0, 4096, 10, 0);
	two_expect(&two, &two.a, RDMA_WRITE, 0);
	two_give(&two, &two.b);
	two.a.fault[RDMA_INITIATOR_READS] = -EAGAIN;
	two_run(&two);
	two_done(&two.a, DONE(-1));
	two_done(&two.b, DONE(0, 0));
	assert_int_equal(two_last(&two.a, TRANSPORT_PAUSED)->side, RDMA_INITIATOR_READS);
	/* Nor does its timer run. */
	assert_int_equal(transport_deadline(two.a.pair), 0);
	two.now_ns = 700 * US;
	transport_memory(two.a.pair, RDMA_INITIATOR_READS, -EAGAIN, two.now_ns);
	two_run(&two);
	two_done(&two.a, DONE(-1));
	two.now_ns = 900 * US;
	two.a.fault[RDMA_INITIATOR_READS] = 0;
	transport_memory(two.a.pair, RDMA_INITIATOR_READS, 0, two.now_ns);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0));
	assert_int_equal(count(&two.a)->paused_ns, 900 * US);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESUMED)->since_ns, 700 * US);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESUMED)->count, 0);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESUMED)->token,
			 two_last(&two.a, TRANSPORT_PAUSED)->token);
	assert_int_equal(two_count(&two.a, TRANSPORT_RESENT), 0);
	two_destroy(&two);
}

/* RNR NAK; what is in flight is dropped; all of it is sent again once the timer is over. */
static void responder_writes(void **state)
{
	__u64 token;
	struct two two;

	begin(&two, "npf");
	two_receive(&two.b, 8192, 2000);
	two_send(&two.a, VERBS_SEND, 0, 0, 1000, 0);
	two.b.fault[RDMA_RESPONDER_WRITES] = -EAGAIN;
	send_all(&two);
	two_expect(&two, &two.b, RDMA_NAK, 0);
	assert_int_equal(two.packet.header.code, RDMA_NAK_RNR);
	token = two.packet.header.token;
	assert_true(token);
	assert_int_equal(two_last(&two.b, TRANSPORT_RNR_SENT)->token, token);
	assert_int_equal(two_last(&two.b, TRANSPORT_RNR_SENT)->code, RDMA_DROP_FAULT);
	two_give(&two, &two.a);
	/* A copy of it says nothing new. */
	two_give(&two, &two.a);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_FAULT], 1);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_RNR], 3);
	assert_int_equal(two_last(&two.b, TRANSPORT_DROPPED)->token, token);
	assert_false(two_take(&two, &two.a));
	assert_int_equal(transport_deadline(two.a.pair), 10 * US);
	/* That the pages come does not shorten it. */
	two.b.fault[RDMA_RESPONDER_WRITES] = 0;
	transport_memory(two.b.pair, RDMA_RESPONDER_WRITES, 0, 0);
	two_run(&two);
	two_done(&two.a, DONE(-1));
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_done(&two.b, DONE(100, 0));
	assert_int_equal(count(&two.a)->resent[RDMA_RESEND_RNR], 4);
	assert_int_equal(two_last(&two.a, TRANSPORT_REWOUND)->count, 4);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESENT)->token, token);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESUMED)->token, token);
	assert_int_equal(two_last(&two.a, TRANSPORT_RESUMED)->code, RDMA_WAIT_RNR);
	assert_memory_equal(two.b.memory + 8192, two.a.memory, 1000);
	two_destroy(&two);
}

static void no_receive(void **state)
{
	struct two two;

	begin(&two, "drop");
	two_send(&two.a, VERBS_SEND, 0, 0, 600, 0);
	two_run(&two);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_NO_RECEIVE], 1);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_RNR], 2);
	assert_int_equal(count(&two.b)->rnr_sent, 1);
	two_receive(&two.b, 8192, 600);
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_destroy(&two);
}

/* rnr_retries NAKs are waited for, the next is the end; no retry of the other kind is taken. */
static void rnr_retries_end(void **state)
{
	struct transport_settings settings = two_settings("npf");
	struct two two;

	settings.rnr_retries = 3;
	settings.retries = 0;
	two_create(&two, &settings);
	two_send(&two.a, VERBS_SEND, 0, 0, 10, 0);
	do
		two_run(&two);
	while (two_wait(&two));
	two_done(&two.a, DONE(0, VERBS_RNR_RETRY_EXC_ERR));
	assert_int_equal(count(&two.b)->rnr_sent, 4);
	assert_int_equal(count(&two.a)->resent[RDMA_RESEND_RNR], 3);
	two_destroy(&two);
}

static void rnr_for_ever(void **state)
{
	struct transport_settings settings = two_settings("npf");
	struct two two;

	settings.retries = 0;
	two_create(&two, &settings);
	two_send(&two.a, VERBS_SEND, 0, 0, 10, 0);
	for (int i = 0; i < 1000; i++) {
		two.a.event_count = two.b.event_count = 0;
		two_run(&two);
		assert_true(two_wait(&two));
	}
	two_receive(&two.b, 0, 10);
	two.a.event_count = two.b.event_count = 0;
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_destroy(&two);
}

/* Responses are dropped, and asked for again from the first that is missing; no psn is new. */
static void initiator_writes(void **state)
{
	struct two two;

	begin(&two, "npf");
	two_send(&two.a, VERBS_READ, 8192, 0, 4 * TWO_MTU, 0);
	two_send(&two.a, VERBS_READ, 12288, 4096, 10, 0);
	send_all(&two);
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 0);
	two_give(&two, &two.a);
	two.a.fault[RDMA_INITIATOR_WRITES] = -EAGAIN;
	for (__u32 psn = 1; psn < 4; psn++) {
		two_expect(&two, &two.b, RDMA_READ_RESPONSE, psn);
		two_give(&two, &two.a);
	}
	assert_int_equal(two_last(&two.a, TRANSPORT_PAUSED)->code, RDMA_WAIT_READ);
	assert_false(two_take(&two, &two.a));
	assert_int_equal(transport_deadline(two.a.pair), 0);
	two.a.fault[RDMA_INITIATOR_WRITES] = 0;
	transport_memory(two.a.pair, RDMA_INITIATOR_WRITES, 0, 5 * US);
	/* One comes yet that was asked for before. */
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 4);
	two_give(&two, &two.a);
	two_expect(&two, &two.a, RDMA_READ_REQUEST, 1);
	assert_int_equal(two.packet.header.address, TWO_MTU);
	assert_int_equal(two.packet.header.length, 3 * TWO_MTU);
	two_give(&two, &two.b);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0));
	assert_int_equal(count(&two.a)->dropped[RDMA_DROP_RESPONSE], 4);
	assert_int_equal(count(&two.b)->resent[RDMA_RESEND_READ], 4);
	assert_int_equal(count(&two.a)->asked_again, 1);
	assert_int_equal(two_last(&two.a, TRANSPORT_REWOUND)->count, 4);
	assert_memory_equal(two.a.memory + 8192, two.b.memory, 4 * TWO_MTU);
	two_destroy(&two);
}

static void read_rnr(void **state)
{
	struct transport_settings settings = two_settings("npf");
	struct two two;

	settings.read_rnr = true;
	two_create(&two, &settings);
	two_send(&two.a, VERBS_READ, 8192, 0, 4 * TWO_MTU, 0);
	send_all(&two);
	two.a.fault[RDMA_INITIATOR_WRITES] = -EAGAIN;
	for (__u32 psn = 0; psn < 2; psn++) {
		two_expect(&two, &two.b, RDMA_READ_RESPONSE, psn);
		two_give(&two, &two.a);
	}
	two_expect(&two, &two.a, RDMA_READ_RNR, 0);
	two_give(&two, &two.b);
	two_give(&two, &two.b); /* a copy */
	assert_false(two_take(&two, &two.b));
	assert_int_equal(transport_deadline(two.b.pair), 10 * US);
	assert_int_equal(two_last(&two.b, TRANSPORT_REWOUND)->count, 2);
	two.a.fault[RDMA_INITIATOR_WRITES] = 0;
	transport_memory(two.a.pair, RDMA_INITIATOR_WRITES, 0, 5 * US);
	assert_false(two_take(&two, &two.a));
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	assert_int_equal(count(&two.a)->dropped[RDMA_DROP_RESPONSE], 2);
	assert_int_equal(count(&two.b)->resent[RDMA_RESEND_READ], 2);
	assert_int_equal(count(&two.a)->asked_again, 0);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_DUPLICATE], 1);
	assert_memory_equal(two.a.memory + 8192, two.b.memory, 4 * TWO_MTU);
	two_destroy(&two);
}

/* The responder is silent for as long as it was asked to, whatever else of the send queue goes on: no retry is taken. */
static void read_rnr_is_no_timeout(void **state)
{
	struct transport_settings settings = two_settings("npf");
	struct two two;

	settings.read_rnr = true;
	settings.rnr_timer = 20;
	settings.retries = 0;
	two_create(&two, &settings);
	two_send(&two.a, VERBS_READ, 8192, 0, 2 * TWO_MTU, 0);
	send_all(&two);
	two.a.fault[RDMA_INITIATOR_WRITES] = -EAGAIN;
	two_run(&two);
	assert_int_equal(count(&two.b)->rnr_received, 1);
	assert_int_equal(transport_deadline(two.a.pair), MS + 10240 * US);
	two.a.fault[RDMA_INITIATOR_READS] = -EAGAIN;
	two_send(&two.a, VERBS_WRITE, 0, 8192, 10, 0);
	two_run(&two);
	assert_int_equal(two_last(&two.a, TRANSPORT_PAUSED)->side, RDMA_INITIATOR_READS);
	memset(two.a.fault, 0, sizeof(two.a.fault));
	transport_memory(two.a.pair, RDMA_INITIATOR_READS, 0, 5 * US);
	assert_int_equal(transport_deadline(two.a.pair), MS + 10245 * US);
	two_run(&two);
	two_wait(&two);
	assert_int_equal(two.now_ns, 10240 * US);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0));
	assert_int_equal(count(&two.a)->rewound, 0);
	/* Its next silence is no longer than that of others. */
	two_send(&two.a, VERBS_WRITE, 0, 8192, 10, 0);
	send_all(&two);
	assert_int_equal(transport_deadline(two.a.pair), two.now_ns + MS);
	two_run(&two);
	two_destroy(&two);
}

/* Without it none is heard. */
static void read_rnr_is_not_known(void **state)
{
	struct two two;

	begin(&two, "npf");
	two_send(&two.a, VERBS_READ, 8192, 0, 10, 0);
	send_all(&two);
	two.packet.header.kind = RDMA_READ_RNR;
	two.packet.header.generation = 1;
	two_give(&two, &two.b);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_STATE], 1);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_destroy(&two);
}

/* Its responses wait; what was before them is acknowledged; its own sends go on. */
static void responder_reads(void **state)
{
	struct two two;

	begin(&two, "npf");
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two_send(&two.a, VERBS_READ, 8192, 0, 10, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two_send(&two.b, VERBS_WRITE, 0, 0, 10, 0);
	two.b.fault[RDMA_RESPONDER_READS] = -EAGAIN;
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_done(&two.b, DONE(0, 0));
	assert_int_equal(two_last(&two.b, TRANSPORT_PAUSED)->side, RDMA_RESPONDER_READS);
	two.b.fault[RDMA_RESPONDER_READS] = 0;
	transport_memory(two.b.pair, RDMA_RESPONDER_READS, 0, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0, 2, 0));
	assert_int_equal(two_count(&two.a, TRANSPORT_RESENT), 0);
	two_destroy(&two);
}

/* Nobody says a word: the timer. */
static void drop(void **state)
{
	struct two two;

	begin(&two, "drop");
	two_send(&two.a, VERBS_WRITE, 0, 8192, 600, 0);
	two_send(&two.a, VERBS_READ, 8192, 0, 600, 0);
	two.b.fault[RDMA_RESPONDER_WRITES] = -EAGAIN;
	two_run(&two);
	assert_int_equal(count(&two.b)->sent, 0);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_FAULT], 1);
	two.b.fault[RDMA_RESPONDER_WRITES] = 0;
	two.a.fault[RDMA_INITIATOR_WRITES] = -EAGAIN;
	assert_int_equal(transport_deadline(two.a.pair), MS);
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	assert_int_equal(count(&two.a)->dropped[RDMA_DROP_RESPONSE], 3);
	assert_int_equal(count(&two.a)->asked_again, 0);
	two.a.fault[RDMA_INITIATOR_WRITES] = 0;
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0));
	assert_int_equal(count(&two.a)->rnr_received, 0);
	assert_int_equal(count(&two.a)->resent[RDMA_RESEND_TIMEOUT], 4);
	two_destroy(&two);
}

/* Pages that cannot be had: an error at both ends, and a flush of all. */
static void memory_fails(void **state)
{
	static const enum rdma_side sides[] = {RDMA_INITIATOR_READS, RDMA_INITIATOR_WRITES};
	static const enum verbs_opcode opcodes[] = {VERBS_SEND, VERBS_READ};
	struct two two;

	for (int i = 0; i < 2; i++) {
		begin(&two, "npf");
		two.a.fault[sides[i]] = -EAGAIN;
		two_receive(&two.a, 0, 1);
		two_send(&two.a, opcodes[i], 0, 0, 10, 0);
		two_run(&two);
		transport_memory(two.a.pair, sides[i], -EIO, 0);
		two_done(&two.a, DONE(0, VERBS_LOC_PROT_ERR, 100, VERBS_WR_FLUSH_ERR));
		two_destroy(&two);
	}
	begin(&two, "npf");
	two.b.fault[RDMA_RESPONDER_READS] = -EAGAIN;
	two_send(&two.a, VERBS_READ, 0, 0, 10, 0);
	two_run(&two);
	transport_memory(two.b.pair, RDMA_RESPONDER_READS, -EIO, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, VERBS_REM_OP_ERR));
	two_destroy(&two);
	begin(&two, "npf");
	two.b.fault[RDMA_RESPONDER_WRITES] = -EAGAIN;
	two_receive(&two.b, 0, 10);
	two_send(&two.a, VERBS_SEND, 0, 0, 10, 0);
	two_run(&two);
	transport_memory(two.b.pair, RDMA_RESPONDER_WRITES, -EIO, 0);
	two_wait(&two);
	two_run(&two);
	two_done(&two.a, DONE(0, VERBS_REM_OP_ERR));
	two_done(&two.b, DONE(100, VERBS_LOC_PROT_ERR));
	two_destroy(&two);
}

/* As the pair ends, however, a wait of it does, once: it does not go on, and an error is told before. */
static void a_wait_ends_with_its_pair(void **state)
{
	for (int how = 0; how < 3; how++) {
		const struct transport_event *last;
		struct two two;

		begin(&two, "npf");
		two_send(&two.a, VERBS_WRITE, 0, 4096, 600, 0);
		two.a.fault[RDMA_INITIATOR_READS] = -EAGAIN;
		two_run(&two);
		two.now_ns = 300 * US;
		if (how)
			transport_modify(two.a.pair, how == 1 ? VERBS_ERROR : VERBS_RESET, 0, 0, 0,
					 two.now_ns);
		else
			transport_give_up(two.a.pair, two.now_ns);
		assert_int_equal(two_count(&two.a, TRANSPORT_RESUMED), 1);
		assert_int_equal(two_count(&two.a, TRANSPORT_ERROR), how == 1);
		last = &two.a.events[two.a.event_count - 1];
		assert_int_equal(last->kind, TRANSPORT_RESUMED);
		assert_int_equal(last->count, 1);
		assert_int_equal(last->now_ns, 300 * US);
		assert_int_equal(last->token, two_last(&two.a, TRANSPORT_PAUSED)->token);
		assert_int_equal(count(&two.a)->paused_ns, 300 * US);
		transport_give_up(two.a.pair, two.now_ns);
		assert_int_equal(two_count(&two.a, TRANSPORT_RESUMED), 1);
		two_destroy(&two);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initiator_reads),
		cmocka_unit_test(responder_writes),
		cmocka_unit_test(no_receive),
		cmocka_unit_test(rnr_retries_end),
		cmocka_unit_test(rnr_for_ever),
		cmocka_unit_test(initiator_writes),
		cmocka_unit_test(read_rnr),
		cmocka_unit_test(read_rnr_is_not_known),
		cmocka_unit_test(read_rnr_is_no_timeout),
		cmocka_unit_test(responder_reads),
		cmocka_unit_test(drop),
		cmocka_unit_test(memory_fails),
		cmocka_unit_test(a_wait_ends_with_its_pair),
	};

	return cmocka_run_group_tests_name("transport_fault", tests, NULL, NULL);
}
