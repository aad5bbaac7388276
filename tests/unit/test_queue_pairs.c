// SPDX-License-Identifier: GPL-2.0
/* Queue pairs and regions of emulated RDMA devices: what their tables count. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/verbs/verbs_layout.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/packets.h"
#include "lib/analyze/queue_pairs.h"
#include "tests/unit/pair_rig.h"

static __u64 count_of(const struct pair_rig *rig, size_t row, const char *column)
{
	return pair_rig_cell(rig, row, column).count;
}

struct counters {
	__u32 operations, sent, received, dropped, resent;
	__u64 bytes, stopped;
};

static struct event told_state(__u64 time, __u32 device, __u32 pair, struct counters c)
{
	struct event e = told_pair(EVENT_QP_STATE, time, device, pair, c.stopped, VERBS_RTS);

	e.length = c.bytes;
	e.address = (__u64)c.sent << 32 | c.received;
	e.pasid = c.operations;
	e.group = c.resent;
	e.instance = c.dropped;
	return e;
}

static const struct counters first = {100, 3, 5, 7, 11, 4096, 17 * US};
static const struct counters later = {1109, 13, 24, 36, 42, 8191, 60 * US};

static void counters_grow_between_tellings(void **state)
{
	/* Of a machine that began while it was recorded the first telling counts, too. When is known to a tick of 10 ms. */
	for (int began = 0; began < 2; began++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		rig.pid_start_ns = PAIR_START - 10 * MS + began;
		pair_rig_add(&rig, told_state(100 * MS, PAIR_LEFT, 17, first));
		pair_rig_add(&rig, told_state(200 * MS, PAIR_LEFT, 17, later));
		pair_rig_run(&rig, 0);
		assert_int_equal(pair_rig_rows(&rig, queue_pairs_write), 1);
		assert_string_equal(pair_rig_cell(&rig, 0, "device").text, "vm0/hca");
		assert_int_equal(count_of(&rig, 0, "pair"), 17);
		assert_string_equal(pair_rig_cell(&rig, 0, "state").text, "rts");
		assert_int_equal(count_of(&rig, 0, "operations"), began ? 1109 : 1009);
		assert_int_equal(count_of(&rig, 0, "moved"), began ? 8191 : 4095);
		assert_int_equal(count_of(&rig, 0, "rnr_out"), began ? 13 : 10);
		assert_int_equal(count_of(&rig, 0, "rnr_in"), began ? 24 : 19);
		assert_int_equal(count_of(&rig, 0, "dropped"), began ? 36 : 29);
		assert_int_equal(count_of(&rig, 0, "resent"), began ? 42 : 31);
		assert_int_equal(count_of(&rig, 0, "stopped"), began ? 60 * US : 43 * US);
		pair_rig_end(&rig);
	}
}

/* Where 32 bits carry them they wrap. */
static void counters_wrap(void **state)
{
	const struct counters before = {-3u, -5u, -7u, -11u, -13u, 1, 2};
	const struct counters after = {10, 6, 4, 2, 4, 1 + (5ull << 40), 3};
	struct pair_rig rig;

	pair_rig_begin(&rig);
	pair_rig_add(&rig, told_state(1 * MS, PAIR_LEFT, 1, before));
	pair_rig_add(&rig, told_state(2 * MS, PAIR_LEFT, 1, after));
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, queue_pairs_write), 1);
	assert_int_equal(count_of(&rig, 0, "operations"), 13);
	assert_int_equal(count_of(&rig, 0, "rnr_out"), 11);
	assert_int_equal(count_of(&rig, 0, "rnr_in"), 11);
	assert_int_equal(count_of(&rig, 0, "dropped"), 13);
	assert_int_equal(count_of(&rig, 0, "resent"), 17);
	assert_true(count_of(&rig, 0, "moved") == 5ull << 40);
	pair_rig_end(&rig);
}

