// SPDX-License-Identifier: GPL-2.0
/* Items of a store against a plain model: what is there, what it holds, and which one makes way. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/kvstore/kv_items.h"
#include "lib/base/random.h"

enum { ITEMS = 97, KEYS = 211, ITEM_BYTES = 512, STEPS = 200003 };

/* When each key was used last, 0: it is not there; and its value. */
static __u64 used[KEYS], value[KEYS];
static struct kv_items *items;
static unsigned char *memory;

static __u32 model_count(void)
{
	__u32 count = 0;

	for (int k = 0; k < KEYS; k++)
		count += used[k] != 0;
	return count;
}

static int model_oldest(void)
{
	int oldest = -1;

	for (int k = 0; k < KEYS; k++)
		if (used[k] && (oldest < 0 || used[k] < used[oldest]))
			oldest = k;
	return oldest;
}

static int setup(void **state)
{
	memory = malloc(ITEMS * ITEM_BYTES);
	return !memory || kv_items_create(&items, memory, ITEMS, ITEM_BYTES);
}

static int teardown(void **state)
{
	kv_items_destroy(items);
	free(memory);
	return 0;
}

static void the_least_recently_used_makes_way(void **state)
{
	struct random random = {17};
	__u64 replaced = 0;

	for (__u64 step = 1; step <= STEPS; step++) {
		int key = (int)((random_next(&random) >> 32) % KEYS);
		struct kv_item *item;
		char name[64];
		size_t length = (size_t)snprintf(name, sizeof(name), "key %d of a model", key);

		if (random_next(&random) >> 63) {
			item = kv_items_find(items, name, length);
			assert_int_equal(item != NULL, used[key] != 0);
			if (item)
				assert_memory_equal(item->value, &value[key], sizeof(value[key]));
			used[key] = item ? step : 0;
			continue;
		}
		if (!used[key] && model_count() == ITEMS) {
			used[model_oldest()] = 0;
			replaced++;
		}
		item = kv_items_take(items, name, length);
		assert_true((unsigned char *)item >= memory &&
			    (unsigned char *)item < memory + ITEMS * ITEM_BYTES);
		assert_int_equal(item->key_bytes, length);
		assert_memory_equal(item->key, name, length);
		value[key] = random_next(&random);
		memcpy(item->value, &value[key], sizeof(value[key]));
		used[key] = step;
	}
	assert_int_equal(kv_items_replaced(items), replaced);
	assert_true(replaced > STEPS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_least_recently_used_makes_way, setup, teardown),
	};

	return cmocka_run_group_tests_name("kv_items", tests, NULL, NULL);
}
