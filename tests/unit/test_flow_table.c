// SPDX-License-Identifier: GPL-2.0
/* Flows are numbered once; what is lost of them is held against a model of each byte of sequence space. */
#include "tests/unit/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/flow_table_private.h"
#include "lib/base/random.h"

#define SPACE 6000 /* bytes of sequence space in the model */
#define FLOWS 3
#define STEPS 700

struct told {
	struct lost_range ranges[2 * FLOW_RANGES];
	__u64 addresses, ports;
	size_t count;
	bool last;
	__u64 settled[16];
	size_t settled_count;
};

static void keep(void *argument, __u64 addresses, __u64 ports, const struct lost_range *range,
		 bool last)
{
	struct told *told = argument;

	assert_true(told->count < COUNT(told->ranges));
	told->ranges[told->count++] = *range;
	told->addresses = addresses;
	told->ports = ports;
	told->last = last;
}

static void settle(void *argument, __u64 since)
{
	struct told *told = argument;

	told->settled[told->settled_count++ % COUNT(told->settled)] = since;
}

static struct flow_table *create(__u32 flows, __u32 ranges, struct told *told)
{
	struct flow_table *table;
	struct flow_config config = {.flows = flows,
				     .ranges = ranges,
				     .recovered = keep,
				     .settled = settle,
				     .argument = told};

	assert_int_equal(flow_table_create(&table, &config), 0);
	return table;
}

static struct frame_info frame(unsigned int flow, __u32 first, __u32 end)
{
	return (struct frame_info){.ip = 4,
				   .protocol = IPPROTO_TCP,
				   .source = 0x0a4d0002,
				   .destination = 0x0a4d0001,
				   .source_port = (__u16)(40000 + flow),
				   .destination_port = 5201,
				   .sequenced = true,
				   .first = first,
				   .end = end};
}

static int lose(struct flow_table *table, unsigned int flow, __u32 first, __u32 end, __u64 now)
{
	struct frame_info info = frame(flow, first, end);

	return flow_lost(table, &info, now);
}

static void deliver(struct flow_table *table, unsigned int flow, __u32 first, __u32 end)
{
	struct frame_info info = frame(flow, first, end);

	flow_mark_delivered(table, &info);
	flow_delivered(table, &info);
}

static void assert_told(struct told *told, __u32 first, __u32 end, __u64 since)
{
	assert_int_equal(told->count, 1);
	assert_int_equal(told->ranges[0].first, first);
	assert_int_equal(told->ranges[0].end, end);
	assert_int_equal(told->ranges[0].since, since);
	told->count = 0;
}

static void a_flow_keeps_its_number(void **state)
{
	struct flow_table *table = create(100, 4, NULL);
	bool first_met;

	for (int round = 0; round < 3; round++) {
		for (__u32 flow = 0; flow < 100; flow++) {
			assert_int_equal(flow_number(table, 1, flow, &first_met), flow + 1);
			assert_int_equal(first_met, !round);
		}
	}
	assert_int_equal(flow_number(table, 2, 5, &first_met), 101);
	assert_true(first_met);
	assert_int_equal(flow_table_totals(table)->flows, 101);
	assert_int_equal(flow_table_totals(table)->forgotten, 1);
	flow_table_destroy(table);
}

static void numbers_of_a_log_are_given_once(void **state)
{
	atomic_uint last = 0;
	struct flow_config config = {.flows = 10, .ranges = 1, .last_number = &last};
	struct flow_table *tables[2];
	bool first_met;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(flow_table_create(&tables[i], &config), 0);
	for (__u32 i = 0; i < 10; i++)
		assert_int_equal(flow_number(tables[i % 2], 1, i, &first_met), i + 1);
	for (size_t i = 0; i < 2; i++)
		flow_table_destroy(tables[i]);
}

