// SPDX-License-Identifier: GPL-2.0
/* Access records leave in the order of their times, equals as they came, none before it has settled. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "injectors/emu/record_order.h"
#include "lib/base/random.h"

enum { RECORDS = 5003, MOST = 997 };

static struct record_order *order;

static int setup(void **state)
{
	return record_order_create(&order, MOST);
}

static int teardown(void **state)
{
	record_order_destroy(order);
	return 0;
}

static bool add(__u64 time_ns, __u64 address)
{
	const struct access_record record = {.time_ns = time_ns, .address = address};

	return record_order_add(order, &record);
}

static void a_record_waits_for_one_that_is_much_younger(void **state)
{
	struct access_record record;

	assert_true(add(1000, 1));
	assert_false(record_order_take(order, false, &record));
	assert_true(add(1000 + RECORD_SETTLE_NS - 1, 2));
	assert_false(record_order_take(order, false, &record));
	assert_true(add(1000 + RECORD_SETTLE_NS, 3));
	assert_int_equal(record_order_newest(order), 1000 + RECORD_SETTLE_NS);
	assert_true(record_order_take(order, false, &record));
	assert_int_equal(record.address, 1);
	assert_false(record_order_take(order, false, &record));
	assert_true(record_order_take(order, true, &record));
	assert_int_equal(record.address, 2);
	assert_true(record_order_take(order, true, &record));
	assert_false(record_order_take(order, true, &record));
	/* An older one changes nothing about what is newest. */
	assert_true(add(7, 4));
	assert_int_equal(record_order_newest(order), 1000 + RECORD_SETTLE_NS);
}

/* Within what settles any order comes out sorted, and equals stay as they were. */
static void all_come_out_in_order(void **state)
{
	struct random random = {5};
	struct access_record record;
	__u64 last_time = 0, last_address = 0, taken = 0;

	for (__u64 i = 0; i < RECORDS; i++) {
		/* 25 us apart, and up to a thousand places too late. */
		__u64 time = (i + random_below(&random, 1000)) / 2 * 50000;

		while (!add(time, i)) {
			assert_true(record_order_take(order, true, &record));
			taken++;
			last_time = record.time_ns > last_time ? record.time_ns : last_time;
		}
		while (record_order_take(order, false, &record)) {
			assert_true(record.time_ns >= last_time);
			assert_true(record.time_ns > last_time || record.address > last_address);
			last_time = record.time_ns;
			last_address = record.address;
			taken++;
		}
	}
	while (record_order_take(order, true, &record)) {
		assert_true(record.time_ns >= last_time);
		assert_true(record.time_ns > last_time || record.address > last_address);
		last_time = record.time_ns;
		last_address = record.address;
		taken++;
	}
	assert_int_equal(taken, RECORDS);
}

static void a_full_one_says_so(void **state)
{
	struct access_record record;

	for (__u64 i = 0; i < MOST; i++)
		assert_true(add(i, i));
	assert_false(add(MOST, MOST));
	assert_true(record_order_take(order, true, &record));
	assert_int_equal(record.address, 0);
	assert_true(add(MOST, MOST));
}

#define ORDER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORDER_TEST(a_record_waits_for_one_that_is_much_younger),
		ORDER_TEST(all_come_out_in_order),
		ORDER_TEST(a_full_one_says_so),
	};

	return cmocka_run_group_tests_name("record_order", tests, NULL, NULL);
}
