// SPDX-License-Identifier: GPL-2.0
/* The guest's allocator, the pin-down cache, and what each memory mode costs its author. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

#include "bpf/page.h"
#include "injectors/emu/device_driver.h"
#include "injectors/emu/ranks/ranks_memory.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "lib/base/random.h"
#include "tests/unit/rig/verbs_loop.h"

#define START 0x40000ull
#define PAGES 257

static void pages_are_nobody_elses(void **state)
{
	struct random random = {7};
	__u64 address[64] = {0}, bytes[64] = {0};
	static __u8 owner[PAGES];
	struct guest_heap *heap;

	assert_int_equal(guest_heap_create(&heap, START, PAGES * PAGE_BYTES + 77), 0);
	for (int i = 0; i < 20011; i++) {
		__u32 at = (__u32)random_below(&random, 64);
		__u64 page = address[at] ? (address[at] - START) / PAGE_BYTES : 0;

		if (address[at]) {
			for (__u64 n = 0; n * PAGE_BYTES < bytes[at]; n++) {
				assert_int_equal(owner[page + n], at + 1);
				owner[page + n] = 0;
			}
			assert_int_equal(guest_heap_give(heap, address[at]), 0);
			address[at] = 0;
			continue;
		}
		bytes[at] = 1 + random_below(&random, 9 * PAGE_BYTES);
		if (guest_heap_take(heap, bytes[at], &address[at])) {
			assert_true(guest_heap_largest(heap) < bytes[at]);
			address[at] = 0;
			continue;
		}
		assert_int_equal(address[at] % PAGE_BYTES, 0);
		page = (address[at] - START) / PAGE_BYTES;
		for (__u64 n = 0; n * PAGE_BYTES < bytes[at]; n++) {
			assert_true(page + n < PAGES);
			assert_int_equal(owner[page + n], 0);
			owner[page + n] = (__u8)(at + 1);
		}
	}
	for (int at = 0; at < 64; at++)
		if (address[at])
			assert_int_equal(guest_heap_give(heap, address[at]), 0);
	assert_int_equal(guest_heap_free(heap), PAGES * PAGE_BYTES);
	assert_int_equal(guest_heap_largest(heap), PAGES * PAGE_BYTES);
	guest_heap_destroy(heap);
}

static void what_an_allocator_refuses(void **state)
{
	struct guest_heap *heap;
	__u64 address;

	assert_int_equal(guest_heap_create(&heap, START, 2 * PAGE_BYTES), 0);
	assert_int_equal(guest_heap_take(heap, 0, &address), -EINVAL);
	assert_int_equal(guest_heap_take(heap, ~0ull, &address), -EINVAL);
	assert_int_equal(guest_heap_take(heap, 2 * PAGE_BYTES + 1, &address), -ENOMEM);
	assert_int_equal(guest_heap_take(heap, PAGE_BYTES, &address), 0);
	assert_int_equal(guest_heap_give(heap, address + PAGE_BYTES), -EINVAL);
	assert_int_equal(guest_heap_give(heap, address), 0);
	assert_int_equal(guest_heap_give(heap, address), -EINVAL);
	guest_heap_destroy(heap);
}

/* A pin-down cache of four pages. */
static struct rank_memory memory;

static void open_cache(void)
{
	struct channel_config config = {.queues = 1,
					.queue_depth = 2,
					.depth_max = 2,
					.pasid = PASID_NONE,
					.bytes = 1 << 20};
	static struct channel *channel;
	struct driver_setup setup = {0};

	if (!channel)
		assert_int_equal(channel_create(&channel, &config), 0);
	setup.channel = channel;
	verbs_loop_reset();
	memory = (struct rank_memory){.mode = &cache_memory, .cache_bytes = 4 * PAGE_BYTES};
	pthread_mutex_init(&memory.lock, NULL);
	assert_int_equal(verbs_open(&memory.device, &setup), 0);
	assert_int_equal(cache_memory.open(&memory), 0);
}

static void close_cache(void)
{
	struct verbs_loop_counts counts;

	cache_memory.close(&memory);
	verbs_loop_counts(&counts);
	assert_int_equal(counts.regions, 0);
	verbs_close(memory.device);
}

static int use(struct memory_lease *lease, __u64 page, __u64 bytes)
{
	*lease = (struct memory_lease){
		.address = START + page * PAGE_BYTES, .bytes = bytes, .write = true};
	return cache_memory.get(&memory, lease);
}

static void use_once(__u64 page, __u64 bytes)
{
	struct memory_lease lease;

	assert_int_equal(use(&lease, page, bytes), 0);
	assert_int_equal(cache_memory.put(&memory, &lease, bytes), 0);
}

static void expect_cache(__u64 hits, __u64 misses, __u64 overflows)
{
	assert_int_equal(memory.hits, hits);
	assert_int_equal(memory.misses, misses);
	assert_int_equal(memory.overflows, overflows);
}

