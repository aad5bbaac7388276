// SPDX-License-Identifier: GPL-2.0
/* The transport, a rule a test: what is lost, refused and sent again. Faults: test_transport_fault.c. */
#include "tests/unit/rdma_two.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

#define DONE(...) ((const int[]){__VA_ARGS__, -1})

static void begin(struct two *two)
{
	struct transport_settings settings = two_settings("npf");

	two_create(two, &settings);
}

static const struct transport_counters *count(const struct two_end *end)
{
	return transport_counters(end->pair);
}

static void timers(void **state)
{
	static const __u64 table[] = {65536, 1,	   2,	 3,	4,     6,     8,     12,
				      16,    24,   32,	 48,	64,    96,    128,   192,
				      256,   384,  512,	 768,	1024,  1536,  2048,  3072,
				      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	for (__u8 code = 0; code < 32; code++)
		assert_int_equal(rnr_timer_ns(code), table[code] * 10000);
}

static void positions(void **state)
{
	assert_int_equal(rdma_position(5, 0x1fffffe), 0x2000005);
	assert_int_equal(rdma_position(0xfffffe, 0x2000005), 0x1fffffe);
	assert_int_equal(rdma_position(7, 0x2000007), 0x2000007);
	assert_int_equal(rdma_position(0x7fffff, 0x3000000), 0x37fffff);
	assert_int_equal(rdma_position(0x800000, 0x3000000), 0x2800000);
}

static void names(void **state)
{
	assert_string_equal(verbs_status_name(VERBS_SUCCESS), "success");
	assert_string_equal(verbs_status_name(VERBS_RNR_RETRY_EXC_ERR),
			    "RNR retry counter exceeded");
	assert_string_equal(verbs_status_name(3), "unknown");
	assert_string_equal(verbs_status_name(VERBS_STATUSES), "unknown");
}

static void settings_are_checked(void **state)
{
	struct transport_settings good = two_settings("npf"), bad = good;
	struct transport_ops none = {0};
	struct queue_pair *pair;

	assert_int_equal(transport_pair_create(&pair, &good, &none, NULL, 0, 12, 16), -EINVAL);
	assert_int_equal(transport_pair_create(&pair, &good, &none, NULL, 0, 16, 0), -EINVAL);
	bad.mtu = 128;
	assert_int_equal(transport_pair_create(&pair, &bad, &none, NULL, 0, 16, 16), -EINVAL);
	bad = good;
	bad.retries = 8;
	assert_int_equal(transport_pair_create(&pair, &bad, &none, NULL, 0, 16, 16), -EINVAL);
	bad = good;
	bad.rnr_timer = 32;
	assert_int_equal(transport_pair_create(&pair, &bad, &none, NULL, 0, 16, 16), -EINVAL);
	assert_string_equal(failure_text(), "an RNR timer of 32: accepted: codes 0 to 31");
	assert_null(fault_policy_find("none"));
}

/* All operations, of several packets, of one, and of no byte. */
static void bytes_arrive(void **state)
{
	struct two two;

	begin(&two);
	two_receive(&two.b, 8192, 2000);
	two_receive(&two.b, 12000, 0);
	two_send(&two.a, VERBS_SEND, 100, 0, 1000, 0);
	two_send(&two.a, VERBS_WRITE, 1500, 4096, 600, 0);
	two_send(&two.a, VERBS_READ, 9000, 6000, 700, 0);
	two_send(&two.a, VERBS_SEND, 0, 0, 0, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 0, 0);
	two_send(&two.a, VERBS_READ, 0, 0, 0, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0));
	two_done(&two.b, DONE(100, 0, 101, 0));
	assert_int_equal(two.b.done[0].bytes, 1000);
	assert_int_equal(two.b.done[1].bytes, 0);
	assert_memory_equal(two.b.memory + 8192, two.a.memory + 100, 1000);
	assert_memory_equal(two.b.memory + 4096, two.a.memory + 1500, 600);
	assert_memory_equal(two.a.memory + 9000, two.b.memory + 6000, 700);
	assert_int_equal(count(&two.a)->operations[VERBS_READ], 2);
	assert_int_equal(count(&two.b)->useful_bytes, 1600);
	assert_int_equal(count(&two.a)->useful_bytes, 700);
	assert_int_equal(count(&two.a)->sent, count(&two.b)->taken);
	assert_false(transport_ready(two.a.pair) || transport_ready(two.b.pair));
	assert_int_equal(transport_deadline(two.a.pair), 0);
	two_destroy(&two);
}