/* What a loss is noted of before its number is asked for is still first met then. */
static void a_lost_flow_is_numbered_later(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 4, &told);
	struct frame_info info = frame(0, 100, 200);
	bool first_met;

	assert_int_equal(lose(table, 0, 100, 200, 1), 0);
	assert_int_equal(flow_number(table, frame_addresses(&info), frame_ports(&info), &first_met),
			 1);
	assert_true(first_met);
	assert_int_equal(flow_table_totals(table)->flows, 1);
	flow_table_destroy(table);
}

/* A stall is a flow's: from its first loss until nothing of it is open, whatever else it loses meanwhile. */
static void a_flow_is_settled_once(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(4, 8, &told);

	assert_int_equal(lose(table, 0, 100, 200, 11), 0);
	assert_int_equal(lose(table, 0, 300, 400, 13), 0);
	assert_int_equal(lose(table, 1, 100, 200, 17), 0);
	deliver(table, 0, 100, 200);
	assert_false(told.last);
	assert_int_equal(told.settled_count, 0);
	assert_int_equal(lose(table, 0, 500, 600, 19), 0);
	deliver(table, 0, 300, 400);
	deliver(table, 0, 500, 600);
	assert_true(told.last);
	assert_int_equal(told.settled_count, 1);
	assert_int_equal(told.settled[0], 11);
	/* What begins then is another. */
	assert_int_equal(lose(table, 0, 700, 800, 23), 0);
	deliver(table, 0, 700, 800);
	assert_int_equal(told.settled_count, 2);
	assert_int_equal(told.settled[1], 23);
	/* The end of it all tells of what is open. */
	flow_table_settle(table);
	assert_int_equal(told.settled_count, 3);
	assert_int_equal(told.settled[2], 17);
	flow_table_destroy(table);
}

/* Lost again though it had come: nobody waits for it, unless some of it is missing. */
static void what_had_come_is_needless(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(4, 8, &told);

	deliver(table, 0, 100, 300);
	assert_int_equal(lose(table, 0, 100, 300, 1), 1);
	assert_int_equal(lose(table, 0, 250, 300, 1), 1);
	assert_int_equal(lose(table, 0, 250, 350, 5), 0);
	assert_int_equal(lose(table, 0, 100, 300, 6), 1);
	deliver(table, 0, 350, 400);
	/* Below what has come, and missing all the same. */
	assert_int_equal(lose(table, 0, 250, 350, 7), 0);
	assert_int_equal(lose(table, 0, 350, 400, 8), 1);
	deliver(table, 0, 250, 350);
	assert_told(&told, 300, 350, 5);
	assert_int_equal(lose(table, 0, 250, 350, 9), 1);
	flow_table_destroy(table);
}

/* Lost in front of the NIC: sent again, and lost by it, it is missed. */
static void what_nobody_has_seen_may_be_missing(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(4, 8, &told);

	deliver(table, 0, 100, 200);
	deliver(table, 0, 300, 400);
	assert_int_equal(lose(table, 0, 300, 400, 2), 1);
	assert_int_equal(lose(table, 0, 200, 300, 3), 0);
	deliver(table, 0, 200, 300);
	assert_told(&told, 200, 300, 3);
	assert_int_equal(lose(table, 0, 200, 300, 4), 1);
	/* On both sides of what the NIC has lost; a part of it comes. */
	assert_int_equal(lose(table, 0, 500, 600, 5), 0);
	deliver(table, 0, 700, 800);
	deliver(table, 0, 640, 660);
	assert_int_equal(lose(table, 0, 640, 660, 6), 1);
	assert_int_equal(lose(table, 0, 600, 640, 6), 0);
	assert_int_equal(lose(table, 0, 400, 500, 7), 0);
	deliver(table, 0, 400, 640);
	assert_told(&told, 400, 640, 5);
	assert_int_equal(lose(table, 0, 660, 700, 8), 0);
	deliver(table, 0, 660, 700);
	assert_told(&told, 660, 700, 8);
	/* A frame that carries some of it and some that had come. */
	deliver(table, 0, 900, 1000);
	assert_int_equal(lose(table, 0, 750, 1000, 9), 0);
	deliver(table, 0, 750, 1000);
	assert_told(&told, 800, 900, 9);
	/* The newest gaps are kept. */
	for (__u32 i = 0; i < FLOW_GAPS + 1; i++)
		deliver(table, 0, 1100 + 200 * i, 1200 + 200 * i);
	assert_int_equal(lose(table, 0, 1000, 1100, 10), 1);
	assert_int_equal(lose(table, 0, 1200, 1300, 11), 0);
	flow_table_destroy(table);
}

