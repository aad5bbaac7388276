// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "injectors/real/order.h"

#define MOST 5000

static const __u64 sizes[] = {1, 2, 3, 4, 5, 13, 64, 65, 997, 4096, 4099};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Every pass visits every item once, whatever their number. */
static void test_each_once(void **state)
{
	for (size_t n = 0; n < SIZES; n++) {
		for (int kind = ORDER_SEQUENTIAL; kind <= ORDER_RANDOM; kind++) {
			static unsigned int seen[MOST];
			struct order order;

			order_init(&order, (enum order_kind)kind, sizes[n], 7);
			memset(seen, 0, sizeof(seen));
			for (unsigned int pass = 1; pass <= 3; pass++) {
				for (__u64 i = 0; i < sizes[n]; i++) {
					__u64 item = order_next(&order);

					assert_in_range(item, 0, sizes[n] - 1);
					seen[item]++;
				}
				for (__u64 i = 0; i < sizes[n]; i++)
					assert_int_equal(seen[i], pass);
			}
		}
	}
}

static void test_seed_decides(void **state)
{
	struct order one, same, other;
	int differ = 0;

	for (int kind = ORDER_RANDOM; kind <= ORDER_ZIPF; kind++) {
		order_init(&one, (enum order_kind)kind, 997, 7);
		order_init(&same, (enum order_kind)kind, 997, 7);
		order_init(&other, (enum order_kind)kind, 997, 8);
		for (int i = 0; i < 2000; i++) {
			__u64 item = order_next(&one);

			assert_int_equal(order_next(&same), item);
			differ += order_next(&other) != item;
		}
	}
	assert_in_range(differ, 3000, 4000);
}

/* A second pass goes another way; neighbours in time are no neighbours in place. */
static void test_random_is_no_walk(void **state)
{
	struct order order;
	__u64 first[997], steps = 0, same = 0;

	order_init(&order, ORDER_RANDOM, 997, 7);
	for (int i = 0; i < 997; i++) {
		first[i] = order_next(&order);
		steps += i && first[i] == first[i - 1] + 1;
	}
	for (int i = 0; i < 997; i++)
		same += order_next(&order) == first[i];
	assert_in_range(steps, 0, 10);
	assert_in_range(same, 0, 10);
}

/* theta 0.99: the most frequent of 997 gets some 13% of the draws. */
static void test_zipf_is_skewed(void **state)
{
	static unsigned int seen[997];
	unsigned int most = 0;
	struct order order;

	order_init(&order, ORDER_ZIPF, 997, 7);
	for (int i = 0; i < 100000; i++) {
		__u64 item = order_next(&order);

		assert_in_range(item, 0, 996);
		seen[item]++;
		if (seen[item] > most)
			most = seen[item];
	}
	assert_in_range(most, 11000, 15500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_seed_decides),
		cmocka_unit_test(test_random_is_no_walk),
		cmocka_unit_test(test_zipf_is_skewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