static void acknowledgements_are_coalesced(void **state)
{
	struct two two;

	begin(&two);
	for (int i = 0; i < 7; i++)
		two_send(&two.a, VERBS_WRITE, 0, 0, 64, 0);
	for (__u32 psn = 0; psn < 7; psn++) {
		two_expect(&two, &two.a, RDMA_WRITE, psn);
		two_give(&two, &two.b);
	}
	two_done(&two.a, DONE(-1));
	two_expect(&two, &two.b, RDMA_ACK, 6);
	assert_false(two_take(&two, &two.b));
	two_take(&two, &two.b);
	two.packet.header.psn = 4; /* TWO_BEGIN + 6 */
	two_give(&two, &two.a);
	two_done(&two.a, DONE(0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0));
	two_destroy(&two);
}

/* A long message asks for one in between. */
static void long_messages_ask(void **state)
{
	__u32 asked = 0;
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_WRITE, 0, 0, 40 * TWO_MTU, 0);
	for (__u32 psn = 0; psn < 40; psn++) {
		two_expect(&two, &two.a, RDMA_WRITE, psn);
		asked += !!(two.packet.header.flags & RDMA_ACK_REQUEST);
		assert_int_equal(two.packet.header.flags & RDMA_FIRST, psn ? 0 : RDMA_FIRST);
		assert_int_equal(two.packet.header.flags & RDMA_LAST, psn < 39 ? 0 : RDMA_LAST);
	}
	assert_int_equal(asked, 2);
	two_destroy(&two);
}

/* One NAK a gap, go-back-N, and that without a timeout. */
static void gap(void **state)
{
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_WRITE, 0, 4096, 5 * TWO_MTU, 0);
	two_expect(&two, &two.a, RDMA_WRITE, 0);
	two_give(&two, &two.b);
	two_expect(&two, &two.a, RDMA_WRITE, 1); /* is lost */
	for (__u32 psn = 2; psn < 5; psn++) {
		two_expect(&two, &two.a, RDMA_WRITE, psn);
		two_give(&two, &two.b);
		if (psn == 2) {
			two_expect(&two, &two.b, RDMA_NAK, 1);
			assert_int_equal(two.packet.header.code, RDMA_NAK_SEQUENCE);
		}
		assert_false(two_take(&two, &two.b));
	}
	two.packet.header.kind = RDMA_NAK;
	two.packet.header.psn = (TWO_BEGIN + 1) & RDMA_PSN_MASK;
	two.packet.header.code = RDMA_NAK_SEQUENCE;
	two_give(&two, &two.a);
	for (__u32 psn = 1; psn < 5; psn++) {
		two_expect(&two, &two.a, RDMA_WRITE, psn);
		two_give(&two, &two.b);
	}
	two_expect(&two, &two.b, RDMA_ACK, 4);
	two_give(&two, &two.a);
	two_done(&two.a, DONE(0, 0));
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_SEQUENCE], 3);
	assert_int_equal(count(&two.a)->resent[RDMA_RESEND_SEQUENCE], 4);
	assert_int_equal(two_last(&two.a, TRANSPORT_REWOUND)->count, 4);
	assert_memory_equal(two.b.memory + 4096, two.a.memory, 5 * TWO_MTU);
	two_destroy(&two);
}

