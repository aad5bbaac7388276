// SPDX-License-Identifier: GPL-2.0
/* Recorded translations played back: in their order, or merged by the paper's rule. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/store.h"

#define ROOM 4096

static struct model_packet packets[ROOM];

/* Reads in pieces, whose size must not matter. */
static size_t play(const struct store *store, const struct store_play_config *config, int piece)
{
	struct store_play *player;
	size_t total = 0;
	int count;

	assert_int_equal(store_play_create(&player, store, config), 0);
	while ((count = store_play_next(player, &packets[total], piece)) > 0) {
		total += (size_t)count;
		assert_true(total + (size_t)piece <= ROOM);
	}
	assert_int_equal(count, 0);
	assert_int_equal(store_play_next(player, packets + total, piece), 0);
	store_play_destroy(player);
	return total;
}

/* Tenants with so many translations, told apart by their pages: tenant in the upper half. */
static struct store *store_of(const __u32 *lengths, __u32 tenants)
{
	struct store *store;

	assert_int_equal(store_create(&store), 0);
	for (__u32 t = 0; t < tenants; t++)
		for (__u32 i = 0; i < lengths[t]; i++)
			assert_int_equal(store_add(store, 1000 - t,
						   (__u64)t << 32 | (__u64)i << 12 | 0x123, 12),
					 0);
	return store;
}

static void expect_packet(const struct model_packet *packet, __u32 tenant, __u32 recorded,
			  __u32 first, __u32 requests)
{
	assert_int_equal(packet->source, tenant);
	assert_int_equal(packet->domain, tenant);
	assert_int_equal(packet->count, requests);
	for (__u32 i = 0; i < requests; i++)
		assert_int_equal(packet->requests[i].iova,
				 (__u64)recorded << 32 | (__u64)(first + i) << 12);
}

/* The paper's rule: equal turns, each from his beginning, until the first has no more. */
static void merging_stops_with_the_first_who_is_exhausted(void **state)
{
	static const __u32 lengths[] = {40, 31, 50};
	const struct turns_config turns = {.order = ORDER_ROUND_ROBIN, .tenants = 7, .turn = 2};
	struct store_play_config config = {.requests = 3, .turns = &turns};
	struct store *store = store_of(lengths, 3);

	for (int piece = 1; piece < 40; piece += 19) {
		/*
		 * Tenants 1 and 4 have 10 packets of three and a translation left over, which is not
		 * played: after five rounds tenant 0 has one whole turn of two, then 1 has no more.
		 */
		size_t count = play(store, &config, piece);

		assert_int_equal(count, 5 * 2 * 7 + 2);
		for (__u32 i = 0; i < count; i++)
			expect_packet(&packets[i], i / 2 % 7, i / 2 % 7 % 3,
				      (i / 14 * 2 + i % 2) * 3, 3);
	}
	config.packets = 23;
	assert_int_equal(play(store, &config, 5), 23);
	store_destroy(store);
}

static void shares_empty_the_greedy_first(void **state)
{
	static const __u32 lengths[] = {60, 60, 60};
	struct turns_config turns = {
		.order = ORDER_ROUND_ROBIN, .tenants = 3, .turn = 1, .share_count = 3};
	const struct store_play_config config = {.requests = 1, .turns = &turns};
	struct store *store = store_of(lengths, 3);
	__u32 counts[3] = {0};
	size_t count;

	turns.shares[0] = 1;
	turns.shares[1] = 3;
	turns.shares[2] = 2;
	/* 20 periods of 3 rounds; then tenant 1 finds nothing, who alone begins the next. */
	count = play(store, &config, 16);
	assert_int_equal(count, 20 * (1 + 3 + 2));
	for (size_t i = 0; i < count; i++)
		counts[packets[i].source]++;
	assert_int_equal(counts[0], 20);
	assert_int_equal(counts[1], 60);
	assert_int_equal(counts[2], 40);
	store_destroy(store);
}