static void add_events(struct pair_rig *rig)
{
	struct event suppressed =
		told_pair(EVENT_FAULT_SUPPRESSED, 9 * MS, PAIR_LEFT, 2, 0, RDMA_INITIATOR_READS);

	for (__u8 reason = 0; reason < RDMA_DROPS; reason++)
		pair_rig_add(rig, told_packets(EVENT_PACKETS_DROPPED, 3 * MS, PAIR_LEFT, 2, 0,
					       reason + 1u, reason));
	for (__u8 reason = 0; reason < RDMA_RESENDS; reason++)
		pair_rig_add(rig, told_packets(EVENT_PACKETS_RESENT, 3 * MS, PAIR_LEFT, 2, 0,
					       reason + 20u, reason));
	/* Reasons that nobody knows. */
	pair_rig_add(rig, told_packets(EVENT_PACKETS_DROPPED, 3 * MS, PAIR_LEFT, 2, 0, 9, 200));
	pair_rig_add(rig, told_packets(EVENT_PACKETS_RESENT, 3 * MS, PAIR_LEFT, 2, 0, 9, 200));
	pair_rig_add(rig, suppressed);
	suppressed.value = 1;
	pair_rig_add(rig, suppressed);
	pair_rig_add(rig, told_nak(4 * MS, PAIR_LEFT, 2, 9, 10 * US, 0));
	pair_rig_add(rig, told_pair(EVENT_RNR_RECEIVED, 4 * MS, PAIR_LEFT, 2, 8, 0));
	pair_rig_add(rig, told_pair(EVENT_RNR_RECEIVED, 5 * MS, PAIR_LEFT, 2, 7, 0));
	pair_rig_add(rig, told_pair(EVENT_QP_REWOUND, 5 * MS, PAIR_LEFT, 2, 7, RDMA_RESEND_READ));
	pair_rig_add(rig, told_pair(EVENT_QP_ERROR, 6 * MS, PAIR_LEFT, 2, 0, VERBS_RETRY_EXC_ERR));
	/* A pair of the same number elsewhere, and another one of this device. */
	pair_rig_add(rig, told_packets(EVENT_PACKETS_DROPPED, 3 * MS, PAIR_ELSEWHERE, 2, 0, 1, 0));
	pair_rig_add(rig,
		     told_packets(EVENT_PACKETS_DROPPED, 3 * MS, PAIR_LEFT, 1u << 24, 0, 1, 0));
}

static void packets_are_told_by_reason(void **state)
{
	static const char *const drops[RDMA_DROPS] = {
		"dropped_fault",    "dropped_rnr",	  "dropped_sequence", "dropped_duplicate",
		"dropped_response", "dropped_no_receive", "dropped_state",    "lost_wire"};
	static const char *const resends[RDMA_RESENDS] = {"resent_rnr", "resent_sequence",
							  "resent_timeout", "resent_read"};
	struct pair_rig rig;

	pair_rig_begin(&rig);
	add_events(&rig);
	pair_rig_run(&rig, 3);
	assert_int_equal(pair_rig_rows(&rig, queue_pairs_write), 3);
	for (__u32 reason = 0; reason < RDMA_DROPS; reason++)
		assert_int_equal(count_of(&rig, 0, drops[reason]), reason + 1);
	for (__u32 reason = 0; reason < RDMA_RESENDS; reason++)
		assert_int_equal(count_of(&rig, 0, resends[reason]), reason + 20);
	assert_int_equal(count_of(&rig, 0, "suppressed"), 2);
	assert_int_equal(count_of(&rig, 0, "in_window"), 1);
	assert_int_equal(count_of(&rig, 0, "naks"), 1);
	assert_int_equal(count_of(&rig, 0, "naks_heard"), 2);
	assert_int_equal(count_of(&rig, 0, "rewound"), 1);
	assert_string_equal(pair_rig_cell(&rig, 0, "status").text, "RETRY_EXC_ERR");
	assert_true(pair_rig_finds(&rig, "QP 2 of vm0/hca went into error: RETRY_EXC_ERR."));
	assert_int_equal(count_of(&rig, 1, "pair"), 1u << 24);
	assert_string_equal(pair_rig_cell(&rig, 2, "device").text, "vm2/hca");
	pair_rig_end(&rig);
}

/* What the counters have and no run says was in events that were lost, whatever part of the recording is asked for. The
 * wire's are in no counter. */
static void what_no_run_told_is_said(void **state)
{
	static const struct period parts[] = {
		{0}, {.since_ns = PAIR_START + 100 * MS}, {.until_ns = PAIR_START + 100 * MS}};

	for (size_t part = 0; part < 3; part++) {
		struct pair_rig rig;

		pair_rig_begin(&rig);
		rig.config.period = parts[part];
		rig.pid_start_ns = PAIR_START + 1;
		pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 3 * MS, PAIR_LEFT, 17, 0, 30,
						RDMA_DROP_RNR));
		pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 4 * MS, PAIR_LEFT, 17, 0, 30,
						RDMA_DROP_WIRE));
		pair_rig_add(&rig, told_packets(EVENT_PACKETS_RESENT, 103 * MS, PAIR_LEFT, 17, 0,
						42, RDMA_RESEND_RNR));
		pair_rig_add(&rig, told_state(200 * MS, PAIR_LEFT, 17, later));
		pair_rig_run(&rig, 0);
		assert_int_equal(pair_rig_rows(&rig, queue_pairs_write), 1);
		assert_int_equal(count_of(&rig, 0, "untold"), 6);
		assert_int_equal(count_of(&rig, 0, "dropped_rnr"), part == 1 ? 0 : 30);
		pair_rig_end(&rig);
	}
}

