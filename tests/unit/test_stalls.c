// SPDX-License-Identifier: GPL-2.0
/* Stalls: what was lost, delivered and sent again, tied by sequence numbers; what they blame and say. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/base/memory.h"
#include "tests/unit/nic_rig.h"

static const size_t chunks[] = {0, 1, 3, 13};

static void expect_words(const struct nic_rig *rig, size_t rank, const char *expected)
{
	char text[NIC_WORDS];

	assert_string_equal(nic_rig_words(rig, rank, text), expected);
}

/* The case of the papers: a fault of 5 ms, a timeout of 204 ms. */
static void add_the_classic(struct nic_rig *rig)
{
	nic_rig_fault(rig, 1, 0, 5 * MS);
	nic_rig_add(rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 1000, 9 * 1448, 9, LOSS_FAULT, 1));
	nic_rig_add(rig, told_resent(205 * MS, FLOW_IN, 1000, 1448, RECOVERY_TIMEOUT, 204 * MS));
	nic_rig_add(rig, told_recovered(303 * MS, FLOW_IN, 1000, 9 * 1448));
}

static void the_sentence_is_that_of_the_manual(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		add_the_classic(&rig);
		nic_rig_run(&rig, chunks[i]);
		expect_words(&rig, 0,
			     "302 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): "
			     "9 frames lost to 1 fault (drop; 5.0 ms, resolve 4.9 ms); "
			     "recovered by 1 retransmission timeout of 204 ms");
		assert_int_equal(stalls_count(rig.analysis->stalls), 1);
		nic_rig_end(&rig);
	}
}

/* A fault may be over, or be told to be, long after what it cost was delivered. */
static void a_fault_may_outlast_its_stall(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		nic_rig_fault(&rig, 1, 0, 700 * MS);
		nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 1, 100, 1, LOSS_FAULT, 1));
		nic_rig_add(&rig, told_resent(6 * MS, FLOW_IN, 1, 100, RECOVERY_PROBE, 204 * MS));
		nic_rig_add(&rig, told_recovered(7 * MS, FLOW_IN, 1, 100));
		nic_rig_run(&rig, chunks[i]);
		expect_words(&rig, 0,
			     "6.0 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): "
			     "1 frame lost to 1 fault (drop; 700 ms, resolve 700 ms); "
			     "recovered by 1 loss probe");
		nic_rig_end(&rig);
	}
}

static void causes_are_told_apart(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_fault(&rig, 2, 5 * MS, 13 * MS);
	/* One that cost nobody a frame, longer than all. */
	nic_rig_fault(&rig, 3, 0, 50 * MS);
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 5, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(5 * MS, 2 * MS, FLOW_IN, 500, 300, 3, LOSS_WIRE, 0));
	nic_rig_add(&rig, told_lost(9 * MS, 6 * MS, FLOW_IN, 800, 400, 4, LOSS_FAULT, 2));
	nic_rig_add(&rig, told_lost(10 * MS, 6 * MS, FLOW_IN, 1200, 100, 1, LOSS_FAULT, 2));
	nic_rig_add(&rig, told_resent(20 * MS, FLOW_IN, 0, 100, RECOVERY_TIMEOUT, 204 * MS));
	nic_rig_add(&rig, told_resent(30 * MS, FLOW_IN, 0, 100, RECOVERY_TIMEOUT, 408 * MS));
	nic_rig_add(&rig, told_resent(31 * MS, FLOW_IN, 100, 100, RECOVERY_FAST, 408 * MS));
	nic_rig_add(&rig, told_resent(32 * MS, FLOW_IN, 200, 100, RECOVERY_PROBE, 900 * MS));
	nic_rig_add(&rig, told_recovered(101 * MS, FLOW_IN, 0, 1300));
	nic_rig_run(&rig, 0);
	expect_words(&rig, 0,
		     "100 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): "
		     "10 frames lost to 2 faults (drop; the worst 13 ms, resolve 13 ms), "
		     "3 to the wire; recovered by 2 retransmission timeouts of up to 408 ms, "
		     "1 loss probe and 1 fast retransmission");
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_int_equal(nic_rig_cell(&rig, 0, "faults").count, 2);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_fault").count, 10);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_wire").count, 3);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_cache_full").count, 0);
	assert_int_equal(nic_rig_cell(&rig, 0, "worst_fault").count, 13 * MS);
	assert_int_equal(nic_rig_cell(&rig, 0, "timeout").count, 408 * MS);
	nic_rig_end(&rig);
}

