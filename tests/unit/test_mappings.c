// SPDX-License-Identifier: GPL-2.0
/* The table of who owns an IOVA: the very code that BPF programs run, on memory of ours. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "bpf/mappings.h"
#include "tests/unit/amount.h"

#define TICK (1ull << 26) /* of the clock in a slot's word */

static struct mapping_set *table;
static __u64 classes;

static bool enter(__u32 device, __u64 address, __u64 length, __u32 pid, __u64 now_ns)
{
	struct mapping_hold hold = {0};
	struct mapping_place place;
	bool taken = false;

	mapping_place(&place, device, address, length);
	for (int attempt = 0; attempt < 4 && !taken; attempt++)
		taken = mapping_take(&hold, &table[place.sets[attempt >> 1]], place.tag, now_ns);
	if (!taken)
		return false;
	__atomic_fetch_or(&classes, 1ull << place.size_class, __ATOMIC_RELAXED);
	*mapping_held(&hold) = (struct mapping){.address = address,
						.length = length,
						.mapped_ns = now_ns,
						.device = device,
						.pid = pid};
	mapping_settle(&hold, place.tag, MAPPING_LIVE, now_ns);
	return true;
}

static bool leave(__u32 device, __u64 address, __u64 length, __u32 pid, __u64 now_ns)
{
	struct mapping_hold hold = {0};
	struct mapping_place place;

	mapping_place(&place, device, address, length);
	for (int choice = 0; choice < 2; choice++) {
		if (!mapping_find(&hold, &table[place.sets[choice]], place.tag, device, address,
				  length, now_ns))
			continue;
		mapping_held(&hold)->unmapped_ns = now_ns;
		mapping_held(&hold)->unmapper = pid;
		mapping_settle(&hold, place.tag, MAPPING_GONE, now_ns);
		return true;
	}
	return false;
}

static bool owner_of(__u32 device, __u64 address, __u32 span, struct mapping *best)
{
	best->length = 0;
	for (__u32 step = 0; step < MAPPING_PROBES; step++) {
		struct mapping_step at;

		mapping_step(&at, address, step);
		if (classes >> at.size_class & 1)
			mapping_probe(
				&table[mapping_set_of(device, at.size_class, at.block, at.choice)],
				device, address, span, best);
	}
	return best->length;
}

static bool owner(__u32 device, __u64 address, struct mapping *best)
{
	return owner_of(device, address, 1, best);
}

static size_t live(void)
{
	size_t count = 0;

	for (size_t set = 0; set < MAPPING_SETS; set++)
		for (size_t i = 0; i < MAPPING_SLOTS; i++)
			count += MAPPING_PHASE(table[set].words[i]) == MAPPING_LIVE;
	return count;
}

static int setup(void **state)
{
	table = aligned_alloc(64, MAPPING_SETS * sizeof(*table));
	assert_non_null(table);
	memset(table, 0, MAPPING_SETS * sizeof(*table));
	classes = 0;
	return 0;
}

static int teardown(void **state)
{
	free(table);
	return 0;
}

static void classes_are_powers_of_two_that_hold_the_length(void **state)
{
	assert_int_equal(mapping_class(0), MAPPING_CLASS_MIN);
	assert_int_equal(mapping_class(1), MAPPING_CLASS_MIN);
	assert_int_equal(mapping_class(64), MAPPING_CLASS_MIN);
	assert_int_equal(mapping_class(65), 7);
	assert_int_equal(mapping_class(4096), 12);
	for (__u32 c = MAPPING_CLASS_MIN + 1; c <= MAPPING_CLASS_MAX; c++) {
		assert_int_equal(mapping_class(1ull << c), c);
		assert_int_equal(mapping_class((1ull << c) - 1), c);
		assert_int_equal(mapping_class((1ull << (c - 1)) + 1), c);
	}
	assert_int_equal(mapping_class(~0ull), MAPPING_CLASS_MAX);
}

static void an_address_anywhere_inside_finds_its_mapping(void **state)
{
	const __u64 lengths[] = {1, 60, 1500, 4096, 65536 + 1, 3ull << 20, 7ull << 30, 1ull << 46};
	struct mapping best;

	for (__u32 i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		__u64 start = 0x123456789ull * (i + 1), length = lengths[i];

		assert_true(enter(i + 1, start, length, 100 + i, 5));
		for (__u64 step = 0; step <= 64; step++) {
			__u64 inside = length < 64 ? step % length : (length - 1) / 64 * step;

			assert_true(owner(i + 1, start + inside, &best));
			assert_int_equal(best.pid, 100 + i);
		}
		assert_true(owner(i + 1, start + length - 1, &best));
		assert_false(owner(i + 1, start + length, &best));
		assert_false(owner(i + 1, start - 1, &best));
		assert_false(owner(i + 2, start, &best));
	}
}