static void a_period_has_its_part(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	rig.config.period.since_ns = PAIR_START + 150 * MS;
	rig.config.period.until_ns = PAIR_START + 160 * MS;
	pair_rig_add(&rig, told_state(100 * MS, PAIR_LEFT, 17, first));
	pair_rig_add(&rig, told_state(200 * MS, PAIR_LEFT, 17, later));
	pair_rig_add(&rig, told_state(300 * MS, PAIR_LEFT, 17, first));
	pair_rig_add(&rig,
		     told_packets(EVENT_PACKETS_DROPPED, 149 * MS, PAIR_LEFT, 17, 0, 1000, 0));
	pair_rig_add(&rig, told_packets(EVENT_PACKETS_DROPPED, 155 * MS, PAIR_LEFT, 17, 0, 3, 0));
	pair_rig_add(&rig,
		     told_packets(EVENT_PACKETS_DROPPED, 160 * MS, PAIR_LEFT, 17, 0, 1000, 0));
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, queue_pairs_write), 1);
	assert_int_equal(count_of(&rig, 0, "operations"), 1009);
	assert_int_equal(count_of(&rig, 0, "dropped_fault"), 3);
	pair_rig_end(&rig);
}

static void names_are_the_emulators(void **state)
{
	assert_string_equal(pair_state_name(VERBS_RESET), "reset");
	assert_string_equal(pair_state_name(VERBS_INIT), "init");
	assert_string_equal(pair_state_name(VERBS_RTR), "rtr");
	assert_string_equal(pair_state_name(VERBS_RTS), "rts");
	assert_string_equal(pair_state_name(VERBS_ERROR), "error");
	assert_string_equal(pair_state_name(VERBS_ERROR + 1), "unknown");
	assert_string_equal(pair_status_name(VERBS_LOC_PROT_ERR), "LOC_PROT_ERR");
	assert_string_equal(pair_status_name(VERBS_RNR_RETRY_EXC_ERR), "RNR_RETRY_EXC_ERR");
	assert_string_equal(pair_status_name(VERBS_GENERAL_ERR), "GENERAL_ERR");
	assert_string_equal(pair_status_name(3), "unknown");
	assert_string_equal(pair_status_name(VERBS_STATUSES), "unknown");
}

static struct event told_region(__u64 time, __u32 key, __u64 address, __u64 length,
				enum region_kind kind, enum odp_region_state state)
{
	struct event e = told_pair(EVENT_ODP_REGION, time, PAIR_LEFT, 0, kind, (__u8)state);

	e.group = key;
	e.address = address;
	e.length = length;
	return e;
}

static void told_fault_at(struct pair_rig *rig, __u32 instance, __u64 from, __u64 address)
{
	size_t at = rig->count;

	pair_rig_fault(rig, PAIR_LEFT, instance, from, 1 * MS);
	for (; at < rig->count; at++)
		rig->events[at].address = address;
}

/* The row of a region in table odp. */
static size_t row_of(struct pair_rig *rig, __u32 key)
{
	for (size_t row = 0; row < rig->rows.count; row++)
		if (count_of(rig, row, "region") == key)
			return row;
	fail_msg("no region %u", key);
	return 0;
}