/* What the wire lost is no fault's, though one was open at the very time. */
static void the_wire_is_no_fault(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_fault(&rig, 1, 0, 50 * MS);
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 5, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_OUT, 0, 300, 3, LOSS_WIRE, 1));
	nic_rig_add(&rig, told_recovered(5 * MS, FLOW_OUT, 0, 300));
	nic_rig_add(&rig, told_recovered(6 * MS, FLOW_IN, 0, 500));
	nic_rig_run(&rig, 0);
	expect_words(&rig, 1,
		     "4.0 ms stall of 10.77.0.1:5201 > 10.77.0.2:40002 (vm/net rx 0): "
		     "3 frames lost to the wire; recovered by no retransmission that was seen");
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 2);
	assert_int_equal(nic_rig_cell(&rig, 0, "faults").count, 1);
	assert_int_equal(nic_rig_cell(&rig, 1, "faults").count, 0);
	assert_true(nic_rig_cell(&rig, 1, "worst_fault").count == CELL_NONE);
	nic_rig_end(&rig);
}

/* A segment that had come is sent again for nothing and lost: nobody waits for that one. */
static void what_had_come_stalls_nobody(void **state)
{
	struct nic_rig rig;
	struct event again = told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 1, LOSS_FAULT, 1);

	again.flags = EVENT_PRIV;
	nic_rig_begin(&rig);
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_add(&rig, again);
	nic_rig_add(&rig, told_lost(9 * MS, 6 * MS, FLOW_IN, 500, 400, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_recovered(11 * MS, FLOW_IN, 500, 400));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, 1);
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, 5 * MS);
	nic_rig_end(&rig);
}

/* A segment of which half had come was lost: what is told to have come is the other half, and all there was. */
static void half_of_a_segment_may_have_come(void **state)
{
	for (int last = 0; last < 2; last++) {
		struct event half = told_recovered(11 * MS, FLOW_IN, 250, 250);
		struct nic_rig rig;

		half.flags = last ? EVENT_LAST : 0;
		nic_rig_begin(&rig);
		nic_rig_fault(&rig, 1, 0, 5 * MS);
		nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 1, LOSS_FAULT, 1));
		nic_rig_add(&rig, half);
		nic_rig_run(&rig, 0);
		assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
		assert_string_equal(nic_rig_cell(&rig, 0, "state").text,
				    last ? "recovered" : "open");
		nic_rig_end(&rig);
	}
}

/* A held frame comes after its connection was reset: it is of the stall that ended then. */
static void what_comes_after_the_end_is_no_stall(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_error(20 * MS, FLOW_IN, ECONNRESET));
	nic_rig_add(&rig, told_recovered(50 * MS, FLOW_IN, 0, 500));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "aborted");
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, 19 * MS);
	nic_rig_end(&rig);
}

/* No program is told of a socket that nobody has any more. */
static void a_stall_ends_with_its_socket(void **state)
{
	struct event gone = told_error(20 * MS, FLOW_IN, 0);
	struct nic_rig rig;

	gone.kind = EVENT_TCP_CLOSED;
	nic_rig_begin(&rig);
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 0, 500, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, gone);
	nic_rig_run(&rig, 0);
	expect_words(&rig, 0,
		     "19 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): "
		     "1 frame lost to 1 fault (drop; 5.0 ms, resolve 4.9 ms); not recovered: its "
		     "socket is gone");
	nic_rig_end(&rig);
}