static void a_page_finds_what_begins_anywhere_in_it(void **state)
{
	const __u64 lengths[] = {1, 64, 100, 256, 300, 1024, 2000, 4096, 5000, 1 << 20};
	struct mapping best;

	for (__u32 i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		__u64 page = (i + 1) * 0x10000000ull;

		for (__u64 offset = 0; offset < 4096; offset += 61) {
			__u32 pid = 1 + (__u32)offset;

			assert_true(enter(1, page + offset, lengths[i], pid, 5));
			assert_true(owner_of(1, page, MAPPING_PAGE, &best));
			assert_int_equal(best.pid, pid);
			assert_int_equal(owner_of(1, page + 4096, MAPPING_PAGE, &best),
					 offset + lengths[i] > 4096);
			assert_false(owner_of(1, page - 4096, MAPPING_PAGE, &best));
			assert_true(leave(1, page + offset, lengths[i], 1, offset + 6));
			classes |= 1ull << MAPPING_CLASS_MIN;
			memset(table, 0, MAPPING_SETS * sizeof(*table));
		}
	}
}

static void after_the_unmap_the_last_owner_is_still_known(void **state)
{
	struct mapping best;

	assert_true(enter(1, 0x10000, 8192, 11, 100));
	assert_true(leave(1, 0x10000, 8192, 12, 200));
	assert_false(leave(1, 0x10000, 8192, 12, 201));
	assert_true(owner(1, 0x11fff, &best));
	assert_int_equal(best.pid, 11);
	assert_int_equal(best.unmapper, 12);
	assert_int_equal(best.unmapped_ns, 200);
	/* Who maps it now goes before who had it, and a later unmap before an earlier one. */
	assert_true(enter(1, 0x11000, 4096, 21, 300));
	assert_true(owner(1, 0x11000, &best));
	assert_int_equal(best.pid, 21);
	assert_true(leave(1, 0x11000, 4096, 22, 400));
	assert_true(owner(1, 0x11000, &best));
	assert_int_equal(best.unmapper, 22);
	assert_true(owner(1, 0x10fff, &best));
	assert_int_equal(best.unmapper, 12);
}

static void one_range_mapped_several_times_needs_as_many_unmaps(void **state)
{
	struct mapping best;

	/* Without an IOMMU the address is physical, and one page is mapped for many transfers. */
	for (__u32 i = 0; i < 2 * MAPPING_SLOTS; i++)
		assert_true(enter(3, 0x7000, 512, i, i));
	assert_int_equal(live(), 2 * MAPPING_SLOTS);
	assert_false(enter(3, 0x7000, 512, 99, 99));
	for (__u32 i = 0; i < 2 * MAPPING_SLOTS; i++) {
		assert_true(owner(3, 0x7000, &best));
		assert_int_equal(best.unmapped_ns, 0);
		assert_true(leave(3, 0x7000, 512, 1, 1000 + i));
	}
	assert_int_equal(live(), 0);
	assert_false(leave(3, 0x7000, 512, 1, 2000));
}

static void the_oldest_unmapped_gives_way_first(void **state)
{
	struct mapping best;
	__u32 kept = 0;

	/* All in one block of class 30: they share its two sets. */
	for (__u32 i = 0; i < 24; i++) {
		__u64 start = (1ull << 30) + i * 4096ull;

		assert_true(enter(1, start, (1ull << 30) - 1 - i, i, (2 * i + 1) * TICK));
		assert_true(leave(1, start, (1ull << 30) - 1 - i, i, (2 * i + 2) * TICK));
	}
	for (__u32 i = 0; i < 24; i++) {
		struct mapping_place place;

		mapping_place(&place, 1, (1ull << 30) + i * 4096ull, (1ull << 30) - 1 - i);
		for (__u32 slot = 0; slot < MAPPING_SLOTS; slot++)
			kept += table[place.sets[0]].slots[slot].pid >= 16 &&
				table[place.sets[0]].slots[slot].pid == i;
	}
	assert_int_equal(kept, MAPPING_SLOTS);
	assert_true(owner(1, (1ull << 30) + 23 * 4096, &best));
	assert_int_equal(best.unmapper, 23);
}