/* Of a full table: not one in use of late, never one with something open, and a hand that goes around. */
static void the_least_used_is_forgotten(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(4, 8, &told);
	bool first_met;

	for (__u32 i = 0; i < 4; i++)
		flow_number(table, 1, i, &first_met);
	flow_number(table, 1, 0, &first_met);
	flow_number(table, 1, 9, &first_met);
	flow_number(table, 1, 0, &first_met);
	assert_false(first_met);
	flow_number(table, 1, 1, &first_met);
	assert_true(first_met);
	flow_table_destroy(table);
	/* All are met: the hand comes around, and then only those count that were met since. */
	table = create(4, 8, &told);
	for (__u32 i = 0; i < 8; i++)
		flow_number(table, 1, i % 4, &first_met);
	flow_number(table, 1, 9, &first_met);
	flow_number(table, 1, 1, &first_met);
	flow_number(table, 1, 10, &first_met);
	flow_number(table, 1, 1, &first_met);
	assert_false(first_met);
	flow_number(table, 1, 9, &first_met);
	assert_false(first_met);
	flow_table_destroy(table);
	table = create(4, 8, &told);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(lose(table, i, 10, 20, 5), 0);
	assert_int_equal(flow_number(table, 1, 1, &first_met), 0);
	assert_false(first_met);
	assert_int_equal(lose(table, 4, 10, 20, 5), -ENOSPC);
	assert_int_equal(flow_table_totals(table)->unknown, 2);
	assert_int_equal(flow_table_totals(table)->unfollowed, 1);
	deliver(table, 2, 10, 20);
	assert_told(&told, 10, 20, 5);
	assert_int_equal(flow_number(table, 1, 1, &first_met), 1);
	flow_table_destroy(table);
}

static void many_flows_come_and_go(void **state)
{
	static __u32 numbers[4096];
	struct flow_table *table = create(500, 1, NULL);
	struct random random = {4};
	__u32 last = 0;

	memset(numbers, 0, sizeof(numbers));
	for (int i = 0; i < 200000; i++) {
		__u64 flow = random_below(&random, 4096);
		bool first_met;
		__u32 number = flow_number(table, flow, flow & 7, &first_met);

		if (first_met)
			assert_int_equal(number, ++last);
		else
			assert_int_equal(number, numbers[flow]);
		numbers[flow] = number;
	}
	assert_int_equal(flow_table_totals(table)->flows, last);
	assert_int_equal(flow_table_totals(table)->forgotten, last - 500);
	flow_table_destroy(table);
}

static void a_range_is_told_when_all_of_it_came(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);

	assert_int_equal(table->open, 0);
	lose(table, 1, 1000, 2000, 7);
	lose(table, 1, 2000, 3000, 8);
	assert_int_equal(table->open, 1);
	deliver(table, 2, 1000, 3000);
	deliver(table, 1, 3000, 4000);
	deliver(table, 1, 1400, 1500);
	deliver(table, 1, 1000, 1400);
	deliver(table, 1, 1501, 3000);
	assert_int_equal(told.count, 0);
	/* What came since is not missing, also if it is lost again. */
	lose(table, 1, 1000, 3000, 9);
	assert_int_equal(told.count, 0);
	deliver(table, 1, 1500, 1501);
	assert_told(&told, 1000, 3000, 7);
	assert_true(told.addresses == (0x0a4d0002ull << 32 | 0x0a4d0001));
	assert_true(told.ports == (40001ull << 32 | 5201 << 16 | IPPROTO_TCP));
	assert_int_equal(table->open, 0);
	flow_table_destroy(table);
}