static __u32 counted_of(__u32 first, __u32 length, __u32 sent, __u32 sent_length)
{
	struct nic_rig rig;
	__u32 count;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_lost(2 * MS, 1 * MS, FLOW_IN, first, length, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_resent(3 * MS, FLOW_IN, sent, sent_length, RECOVERY_FAST, 0));
	nic_rig_add(&rig, told_recovered(4 * MS, FLOW_IN, first, length));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, 3 * MS);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "recovered");
	count = (__u32)nic_rig_cell(&rig, 0, "fast").count;
	nic_rig_end(&rig);
	return count;
}

/* A part of what was lost, more than that, or what lies beside it; where numbers wrap around, too. */
static void a_retransmission_has_a_byte_of_what_was_lost(void **state)
{
	static const __u32 firsts[] = {100000, 0, 0xffffffff, 0xfffffe0d, 0x80000000, 0x7fffff00};

	for (size_t i = 0; i < COUNT(firsts); i++) {
		__u32 first = firsts[i];

		assert_int_equal(counted_of(first, 997, first, 997), 1);
		assert_int_equal(counted_of(first, 997, first, 1), 1);
		assert_int_equal(counted_of(first, 997, first + 996, 1000), 1);
		assert_int_equal(counted_of(first, 997, first - 5000, 5001), 1);
		assert_int_equal(counted_of(first, 997, first - 5000, 20000), 1);
		assert_int_equal(counted_of(first, 997, first + 997, 1000), 0);
		assert_int_equal(counted_of(first, 997, first - 1000, 1000), 0);
		assert_int_equal(counted_of(first, 997, first + (1u << 30), 1000), 0);
	}
}

static void a_stall_ends_with_the_last_of_its_ranges(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_lost(2 * MS, 1 * MS, FLOW_IN, 0xffffff00, 512, 2, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(3 * MS, 2 * MS, FLOW_IN, 1024, 512, 2, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_recovered(10 * MS, FLOW_IN, 0xffffff00, 512));
	/* Lost again while the stall is open, and recovered in parts. */
	nic_rig_add(&rig, told_lost(13 * MS, 12 * MS, FLOW_IN, 1024, 512, 2, LOSS_NO_BUFFER, 0));
	nic_rig_add(&rig, told_recovered(17 * MS, FLOW_IN, 1280, 256));
	nic_rig_add(&rig, told_recovered(18 * MS, FLOW_IN, 1025, 400));
	nic_rig_add(&rig, told_recovered(19 * MS, FLOW_IN, 0, 1025));
	/* Behind it another. */
	nic_rig_add(&rig, told_lost(20 * MS, 20 * MS, FLOW_IN, 1600, 1, 1, LOSS_UNKNOWN, 0));
	nic_rig_add(&rig, told_recovered(21 * MS, FLOW_IN, 1600, 1));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 2);
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, 18 * MS);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, 6);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_no_buffer").count, 2);
	assert_int_equal(nic_rig_cell(&rig, 1, "duration").count, 1 * MS);
	nic_rig_end(&rig);
}

/* Numbers lie 2 GiB apart at most, but a stall may last for longer than that. */
static void a_long_stall_goes_around(void **state)
{
	enum { STEPS = 13, STEP = 1 << 30 };
	struct nic_rig rig;

	nic_rig_begin(&rig);
	for (__u32 i = 0; i < STEPS; i++) {
		__u32 first = i ? i * (__u32)STEP - 100 : 0;

		nic_rig_add(&rig, told_lost((i + 1) * MS, (i + 1) * MS, FLOW_IN, first, 200, 1,
					    LOSS_WIRE, 0));
		nic_rig_add(&rig, told_recovered((i + 3) * MS, FLOW_IN, first + 100, 100));
		nic_rig_add(&rig, told_recovered((i + 3) * MS, FLOW_IN, first, 100));
	}
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "recovered");
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, (STEPS + 1) * MS);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, STEPS);
	nic_rig_end(&rig);
}

static void equal_ones_are_in_the_order_of_time(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_lost(3 * MS, 2 * MS, FLOW_IN, 0, 9, 2, LOSS_WIRE, 0));
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_OUT, 0, 9, 1, LOSS_WIRE, 0));
	nic_rig_add(&rig, told_recovered(11 * MS, FLOW_OUT, 0, 9));
	nic_rig_add(&rig, told_recovered(12 * MS, FLOW_IN, 0, 9));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 2);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, 1);
	assert_int_equal(nic_rig_cell(&rig, 1, "lost").count, 2);
	nic_rig_end(&rig);
}