/* A lost acknowledgement: all is sent again, dropped, and acknowledged again. */
static void duplicates(void **state)
{
	struct two two;

	begin(&two);
	two_receive(&two.b, 8192, 600);
	two_send(&two.a, VERBS_SEND, 0, 0, 600, 0);
	while (two_take(&two, &two.a))
		two_give(&two, &two.b);
	two_expect(&two, &two.b, RDMA_ACK, 2); /* is lost */
	two_done(&two.a, DONE(-1));
	assert_int_equal(transport_deadline(two.a.pair), MS);
	assert_true(two_wait(&two));
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	two_done(&two.b, DONE(100, 0));
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_DUPLICATE], 3);
	assert_int_equal(count(&two.a)->resent[RDMA_RESEND_TIMEOUT], 3);
	assert_int_equal(two_last(&two.a, TRANSPORT_REWOUND)->code, RDMA_RESEND_TIMEOUT);
	assert_int_equal(two_last(&two.a, TRANSPORT_REWOUND)->since_ns, 0);
	assert_true(two_last(&two.a, TRANSPORT_RESENT)->token);
	two_destroy(&two);
}

static void retries_end(void **state)
{
	struct transport_settings settings = two_settings("npf");
	__u64 sent = 0;
	struct two two;

	settings.retries = 3;
	two_create(&two, &settings);
	two_receive(&two.a, 0, 64);
	two_send(&two.a, VERBS_WRITE, 0, 0, 300, 0);
	two_send(&two.a, VERBS_READ, 0, 0, 300, 0);
	do
		while (two_take(&two, &two.a))
			sent++;
	while (two_wait(&two));
	assert_int_equal(sent, 4 * 3);
	two_done(&two.a,
		 DONE(0, VERBS_RETRY_EXC_ERR, 1, VERBS_WR_FLUSH_ERR, 100, VERBS_WR_FLUSH_ERR));
	assert_int_equal(transport_state(two.a.pair), VERBS_ERROR);
	assert_int_equal(two_last(&two.a, TRANSPORT_ERROR)->code, VERBS_RETRY_EXC_ERR);
	two_send(&two.a, VERBS_SEND, 0, 0, 1, 0);
	two_receive(&two.a, 0, 1);
	assert_int_equal(two.a.done_count, 5);
	assert_int_equal(two.a.done[3].status, VERBS_WR_FLUSH_ERR);
	assert_int_equal(two.a.done[4].status, VERBS_WR_FLUSH_ERR);
	two_destroy(&two);
}

/* What is acknowledged gives all retries back. */
static void progress_renews_retries(void **state)
{
	struct transport_settings settings = two_settings("npf");
	struct two two;

	settings.retries = 1;
	two_create(&two, &settings);
	for (__u32 message = 0; message < 5; message++) {
		two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
		two_expect(&two, &two.a, RDMA_WRITE, message); /* is lost */
		two_wait(&two);
		two_run(&two);
	}
	two_done(&two.a, DONE(0, 0, 1, 0, 2, 0, 3, 0, 4, 0));
	two_destroy(&two);
}

static void fence(void **state)
{
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_READ, 0, 0, 500, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, VERBS_SEND_FENCE);
	two_expect(&two, &two.a, RDMA_READ_REQUEST, 0);
	two_give(&two, &two.b);
	two_expect(&two, &two.a, RDMA_WRITE, 2);
	assert_false(two_take(&two, &two.a));
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 0);
	two_give(&two, &two.a);
	assert_false(two_take(&two, &two.a));
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 1);
	two_give(&two, &two.a);
	two_expect(&two, &two.a, RDMA_WRITE, 3);
	two_destroy(&two);
}

static void reads_are_limited(void **state)
{
	struct two two;
	__u32 sent = 0;

	begin(&two);
	for (int i = 0; i < 16; i++)
		two_send(&two.a, VERBS_READ, 0, 0, 1, 0);
	while (two_take(&two, &two.a)) {
		two_give(&two, &two.b);
		sent++;
	}
	assert_int_equal(sent, RDMA_READS_MAX);
	two_run(&two);
	assert_int_equal(two.a.done_count, 16);
	two_destroy(&two);
}