/* 0xffffff00 to 0x100, in pieces. */
static void numbers_wrap_around(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);

	lose(table, 1, 0xffffff00, 0xffffffff, 1);
	lose(table, 1, 0x80, 0x100, 2);
	lose(table, 1, 0xffffffff, 0x80, 3);
	assert_int_equal(table->open, 1);
	deliver(table, 1, 0xffffff80, 0x40);
	deliver(table, 1, 0x40, 0x100);
	assert_int_equal(told.count, 0);
	deliver(table, 1, 0xffffff00, 0xffffff80);
	assert_told(&told, 0xffffff00, 0x100, 1);
	flow_table_destroy(table);
}

static void a_syn_is_a_range_of_one(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);
	struct frame_info syn = frame(1, 0xffffffff, 0);

	syn.tcp_flags = FRAME_SYN;
	flow_lost(table, &syn, 4);
	flow_lost(table, &syn, 5);
	flow_mark_delivered(table, &syn);
	flow_delivered(table, &syn);
	assert_told(&told, 0xffffffff, 0, 4);
	flow_table_destroy(table);
}

static void a_new_connection_does_not_wait_for_the_old(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);
	struct frame_info syn = frame(1, 500, 501), reset = frame(1, 700, 700);

	syn.tcp_flags = FRAME_SYN;
	reset.tcp_flags = FRAME_RST;
	deliver(table, 1, 0, 1000);
	lose(table, 1, 1000, 2000, 1);
	flow_lost(table, &syn, 2);
	assert_int_equal(table->open, 1);
	assert_int_equal(flow_table_totals(table)->abandoned, 1);
	flow_mark_delivered(table, &syn);
	flow_delivered(table, &syn);
	assert_told(&told, 500, 501, 2);
	/* Numbers that the old one had delivered. */
	lose(table, 1, 501, 600, 3);
	assert_int_equal(table->open, 1);
	flow_delivered(table, &syn);
	assert_int_equal(table->open, 0);
	lose(table, 1, 501, 600, 3);
	flow_delivered(table, &reset);
	assert_int_equal(table->open, 0);
	assert_int_equal(flow_table_totals(table)->abandoned, 3);
	lose(table, 1, 600, 700, 3);
	reset.first = 800;
	reset.end = 810;
	flow_lost(table, &reset, 3);
	assert_int_equal(table->open, 1);
	assert_int_equal(flow_table_totals(table)->abandoned, 3);
	assert_int_equal(told.count, 0);
	flow_table_destroy(table);
}

static void what_is_a_window_away_is_given_up(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);

	lose(table, 1, 1000, 2000, 1);
	deliver(table, 1, 1000 + FLOW_WINDOW - 1, 1000 + FLOW_WINDOW + 10);
	assert_int_equal(table->open, 1);
	deliver(table, 1, 1000 + FLOW_WINDOW + 1, 1000 + FLOW_WINDOW + 10);
	assert_int_equal(table->open, 0);
	assert_int_equal(flow_table_totals(table)->abandoned, 1);
	lose(table, 2, 1000 + FLOW_WINDOW, 3000 + FLOW_WINDOW, 1);
	lose(table, 2, 900, 1000, 1);
	assert_int_equal(table->open, 1);
	assert_int_equal(flow_table_totals(table)->abandoned, 2);
	assert_int_equal(lose(table, 2, 1000, 1000 + (1 << 21), 1), -ENOSPC);
	/* One that has become as long as that. */
	for (__u32 first = 0; first < FLOW_WINDOW; first += 1 << 20)
		lose(table, 3, first, first + (1 << 20), 1);
	assert_int_equal(flow_table_totals(table)->abandoned, 2);
	deliver(table, 3, -1u, 0);
	assert_int_equal(flow_table_totals(table)->abandoned, 3);
	assert_int_equal(table->open, 1);
	flow_table_destroy(table);
}

