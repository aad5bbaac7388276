// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/timed_queue.h"

#define HOUR (3600 * 1000 * MS) /* nobody waits so long */

static struct timed_queue *queue;

static int setup(void **state)
{
	return timed_queue_create(&queue, sizeof(int), 2);
}

static int teardown(void **state)
{
	timed_queue_destroy(queue);
	return 0;
}

static void push(__u64 due, int item)
{
	assert_int_equal(timed_queue_push(queue, due, &item), 0);
}

static int pop(void)
{
	int item = -1;

	assert_int_equal(timed_queue_pop(queue, &item, 1), 1);
	return item;
}

static void undelayed_items_keep_their_order(void **state)
{
	int items[97];

	for (int i = 0; i < 97; i++)
		push(0, i);
	assert_int_equal(timed_queue_pop(queue, items, 97), 97);
	for (int i = 0; i < 97; i++)
		assert_int_equal(items[i], i);
}

static void items_come_out_by_due_time_and_not_before(void **state)
{
	__u64 base = monotonic_ns() + 20 * MS;

	for (int i = 0; i < 23; i++)
		push(base + (__u64)(i * 7 % 23) * 100000, i * 7 % 23);
	for (int i = 0; i < 23; i++) {
		assert_int_equal(pop(), i);
		assert_true(monotonic_ns() >= base + (__u64)i * 100000);
	}
}

static void a_later_due_item_does_not_hold_up_an_earlier(void **state)
{
	__u64 start = monotonic_ns();

	push(start + HOUR, 1);
	push(start + 5 * MS, 2);
	push(0, 3);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 2);
	timed_queue_stop(queue);
	assert_int_equal(pop(), 1);
}

static void past_and_now_are_in_push_order(void **state)
{
	/* Due 5 ms ago, pushed after an undelayed one: it must not overtake. */
	push(0, 1);
	push(monotonic_ns() - 5 * MS, 2);
	push(0, 3);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 3);
}

static void *push_soon(void *argument)
{
	sleep_until(monotonic_ns() + 10 * MS);
	push(0, 42);
	return argument;
}

static void a_waiter_wakes_for_an_earlier_item(void **state)
{
	pthread_t thread;

	push(monotonic_ns() + HOUR, 1);
	assert_int_equal(thread_start(&thread, NULL, push_soon, NULL, "pusher"), 0);
	assert_int_equal(pop(), 42);
	pthread_join(thread, NULL);
}

static void stop_makes_everything_due_then_ends(void **state)
{
	int items[4];

	for (int i = 0; i < 3; i++)
		push(monotonic_ns() + HOUR, i);
	timed_queue_stop(queue);
	assert_int_equal(timed_queue_pop(queue, items, 4), 3);
	assert_int_equal(timed_queue_pop(queue, items, 4), 0);
}

static void growth_keeps_what_is_in_it(void **state)
{
	bool seen[1009] = {false};

	srand(3);
	for (int i = 0; i < 1009; i++) {
		push(monotonic_ns() + (__u64)(rand() % 1000), i);
		if (i % 3 == 0)
			seen[pop()] = true;
	}
	for (int i = 0; i < 1009 - 337; i++)
		seen[pop()] = true;
	for (int i = 0; i < 1009; i++)
		assert_true(seen[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(undelayed_items_keep_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(items_come_out_by_due_time_and_not_before, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_later_due_item_does_not_hold_up_an_earlier, setup,
						teardown),
		cmocka_unit_test_setup_teardown(past_and_now_are_in_push_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_waiter_wakes_for_an_earlier_item, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stop_makes_everything_due_then_ends, setup,
						teardown),
		cmocka_unit_test_setup_teardown(growth_keeps_what_is_in_it, setup, teardown),
	};

	return cmocka_run_group_tests_name("timed_queue", tests, NULL, NULL);
}
