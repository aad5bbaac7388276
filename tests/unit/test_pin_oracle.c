// SPDX-License-Identifier: GPL-2.0
/* The oracle against every choice of faults, and against every policy. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/random.h"
#include "lib/protect/oracle.h"
#include "lib/protect/what_if.h"

#define IDLE   30
#define FAULTS 11

static __u64 best_of_all_choices(const __u64 *gaps, size_t count, __u64 budget)
{
	__u64 best = 0;

	for (unsigned int chosen = 0; chosen < 1u << count; chosen++) {
		__u64 sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += chosen >> i & 1 ? gaps[i] - IDLE : 0;
		if (sum <= budget && (__u64)__builtin_popcount(chosen) > best)
			best = (__u64)__builtin_popcount(chosen);
	}
	return best;
}

static void it_is_the_best_of_all_choices(void **state)
{
	struct random random = {7};

	(void)state;
	for (int round = 0; round < 101; round++) {
		struct pin_oracle oracle = {0}, rest = {0};
		__u64 gaps[FAULTS], budget = random_below(&random, 200);
		size_t count = random_below(&random, FAULTS + 1);
		unsigned __int128 taken;

		for (size_t i = 0; i < count; i++) {
			gaps[i] = IDLE + 1 + random_below(&random, 50);
			assert_int_equal(pin_oracle_add(i % 2 ? &oracle : &rest, gaps[i], IDLE), 0);
		}
		assert_int_equal(pin_oracle_join(&oracle, &rest), 0);
		assert_int_equal(pin_oracle_avoided(&oracle, budget, &taken),
				 best_of_all_choices(gaps, count, budget));
		assert_true(taken <= budget);
		pin_oracle_free(&oracle);
		pin_oracle_free(&rest);
	}
}

static void what_fits_exactly_is_avoided(void **state)
{
	struct pin_oracle oracle = {0};
	unsigned __int128 taken;

	(void)state;
	assert_int_equal(pin_oracle_avoided(&oracle, 5, &taken), 0);
	assert_int_equal(pin_oracle_add(&oracle, IDLE + 7, IDLE), 0);
	assert_int_equal(pin_oracle_add(&oracle, IDLE + 3, IDLE), 0);
	assert_int_equal(pin_oracle_avoided(&oracle, 2, &taken), 0);
	assert_int_equal(pin_oracle_avoided(&oracle, 3, &taken), 1);
	assert_int_equal(pin_oracle_avoided(&oracle, 9, &taken), 1);
	assert_int_equal((int)taken, 3);
	assert_int_equal(pin_oracle_avoided(&oracle, 10, &taken), 2);
	pin_oracle_free(&oracle);
}

static void add_fault(void *argument, const struct what_if_access *access, __u64 gap_ns,
		      bool avoided)
{
	(void)access, (void)avoided;
	assert_int_equal(pin_oracle_add(argument, gap_ns, IDLE), 0);
}

static struct protect_keys keys_of(struct random *random, __u32 policy)
{
	struct protect_keys keys;

	protect_keys_default(&keys);
	keys.policy = policy;
	keys.active = random_unit(random);
	keys.inactive = random_unit(random);
	keys.lru = random_unit(random);
	keys.overflow = (__u32)random_below(random, 2);
	keys.scan_ns = 1 + random_below(random, 20);
	keys.promote_after_ns = random_below(random, 2 * IDLE);
	keys.demote_after_ns = random_below(random, IDLE);
	return keys;
}

static void nobody_beats(struct random *random, __u32 policy)
{
	struct pin_oracle oracle = {0};
	const struct what_if_config config = {
		.keys = keys_of(random, policy),
		.memory_pages = 20,
		.idle_ns = IDLE,
		.fault = add_fault,
		.argument = &oracle,
	};
	struct what_if_counts counts;
	struct what_if *what_if;
	unsigned __int128 taken;
	__u64 now = 0;

	assert_int_equal(what_if_create(&what_if, &config), 0);
	assert_int_equal(what_if_add_domain(what_if, 20), 0);
	for (int i = 0; i < 499; i++) {
		now += random_below(random, 12);
		what_if_access(what_if, &(struct what_if_access){now, random_below(random, 17), 0,
								 1, false});
	}
	what_if_end(what_if, now);
	what_if_counts(what_if, 0, &counts);
	assert_int_equal(counts.faults + counts.avoided, oracle.count);
	assert_in_range(counts.avoided, 0, pin_oracle_avoided(&oracle, counts.pinned_time, &taken));
	what_if_destroy(what_if);
	pin_oracle_free(&oracle);
}

static void no_policy_beats_it(void **state)
{
	struct random random = {11};

	(void)state;
	for (__u32 policy = 0; protect_policies[policy]; policy++)
		for (int round = 0; round < 151; round++)
			nobody_beats(&random, policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_best_of_all_choices),
		cmocka_unit_test(what_fits_exactly_is_avoided),
		cmocka_unit_test(no_policy_beats_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
