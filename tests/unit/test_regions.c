// SPDX-License-Identifier: GPL-2.0
/* Keys of memory regions: what they open, and that they never open anything again. */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "injectors/emu/rdma/regions.h"

#define ALL (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

static struct region_table *table;

static int build(void **state)
{
	return region_table_create(&table, 7);
}

static int destroy(void **state)
{
	region_table_destroy(table);
	return 0;
}

static __u32 add(__u64 address, __u64 bytes, unsigned int rights)
{
	const struct region region = {
		.address = address, .bytes = bytes, .kind = VERBS_DEMAND, .rights = rights};
	__u32 key;

	assert_int_equal(region_register(table, &region, &key), 0);
	assert_int_not_equal(key & 0xff, 0);
	return key;
}

static int check(__u32 key, __u64 address, __u64 bytes, unsigned int rights)
{
	const struct region_range range = {address, bytes, key, 0, rights};

	return region_check(table, &range, NULL);
}

static void drop(__u32 key)
{
	assert_int_equal(region_retire(table, key), 0);
	region_free(table, key);
}

static void bounds_and_rights_are_checked(void **state)
{
	__u32 key = add(1000, 5000, VERBS_REMOTE_READ);

	assert_int_equal(check(key, 1000, 5000, VERBS_REMOTE_READ), 0);
	assert_int_equal(check(key, 5999, 1, 0), 0);
	assert_int_equal(check(key, 6000, 1, 0), -EINVAL);
	assert_int_equal(check(key, 999, 1, 0), -EINVAL);
	assert_int_equal(check(key, 1001, 5000, 0), -EINVAL);
	assert_int_equal(check(key, 1000, ~0ull, 0), -EINVAL);
	assert_int_equal(check(key, ~0ull, 2000, 0), -EINVAL);
	assert_int_equal(check(key, 1000, 1, VERBS_REMOTE_WRITE), -EACCES);
	assert_int_equal(check(key, 1000, 1, VERBS_REMOTE_READ | VERBS_LOCAL_WRITE), -EACCES);
	assert_int_equal(check(key + 1, 1000, 1, 0), -EACCES);
	assert_int_equal(check(key ^ 0xff00, 1000, 1, 0), -EACCES);
	assert_int_equal(check(~0u, 1000, 1, 0), -EACCES);
	assert_int_equal(check(0, 1000, 1, 0), -EACCES);
	/* Nothing is moved: the key counts all the same, the address does not. */
	assert_int_equal(check(key, 0, 0, VERBS_REMOTE_READ), 0);
	assert_int_equal(check(key + 1, 1000, 0, 0), -EACCES);
}

static void what_is_no_region_is_refused(void **state)
{
	const struct region bad[] = {
		{.address = 0, .bytes = 0},
		{.address = ~0ull, .bytes = 2},
		{.address = 4096, .bytes = 4096, .kind = VERBS_REGIONS},
		{.address = 4096, .bytes = 4096, .rights = 8},
	};
	__u32 key;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(region_register(table, &bad[i], &key), -EINVAL);
	for (int i = 0; i < 7; i++)
		(void)add(4096, 1, 0);
	assert_int_equal(region_register(table, &(struct region){.address = 1, .bytes = 1}, &key),
			 -ENOSPC);
	assert_int_equal(region_table_create(&table, 0), -EINVAL);
	assert_int_equal(region_table_create(&table, VERBS_REGIONS_MAX + 1), -EINVAL);
}

/* The lock-free window: a retired key's index is no one's until it is freed. */
static void no_former_key_opens_anything(void **state)
{
	static __u32 former[7 * 255];
	struct region found;

	for (int i = 0; i < 7 * 255; i++) {
		__u32 key = add(4096 * (__u64)(i + 1), 4096, ALL);

		for (int k = 0; k < i; k++) {
			assert_int_not_equal(former[k], key);
			assert_int_equal(check(former[k], 0, 0, 0), -EACCES);
		}
		assert_int_equal(region_query(table, key, &found), 0);
		assert_int_equal(found.address, 4096 * (__u64)(i + 1));
		former[i] = key;
		drop(key);
		assert_int_equal(region_query(table, key, &found), -ENOENT);
		assert_int_equal(region_retire(table, key), -ENOENT);
		region_free(table, key);
	}
	/* Each index has had all of its generations, and none more than another. */
	assert_int_equal(add(1, 1, 0), former[0]);
}

static void retired_is_gone_before_it_is_free(void **state)
{
	struct region_counters counters;
	__u32 keys[7], key;

	for (int i = 0; i < 7; i++)
		keys[i] = add(4096, 100 + (__u64)i, ALL);
	assert_int_equal(region_retire(table, keys[3]), 0);
	assert_int_equal(check(keys[3], 4096, 1, 0), -EACCES);
	assert_int_equal(region_register(table, &(struct region){.address = 1, .bytes = 1}, &key),
			 -ENOSPC);
	region_counters(table, &counters);
	assert_int_equal(counters.regions, 7);
	assert_int_equal(counters.registered, 7 * 100 + 21);
	/* One that is not retired stays. */
	region_free(table, keys[4]);
	assert_int_equal(check(keys[4], 4096, 104, ALL), 0);
	region_free(table, keys[3]);
	region_counters(table, &counters);
	assert_int_equal(counters.regions, 6);
	assert_int_equal(counters.registered, 6 * 100 + 18);
	assert_int_equal(counters.registered_most, 7 * 100 + 21);
	assert_int_equal(add(1, 1, 0) >> 8, keys[3] >> 8);
}