/* A flow of which more was sent again than is remembered, while a run went on: the number is a floor. */
static void a_long_run_forgets_what_was_sent_again(void **state)
{
	for (__u32 more = 0; more < 2; more++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		for (__u32 i = 0; i < 64 + more; i++)
			nic_rig_add(&rig,
				    told_resent((i + 1) * MS, FLOW_IN, i, 1, RECOVERY_FAST, 0));
		nic_rig_add(&rig, told_lost(90 * MS, 1 * MS, FLOW_IN, 0, 90, 1, LOSS_FAULT, 1));
		nic_rig_run(&rig, 0);
		assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
		assert_int_equal(nic_rig_cell(&rig, 0, "fast").count, 64);
		assert_int_equal(floor_of(rig.analysis), more << FLOOR_TABLES);
		nic_rig_end(&rig);
	}
}

/* More faults than a stall remembers. */
static void a_stall_names_so_many_faults(void **state)
{
	for (__u32 more = 0; more < 2; more++) {
		struct nic_rig rig;
		char text[NIC_WORDS];

		nic_rig_begin(&rig);
		for (__u32 i = 1; i <= 255 + more; i++)
			nic_rig_add(&rig,
				    told_lost(i * MS, i * MS, FLOW_IN, i, 1, 1, LOSS_FAULT, i));
		if (more)
			nic_rig_add(&rig, told_lost(300 * MS, 300 * MS, FLOW_IN, 300, 1, 1,
						    LOSS_FAULT, 300));
		nic_rig_run(&rig, 0);
		nic_rig_words(&rig, 0, text);
		assert_true(!!strstr(text, "lost to 255 faults (drop)") == !more);
		assert_true(!!strstr(text, "lost to 256 or more faults (drop)") == !!more);
		assert_int_equal(floor_of(rig.analysis), more << FLOOR_TABLES);
		nic_rig_end(&rig);
	}
}

static void a_run_is_told_after_what_was_sent_again(void **state)
{
	for (int early = 0; early < 2; early++) {
		__u64 sent = early ? 4 * MS : 5 * MS;
		struct nic_rig rig;

		nic_rig_begin(&rig);
		nic_rig_add(&rig, told_resent(sent, FLOW_IN, 7, 1, RECOVERY_PROBE, 0));
		nic_rig_add(&rig, told_lost(9 * MS, 5 * MS, FLOW_IN, 0, 100, 1, LOSS_FAULT, 1));
		/* Counts once, though two runs have it. */
		nic_rig_add(&rig, told_lost(10 * MS, 5 * MS, FLOW_IN, 7, 100, 1, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_recovered(11 * MS, FLOW_IN, 0, 107));
		nic_rig_run(&rig, 0);
		assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
		assert_int_equal(nic_rig_cell(&rig, 0, "probes").count, !early);
		nic_rig_end(&rig);
	}
}

/* The same addresses and ports in two networks, and the other direction of a connection. */
static void flows_are_no_ports(void **state)
{
	static const __u32 frames[] = {FLOW_IN, FLOW_ELSEWHERE, FLOW_OUT};
	struct nic_rig rig;

	nic_rig_begin(&rig);
	for (__u32 flow = FLOW_IN; flow <= FLOW_ELSEWHERE; flow++)
		nic_rig_add(&rig, told_lost(1 * MS, 1 * MS, flow, 0, 100, flow, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_resent(2 * MS, FLOW_ELSEWHERE, 0, 100, RECOVERY_FAST, 0));
	nic_rig_add(&rig, told_recovered(5 * MS, FLOW_IN, 0, 100));
	nic_rig_add(&rig, told_recovered(4 * MS, FLOW_ELSEWHERE, 0, 100));
	nic_rig_add(&rig, told_recovered(3 * MS, FLOW_OUT, 0, 100));
	nic_rig_run(&rig, 1);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 3);
	for (__u32 i = 0; i < 3; i++) {
		assert_int_equal(nic_rig_cell(&rig, i, "lost").count, frames[i]);
		assert_int_equal(nic_rig_cell(&rig, i, "duration").count, (4 - i) * MS);
		assert_int_equal(nic_rig_cell(&rig, i, "fast").count, i == 1);
		assert_string_equal(nic_rig_cell(&rig, i, "device").text,
				    i == 1 ? "vm1/net" : "vm/net");
	}
	/* Of its device nobody knows the policy. */
	expect_words(&rig, 1,
		     "3.0 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm1/net rx 0): 3 frames "
		     "lost to 1 fault; recovered by 1 fast retransmission");
	nic_rig_end(&rig);
}

static void what_is_not_recovered_is_open(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	add_the_classic(&rig);
	nic_rig_add(&rig, told_lost(400 * MS, 400 * MS, FLOW_IN, 50000, 100, 7, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_resent(604 * MS, FLOW_IN, 50000, 100, RECOVERY_TIMEOUT, 204 * MS));
	nic_rig_add(&rig, told_recovered(605 * MS, FLOW_IN, 50001, 99));
	rig.end_ns = 1400 * MS;
	nic_rig_run(&rig, 0);
	expect_words(&rig, 0,
		     "1.0 s stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): 7 frames "
		     "lost to 1 fault (drop; 5.0 ms, resolve 4.9 ms); not recovered after 1 "
		     "retransmission timeout of 204 ms");
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 2);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "open");
	assert_int_equal(nic_rig_cell(&rig, 0, "duration").count, SECOND);
	assert_string_equal(nic_rig_cell(&rig, 1, "state").text, "recovered");
	nic_rig_end(&rig);
}

