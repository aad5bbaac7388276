// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "injectors/emu/memory.h"

#define BYTES (4 * HUGE_BYTES)
#define PAGE(number) ((__u64)(number) * PAGE_BYTES)

static int setup(void **state)
{
	struct guest_memory_config config = {.bytes = BYTES, .physical = 1ull << 30};

	return guest_memory_create((struct guest_memory **)state, &config);
}

static int teardown(void **state)
{
	guest_memory_destroy(*state);
	return 0;
}

static __u64 first_word(struct guest_memory *memory, __u64 address)
{
	return *(volatile __u64 *)guest_memory_cpu(memory, address);
}

static void content_survives_both_evictions(void **state)
{
	struct guest_memory *memory = *state;
	struct guest_memory_stats stats;
	bool major;

	assert_int_equal(guest_memory_populate(memory, 0, BYTES), 0);
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		for (int i = 0; i < 101; i++) {
			__u64 before = first_word(memory, PAGE(i * 7));

			assert_true(guest_memory_present(memory, PAGE(i * 7)));
			assert_int_equal(guest_memory_evict(memory, PAGE(i * 7), kind), 0);
			assert_false(guest_memory_present(memory, PAGE(i * 7)));
			assert_int_equal(
				guest_memory_resolve(memory, PAGE(i * 7), 3, i & 1, &major), 0);
			assert_int_equal(major, kind == EVICT_MAJOR);
			assert_true(first_word(memory, PAGE(i * 7)) == before);
		}
	}
	guest_memory_stats(memory, &stats);
	assert_int_equal(stats.evicted_minor, 101);
	assert_int_equal(stats.evicted_major, 101);
	assert_int_equal(stats.minor, 101);
	assert_int_equal(stats.page_in_file, 101);
	assert_int_equal(stats.evict_failed + stats.dma_violations, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(content_survives_both_evictions, setup, teardown),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