/* A look-up finds its region or none, as long as an index is freed behind a quiet point: as rdma_quiesce() does it. */
static _Atomic __u32 shown;
static atomic_ullong epoch;
static atomic_bool over;

static void *look(void *wrong)
{
	while (!atomic_load(&over)) {
		__u32 key = atomic_load(&shown);
		__u64 address = (__u64)(key >> 8) << 20;

		atomic_fetch_add(&epoch, 1);
		if (check(key, address + 4096, 4096, 0) == -EINVAL)
			atomic_fetch_add((atomic_int *)wrong, 1);
		atomic_fetch_add(&epoch, 1);
	}
	return NULL;
}

static void wait_quiet(void)
{
	unsigned long long seen;

	atomic_thread_fence(memory_order_seq_cst);
	seen = atomic_load(&epoch);
	while (seen % 2 && atomic_load(&epoch) == seen)
		sched_yield();
}

static void lookups_run_beside_changes(void **state)
{
	atomic_int wrong = 0;
	pthread_t thread;

	atomic_store(&over, false);
	assert_int_equal(pthread_create(&thread, NULL, look, &wrong), 0);
	for (int i = 0; i < 100003; i++) {
		/* The index that comes next is known: they take turns. */
		__u32 key = add((__u64)(i % 7) << 20, 1 << 20, 0);

		assert_int_equal(key >> 8, i % 7);
		atomic_store(&shown, key);
		assert_int_equal(region_retire(table, key), 0);
		wait_quiet();
		region_free(table, key);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	assert_int_equal(wrong, 0);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, build, destroy)

static void pages_are_checked_and_joined(void **state)
{
	const __u64 pages[] = {0x10000, 0x11000, 0x12000, 0x5000, 0x6000, 0x6000, 0x1000};
	const struct region good = {.address = 0x7ff123456789,
				    .bytes = 6 * PAGE_BYTES,
				    .kind = VERBS_DEMAND,
				    .pages = pages,
				    .page_count = 7};
	static const struct {
		__u64 offset, bytes, run, iova;
	} runs[] = {
		{0, 1, 1, 0x10789},
		{0, 6 * PAGE_BYTES, 3 * PAGE_BYTES - 0x789, 0x10789},
		{PAGE_BYTES - 0x789, 4096, 4096, 0x11000},
		{3 * PAGE_BYTES - 0x78a, 2, 1, 0x12fff},
		{3 * PAGE_BYTES - 0x789, 9000, 8192, 0x5000},
		{5 * PAGE_BYTES - 0x789, 9, 9, 0x6000},
		{6 * PAGE_BYTES - 1, 1, 1, 0x1788},
	};
	struct region bad[4] = {good, good, good, good};
	const __u64 odd[] = {0x10000, 0x11000, 0x12001, 0x5000, 0x6000, 0x6000, 0x1000};
	struct region_range range = {good.address, good.bytes, 0, 0, 0};
	const struct region *region;
	__u64 iova;

	bad[0].page_count = 6;
	bad[1].bytes += PAGE_BYTES;
	bad[2].pages = odd;
	bad[3].pages = NULL;
	for (int i = 0; i < 4; i++)
		assert_int_equal(region_register(table, &bad[i], &range.key), -EINVAL);
	assert_int_equal(region_register(table, &good, &range.key), 0);
	assert_int_equal(region_check(table, &range, &region), 0);
	assert_ptr_not_equal(region->pages, pages);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		assert_int_equal(
			region_run(region, good.address + runs[i].offset, runs[i].bytes, &iova),
			runs[i].run);
		assert_int_equal(iova, runs[i].iova);
	}
	drop(range.key);
}

static void domains_are_told_apart(void **state)
{
	struct region region = {.address = 4096, .bytes = 10, .kind = VERBS_DEMAND, .domain = 5};
	struct region_range range = {4096, 10, 0, 5, 0};

	assert_int_equal(region_register(table, &region, &range.key), 0);
	assert_int_equal(region_check(table, &range, NULL), 0);
	for (range.domain = 0; range.domain < 5; range.domain++)
		assert_int_equal(region_check(table, &range, NULL), -EACCES);
	/* Also of nothing at all, and before its bounds are. */
	range.bytes = 0;
	assert_int_equal(region_check(table, &range, NULL), 0);
	range.domain = 4;
	assert_int_equal(region_check(table, &range, NULL), -EACCES);
	drop(range.key);
	region.domain = 0;
	assert_int_equal(region_register(table, &region, &range.key), 0);
	for (range.domain = 0; range.domain < 5; range.domain++)
		assert_int_equal(region_check(table, &range, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TABLE_TEST(bounds_and_rights_are_checked),
		TABLE_TEST(pages_are_checked_and_joined),
		TABLE_TEST(domains_are_told_apart),
		TABLE_TEST(what_is_no_region_is_refused),
		TABLE_TEST(no_former_key_opens_anything),
		TABLE_TEST(retired_is_gone_before_it_is_free),
		TABLE_TEST(lookups_run_beside_changes),
	};

	return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