/* A connection ends for both of its directions, whichever side hears of it; what may pass ends nothing. */
static void an_error_aborts_its_connection(void **state)
{
	static const int fatal[] = {ECONNRESET, ECONNABORTED, ECONNREFUSED, ETIMEDOUT, EPIPE};

	for (size_t i = 0; i < 4 * COUNT(fatal); i++) {
		__u32 hears = i % 2 ? FLOW_IN : FLOW_OUT, lost = i % 4 < 2 ? FLOW_IN : FLOW_OUT;
		__u32 next = i % 3 ? 1u << 30 : -(1u << 30);
		struct nic_rig rig;

		nic_rig_begin(&rig);
		nic_rig_add(&rig, told_lost(1 * MS, 1 * MS, lost, 0, 100, 3, LOSS_WIRE, 0));
		nic_rig_add(&rig,
			    told_lost(1 * MS, 1 * MS, FLOW_ELSEWHERE, 0, 100, 1, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_resent(201 * MS, lost, 0, 100, RECOVERY_TIMEOUT, 200 * MS));
		nic_rig_add(&rig, told_error(300 * MS, hears, EHOSTUNREACH));
		nic_rig_add(&rig, told_error(401 * MS, hears, fatal[i / 4]));
		nic_rig_add(&rig, told_error(402 * MS, hears, EPIPE));
		/* Of its last frames nobody has told before, and some waited in a queue. */
		nic_rig_add(&rig, told_lost(403 * MS, 399 * MS, lost, 100, 90, 5, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_lost(404 * MS, 404 * MS, lost, 190, 10, 1, LOSS_WIRE, 0));
		/* Whoever has its ports next has a stall of his own. */
		nic_rig_add(&rig, told_lost(500 * MS, 500 * MS, lost, next, 100, 2, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_recovered(501 * MS, lost, next, 100));
		rig.end_ns = 900 * MS;
		nic_rig_run(&rig, i % 3);
		assert_int_equal(nic_rig_rows(&rig, stalls_write), 3);
		assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "open");
		assert_string_equal(nic_rig_cell(&rig, 0, "device").text, "vm1/net");
		assert_string_equal(nic_rig_cell(&rig, 1, "state").text, "aborted");
		assert_int_equal(nic_rig_cell(&rig, 1, "duration").count, 400 * MS);
		assert_int_equal(nic_rig_cell(&rig, 1, "lost").count, 3);
		assert_string_equal(nic_rig_cell(&rig, 2, "state").text, "recovered");
		assert_int_equal(nic_rig_cell(&rig, 2, "lost").count, 2);
		if (!i)
			expect_words(&rig, 1,
				     "400 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx "
				     "0): 3 frames lost to the wire; not recovered after 1 "
				     "retransmission timeout of 200 ms: Connection reset by peer");
		nic_rig_end(&rig);
	}
}

/* Its loss was told before the recording, or the ring had no room for that. */
static void what_was_recovered_had_been_lost(void **state)
{
	struct event since[] = {
		told_recovered(305 * MS, FLOW_IN, 1000, 3000),
		told_recovered(400 * MS, FLOW_UDP, 1000, 100),
		told_recovered(401 * MS, FLOW_IN, 9000, 100),
		told_recovered(402 * MS, FLOW_IN, 9000, 100),
	};
	struct nic_rig rig;

	since[0].value = since[1].value = NIC_START + 5 * MS;
	since[2].value = since[2].time_ns;
	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_resent(4 * MS, FLOW_IN, 1000, 100, RECOVERY_FAST, 0));
	nic_rig_add(&rig, told_resent(209 * MS, FLOW_IN, 3999, 100, RECOVERY_TIMEOUT, 204 * MS));
	for (size_t i = 0; i < COUNT(since); i++)
		nic_rig_add(&rig, since[i]);
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	expect_words(&rig, 0,
		     "300 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): 3000 bytes "
		     "lost, of which no event tells; recovered by 1 retransmission timeout of 204 "
		     "ms");
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "recovered");
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, 0);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_size").count, 3000);
	nic_rig_end(&rig);
}