static void the_least_recently_used_goes(void **state)
{
	struct verbs_loop_counts counts;

	open_cache();
	for (__u64 page = 0; page < 4; page++)
		use_once(page, PAGE_BYTES);
	use_once(0, PAGE_BYTES); /* now 1 is the oldest */
	expect_cache(1, 4, 0);
	use_once(4, PAGE_BYTES);
	expect_cache(1, 5, 1);
	use_once(0, PAGE_BYTES);
	use_once(2, PAGE_BYTES);
	expect_cache(3, 5, 1);
	use_once(1, PAGE_BYTES); /* instead of 3 */
	expect_cache(3, 6, 2);
	use_once(3, PAGE_BYTES);
	expect_cache(3, 7, 3);
	verbs_loop_counts(&counts);
	assert_int_equal(counts.registered, 7);
	assert_int_equal(counts.deregistered, 3);
	assert_int_equal(counts.pinned_most, 4 * PAGE_BYTES);
	close_cache();
}

static void what_a_message_uses_stays(void **state)
{
	struct memory_lease held[4], other;

	open_cache();
	for (__u64 page = 0; page < 4; page++)
		assert_int_equal(use(&held[page], page, PAGE_BYTES), 0);
	assert_int_equal(use(&other, 9, PAGE_BYTES), -ENOBUFS);
	assert_int_equal(cache_memory.put(&memory, &held[2], 0), 0);
	assert_int_equal(use(&other, 9, PAGE_BYTES), 0);
	assert_int_equal(other.sge.key == held[0].sge.key, false);
	for (__u64 page = 0; page < 4; page++)
		if (page != 2)
			assert_int_equal(cache_memory.put(&memory, &held[page], 0), 0);
	assert_int_equal(cache_memory.put(&memory, &other, 0), 0);
	use_once(2, PAGE_BYTES);
	expect_cache(0, 7, 2);
	close_cache();
}

/* One that is long enough serves a shorter message; of a longer one the region is another. */
static void a_region_serves_what_fits(void **state)
{
	struct memory_lease lease;

	open_cache();
	use_once(0, 2 * PAGE_BYTES);
	use_once(0, 1);
	expect_cache(1, 1, 0);
	lease = (struct memory_lease){.address = START + 100, .bytes = PAGE_BYTES};
	assert_int_equal(cache_memory.get(&memory, &lease), 0);
	assert_int_equal(lease.sge.length, PAGE_BYTES);
	expect_cache(2, 1, 0);
	cache_memory.put(&memory, &lease, 0);
	use_once(0, 3 * PAGE_BYTES);
	expect_cache(2, 2, 1);
	use_once(1, PAGE_BYTES);
	expect_cache(2, 3, 1);
	close_cache();
}

static void a_refused_pin_makes_the_cache_smaller(void **state)
{
	struct memory_lease held, other;
	struct verbs_loop_counts counts;

	open_cache();
	use_once(0, PAGE_BYTES);
	use_once(1, PAGE_BYTES);
	assert_int_equal(use(&held, 2, PAGE_BYTES), 0);
	verbs_loop_limit(2 * PAGE_BYTES);
	use_once(3, PAGE_BYTES); /* instead of 0 and 1 */
	expect_cache(0, 4, 2);
	verbs_loop_counts(&counts);
	assert_int_equal(counts.pinned, 2 * PAGE_BYTES);
	/* What a message uses stays, and is all that there is room for. */
	verbs_loop_limit(PAGE_BYTES);
	assert_int_equal(use(&other, 4, PAGE_BYTES), -ENOMEM);
	expect_cache(0, 5, 3);
	assert_int_equal(cache_memory.put(&memory, &held, PAGE_BYTES), 0);
	use_once(2, PAGE_BYTES);
	expect_cache(1, 5, 3);
	close_cache();
}

/* Lines that are neither empty nor comments. */
static unsigned int code_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	bool comment = false;
	unsigned int lines = 0;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = line + strspn(line, " \t\n");

		if (!comment && *at && strncmp(at, "//", 2) && strncmp(at, "/*", 2))
			lines++;
		if (!strncmp(at, "/*", 2))
			comment = true;
		if (comment && strstr(at, "*/"))
			comment = false;
	}
	fclose(file);
	return lines;
}

static void lines_of_code_are_those_of_the_documentation(void **state)
{
	char path[128], row[64], text[32768];
	FILE *file = fopen("docs/rdma-device.md", "r");
	unsigned int lines[RANKS_MEMORIES];
	size_t read;

	assert_non_null(file);
	read = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[read] = '\0';
	for (int mode = 0; mode < RANKS_MEMORIES; mode++) {
		snprintf(path, sizeof(path), "injectors/emu/ranks/memory_%s.c",
			 memory_modes[mode]->name);
		lines[mode] = code_lines(path);
		snprintf(row, sizeof(row), "| `%s` | %u |", memory_modes[mode]->name, lines[mode]);
		if (!strstr(text, row))
			fail_msg("docs/rdma-device.md has no row that begins with %s", row);
	}
	/* The paper's point: a cache is a program of its own, on demand there is next to none. */
	assert_true(lines[RANKS_MEMORY_cache] > 3 * lines[RANKS_MEMORY_demand]);
	assert_true(lines[RANKS_MEMORY_copy] > lines[RANKS_MEMORY_demand]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_nobody_elses),
		cmocka_unit_test(what_an_allocator_refuses),
		cmocka_unit_test(the_least_recently_used_goes),
		cmocka_unit_test(what_a_message_uses_stays),
		cmocka_unit_test(a_region_serves_what_fits),
		cmocka_unit_test(a_refused_pin_makes_the_cache_smaller),
		cmocka_unit_test(lines_of_code_are_those_of_the_documentation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
