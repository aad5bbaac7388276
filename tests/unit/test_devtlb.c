// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/devtlb.h"

#define K4(number) ((__u64)(number) << DEVTLB_4K)
#define M2(number) ((__u64)(number) << DEVTLB_2M)

static bool cached(struct devtlb *devtlb, __u32 pasid, __u64 iova)
{
	struct devtlb_translation found;

	return devtlb_lookup(devtlb, pasid, iova, &found);
}

static bool insert(struct devtlb *devtlb, __u32 pasid, __u64 iova, enum devtlb_page page)
{
	return devtlb_insert(devtlb, pasid, iova,
			     &(struct devtlb_translation){.physical = iova, .page = page});
}

static void hits_give_back_what_was_inserted(void **state)
{
	const struct devtlb_translation huge = {0x40000000, 3, DEVTLB_2M};
	struct devtlb_translation found;
	struct devtlb *devtlb;

	(void)state;
	assert_int_equal(devtlb_create(&devtlb, 64, 8), 0);
	assert_false(cached(devtlb, 1, M2(5)));
	assert_false(devtlb_insert(devtlb, 1, M2(5) + 0x1234, &huge));
	assert_true(devtlb_lookup(devtlb, 1, M2(5) + 0x54321, &found));
	assert_int_equal(found.physical, huge.physical);
	assert_int_equal(found.permissions, 3);
	assert_int_equal(found.page, DEVTLB_2M);
	assert_false(cached(devtlb, 2, M2(5)));
	assert_false(cached(devtlb, 1, M2(6)));
	devtlb_destroy(devtlb);
}

static void the_least_recently_used_makes_way(void **state)
{
	struct devtlb_stats stats;
	struct devtlb *devtlb;

	(void)state;
	assert_int_equal(devtlb_create(&devtlb, 16, 4), 0);
	/* Pages 1, 5, 9, 13 and 17 share set 1 of 4. */
	for (int i = 0; i < 4; i++)
		assert_false(insert(devtlb, 0, K4(1 + 4 * i), DEVTLB_4K));
	assert_true(cached(devtlb, 0, K4(1)));
	assert_true(insert(devtlb, 0, K4(17), DEVTLB_4K));
	assert_false(cached(devtlb, 0, K4(5)));
	assert_true(cached(devtlb, 0, K4(1)));
	/* Another set is not concerned; an entry renewed is no eviction. */
	assert_false(insert(devtlb, 0, K4(2), DEVTLB_4K));
	assert_false(insert(devtlb, 0, K4(17), DEVTLB_4K));
	devtlb_stats(devtlb, &stats);
	assert_int_equal(stats.evictions, 1);
	assert_int_equal(stats.hits, 2);
	assert_int_equal(stats.misses, 1);
	devtlb_destroy(devtlb);
}

static void invalidation_drops_what_overlaps(void **state)
{
	struct devtlb *devtlb;

	(void)state;
	assert_int_equal(devtlb_create(&devtlb, 1024, 1024), 0);
	insert(devtlb, 1, M2(1), DEVTLB_2M);
	insert(devtlb, 1, M2(3), DEVTLB_2M);
	for (int i = 0; i < 7; i++)
		insert(devtlb, 1, K4(i), DEVTLB_4K);
	insert(devtlb, 2, K4(3), DEVTLB_4K);
	assert_int_equal(devtlb_invalidate(devtlb, 1, K4(3), 1), 1);
	assert_int_equal(devtlb_invalidate(devtlb, 1, K4(3), 1), 0);
	assert_true(cached(devtlb, 2, K4(3)));
	/* One page inside of a huge one takes the huge one. */
	assert_int_equal(devtlb_invalidate(devtlb, 1, M2(1) + K4(9), K4(1)), 1);
	/* From the last byte of page 4 to the first of the huge page. */
	assert_int_equal(devtlb_invalidate(devtlb, 1, K4(5) - 1, M2(3) - K4(5) + 2), 4);
	assert_true(cached(devtlb, 1, K4(2)));
	assert_int_equal(devtlb_invalidate_pasid(devtlb, 1), 3);
	assert_true(cached(devtlb, 2, K4(3)));
	assert_int_equal(devtlb_invalidate(devtlb, 2, 0, ~0ull), 1);
	devtlb_destroy(devtlb);
}

/* Against a list in order of use, the plainest form of LRU there is. */
static void a_random_walk_equals_a_simple_model(void **state)
{
	enum { WAYS = 8, PAGES = 29 };
	__u64 order[WAYS] = {0};
	struct devtlb *devtlb;
	unsigned int seed = 7;
	int used = 0;

	(void)state;
	assert_int_equal(devtlb_create(&devtlb, WAYS, WAYS), 0);
	for (int i = 0; i < 20011; i++) {
		__u64 page = rand_r(&seed) % PAGES;
		int at = 0;

		while (at < used && order[at] != page)
			at++;
		assert_int_equal(cached(devtlb, 3, K4(page)), at < used);
		if (at == used) {
			assert_int_equal(insert(devtlb, 3, K4(page), DEVTLB_4K), used == WAYS);
			used += used < WAYS;
			at = used - 1;
		}
		memmove(&order[1], &order[0], at * sizeof(order[0]));
		order[0] = page;
		if (i % 97 == 0 && used) {
			assert_int_equal(devtlb_invalidate(devtlb, 3, K4(order[used - 1]), 1), 1);
			used--;
		}
	}
	devtlb_destroy(devtlb);
}

static void wrong_sizes_are_named(void **state)
{
	const __u32 wrong[][2] = {{0, 1}, {64, 0},	 {63, 1},     {64, 3},
				  {4, 8}, {1u << 25, 8}, {2048, 2048}};
	struct devtlb *devtlb;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(devtlb_create(&devtlb, wrong[i][0], wrong[i][1]), -EINVAL);
		assert_non_null(strstr(failure_text(), "accepted: powers of two"));
	}
	assert_int_equal(devtlb_create(&devtlb, 1, 1), 0);
	devtlb_destroy(devtlb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_give_back_what_was_inserted),
		cmocka_unit_test(the_least_recently_used_makes_way),
		cmocka_unit_test(invalidation_drops_what_overlaps),
		cmocka_unit_test(a_random_walk_equals_a_simple_model),
		cmocka_unit_test(wrong_sizes_are_named),
	};

	return cmocka_run_group_tests_name("devtlb", tests, NULL, NULL);
}