/* Whole if they began in the period: by when the first frame was lost, not by when that was told. */
static void a_period_has_what_began_in_it(void **state)
{
	static const __u64 since[] = {9 * MS, 10 * MS, 19 * MS, 20 * MS, 21 * MS};
	struct nic_rig rig;

	nic_rig_begin(&rig);
	rig.config.period = (struct period){NIC_START + 10 * MS, NIC_START + 20 * MS};
	for (__u32 i = 0; i < COUNT(since); i++) {
		nic_rig_add(&rig, told_lost(since[i] + 900 * US, since[i], FLOW_IN, 1000 * i, 100,
					    i + 1, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_resent(since[i] + 950 * US, FLOW_IN, 1000 * i, 100,
					      RECOVERY_FAST, 0));
		nic_rig_add(&rig, told_recovered(since[i] + 970 * US + i, FLOW_IN, 1000 * i, 100));
	}
	nic_rig_add(&rig, told_lost(18 * MS, 9 * MS, FLOW_OUT, 0, 100, 17, LOSS_WIRE, 0));
	nic_rig_add(&rig, told_lost(22 * MS, 22 * MS, FLOW_ELSEWHERE, 0, 100, 17, LOSS_WIRE, 0));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 2);
	assert_int_equal(nic_rig_cell(&rig, 0, "lost").count, 3);
	assert_int_equal(nic_rig_cell(&rig, 0, "fast").count, 1);
	assert_int_equal(nic_rig_cell(&rig, 1, "lost").count, 2);
	assert_int_equal(stalls_count(rig.analysis->stalls), 2);
	nic_rig_end(&rig);
}

static void only_tcp_sends_again(void **state)
{
	struct nic_rig rig;
	struct event e;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_lost(MS, MS, FLOW_UDP, 5, 100, 1, LOSS_FAULT, 1));
	/* An acknowledgement has no bytes, and what is no range is none. */
	nic_rig_add(&rig, told_lost(MS, MS, FLOW_IN, 5, 0, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(MS, MS, FLOW_IN, 5, 1u << 31, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(MS, MS, 0, 5, 100, 1, LOSS_FAULT, 1));
	/* One that the dictionary lacks may be TCP's. */
	nic_rig_add(&rig, told_lost(MS, MS, 77, 5, 100, 1, (enum loss_reason)200, 1));
	e = told_resent(2 * MS, 77, 5, 1, RECOVERY_FAST, 0);
	e.flags = EVENT_MAJOR;
	nic_rig_add(&rig, e);
	nic_rig_add(&rig, told_recovered(3 * MS, 77, 5, 100));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), 1);
	assert_string_equal(nic_rig_cell(&rig, 0, "flow").text, "flow 77");
	assert_int_equal(nic_rig_cell(&rig, 0, "lost_unknown").count, 1);
	assert_int_equal(nic_rig_cell(&rig, 0, "fast").count, 0);
	nic_rig_end(&rig);
}