/* A response is lost: what comes behind tells, and the rest is asked for again from there. */
static void lost_response(void **state)
{
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_READ, 8192, 0, 4 * TWO_MTU, 0);
	two_expect(&two, &two.a, RDMA_READ_REQUEST, 0);
	two_give(&two, &two.b);
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 0);
	two_give(&two, &two.a);
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 1); /* is lost */
	for (__u32 psn = 2; psn < 4; psn++) {
		two_expect(&two, &two.b, RDMA_READ_RESPONSE, psn);
		two_give(&two, &two.a);
	}
	two_expect(&two, &two.a, RDMA_READ_REQUEST, 1);
	assert_int_equal(two.packet.header.address, TWO_MTU);
	assert_int_equal(two.packet.header.length, 3 * TWO_MTU);
	two_give(&two, &two.b);
	/* A copy of it changes nothing. */
	two_give(&two, &two.b);
	two_run(&two);
	two_done(&two.a, DONE(0, 0));
	assert_memory_equal(two.a.memory + 8192, two.b.memory, 4 * TWO_MTU);
	assert_int_equal(count(&two.b)->replayed, 1);
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_DUPLICATE], 1);
	assert_int_equal(count(&two.b)->resent[RDMA_RESEND_READ], 3);
	assert_int_equal(count(&two.a)->dropped[RDMA_DROP_SEQUENCE], 2);
	two_destroy(&two);
}

/* The last response is lost: the acknowledgement behind it tells, without a timeout. */
static void lost_last_response(void **state)
{
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_READ, 8192, 0, 10, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	while (two_take(&two, &two.a))
		two_give(&two, &two.b);
	two_expect(&two, &two.b, RDMA_READ_RESPONSE, 0); /* is lost */
	two_expect(&two, &two.b, RDMA_ACK, 1);
	two_give(&two, &two.a);
	two_done(&two.a, DONE(-1));
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, 0));
	assert_int_equal(two_count(&two.a, TRANSPORT_RESENT), 0);
	two_destroy(&two);
}

static void receive_too_small(void **state)
{
	struct two two;

	begin(&two);
	two_receive(&two.b, 0, 300);
	two_receive(&two.b, 0, 300);
	two_send(&two.b, VERBS_WRITE, 0, 0, 1, 0);
	two_send(&two.a, VERBS_SEND, 0, 0, 301, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 1, 0);
	while (two_take(&two, &two.a))
		two_give(&two, &two.b);
	two_expect(&two, &two.b, RDMA_NAK, 1);
	assert_int_equal(two.packet.header.code, RDMA_NAK_INVALID);
	two_give(&two, &two.a);
	two_done(&two.a, DONE(0, VERBS_REM_INV_REQ_ERR, 1, VERBS_WR_FLUSH_ERR));
	two_done(&two.b,
		 DONE(100, VERBS_LOC_LEN_ERR, 0, VERBS_WR_FLUSH_ERR, 101, VERBS_WR_FLUSH_ERR));
	assert_int_equal(count(&two.b)->dropped[RDMA_DROP_STATE], 2);
	two_destroy(&two);
}

static void access_is_checked(void **state)
{
	static const enum verbs_opcode opcodes[] = {VERBS_WRITE, VERBS_READ};
	struct two two;

	for (int i = 0; i < 2; i++) {
		begin(&two);
		two.b.refused = -EACCES;
		two_send(&two.a, opcodes[i], 0, 0, 0, 0);
		two_run(&two);
		two_done(&two.a, DONE(0, VERBS_REM_ACCESS_ERR));
		assert_int_equal(transport_state(two.b.pair), VERBS_ERROR);
		two_destroy(&two);
	}
}

