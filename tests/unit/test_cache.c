// SPDX-License-Identifier: GPL-2.0
/* The translation cache against the slow one: every access, every victim, every shape. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/cache.h"
#include "tests/reference/slow_cache.h"

#define ACCESSES 60000
#define KEYS_MAX 4096

static const struct {
	__u32 entries, ways;
} shapes[] = {
	{1, 1},	  {8, 1},   {8, 8},   {64, 8},	    {64, 4},  {64, 64}, {512, 16}, {1024, 16},
	{16, 16}, {15, 15}, {34, 17}, {1536, 1536}, {96, 24}, {32, 32}, {12, 3},   {1024, 2},
};

static uint64_t state = 0x123456789abcdef1ull;

static uint64_t random_number(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 29;
}

/* Hot keys and cold ones, phases that move on: what keeps policies apart. */
static void make_keys(uint64_t *keys, size_t count, unsigned int range)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t draw = random_number(), base = i / 5000 * 7;

		keys[i] = 1 + base + (draw % 4 ? draw / 4 % (range / 4 + 1) : draw / 4 % range);
	}
}

static void find_next_uses(const uint64_t *keys, uint64_t *next_uses, size_t count)
{
	static uint64_t last[2 * KEYS_MAX + 1];

	memset(last, 0xff, sizeof(last));
	for (size_t i = count; i-- > 0;) {
		next_uses[i] = last[keys[i]];
		last[keys[i]] = i;
	}
}

static void compare(enum replacement policy, __u32 entries, __u32 ways, bool removing)
{
	static uint64_t keys[ACCESSES], next_uses[ACCESSES];
	const struct cache_config config = {entries, ways, policy, random_number()};
	unsigned int range = entries * 3 < KEYS_MAX ? entries * 3 + 2 : KEYS_MAX;
	__u32 sets = entries / ways;
	struct slow_cache *slow = slow_cache_new(sets, ways, (enum slow_policy)policy, config.seed);
	struct cache *fast;

	assert_int_equal(cache_create(&fast, &config), 0);
	assert_int_equal(cache_sets(fast), sets);
	make_keys(keys, ACCESSES, range);
	find_next_uses(keys, next_uses, ACCESSES);
	for (size_t i = 0; i < ACCESSES; i++) {
		__u32 set = keys[i] % sets, slot = cache_find(fast, set, keys[i]);
		uint64_t expected;
		__u64 evicted = 0;

		if (removing && random_number() % 8 == 0) {
			assert_int_equal(slow_cache_remove(slow, set, keys[i]),
					 slot != CACHE_NO_SLOT);
			if (slot != CACHE_NO_SLOT)
				cache_remove(fast, slot);
			continue;
		}
		if (slow_cache_access(slow, set, keys[i], next_uses[i], &expected)) {
			assert_int_not_equal(slot, CACHE_NO_SLOT);
			cache_touch(fast, slot, next_uses[i]);
		} else {
			assert_int_equal(slot, CACHE_NO_SLOT);
			slot = cache_insert(fast, set, keys[i], next_uses[i], &evicted);
		}
		assert_int_equal(evicted, expected);
		assert_int_equal(cache_key(fast, slot), keys[i]);
		assert_int_equal(slot / ways, set);
	}
	assert_int_equal(cache_halvings(fast), slow_cache_halvings(slow));
	cache_destroy(fast);
	slow_cache_free(slow);
}

static void every_policy_and_shape_agrees_with_the_slow_cache(void **unused)
{
	(void)unused;
	for (unsigned int policy = 0; policy < REPLACE_COUNT; policy++)
		for (size_t i = 0; i < COUNT(shapes); i++)
			compare(policy, shapes[i].entries, shapes[i].ways, false);
}

static void what_is_taken_out_leaves_room(void **unused)
{
	(void)unused;
	for (unsigned int policy = 0; policy < REPLACE_BELADY; policy++)
		for (size_t i = 0; i < COUNT(shapes); i++)
			compare(policy, shapes[i].entries, shapes[i].ways, true);
}

static unsigned int misses_of(enum replacement policy, const uint64_t *keys,
			      const uint64_t *next_uses, size_t count, __u32 entries)
{
	const struct cache_config config = {entries, entries, policy, 11};
	unsigned int misses = 0;
	struct cache *cache;
	__u64 evicted;

	assert_int_equal(cache_create(&cache, &config), 0);
	for (size_t i = 0; i < count; i++) {
		__u32 slot = cache_find(cache, 0, keys[i]);

		if (slot == CACHE_NO_SLOT) {
			misses++;
			cache_insert(cache, 0, keys[i], next_uses[i], &evicted);
		} else {
			cache_touch(cache, slot, next_uses[i]);
		}
	}
	cache_destroy(cache);
	return misses;
}

static void the_oracle_is_never_beaten(void **unused)
{
	static uint64_t keys[ACCESSES], next_uses[ACCESSES];

	(void)unused;
	for (__u32 entries = 1; entries <= 64; entries += 3) {
		unsigned int oracle;

		make_keys(keys, ACCESSES, 150);
		find_next_uses(keys, next_uses, ACCESSES);
		oracle = misses_of(REPLACE_BELADY, keys, next_uses, ACCESSES, entries);
		for (unsigned int policy = 0; policy < REPLACE_BELADY; policy++)
			assert_true(misses_of(policy, keys, next_uses, ACCESSES, entries) >=
				    oracle);
	}
}

/* Mattson 1970: an access hits a fully associative LRU cache if fewer than `entries` other keys
 * came since its key's last use. */
static void the_miss_curve_of_lru_is_the_stack_distance_histogram(void **unused)
{
	enum { LENGTH = 8000, RANGE = 90 };
	static uint64_t keys[LENGTH], next_uses[LENGTH];
	static unsigned int farther[2 * RANGE]; /* accesses at this distance or beyond */
	uint64_t stack[2 * RANGE];
	size_t height = 0;

	(void)unused;
	make_keys(keys, LENGTH, RANGE);
	for (size_t i = 0; i < LENGTH; i++) {
		size_t depth = 0;

		while (depth < height && stack[depth] != keys[i])
			depth++;
		for (size_t d = 0; d <= (depth == height ? 2 * RANGE - 1 : depth); d++)
			farther[d]++;
		if (depth == height)
			height++;
		memmove(&stack[1], &stack[0], depth * sizeof(stack[0]));
		stack[0] = keys[i];
	}
	for (__u32 entries = 1; entries < RANGE; entries++)
		assert_int_equal(misses_of(REPLACE_LRU, keys, next_uses, LENGTH, entries),
				 farther[entries]);
}

static void shapes_that_cannot_be_are_refused(void **unused)
{
	static const struct cache_config bad[] = {
		{0, 1, REPLACE_LRU, 1},
		{8, 0, REPLACE_LRU, 1},
		{8, 3, REPLACE_LRU, 1},
		{24, 8, REPLACE_LRU, 1},
		{8, 16, REPLACE_LRU, 1},
		{8, 8, REPLACE_COUNT, 1},
		{CACHE_ENTRIES_MAX + 1, CACHE_ENTRIES_MAX + 1, REPLACE_LRU, 1},
	};
	struct cache *cache;

	(void)unused;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(cache_create(&cache, &bad[i]), -EINVAL);
		assert_true(strlen(failure_text()) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy_and_shape_agrees_with_the_slow_cache),
		cmocka_unit_test(what_is_taken_out_leaves_room),
		cmocka_unit_test(the_oracle_is_never_beaten),
		cmocka_unit_test(the_miss_curve_of_lru_is_the_stack_distance_histogram),
		cmocka_unit_test(shapes_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