static void a_syn_ack_recovers_its_own_loss(void **state)
{
	for (int data = 0; data < 2; data++) {
		struct nic_rig rig;
		struct event e =
			told_resent(3 * MS, FLOW_OUT, data ? 4 : 5, 1, RECOVERY_TIMEOUT, 0);

		nic_rig_begin(&rig);
		e.kind = EVENT_TCP_SYNACK;
		nic_rig_add(&rig,
			    told_lost(2 * MS, MS, FLOW_OUT, 5, data ? 2 : 1, 1, LOSS_WIRE, 0));
		nic_rig_add(&rig, e);
		nic_rig_add(&rig, told_recovered(4 * MS, FLOW_OUT, 5, 2));
		nic_rig_run(&rig, 0);
		expect_words(&rig, 0,
			     data ? "3.0 ms stall of 10.77.0.1:5201 > 10.77.0.2:40002 (vm/net rx "
				    "0): 1 frame lost to the wire; recovered by no "
				    "retransmission that was seen"
				  : "3.0 ms stall of 10.77.0.1:5201 > 10.77.0.2:40002 (vm/net rx "
				    "0): 1 frame lost to the wire; recovered by 1 SYN-ACK");
		nic_rig_end(&rig);
	}
}

/* What a timeout gave up comes after it: that is said where nothing else was seen. */
static void slow_start_follows_a_timeout(void **state)
{
	for (__u64 timeout = 0; timeout < 2; timeout++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		nic_rig_add(&rig, told_lost(2 * MS, MS, FLOW_IN, 0, 200, 2, LOSS_WIRE, 0));
		if (timeout)
			nic_rig_add(&rig, told_resent(201 * MS, FLOW_IN, 0, 100, RECOVERY_TIMEOUT,
						      200 * MS));
		nic_rig_add(&rig, told_resent(202 * MS, FLOW_IN, 100, 50, RECOVERY_SLOW_START, 9));
		nic_rig_add(&rig, told_resent(202 * MS, FLOW_IN, 150, 50, RECOVERY_SLOW_START, 9));
		nic_rig_add(&rig, told_recovered(203 * MS, FLOW_IN, 0, 200));
		nic_rig_run(&rig, 0);
		expect_words(&rig, 0,
			     timeout ? "202 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net "
				       "rx 0): 2 frames lost to the wire; recovered by 1 "
				       "retransmission timeout of 200 ms"
				     : "202 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net "
				       "rx 0): 2 frames lost to the wire; recovered by 2 "
				       "retransmissions after a timeout");
		nic_rig_rows(&rig, stalls_write);
		assert_int_equal(nic_rig_cell(&rig, 0, "slow_start").count, 2);
		assert_int_equal(nic_rig_cell(&rig, 0, "timeouts").count, timeout);
		assert_int_equal(nic_rig_cell(&rig, 0, "fast").count, 0);
		nic_rig_end(&rig);
	}
}