/* A retransmission that nobody needed is lost: nobody will send it again. */
static void what_was_delivered_before_does_not_open(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 10, &told);

	deliver(table, 1, 1000, 2000);
	lose(table, 1, 1000, 2000, 1);
	assert_int_equal(table->open, 0);
	lose(table, 1, 2000, 2500, 2);
	deliver(table, 1, 2500, 3000);
	/* Late, and not how far it came. */
	deliver(table, 1, 100, 200);
	lose(table, 1, 1500, 3100, 3);
	assert_int_equal(table->open, 2);
	deliver(table, 1, 2000, 2500);
	assert_told(&told, 2000, 2500, 2);
	deliver(table, 1, 3000, 3100);
	assert_told(&told, 3000, 3100, 3);
	/* Nothing is known of numbers that far away, and of other flows, which may share a place. */
	lose(table, 1, 1000 - 0x60000000u, 2000 - 0x60000000u, 1);
	assert_int_equal(table->open, 1);
	deliver(table, 1, 1000 - 0x60000000u, 2000 - 0x60000000u);
	lose(table, 1, 1000 - 0x60000000u, 2000 - 0x60000000u, 1);
	assert_int_equal(table->open, 0);
	for (unsigned int flow = 0; flow < 5000; flow++)
		deliver(table, 10 + flow, 1000, 2000);
	lose(table, 2, 1000, 2000, 1);
	assert_int_equal(table->open, 1);
	deliver(table, 2, 1000, 2000);
	lose(table, 2, 1000, 2000, 1);
	assert_int_equal(table->open, 0);
	flow_table_destroy(table);
}

static void what_has_no_room_is_counted(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 3, &told);
	struct frame_info info = frame(9, 0, 100);

	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(lose(table, i, 0, 1000, 1), 0);
	assert_int_equal(lose(table, 0, 2000, 2100, 1), -ENOSPC);
	assert_int_equal(flow_table_totals(table)->unfollowed, 1);
	/* No room is needed for what touches. */
	assert_int_equal(lose(table, 0, 1000, 1100, 1), 0);
	/* There is place for six pieces: the seventh ends its range. */
	deliver(table, 0, 100, 200);
	deliver(table, 0, 300, 400);
	deliver(table, 0, 500, 600);
	assert_int_equal(flow_table_totals(table)->abandoned, 0);
	deliver(table, 1, 500, 600);
	assert_int_equal(flow_table_totals(table)->abandoned, 1);
	assert_int_equal(table->open, 2);
	deliver(table, 1, 0, 1000);
	assert_int_equal(told.count, 0);
	/* What it had is there again. */
	assert_int_equal(lose(table, 3, 0, 10, 1), 0);
	assert_int_equal(table->open, 3);
	/* Of no TCP. */
	info.sequenced = false;
	assert_int_equal(flow_lost(table, &info, 1), 0);
	assert_int_equal(flow_table_totals(table)->unfollowed, 1);
	flow_table_destroy(table);
}

/* Also of what has been joined. */
static void what_was_used_is_used_again(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 2, &told);

	for (__u32 i = 0; i < 1000; i++) {
		assert_int_equal(lose(table, 1, i * 100, i * 100 + 10, 1), 0);
		assert_int_equal(lose(table, 1, i * 100 + 20, i * 100 + 30, 2), 0);
		assert_int_equal(lose(table, 1, i * 100 + 10, i * 100 + 20, 3), 0);
		for (__u32 k = 0; k < 3; k++)
			deliver(table, 1, i * 100 + 5 + k * 8, i * 100 + 6 + k * 8);
		assert_int_equal(told.count, 0);
		deliver(table, 1, i * 100, i * 100 + 30);
		assert_told(&told, i * 100, i * 100 + 30, 1);
	}
	flow_table_destroy(table);
}