struct range {
	__u64 address, length;
	__u32 device, pid;
	bool mapped;
};

#define RANGES 20000

/* Ranges of a device never overlap, as an IOVA allocator gives them out. */
static void make_ranges(struct range *ranges)
{
	__u64 next[8] = {0};

	for (__u32 i = 0; i < RANGES; i++) {
		__u32 device = 1 + rand() % 7, exponent = rand() % 100 < 95 ? 12 : 12 + rand() % 22;
		__u64 gap = (__u64)(rand() % 4) << 12;

		ranges[i].device = device;
		ranges[i].length = (1ull << exponent) - (__u64)rand() % (1ull << (exponent - 1));
		ranges[i].address = next[device] + gap;
		next[device] = (ranges[i].address + ranges[i].length + 4095) & ~4095ull;
		ranges[i].pid = i + 1;
	}
}

static void as_long_as_there_is_room_every_answer_is_right(void **state)
{
	struct range *ranges = calloc(RANGES, sizeof(*ranges));
	struct mapping best;
	size_t mapped = 0;
	__u64 now = TICK;

	srand(20261121);
	make_ranges(ranges);
	for (int round = 0; round < (int)amount(300000, 60000); round++, now += 1000) {
		struct range *range = &ranges[rand() % RANGES];

		if (range->mapped)
			assert_true(leave(range->device, range->address, range->length, range->pid,
					  now));
		else
			assert_true(enter(range->device, range->address, range->length, range->pid,
					  now));
		range->mapped = !range->mapped;
		mapped += range->mapped ? 1 : -1;
		range = &ranges[rand() % RANGES];
		if (!range->mapped)
			continue;
		assert_true(owner(range->device, range->address + rand() % range->length, &best));
		assert_int_equal(best.pid, range->pid);
		assert_int_equal(best.unmapped_ns, 0);
	}
	assert_int_equal(live(), mapped);
	free(ranges);
}

/* Three quarters full of pages, one in a million may find both its sets full. */
static void pages_fill_the_table_evenly(void **state)
{
	const __u32 count = MAPPING_SETS * MAPPING_SLOTS / 2;
	__u32 refused = 0;

	for (__u32 i = 0; i < count; i++)
		refused += !enter(1 + i % 5, 0xfffff000ull - (__u64)i * 4096, 4096, 1, i);
	assert_true(refused < count / 1000);
	assert_int_equal(live(), count - refused);
	for (__u32 i = 0; i < count; i++)
		refused -= !leave(1 + i % 5, 0xfffff000ull - (__u64)i * 4096, 4096, 1, i);
	assert_int_equal(refused, 0);
	assert_int_equal(live(), 0);
}

#define RACERS 4
#define RACES  100000

static void *race(void *argument)
{
	__u32 number = (__u32)(uintptr_t)argument;
	unsigned int seed = number;
	__u64 failed = 0;

	for (__u32 i = 0; i < RACES; i++) {
		/* Few blocks, so that threads meet in sets and in slots. */
		__u64 address = (__u64)(rand_r(&seed) % 4096) << 12;

		if (enter(1, address, 4096 - number, number, i) &&
		    !leave(1, address, 4096 - number, number, i))
			failed++;
	}
	return (void *)(uintptr_t)failed;
}

static void threads_lose_nothing_and_mix_nothing(void **state)
{
	pthread_t threads[RACERS];
	__u64 failed = 0;

	for (size_t i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)(i + 1)), 0);
	for (size_t i = 0; i < RACERS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		failed += (uintptr_t)result;
	}
	assert_int_equal(failed, 0);
	assert_int_equal(live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_powers_of_two_that_hold_the_length),
		cmocka_unit_test_setup_teardown(an_address_anywhere_inside_finds_its_mapping, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_page_finds_what_begins_anywhere_in_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(after_the_unmap_the_last_owner_is_still_known,
						setup, teardown),
		cmocka_unit_test_setup_teardown(one_range_mapped_several_times_needs_as_many_unmaps,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_oldest_unmapped_gives_way_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(as_long_as_there_is_room_every_answer_is_right,
						setup, teardown),
		cmocka_unit_test_setup_teardown(pages_fill_the_table_evenly, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_lose_nothing_and_mix_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