/* What fails here completes behind what was sent before. */
static void local_errors_wait_their_turn(void **state)
{
	struct two two;

	begin(&two);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two.a.sends[1].opcode = VERBS_RECEIVE;
	two_send(&two.a, VERBS_WRITE, 0, 0, 10, 0);
	two_expect(&two, &two.a, RDMA_WRITE, 0);
	two_give(&two, &two.b);
	assert_false(two_take(&two, &two.a));
	two_done(&two.a, DONE(-1));
	two_run(&two);
	two_done(&two.a, DONE(0, 0, 1, VERBS_LOC_QP_OP_ERR, 2, VERBS_WR_FLUSH_ERR));
	two_destroy(&two);

	begin(&two);
	two.a.fault[RDMA_INITIATOR_READS] = -EACCES;
	two_send(&two.a, VERBS_SEND, 0, 0, 10, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, VERBS_LOC_PROT_ERR));
	two_destroy(&two);

	begin(&two);
	two.a.fault[RDMA_INITIATOR_WRITES] = -EACCES;
	two_send(&two.a, VERBS_READ, 0, 0, 10, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, VERBS_LOC_PROT_ERR));
	two_destroy(&two);

	begin(&two);
	two.b.fault[RDMA_RESPONDER_WRITES] = -EIO;
	two_receive(&two.b, 0, 10);
	two_send(&two.a, VERBS_SEND, 0, 0, 10, 0);
	two_run(&two);
	two_done(&two.a, DONE(0, VERBS_REM_OP_ERR));
	two_done(&two.b, DONE(100, VERBS_LOC_PROT_ERR));
	two_destroy(&two);
}

static void states(void **state)
{
	struct two two;

	begin(&two);
	assert_int_equal(transport_modify(two.a.pair, VERBS_INIT, 0, 0, 0, 0), -EINVAL);
	assert_int_equal(transport_modify(two.a.pair, VERBS_RTR, 0, 0, 0, 0), -EINVAL);
	assert_int_equal(transport_modify(two.a.pair, VERBS_RTS, 0, 0, 0, 0), 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 600, 0);
	two_receive(&two.a, 0, 1);
	two_expect(&two, &two.a, RDMA_WRITE, 0);
	assert_int_equal(transport_modify(two.a.pair, VERBS_ERROR, 0, 0, 0, 0), 0);
	two_done(&two.a, DONE(0, VERBS_WR_FLUSH_ERR, 100, VERBS_WR_FLUSH_ERR));
	assert_false(two_take(&two, &two.a));
	two_give(&two, &two.a);
	assert_int_equal(count(&two.a)->dropped[RDMA_DROP_STATE], 1);
	/* A new life, and none of the old one's packets. */
	assert_int_equal(transport_modify(two.a.pair, VERBS_RESET, 0, 0, 0, 0), 0);
	assert_int_equal(transport_modify(two.a.pair, VERBS_RTS, 0, 0, 0, 0), -EINVAL);
	assert_int_equal(transport_modify(two.b.pair, VERBS_RESET, 0, 0, 0, 0), 0);
	assert_int_equal(transport_modify(two.a.pair, VERBS_INIT, 0, 0, 0, 0), 0);
	assert_int_equal(transport_modify(two.a.pair, VERBS_RTR, 1, 0, 7, 0), 0);
	assert_int_equal(transport_modify(two.a.pair, VERBS_RTS, 0, TWO_BEGIN, 0, 0), 0);
	assert_int_equal(transport_modify(two.b.pair, VERBS_INIT, 0, 0, 0, 0), 0);
	assert_int_equal(transport_modify(two.b.pair, VERBS_RTR, 0, 0, TWO_BEGIN, 0), 0);
	two_send(&two.a, VERBS_WRITE, 0, 0, 600, 0);
	two_run(&two);
	assert_int_equal(two.a.done_count, 3);
	assert_int_equal(two.a.done[2].status, VERBS_SUCCESS);
	assert_int_equal(two.a.done[2].entry, 1);
	two_destroy(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers),
		cmocka_unit_test(positions),
		cmocka_unit_test(names),
		cmocka_unit_test(settings_are_checked),
		cmocka_unit_test(bytes_arrive),
		cmocka_unit_test(acknowledgements_are_coalesced),
		cmocka_unit_test(long_messages_ask),
		cmocka_unit_test(gap),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(retries_end),
		cmocka_unit_test(progress_renews_retries),
		cmocka_unit_test(fence),
		cmocka_unit_test(reads_are_limited),
		cmocka_unit_test(lost_response),
		cmocka_unit_test(lost_last_response),
		cmocka_unit_test(receive_too_small),
		cmocka_unit_test(access_is_checked),
		cmocka_unit_test(local_errors_wait_their_turn),
		cmocka_unit_test(states),
	};

	return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