static void one_flow_does_not_take_all(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(10, 1000, &told);

	for (__u32 i = 0; i < FLOW_RANGES; i++)
		assert_int_equal(lose(table, 1, i * 100, i * 100 + 50, 1), 0);
	assert_int_equal(lose(table, 1, 7000, 7001, 1), -ENOSPC);
	assert_int_equal(table->open, FLOW_RANGES);
	for (__u32 i = 0; i < FLOW_RANGES; i++)
		deliver(table, 1, i * 100 + 20, i * 100 + 30);
	assert_int_equal(flow_table_totals(table)->abandoned, 0);
	deliver(table, 1, 10, 11);
	assert_int_equal(flow_table_totals(table)->abandoned, 1);
	deliver(table, 1, 0, 7000);
	assert_int_equal(told.count, FLOW_RANGES - 1);
	assert_int_equal(table->open, 0);
	flow_table_destroy(table);
}

/*
 * The model: of each byte, whether it is part of an open range, still missing, and since when. Open ranges
 * are the longest runs of such bytes.
 */
struct model {
	__u32 base;
	bool open[SPACE + 1], missing[SPACE];
	__u64 since[SPACE];
	bool marks;	  /* delivered frames are marked */
	bool begun;	  /* one was: what is before it counts as come */
	bool came[SPACE]; /* with marks */
};

static void model_lose(struct model *model, size_t first, size_t end, __u64 now)
{
	for (size_t i = first; i < end; i++) {
		if (model->open[i] || model->came[i])
			continue;
		model->open[i] = model->missing[i] = true;
		model->since[i] = now;
	}
}

/* Runs that have nothing missing end, and are what must be told. */
static void model_deliver(struct model *model, size_t first, size_t end, struct told *expected)
{
	for (size_t i = first; i < end; i++)
		model->missing[i] = false;
	for (size_t i = model->begun ? first : 0; model->marks && i < end; i++)
		model->came[i] = true;
	model->begun = true;
	for (size_t i = 0; i < SPACE; i++) {
		size_t from = i;
		bool missing = false;
		__u64 since = ~0ull;

		for (; model->open[i]; i++) {
			missing |= model->missing[i];
			if (model->since[i] < since)
				since = model->since[i];
		}
		if (i == from || missing)
			continue;
		expected->ranges[expected->count++] = (struct lost_range){
			model->base + (__u32)from, model->base + (__u32)i, since};
		memset(model->open + from, 0, i - from);
	}
}

static __u32 model_ranges(const struct model *model)
{
	__u32 count = 0;

	for (size_t i = 0; i < SPACE; i++)
		count += model->open[i] && !model->open[i + 1];
	return count;
}

static void step(struct flow_table *table, struct model *models, struct told *told,
		 struct random *random, __u64 now)
{
	unsigned int flow = (unsigned int)random_below(random, FLOWS);
	struct model *model = &models[flow];
	size_t length = 100 + random_below(random, 200);
	/* With marks as a sender does it: forward, and some of it again. */
	size_t around = model->marks ? (now - 1) * (SPACE - 1000) / STEPS : 0;
	size_t first = around + random_below(random, model->marks ? 700 : SPACE - length);
	size_t end = first + length;
	struct frame_info info = frame(flow, model->base + (__u32)first, model->base + (__u32)end);
	struct told expected = {0};

	told->count = 0;
	if (random_below(random, 5) < 2) {
		assert_true(flow_lost(table, &info, now) >= 0);
		model_lose(model, first, end, now);
	} else {
		if (model->marks)
			flow_mark_delivered(table, &info);
		flow_delivered(table, &info);
		model_deliver(model, first, end, &expected);
	}
	assert_int_equal(told->count, expected.count);
	for (size_t i = 0; i < expected.count; i++) {
		assert_int_equal(told->ranges[i].first, expected.ranges[i].first);
		assert_int_equal(told->ranges[i].end, expected.ranges[i].end);
		assert_int_equal(told->ranges[i].since, expected.ranges[i].since);
	}
}