/* More than are kept: the longest stay, all are counted. */
static void the_longest_are_kept(void **state)
{
	enum { ALL = 10007 };
	struct nic_rig rig;
	__u64 time = 0;

	nic_rig_begin(&rig);
	for (__u32 i = 0; i < ALL; i++) {
		/* A prime: each length from 1 to ALL comes once. */
		__u64 length = (__u64)i * 5003 % ALL + 1;

		nic_rig_add(&rig, told_lost(time, time, FLOW_IN, i * 10, 10, 1, LOSS_FAULT, 1 + i));
		nic_rig_add(&rig, told_recovered(time + length * US, FLOW_IN, i * 10, 10));
		time += (ALL + 1) * US;
	}
	nic_rig_run(&rig, 997);
	assert_int_equal(stalls_count(rig.analysis->stalls), ALL);
	assert_int_equal(nic_rig_rows(&rig, stalls_write), STALLS_KEPT);
	for (__u32 i = 0; i < STALLS_KEPT; i++)
		assert_int_equal(nic_rig_cell(&rig, i, "duration").count, (ALL - i) * US);
	assert_int_equal(floor_of(rig.analysis), 0);
	nic_rig_end(&rig);
}

static __u64 memory_after(__u32 stalls)
{
	struct nic_rig rig;
	__u64 used;

	nic_rig_begin(&rig);
	for (__u32 i = 0; i < stalls; i++) {
		nic_rig_add(&rig, told_lost(i * MS, i * MS, FLOW_IN, i, 1, 1, LOSS_FAULT, 1 + i));
		nic_rig_add(&rig, told_resent(i * MS + 1, FLOW_IN, i, 1, RECOVERY_FAST, 0));
		nic_rig_add(&rig, told_recovered(i * MS + 2 + i % 997, FLOW_IN, i, 1));
		if (i % 5 == 0)
			nic_rig_fault(&rig, 1 + i, i * MS, 900 * US);
	}
	nic_rig_run(&rig, 0);
	assert_int_equal(stalls_count(rig.analysis->stalls), stalls);
	used = memory_used();
	nic_rig_end(&rig);
	return used;
}

/* Once all is as long as it may be hardly more is needed (pages of seconds), however many come. */
static void memory_is_bounded(void **state)
{
	__u64 once = memory_after(100003);

	assert_true(memory_after(150001) < once + 65536);
}

static void durations_have_two_digits(void **state)
{
	static const struct {
		__u64 ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{7, "7 ns"},
		{999, "999 ns"},
		{1000, "1.0 us"},
		{9949, "9.9 us"},
		{9951, "10 us"},
		{999499, "999 us"},
		{999500, "1.0 ms"},
		{5 * MS, "5.0 ms"},
		{204 * MS, "204 ms"},
		{SECOND, "1.0 s"},
		{12345 * MS, "12 s"},
		{3600 * SECOND, "3600 s"},
	};
	char text[STALL_DURATION_TEXT];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(stall_duration(cases[i].ns, text), cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sentence_is_that_of_the_manual),
		cmocka_unit_test(a_fault_may_outlast_its_stall),
		cmocka_unit_test(causes_are_told_apart),
		cmocka_unit_test(the_wire_is_no_fault),
		cmocka_unit_test(what_had_come_stalls_nobody),
		cmocka_unit_test(half_of_a_segment_may_have_come),
		cmocka_unit_test(what_comes_after_the_end_is_no_stall),
		cmocka_unit_test(a_stall_ends_with_its_socket),
		cmocka_unit_test(a_retransmission_has_a_byte_of_what_was_lost),
		cmocka_unit_test(a_stall_ends_with_the_last_of_its_ranges),
		cmocka_unit_test(a_long_stall_goes_around),
		cmocka_unit_test(equal_ones_are_in_the_order_of_time),
		cmocka_unit_test(a_long_run_forgets_what_was_sent_again),
		cmocka_unit_test(a_stall_names_so_many_faults),
		cmocka_unit_test(a_run_is_told_after_what_was_sent_again),
		cmocka_unit_test(flows_are_no_ports),
		cmocka_unit_test(what_is_not_recovered_is_open),
		cmocka_unit_test(an_error_aborts_its_connection),
		cmocka_unit_test(what_was_recovered_had_been_lost),
		cmocka_unit_test(a_period_has_what_began_in_it),
		cmocka_unit_test(only_tcp_sends_again),
		cmocka_unit_test(a_syn_ack_recovers_its_own_loss),
		cmocka_unit_test(slow_start_follows_a_timeout),
		cmocka_unit_test(the_longest_are_kept),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(durations_have_two_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