static void regions_have_the_faults_of_their_pages(void **state)
{
	struct event freed = told_pair(EVENT_INVALIDATE_FREED, 80 * MS, PAIR_LEFT, 0, 77, 0);
	struct event advised = told_pair(EVENT_ODP_PREFETCH, 81 * MS, PAIR_LEFT, 0, 5 * US, 0);
	struct pair_rig rig;

	freed.address = 0x10000;
	freed.length = 3 * 4096;
	advised.group = 0x102;
	advised.instance = 7;
	pair_rig_begin(&rig);
	pair_rig_add(&rig, told_region(1 * US, 0x101, 0, 1 << 30, REGION_IMPLICIT, ODP_REGION_NEW));
	/* Begins and ends within a page. */
	pair_rig_add(&rig,
		     told_region(1 * US, 0x102, 0x10010, 0x4ff0, REGION_DEMAND, ODP_REGION_NEW));
	pair_rig_add(&rig,
		     told_region(1 * US, 0x103, 0x40000, 0x1000, REGION_PINNED, ODP_REGION_NEW));
	pair_rig_add(&rig,
		     told_region(1 * US, 0x104, 0x50000, 0x2000, REGION_DEMAND, ODP_REGION_NEW));
	pair_rig_add(&rig,
		     told_region(1 * US, 0x105, 0x51000, 0x2000, REGION_DEMAND, ODP_REGION_NEW));
	told_fault_at(&rig, 1, 2 * MS, 0x10000);
	told_fault_at(&rig, 2, 4 * MS, 0x14000);
	told_fault_at(&rig, 3, 6 * MS, 0x15000); /* behind it: of all memory */
	told_fault_at(&rig, 4, 8 * MS, 0x51000); /* of two: of none */
	told_fault_at(&rig, 5, 10 * MS, 0x50000);
	pair_rig_add(&rig, freed);
	pair_rig_add(&rig, advised);
	pair_rig_add(&rig,
		     told_region(90 * MS, 0x104, 0x50000, 0x2000, REGION_DEMAND, ODP_REGION_GONE));
	pair_rig_run(&rig, 0);
	assert_int_equal(pair_rig_rows(&rig, odp_write), 6);
	assert_int_equal(count_of(&rig, 0, "faults"), 5);
	assert_int_equal(count_of(&rig, 0, "pages"), 5);
	assert_int_equal(count_of(&rig, 0, "invalidations"), 1);
	assert_int_equal(count_of(&rig, 0, "invalidated"), 3);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x101), "faults"), 1);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x102), "faults"), 2);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x102), "invalidated"), 3);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x102), "prefetched"), 7);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x103), "faults"), 0);
	assert_string_equal(pair_rig_cell(&rig, row_of(&rig, 0x103), "kind").text, "pinned");
	assert_string_equal(pair_rig_cell(&rig, row_of(&rig, 0x101), "kind").text, "implicit");
	assert_string_equal(pair_rig_cell(&rig, row_of(&rig, 0x104), "kind").text, "demand");
	assert_int_equal(count_of(&rig, row_of(&rig, 0x104), "faults"), 1);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x105), "faults"), 0);
	assert_int_equal(count_of(&rig, row_of(&rig, 0x102), "length"), 0x4ff0);
	pair_rig_end(&rig);
}

/* Who registers for each transfer has had more regions than are kept: those that never faulted make room. */
static void regions_that_have_gone_make_room(void **state)
{
	enum { REGIONS = 3 * 4096 };
	struct pair_rig rig;

	pair_rig_begin(&rig);
	pair_rig_add(&rig, told_region(0, 1, 0x10000, 0x1000, REGION_DEMAND, ODP_REGION_NEW));
	told_fault_at(&rig, 1, 1 * US, 0x10000);
	pair_rig_add(&rig, told_region(5 * MS, 1, 0x10000, 0x1000, REGION_DEMAND, ODP_REGION_GONE));
	for (__u32 i = 2; i < REGIONS; i++) {
		pair_rig_add(&rig, told_region(SECOND + i * US, i, 0, 4096, REGION_PINNED,
					       ODP_REGION_NEW));
		pair_rig_add(&rig, told_region(SECOND + i * US + 1, i, 0, 4096, REGION_PINNED,
					       ODP_REGION_GONE));
	}
	pair_rig_run(&rig, 13);
	assert_int_equal(floor_of(rig.analysis), 0);
	pair_rig_rows(&rig, odp_write);
	assert_int_equal(count_of(&rig, row_of(&rig, 1), "faults"), 1);
	assert_int_equal(odp_region_count(rig.analysis->odp) +
				 odp_regions_forgotten(rig.analysis->odp),
			 REGIONS - 1);
	pair_rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_grow_between_tellings),
		cmocka_unit_test(counters_wrap),
		cmocka_unit_test(packets_are_told_by_reason),
		cmocka_unit_test(what_no_run_told_is_said),
		cmocka_unit_test(a_period_has_its_part),
		cmocka_unit_test(names_are_the_emulators),
		cmocka_unit_test(regions_have_the_faults_of_their_pages),
		cmocka_unit_test(regions_that_have_gone_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
