// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "injectors/emu/inject.h"
#include "injectors/emu/probes.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ASKED 10007

static struct inject_table *table;

static int setup(void **state)
{
	return inject_table_create(&table);
}

static int teardown(void **state)
{
	inject_table_destroy(table);
	return 0;
}

static struct injection always(enum inject_point point, __u32 id)
{
	return (struct injection){
		.point = point,
		.device = DEVICE_ALL,
		.id = id,
		.probability = 100,
		.interval = 1,
		.times = -1,
		.seed = 7,
	};
}

static unsigned int fired(unsigned int asked, __u32 device)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < asked; i++)
		count += inject_fire(table, INJECT_OVERFLOW, device);
	return count;
}

static void nothing_armed_nothing_happens(void **state)
{
	assert_int_equal(fired(ASKED, 0), 0);
	assert_int_equal(inject_delay(table, INJECT_RESPOND, 0), 0);
	assert_false(inject_fire(NULL, INJECT_OVERFLOW, 0));
	assert_int_equal(inject_delay(NULL, INJECT_DELIVERY, 0), 0);
}

static void probability_is_percent_and_seeded(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);
	unsigned int first, second;

	injection.probability = 23;
	assert_int_equal(inject_arm(table, &injection), 0);
	first = fired(ASKED, 0);
	assert_int_equal(inject_disarm(table, 1), first);
	assert_in_range(first, ASKED * 20 / 100, ASKED * 26 / 100);

	assert_int_equal(inject_arm(table, &injection), 0);
	second = fired(ASKED, 0);
	assert_int_equal(first, second);
	inject_disarm(table, 1);

	injection.seed = 8;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_not_equal(fired(ASKED, 0), first);
}

static void interval_and_times_count_exactly(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);

	injection.interval = 7;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(fired(ASKED, 0), ASKED / 7);
	inject_disarm(table, 1);

	injection.interval = 3;
	injection.times = 11;
	assert_int_equal(inject_arm(table, &injection), 0);
	for (int i = 1; i <= 3 * 11; i++)
		assert_int_equal(inject_fire(table, INJECT_OVERFLOW, 0), i % 3 == 0);
	assert_int_equal(fired(ASKED, 0), 0);
	assert_int_equal(inject_disarm(table, 1), 11);
}

static void zero_times_never_fires(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);

	injection.times = 0;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(fired(101, 0), 0);
}

static void only_its_device_and_point(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);

	injection.device = 5;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(fired(13, 4), 0);
	assert_int_equal(fired(13, 5), 13);
	assert_false(inject_fire(table, INJECT_DUPLICATE, 5));
}

static void marked_devices_share_one_count(void **state)
{
	static const bool marked[] = {true, false, true};
	struct injection injection = always(INJECT_OVERFLOW, 1);

	injection.devices = marked;
	injection.times = 17;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(fired(13, 0), 13);
	assert_int_equal(fired(13, 1), 0);
	assert_int_equal(fired(13, 2), 4);
	assert_int_equal(inject_disarm(table, 1), 17);
}

static void delays_of_several_add_up(void **state)
{
	struct injection injection = always(INJECT_DISPATCH, 1);

	injection.delay_ns = 1000;
	assert_int_equal(inject_arm(table, &injection), 0);
	injection.id = 2;
	injection.delay_ns = 70;
	assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(inject_delay(table, INJECT_DISPATCH, 3), 1070);
	assert_int_equal(inject_disarm(table, 1), 1);
	assert_int_equal(inject_delay(table, INJECT_DISPATCH, 3), 70);
	assert_int_equal(inject_disarm(table, 2), 2);
	assert_int_equal(inject_disarm(table, 2), 0);
}

static void distributions_keep_their_shape(void **state)
{
	struct injection uniform = always(INJECT_DELIVERY, 1);
	struct injection exponential = always(INJECT_RESPOND, 2);
	double uniform_sum = 0, exponential_sum = 0;
	unsigned int above_mean = 0;

	uniform.distribution = INJECT_UNIFORM;
	uniform.delay_ns = 2000;
	uniform.delay_max_ns = 4000;
	exponential.distribution = INJECT_EXPONENTIAL;
	exponential.delay_ns = 5000;
	assert_int_equal(inject_arm(table, &uniform), 0);
	assert_int_equal(inject_arm(table, &exponential), 0);
	for (int i = 0; i < ASKED; i++) {
		__u64 one = inject_delay(table, INJECT_DELIVERY, 0);
		__u64 two = inject_delay(table, INJECT_RESPOND, 0);

		assert_in_range(one, 2000, 4000);
		uniform_sum += (double)one;
		exponential_sum += (double)two;
		above_mean += two > 5000;
	}
	assert_true(fabs(uniform_sum / ASKED - 3000) < 30);
	assert_true(fabs(exponential_sum / ASKED - 5000) < 250);
	/* 1/e of an exponential distribution lies above its mean. */
	assert_true(fabs((double)above_mean / ASKED - exp(-1)) < 0.02);
}

