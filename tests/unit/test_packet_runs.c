// SPDX-License-Identifier: GPL-2.0
/* Which packets share a run, when it is told, and against a simple model that each packet is told once. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/event.h"
#include "injectors/emu/rdma/packet_runs.h"
#include "lib/base/random.h"

#define TOLD 256

struct told {
	struct packet_run runs[TOLD];
	size_t count;
};

static void keep(void *argument, const struct packet_run *run)
{
	struct told *told = argument;

	assert_true(told->count < TOLD);
	told->runs[told->count++] = *run;
}

static struct packet_runs *create(__u32 pairs, packet_run_tell tell, void *argument)
{
	struct packet_runs *runs;

	assert_int_equal(packet_runs_create(&runs, pairs, tell, argument), 0);
	return runs;
}

static void add(struct packet_runs *runs, __u32 pair, __u32 number, __u64 token,
		enum packet_run_kind kind, __u8 code)
{
	const struct packet_run packet = {
		.token = token,
		.since_ns = 1000 + number,
		.pair = pair,
		.first = number,
		.end = (number + 1) & 0xffffff,
		.packets = 1,
		.kind = (__u8)kind,
		.code = code,
	};

	packet_runs_add(runs, &packet);
}

static void packets_that_follow_are_one_run(void **state)
{
	struct told told = {0};
	struct packet_runs *runs = create(8, keep, &told);

	add(runs, 1, 0xfffffe, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	add(runs, 2, 7, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	add(runs, 1, 3, 5, PACKETS_RESENT, RDMA_RESEND_RNR);
	add(runs, 1, 0xffffff, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	add(runs, 1, 0, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	assert_int_equal(told.count, 0);
	packet_runs_flush_pair(runs, 1);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.runs[0].kind, PACKETS_DROPPED);
	assert_int_equal(told.runs[0].first, 0xfffffe);
	assert_int_equal(told.runs[0].end, 1);
	assert_int_equal(told.runs[0].packets, 3);
	assert_int_equal(told.runs[0].since_ns, 1000 + 0xfffffe);
	assert_int_equal(told.runs[0].token, 5);
	assert_int_equal(told.runs[1].kind, PACKETS_RESENT);
	packet_runs_flush(runs);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.runs[2].pair, 2);
	packet_runs_flush(runs);
	assert_int_equal(told.count, 3);
	packet_runs_destroy(runs);
}

/* Whatever makes it another run, the one before is told at once. */
static void a_run_is_of_one_kind(void **state)
{
	const struct {
		__u32 pair, number;
		__u64 token;
		__u8 code;
		bool ends;
	} next[] = {
		{1, 12, 5, RDMA_DROP_RNR, true},   {1, 10, 5, RDMA_DROP_RNR, true},
		{1, 11, 6, RDMA_DROP_RNR, true},   {1, 11, 0, RDMA_DROP_RNR, true},
		{1, 11, 5, RDMA_DROP_FAULT, true}, {9, 11, 5, RDMA_DROP_RNR, true},
		{2, 11, 5, RDMA_DROP_RNR, false},  {1, 11, 5, RDMA_DROP_RNR, false},
	};

	for (size_t i = 0; i < COUNT(next); i++) {
		struct told told = {0};
		struct packet_runs *runs = create(8, keep, &told);

		add(runs, 1, 10, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
		add(runs, next[i].pair, next[i].number, next[i].token, PACKETS_DROPPED,
		    next[i].code);
		assert_int_equal(told.count, next[i].ends);
		if (next[i].ends)
			assert_int_equal(told.runs[0].packets, 1);
		packet_runs_flush(runs);
		assert_int_equal(told.count, 1 + (next[i].ends || next[i].pair == 2));
		packet_runs_destroy(runs);
	}
}

/* A pair that has none, where another one has the place. */
static void a_place_is_not_its_pair(void **state)
{
	struct told told = {0};
	struct packet_runs *runs = create(8, keep, &told);

	add(runs, 9, 10, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	packet_runs_flush_pair(runs, 1);
	assert_int_equal(told.count, 0);
	packet_runs_flush_pair(runs, 9);
	assert_int_equal(told.count, 1);
	packet_runs_destroy(runs);
	assert_int_equal(packet_runs_create(&runs, 0, keep, &told), -EINVAL);
}

static struct circle {
	__u64 packets, runs;
	__u32 longest;
} circle;

static void go_around(void *argument, const struct packet_run *run)
{
	(void)argument;
	circle.packets += run->packets;
	circle.runs++;
	if (run->packets > circle.longest)
		circle.longest = run->packets;
	assert_int_equal((run->end - run->first) & 0xffffff, run->packets);
}

/* A range that was the whole circle would look like none. */
static void a_run_does_not_go_around(void **state)
{
	struct packet_runs *runs = create(1, go_around, NULL);

	memset(&circle, 0, sizeof(circle));
	for (__u32 i = 0; i < (1u << 24) + 13; i++)
		add(runs, 1, i & 0xffffff, 5, PACKETS_DROPPED, RDMA_DROP_RNR);
	packet_runs_flush(runs);
	assert_int_equal(circle.packets, (1u << 24) + 13);
	assert_int_equal(circle.longest, 0xffffff);
	assert_int_equal(circle.runs, 2);
	packet_runs_destroy(runs);
}

#define MODEL_PAIRS   5
#define MODEL_NUMBERS 16

static __u64 added[MODEL_PAIRS][MODEL_NUMBERS][3][2][3], model[MODEL_PAIRS][MODEL_NUMBERS][3][2][3];

static void count_packets(void *argument, const struct packet_run *run)
{
	(void)argument;
	assert_int_equal((run->end - run->first) & 0xffffff, run->packets);
	for (__u32 i = 0; i < run->packets; i++)
		model[run->pair][run->first + i][run->token][run->kind][run->code]++;
}

/* Two places for five pairs: each packet is told once, as what it was. */
static void each_packet_is_told_once(void **state)
{
	struct packet_runs *runs = create(2, count_packets, NULL);
	struct random random = {7};
	__u32 next[MODEL_PAIRS] = {0};

	memset(added, 0, sizeof(added));
	memset(model, 0, sizeof(model));
	for (int i = 0; i < 100003; i++) {
		__u32 pair = (__u32)random_below(&random, MODEL_PAIRS);
		__u64 token = random_below(&random, 8) ? 1 : random_below(&random, 3);
		__u64 kind = random_below(&random, 2);
		__u64 code = random_below(&random, 8) ? 1 : random_below(&random, 3);

		if (!random_below(&random, 8))
			next[pair] = (__u32)random_below(&random, MODEL_NUMBERS);
		added[pair][next[pair]][token][kind][code]++;
		add(runs, pair, next[pair], token, (enum packet_run_kind)kind, (__u8)code);
		next[pair] = (next[pair] + 1) % MODEL_NUMBERS;
		if (!random_below(&random, 97))
			packet_runs_flush_pair(runs, (__u32)random_below(&random, MODEL_PAIRS));
	}
	packet_runs_flush(runs);
	assert_memory_equal(added, model, sizeof(model));
	packet_runs_destroy(runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_that_follow_are_one_run),
		cmocka_unit_test(a_run_is_of_one_kind),
		cmocka_unit_test(a_place_is_not_its_pair),
		cmocka_unit_test(a_run_does_not_go_around),
		cmocka_unit_test(each_packet_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