static void ranges_are_those_of_the_bytes(void **state)
{
	static struct model models[FLOWS];
	struct random random = {77};
	size_t recovered = 0;

	for (int run = 0; run < 60; run++) {
		struct told told = {0};
		struct flow_table *table = create(FLOWS, 1000, &told);

		memset(models, 0, sizeof(models));
		for (unsigned int flow = 0; flow < FLOWS; flow++) {
			models[flow].marks = run % 2;
			models[flow].base = run % 3 ? (__u32)random_next(&random)
						    : (__u32)-random_below(&random, SPACE);
		}
		for (__u64 now = 1; now < STEPS; now++) {
			__u32 open = 0;

			step(table, models, &told, &random, now);
			recovered += told.count;
			for (unsigned int flow = 0; flow < FLOWS; flow++)
				open += model_ranges(&models[flow]);
			assert_int_equal(table->open, open);
		}
		assert_int_equal(flow_table_totals(table)->abandoned, 0);
		assert_int_equal(flow_table_totals(table)->unfollowed, 0);
		flow_table_destroy(table);
	}
	assert_true(recovered > 300);
}

/* Nothing but that it ends, under the sanitizers, and gives everything back. */
static void any_numbers_may_come(void **state)
{
	struct told told = {0};
	struct flow_table *table = create(50, 40, &told);
	struct frame_info info;
	struct random random = {78};

	for (int i = 0; i < 300000; i++) {
		__u32 first = (__u32)(random_next(&random) >> random_below(&random, 33));
		__u32 end = first +
			    (__u32)(random_next(&random) >> (32 + random_below(&random, 33)) % 64);

		info = frame((unsigned int)random_below(&random, 60), first, end);
		info.tcp_flags = random_below(&random, 50) ? 0 : (__u8)random_next(&random);
		told.count = 0;
		if (random_below(&random, 2)) {
			flow_lost(table, &info, (__u64)i);
			continue;
		}
		if (random_below(&random, 2))
			flow_mark_delivered(table, &info);
		flow_delivered(table, &info);
	}
	for (unsigned int flow = 0; flow < 60; flow++) {
		info = frame(flow, 0, 0);
		info.tcp_flags = FRAME_RST;
		flow_delivered(table, &info);
	}
	assert_int_equal(table->open, 0);
	for (__u32 i = 0; i < 40; i++)
		assert_int_equal(lose(table, 100 + i, 0, 10, 1), 0);
	for (__u32 i = 0; i < 40; i++)
		deliver(table, 100 + i, 5, 6);
	assert_int_equal(table->open, 40);
	flow_table_destroy(table);
}

static void odd_sizes_are_refused(void **state)
{
	struct flow_table *table;

	assert_int_equal(flow_table_create(&table, &(struct flow_config){0, 1}), -EINVAL);
	assert_int_equal(flow_table_create(&table, &(struct flow_config){1, 0}), -EINVAL);
	assert_int_equal(flow_table_create(&table, &(struct flow_config){1u << 25, 1}), -EINVAL);
	assert_int_equal(flow_table_create(&table, &(struct flow_config){1, 1u << 25}), -EINVAL);
	flow_table_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_keeps_its_number),
		cmocka_unit_test(numbers_of_a_log_are_given_once),
		cmocka_unit_test(a_lost_flow_is_numbered_later),
		cmocka_unit_test(a_flow_is_settled_once),
		cmocka_unit_test(what_had_come_is_needless),
		cmocka_unit_test(what_nobody_has_seen_may_be_missing),
		cmocka_unit_test(the_least_used_is_forgotten),
		cmocka_unit_test(many_flows_come_and_go),
		cmocka_unit_test(a_range_is_told_when_all_of_it_came),
		cmocka_unit_test(numbers_wrap_around),
		cmocka_unit_test(a_syn_is_a_range_of_one),
		cmocka_unit_test(a_new_connection_does_not_wait_for_the_old),
		cmocka_unit_test(what_is_a_window_away_is_given_up),
		cmocka_unit_test(what_was_delivered_before_does_not_open),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(what_was_used_is_used_again),
		cmocka_unit_test(one_flow_does_not_take_all),
		cmocka_unit_test(ranges_are_those_of_the_bytes),
		cmocka_unit_test(any_numbers_may_come),
		cmocka_unit_test(odd_sizes_are_refused),
	};

	return cmocka_run_group_tests_name("flow table", tests, NULL, NULL);
}