static void equal_seeds_do_not_fire_together(void **state)
{
	struct injection lost = always(INJECT_RESPONSE_LOST, 1);
	struct injection failure = always(INJECT_RESPONSE_FAILURE, 2);
	unsigned int both = 0;

	lost.probability = failure.probability = 20;
	assert_int_equal(inject_arm(table, &lost), 0);
	assert_int_equal(inject_arm(table, &failure), 0);
	for (int i = 0; i < ASKED; i++)
		both += inject_fire(table, INJECT_RESPONSE_LOST, 0) &
			inject_fire(table, INJECT_RESPONSE_FAILURE, 0);
	assert_in_range(both, ASKED * 3 / 100, ASKED * 5 / 100);
}

static void *stop_soon(void *argument)
{
	struct timespec nap = {.tv_nsec = 10000000};

	nanosleep(&nap, NULL);
	inject_stop(table);
	return argument;
}

static void sleeping_takes_its_time_until_stopped(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);
	pthread_t stopper;
	__u64 start;

	assert_int_equal(inject_arm(table, &injection), 0);
	start = monotonic_ns();
	inject_sleep(table, 3 * NSEC_PER_MSEC);
	assert_true(monotonic_ns() - start >= 3 * NSEC_PER_MSEC);
	assert_int_equal(pthread_create(&stopper, NULL, stop_soon, NULL), 0);
	inject_sleep(table, 3600 * NSEC_PER_SEC);
	assert_true(monotonic_ns() - start < 3600 * NSEC_PER_SEC);
	pthread_join(stopper, NULL);
	assert_int_equal(fired(13, 0), 0);
}

static void bad_values_are_refused_with_the_accepted_ones(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);

	injection.probability = 101;
	assert_int_equal(inject_arm(table, &injection), -EINVAL);
	assert_non_null(strstr(failure_text(), "1 to 100"));
	injection = always(INJECT_OVERFLOW, 1);
	injection.interval = 0;
	assert_int_equal(inject_arm(table, &injection), -EINVAL);
	injection = always(INJECT_DELIVERY, 1);
	injection.distribution = INJECT_UNIFORM;
	injection.delay_ns = 2;
	injection.delay_max_ns = 1;
	assert_int_equal(inject_arm(table, &injection), -EINVAL);
	assert_int_equal(fired(13, 0), 0);
}

static void table_is_bounded(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);

	for (int i = 0; i < 64; i++)
		assert_int_equal(inject_arm(table, &injection), 0);
	assert_int_equal(inject_arm(table, &injection), -ENOSPC);
	inject_disarm(table, 1);
	assert_int_equal(inject_arm(table, &injection), 0);
}

static atomic_bool asking = true;
static _Atomic uint64_t seen;

static void *ask(void *argument)
{
	while (atomic_load(&asking))
		if (inject_fire(table, INJECT_OVERFLOW, 0))
			atomic_fetch_add(&seen, 1);
	return argument;
}

static void disarm_is_final_and_its_count_exact(void **state)
{
	struct injection injection = always(INJECT_OVERFLOW, 1);
	pthread_t threads[3];
	uint64_t counted = 0;

	injection.probability = 50;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int round = 0; round < 101; round++) {
		assert_int_equal(inject_arm(table, &injection), 0);
		for (int i = 0; i < 100; i++)
			(void)inject_fire(table, INJECT_DUPLICATE, 0);
		counted += inject_disarm(table, 1);
	}
	atomic_store(&asking, false);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&seen), counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_armed_nothing_happens, setup, teardown),
		cmocka_unit_test_setup_teardown(probability_is_percent_and_seeded, setup, teardown),
		cmocka_unit_test_setup_teardown(interval_and_times_count_exactly, setup, teardown),
		cmocka_unit_test_setup_teardown(zero_times_never_fires, setup, teardown),
		cmocka_unit_test_setup_teardown(only_its_device_and_point, setup, teardown),
		cmocka_unit_test_setup_teardown(marked_devices_share_one_count, setup, teardown),
		cmocka_unit_test_setup_teardown(delays_of_several_add_up, setup, teardown),
		cmocka_unit_test_setup_teardown(distributions_keep_their_shape, setup, teardown),
		cmocka_unit_test_setup_teardown(sleeping_takes_its_time_until_stopped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(equal_seeds_do_not_fire_together, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_values_are_refused_with_the_accepted_ones,
						setup, teardown),
		cmocka_unit_test_setup_teardown(table_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(disarm_is_final_and_its_count_exact, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