static void recorded_order_keeps_each_packet_where_it_began(void **state)
{
	static const char order[] = "AABAABABBABB"; /* six each */
	static const __u32 tenants[] = {0, 1, 0, 1}, firsts[] = {0, 0, 3, 3};
	const struct store_play_config config = {.requests = 3};
	struct store *store;
	__u32 next[2] = {0};

	assert_int_equal(store_create(&store), 0);
	for (const char *c = order; *c; c++) {
		__u64 tenant = (__u64)(*c - 'A');

		assert_int_equal(
			store_add(store, tenant, tenant << 32 | (__u64)next[tenant]++ << 12, 12),
			0);
	}
	/* One translation of B is missing for a third packet, and does not hold A back. */
	assert_int_equal(store_add(store, 1, 7ull << 32, 12), 0);
	assert_int_equal(play(store, &config, 3), 4);
	for (int i = 0; i < 4; i++)
		expect_packet(&packets[i], tenants[i], tenants[i], firsts[i], 3);
	store_destroy(store);
}

static void tenants_may_be_moved_apart(void **state)
{
	static const __u32 lengths[] = {8, 8};
	struct turns_config turns = {.order = ORDER_ROUND_ROBIN, .tenants = 5, .turn = 1};
	struct store_play_config config = {
		.requests = 1, .turns = &turns, .apart = 0x5000, .packets = 37};
	struct store_play *player;
	struct store *store = store_of(lengths, 2);

	assert_int_equal(play(store, &config, 8), 37);
	for (__u32 i = 0; i < 37; i++)
		assert_int_equal(packets[i].requests[0].iova,
				 ((__u64)(i % 5 % 2) << 32 | (__u64)(i / 5) << 12) +
					 i % 5 * 0x5000ull);
	config.apart = 0x5800;
	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "accepted"));
	config.apart = 1ull << 55;
	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	turns.tenants = 4;
	assert_int_equal(play(store, &config, 8), 4 * 8);
	/* A large page may not be moved by less than its size. */
	assert_int_equal(store_add(store, 5, 0x200000, 21), 0);
	config.apart = 0x5000;
	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	store_destroy(store);
}

static void what_cannot_be_played_is_refused(void **state)
{
	static const __u32 lengths[] = {3};
	struct turns_config turns = {.tenants = 0, .turn = 1};
	struct store_play_config config = {.requests = 3, .turns = &turns};
	struct store *store = store_of(lengths, 1), *empty;
	struct store_play *player;

	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	turns.tenants = 1;
	assert_int_equal(play(store, &config, 2), 1);
	config.requests = 0;
	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	config.requests = MODEL_REQUESTS + 1;
	assert_int_equal(store_play_create(&player, store, &config), -EINVAL);
	config.requests = 1;
	assert_int_equal(store_create(&empty), 0);
	assert_int_equal(store_play_create(&player, empty, &config), -ENODATA);
	store_destroy(empty);
	store_destroy(store);
}

static void one_tenant_may_be_played_alone(void **state)
{
	static const __u32 lengths[] = {40, 31, 50};
	const struct turns_config turns = {.order = ORDER_ZIPF, .tenants = 7, .turn = 5};
	struct store *store = store_of(lengths, 3);

	for (int merged = 0; merged < 2; merged++) {
		const struct store_play_config config = {.requests = 3,
							 .turns = merged ? &turns : NULL};
		struct store_play *player;

		assert_int_equal(store_play_create(&player, store, &config), 0);
		for (__u32 tenant = merged ? 7 : 3; tenant-- > 0;) {
			store_play_only(player, tenant, 9);
			assert_int_equal(store_play_next(player, packets, 4), 4);
			assert_int_equal(store_play_next(player, packets + 4, ROOM - 4), 5);
			for (__u32 i = 0; i < 9; i++)
				expect_packet(&packets[i], tenant, tenant % 3, i * 3, 3);
		}
		store_play_only(player, 1, 9);
		/* A packet and a translation were left. */
		assert_int_equal(store_play_next(player, packets, ROOM), 1);
		store_play_destroy(player);
	}
	store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_stops_with_the_first_who_is_exhausted),
		cmocka_unit_test(shares_empty_the_greedy_first),
		cmocka_unit_test(recorded_order_keeps_each_packet_where_it_began),
		cmocka_unit_test(tenants_may_be_moved_apart),
		cmocka_unit_test(what_cannot_be_played_is_refused),
		cmocka_unit_test(one_tenant_may_be_played_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
