// SPDX-License-Identifier: GPL-2.0
/* Traces of translations: made up, merged, and what they need. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/translate/pages.h"
#include "lib/translate/store.h"
#include "lib/translate/tenants.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t play(struct store *store, __u32 requests, const struct turns_config *turns,
		   struct model_packet *packets, int room)
{
	struct store_play *player;
	int count;

	assert_int_equal(store_play_create(&player, store, requests, turns), 0);
	count = store_play_next(player, packets, room);
	assert_true(count >= 0);
	if (count < room)
		assert_int_equal(store_play_next(player, packets, room), 0);
	store_play_destroy(player);
	return (size_t)count;
}

/* The paper's rule: equal turns, each from his beginning, until the first has no more. */
static void merging_stops_with_the_first_who_is_exhausted(void **state)
{
	struct turns_config turns = {ORDER_ROUND_ROBIN, 5, 2, 100, 1};
	static struct model_packet packets[4096];
	struct store *store;
	size_t count;

	(void)state;
	assert_int_equal(store_create(&store), 0);
	for (__u64 i = 0; i < 40; i++)
		assert_int_equal(store_add(store, 10, i << 12, 12), 0);
	for (__u64 i = 0; i < 31; i++)
		assert_int_equal(store_add(store, 20, i << 12, 12), 0);
	/* Tenants 1 and 3 have 10 packets of three; the one translation left over is not played. */
	count = play(store, 3, &turns, packets, 4096);
	assert_int_equal(count, 5 * 10 + 2);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(packets[i].source, i / 2 % 5);
		assert_int_equal(packets[i].requests[0].iova >> 12, (i / 10 * 2 + i % 2) * 3);
	}
	turns.tenants = 0;
	assert_int_equal(store_play_create(&(struct store_play *){NULL}, store, 3, &turns),
			 -EINVAL);
	store_destroy(store);
}

static void orders_give_each_tenant_his_share(void **state)
{
	struct turns_config config = {ORDER_RANDOM, 64, 1, 100, 3};
	unsigned int counts[64];
	struct turns turns;

	(void)state;
	for (int order = 0; order < ORDER_COUNT; order++) {
		unsigned int least = UINT32_MAX, most = 0;

		config.order = order;
		memset(counts, 0, sizeof(counts));
		assert_int_equal(turns_begin(&turns, &config), 0);
		for (int i = 0; i < 640000; i++)
			counts[turns_next(&turns)]++;
		turns_end(&turns);
		for (int i = 0; i < 64; i++) {
			least = counts[i] < least ? counts[i] : least;
			most = counts[i] > most ? counts[i] : most;
		}
		if (order == ORDER_ROUND_ROBIN)
			assert_int_equal(least, most);
		else if (order != ORDER_ZIPF)
			assert_true(least > 8500 && most < 11500);
		else /* 1 / rank: the first 1/H(64) = 21%, the second half of it, ... */
			for (int i = 0; i < 8; i++)
				assert_true(abs((int)counts[i] - 134920 / (i + 1)) <
					    2500 / (i + 1) + 600);
	}
}

/* Figure 8's three groups, from the trace that was made to have them. */
static void page_classes_are_found_again(void **state)
{
	struct model_packet packets[64];
	struct tenants_config config;
	const struct tenant_use *tenants;
	const struct page_use *uses;
	struct tenants *trace;
	struct pages *pages;
	size_t count, classes[PAGE_CLASSES] = {0};
	int got;

	(void)state;
	tenants_preset(&config, TENANTS_MEDIASTREAM);
	config.turns.tenants = 3;
	config.packets = 600000;
	config.tenant_packets_min = config.tenant_packets_max = 0;
	config.first_touches = 7;
	assert_int_equal(tenants_create(&trace, &config), 0);
	assert_int_equal(pages_create(&pages), 0);
	while ((got = tenants_next(trace, packets, 64)) > 0)
		for (int i = 0; i < got; i++)
			assert_int_equal(pages_take(pages, &packets[i]), 0);
	assert_int_equal(pages_finish(pages), 0);
	uses = pages_uses(pages, &count);
	assert_int_equal(count, 3 * (1 + 32 + 1 + 70));
	for (size_t i = 0; i < count; i++) {
		classes[uses[i].page_class]++;
		assert_int_equal(uses[i].sharers, 3);
		if (uses[i].page_class == PAGE_STARTUP)
			assert_int_equal(uses[i].accesses, 7);
	}
	assert_int_equal(classes[PAGE_HOT], 3 * 2);
	assert_int_equal(classes[PAGE_DATA], 3 * 32);
	assert_int_equal(classes[PAGE_STARTUP], 3 * 70);
	tenants = pages_tenants(pages, &count);
	assert_int_equal(count, 3);
	/* Ring, mailbox and one data page for nearly all; every page for all. */
	assert_int_equal(tenants[0].active99, 3);
	assert_int_equal(tenants[0].active_all, 34);
	pages_destroy(pages);
	tenants_destroy(trace);
}

static void traces_that_cannot_be_are_refused(void **state)
{
	struct tenants_config good, bad;
	struct tenants *trace;

	(void)state;
	tenants_preset(&good, TENANTS_IPERF3);
#define REFUSED(change)                                                  \
	do {                                                             \
		bad = good;                                              \
		change;                                                  \
		assert_int_equal(tenants_create(&trace, &bad), -EINVAL); \
	} while (0)
	REFUSED(bad.turns.tenants = 0);
	REFUSED(bad.turns.tenants = 65537);
	REFUSED(bad.turns.turn = 0);
	REFUSED(bad.turns.zipf_exponent = 401);
	REFUSED(bad.data.shift = 13);
	REFUSED(bad.data.first += 4096);
	REFUSED(bad.data.count = 0);
	REFUSED(bad.streams = bad.data.count + 1);
	REFUSED(bad.run = 0);
	REFUSED(bad.tenant_packets_min = bad.tenant_packets_max + 1);
	REFUSED(bad.tenant_packets_min = bad.tenant_packets_max = 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_stops_with_the_first_who_is_exhausted),
		cmocka_unit_test(orders_give_each_tenant_his_share),
		cmocka_unit_test(page_classes_are_found_again),
		cmocka_unit_test(traces_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
