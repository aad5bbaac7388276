// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/tlb.h"

#define K4(number) ((__u64)(number) << TLB_4K)
#define M2(number) ((__u64)(number) << TLB_2M)

static struct tlb *tlb_of(__u32 entries, __u32 ways, enum replacement policy)
{
	const struct cache_config config = {entries, ways, policy, 0};
	struct tlb *tlb;

	assert_int_equal(tlb_create(&tlb, &config), 0);
	return tlb;
}

static bool cached(struct tlb *tlb, __u32 space, __u64 iova)
{
	struct tlb_translation found;

	return tlb_lookup(tlb, space, iova, &found);
}

static bool insert(struct tlb *tlb, __u32 space, __u64 iova, enum tlb_page page)
{
	return tlb_insert(tlb, space, iova,
			  &(struct tlb_translation){.physical = iova, .page = page});
}

static void hits_give_back_what_was_inserted(void **state)
{
	const struct tlb_translation huge = {0x40000000, 3, TLB_2M};
	struct tlb_translation found;
	struct tlb *tlb = tlb_of(64, 8, REPLACE_LRU);

	assert_false(cached(tlb, 1, M2(5)));
	assert_false(tlb_insert(tlb, 1, M2(5) + 0x1234, &huge));
	assert_true(tlb_lookup(tlb, 1, M2(5) + 0x54321, &found));
	assert_int_equal(found.physical, huge.physical);
	assert_int_equal(found.permissions, 3);
	assert_int_equal(found.page, TLB_2M);
	assert_false(cached(tlb, 2, M2(5)));
	assert_false(cached(tlb, 1, M2(6)));
	tlb_destroy(tlb);
}

static void the_least_recently_used_makes_way(void **state)
{
	struct tlb *tlb = tlb_of(16, 4, REPLACE_LRU);

	/* Pages 1, 5, 9, 13 and 17 share set 1 of 4. */
	for (int i = 0; i < 4; i++)
		assert_false(insert(tlb, 0, K4(1 + 4 * i), TLB_4K));
	assert_true(cached(tlb, 0, K4(1)));
	assert_true(insert(tlb, 0, K4(17), TLB_4K));
	assert_false(cached(tlb, 0, K4(5)));
	assert_true(cached(tlb, 0, K4(1)));
	/* Another set is not concerned; an entry renewed is no eviction. */
	assert_false(insert(tlb, 0, K4(2), TLB_4K));
	assert_false(insert(tlb, 0, K4(17), TLB_4K));
	tlb_destroy(tlb);
}

static void invalidation_drops_what_overlaps(void **state)
{
	struct tlb *tlb = tlb_of(1024, 1024, REPLACE_LRU);

	insert(tlb, 1, M2(1), TLB_2M);
	insert(tlb, 1, M2(3), TLB_2M);
	for (int i = 0; i < 7; i++)
		insert(tlb, 1, K4(i), TLB_4K);
	insert(tlb, 2, K4(3), TLB_4K);
	assert_int_equal(tlb_invalidate(tlb, 1, K4(3), 1), 1);
	assert_int_equal(tlb_invalidate(tlb, 1, K4(3), 1), 0);
	assert_true(cached(tlb, 2, K4(3)));
	/* One page inside of a huge one takes the huge one. */
	assert_int_equal(tlb_invalidate(tlb, 1, M2(1) + K4(9), K4(1)), 1);
	/* From the last byte of page 4 to the first of the huge page. */
	assert_int_equal(tlb_invalidate(tlb, 1, K4(5) - 1, M2(3) - K4(5) + 2), 4);
	assert_true(cached(tlb, 1, K4(2)));
	assert_int_equal(tlb_invalidate_space(tlb, 1), 3);
	assert_true(cached(tlb, 2, K4(3)));
	assert_int_equal(tlb_invalidate(tlb, 2, 0, ~0ull), 1);
	tlb_destroy(tlb);
}

/* Against a list in order of use, the plainest form of LRU there is. */
static void a_random_walk_equals_a_simple_model(void **state)
{
	enum { WAYS = 8, PAGES = 29 };
	__u64 order[WAYS] = {0};
	struct tlb *tlb = tlb_of(WAYS, WAYS, REPLACE_LRU);
	unsigned int seed = 7;
	int used = 0;

	for (int i = 0; i < 20011; i++) {
		__u64 page = rand_r(&seed) % PAGES;
		int at = 0;

		while (at < used && order[at] != page)
			at++;
		assert_int_equal(cached(tlb, 3, K4(page)), at < used);
		if (at == used) {
			assert_int_equal(insert(tlb, 3, K4(page), TLB_4K), used == WAYS);
			used += used < WAYS;
			at = used - 1;
		}
		memmove(&order[1], &order[0], at * sizeof(order[0]));
		order[0] = page;
		if (i % 97 == 0 && used) {
			assert_int_equal(tlb_invalidate(tlb, 3, K4(order[used - 1]), 1), 1);
			used--;
		}
	}
	tlb_destroy(tlb);
}

/* A page of a full set is hit, another enters: which one went. */
static void the_policy_is_the_chosen_one(void **state)
{
	const __u32 victims[REPLACE_BELADY] = {
		[REPLACE_LRU] = 1, [REPLACE_LFU] = 3, [REPLACE_RANDOM] = 4, [REPLACE_FIFO] = 0};

	for (enum replacement policy = 0; policy < REPLACE_BELADY; policy++) {
		struct tlb *tlb = tlb_of(4, 4, policy);
		__u32 left = 0;

		for (__u64 page = 0; page < 4; page++)
			insert(tlb, 0, K4(page), TLB_4K);
		/* Last used longest ago: 1. Hit least often: 3. Entered first: 0. */
		for (const char *hit = "11220032"; *hit; hit++)
			assert_true(cached(tlb, 0, K4(*hit - '0')));
		assert_true(insert(tlb, 0, K4(9), TLB_4K));
		for (__u32 page = 0; page < 4; page++)
			left += !cached(tlb, 0, K4(page));
		assert_int_equal(left, 1);
		if (victims[policy] < 4)
			assert_false(cached(tlb, 0, K4(victims[policy])));
		tlb_destroy(tlb);
	}
}

static void what_cannot_be_is_named(void **state)
{
	const struct cache_config wrong[] = {
		{0, 1, 0, 0}, {64, 0, 0, 0},	   {63, 1, 0, 0},      {64, 3, 0, 0},
		{4, 8, 0, 0}, {1u << 25, 8, 0, 0}, {2048, 2048, 0, 0}, {64, 8, REPLACE_BELADY, 0}};
	struct tlb *tlb;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(tlb_create(&tlb, &wrong[i]), -EINVAL);
		assert_non_null(strstr(failure_text(), wrong[i].policy
							       ? "accepted: lru, lfu, random, fifo"
							       : "accepted: powers of two"));
	}
	tlb_destroy(tlb_of(1, 1, REPLACE_LRU));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_give_back_what_was_inserted),
		cmocka_unit_test(the_least_recently_used_makes_way),
		cmocka_unit_test(invalidation_drops_what_overlaps),
		cmocka_unit_test(a_random_walk_equals_a_simple_model),
		cmocka_unit_test(the_policy_is_the_chosen_one),
		cmocka_unit_test(what_cannot_be_is_named),
	};

	return cmocka_run_group_tests_name("tlb", tests, NULL, NULL);
}
