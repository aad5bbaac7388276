// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "injectors/emu/iommu.h"
#include "lib/base/fail.h"

#define BOTH	   (IOMMU_READ | IOMMU_WRITE)
#define HUGE_IOVA  (3 * HUGE_BYTES)
#define HUGE_FRAME (1ull << 30)

static int setup(void **state)
{
	return iommu_domain_create((struct iommu_domain **)state);
}

static int teardown(void **state)
{
	iommu_domain_destroy(*state);
	return 0;
}

static void walk_tells_address_extent_and_cost(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;

	assert_int_equal(iommu_map(domain, 0x7000, 0x40000000, 3 * PAGE_BYTES, BOTH, true), 0);
	assert_int_equal(iommu_walk(domain, 0x8123, BOTH, &found), 0);
	assert_int_equal(found.physical, 0x40001123);
	assert_int_equal(found.bytes, PAGE_BYTES - 0x123);
	assert_int_equal(found.levels, 4);
	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	assert_int_equal(iommu_walk(domain, HUGE_IOVA + 0x12345, BOTH, &found), 0);
	assert_int_equal(found.physical, HUGE_FRAME + 0x12345);
	assert_int_equal(found.bytes, HUGE_BYTES - 0x12345);
	assert_int_equal(found.levels, 3);
	assert_int_equal(iommu_walk(domain, 0xa000, 0, &found), -ENOENT);
	assert_int_equal(iommu_walk(domain, 1ull << 48, 0, &found), -ENOENT);
	assert_int_equal(iommu_walk(domain, 0x6fff, 0, &found), -ENOENT);
}

static void permissions_are_checked(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;

	assert_int_equal(iommu_map(domain, 0, 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_int_equal(iommu_walk(domain, 0, IOMMU_READ, &found), 0);
	assert_int_equal(iommu_walk(domain, 0, IOMMU_WRITE, &found), -EACCES);
	assert_int_equal(found.permissions, IOMMU_READ);
	assert_int_equal(iommu_map(domain, 0, 0, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_walk(domain, 0, IOMMU_WRITE, &found), 0);
}

static void huge_entries_only_where_aligned(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;

	/* 1 page, 2 MiB, 1 page: the middle is huge. */
	assert_int_equal(iommu_map(domain, HUGE_IOVA - PAGE_BYTES, HUGE_FRAME - PAGE_BYTES,
				   HUGE_BYTES + 2 * PAGE_BYTES, BOTH, true),
			 0);
	iommu_walk(domain, HUGE_IOVA - 1, 0, &found);
	assert_int_equal(found.levels, 4);
	iommu_walk(domain, HUGE_IOVA, 0, &found);
	assert_int_equal(found.levels, 3);
	iommu_walk(domain, HUGE_IOVA + HUGE_BYTES, 0, &found);
	assert_int_equal(found.levels, 4);
	/* A frame that is not aligned cannot be huge. */
	assert_int_equal(iommu_map(domain, 0, PAGE_BYTES, HUGE_BYTES, BOTH, true), 0);
	iommu_walk(domain, 0, 0, &found);
	assert_int_equal(found.levels, 4);
}

static void unmapping_a_part_splits_a_huge_entry(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;
	__u64 hole = HUGE_IOVA + 11 * PAGE_BYTES;

	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	assert_int_equal(iommu_unmap(domain, hole, 2 * PAGE_BYTES), 2 * PAGE_BYTES);
	for (int i = 0; i < 512; i++) {
		__u64 iova = HUGE_IOVA + i * PAGE_BYTES;
		int error = iommu_walk(domain, iova, BOTH, &found);

		assert_int_equal(error, i == 11 || i == 12 ? -ENOENT : 0);
		if (!error)
			assert_int_equal(found.physical, HUGE_FRAME + i * PAGE_BYTES);
	}
	/* Again: what is gone is not counted twice. */
	assert_int_equal(iommu_unmap(domain, 0, 1ull << 30), HUGE_BYTES - 2 * PAGE_BYTES);
	assert_int_equal(iommu_unmap(domain, 0, 1ull << 30), 0);
}

static void withdrawn_pages_are_granted_to_nobody(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;
	__u64 page = HUGE_IOVA + PAGE_BYTES;

	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	iommu_withdraw(domain, page, PAGE_BYTES);
	assert_int_equal(iommu_walk(domain, page, BOTH, &found), -ESTALE);
	assert_int_equal(found.physical, HUGE_FRAME + PAGE_BYTES);
	assert_int_equal(found.permissions, BOTH);
	assert_int_equal(iommu_walk(domain, page + PAGE_BYTES, BOTH, &found), 0);
	assert_int_equal(iommu_unmap(domain, page, PAGE_BYTES), PAGE_BYTES);
	assert_int_equal(iommu_walk(domain, page, BOTH, &found), -ESTALE);
	assert_int_equal(found.permissions, 0);
	assert_int_equal(iommu_map(domain, page, 0x5000, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_walk(domain, page, BOTH, &found), 0);
	/* To withdraw what was never mapped leaves no trace. */
	iommu_withdraw(domain, 0, PAGE_BYTES);
	assert_int_equal(iommu_walk(domain, 0, BOTH, &found), -ENOENT);
}

static void a_withdrawn_huge_page_stays_withdrawn_in_pieces(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;

	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	iommu_withdraw(domain, HUGE_IOVA, HUGE_BYTES);
	assert_int_equal(iommu_unmap(domain, HUGE_IOVA, HUGE_BYTES), HUGE_BYTES);
	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_walk(domain, HUGE_IOVA, BOTH, &found), 0);
	assert_int_equal(iommu_walk(domain, HUGE_IOVA + PAGE_BYTES, BOTH, &found), -ESTALE);
}

static void wrong_ranges_are_refused(void **state)
{
	const struct {
		__u64 iova, physical, length, permissions;
	} wrong[] = {
		{1, 0, PAGE_BYTES, BOTH},
		{0, 1, PAGE_BYTES, BOTH},
		{0, 0, 0, BOTH},
		{0, 0, PAGE_BYTES + 1, BOTH},
		{0, 0, PAGE_BYTES, 0},
		{0, 0, PAGE_BYTES, 4},
		{1ull << 48, 0, PAGE_BYTES, BOTH},
		{0, 1ull << 52, PAGE_BYTES, BOTH},
		{PAGE_BYTES, 0, 1ull << 48, BOTH},
	};
	struct iommu_domain *domain = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(iommu_map(domain, wrong[i].iova, wrong[i].physical,
					   wrong[i].length, wrong[i].permissions, false),
				 -EINVAL);
		assert_non_null(strstr(failure_text(), "accepted:"));
	}
	assert_int_equal(iommu_unmap(domain, 1, PAGE_BYTES), 0);
}

struct walker {
	struct iommu_domain *domain;
	atomic_bool stop;
	__u64 wrong;
};

static void *walk_all_the_time(void *argument)
{
	struct walker *walker = argument;
	struct iommu_translation found;

	while (!atomic_load_explicit(&walker->stop, memory_order_relaxed)) {
		for (__u64 offset = 0; offset < HUGE_BYTES; offset += 7 * PAGE_BYTES) {
			int error = iommu_walk(walker->domain, HUGE_IOVA + offset, BOTH, &found);

			walker->wrong += !error && found.physical != HUGE_FRAME + offset;
			/* Page 0 is never unmapped: a split must not make it vanish. */
			walker->wrong += error && !offset;
		}
	}
	return NULL;
}

static void walks_beside_updates_see_old_or_new(void **state)
{
	struct walker walker = {.domain = *state};
	pthread_t thread;

	assert_int_equal(iommu_map(walker.domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true),
			 0);
	assert_int_equal(pthread_create(&thread, NULL, walk_all_the_time, &walker), 0);
	for (int i = 0; i < 2003; i++) {
		__u64 offset = (1 + i % 510) * PAGE_BYTES;

		assert_int_equal(iommu_unmap(walker.domain, HUGE_IOVA + offset, 2 * PAGE_BYTES),
				 2 * PAGE_BYTES);
		assert_int_equal(
			iommu_map(walker.domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	}
	walker.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(walker.wrong, 0);
}

static unsigned int taken(struct iommu_domain *domain, __u64 iova, __u32 pages, bool *used)
{
	unsigned int count = 0;

	memset(used, 0, pages * sizeof(*used));
	iommu_take_accessed(domain, iova, pages, used);
	for (__u32 i = 0; i < pages; i++)
		count += used[i];
	return count;
}

static void only_uses_set_accessed_bits(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;
	bool used[1024];

	assert_int_equal(iommu_map(domain, 0x7000, 0x40000000, 3 * PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_walk(domain, 0x8123, BOTH, &found), 0);
	assert_int_equal(taken(domain, 0, 16, used), 0);
	iommu_use(domain, 0x8123, &found);
	assert_int_equal(found.physical, 0x40001123);
	assert_int_equal(found.permissions, BOTH);
	/* What is mapped to nothing has none. */
	iommu_use(domain, 0xa000, &found);
	iommu_use(domain, 1ull << 48, &found);
	assert_int_equal(found.permissions, 0);
	/* It changes nothing about what is granted. */
	assert_int_equal(iommu_walk(domain, 0x8123, BOTH, &found), 0);
	assert_int_equal(taken(domain, 0x9000, 3, used), 0);
	assert_int_equal(taken(domain, 0, 16, used), 1);
	assert_true(used[8]);
	assert_int_equal(taken(domain, 0, 16, used), 0);
	/* A bit that is set already at another page's entry stays with that. */
	iommu_use(domain, 0x8000, &found);
	iommu_use(domain, 0x8fff, &found);
	iommu_use(domain, 0x7000, &found);
	assert_int_equal(taken(domain, 0x8000, 1, used), 1);
	assert_int_equal(taken(domain, 0x7000, 3, used), 1);
	/* Nor does it outlast the mapping, or hide that it is being taken back. */
	iommu_use(domain, 0x8000, &found);
	iommu_withdraw(domain, 0x8000, PAGE_BYTES);
	assert_int_equal(iommu_walk(domain, 0x8000, 0, &found), -ESTALE);
	assert_int_equal(iommu_unmap(domain, 0x8000, PAGE_BYTES), PAGE_BYTES);
	assert_int_equal(iommu_walk(domain, 0x8000, 0, &found), -ESTALE);
	assert_int_equal(taken(domain, 0, 16, used), 0);
}

static void a_huge_entry_has_one_accessed_bit(void **state)
{
	struct iommu_domain *domain = *state;
	struct iommu_translation found;
	bool used[1024];

	assert_int_equal(iommu_map(domain, HUGE_IOVA, HUGE_FRAME, HUGE_BYTES, BOTH, true), 0);
	iommu_use(domain, HUGE_IOVA + 5 * PAGE_BYTES, &found);
	assert_int_equal(found.physical, HUGE_FRAME + 5 * PAGE_BYTES);
	assert_int_equal(taken(domain, HUGE_IOVA - 256 * PAGE_BYTES, 1024, used), 512);
	assert_true(!used[255] && used[256] && used[767] && !used[768]);
	/* Split, each part has what the whole had. */
	iommu_use(domain, HUGE_IOVA, &found);
	assert_int_equal(iommu_unmap(domain, HUGE_IOVA + PAGE_BYTES, PAGE_BYTES), PAGE_BYTES);
	assert_int_equal(taken(domain, HUGE_IOVA, 512, used), 511);
	assert_false(used[1]);
	iommu_use(domain, HUGE_IOVA + 7 * PAGE_BYTES, &found);
	assert_int_equal(taken(domain, HUGE_IOVA, 512, used), 1);
}

#define WITH_DOMAIN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DOMAIN(walk_tells_address_extent_and_cost),
		WITH_DOMAIN(permissions_are_checked),
		WITH_DOMAIN(huge_entries_only_where_aligned),
		WITH_DOMAIN(unmapping_a_part_splits_a_huge_entry),
		WITH_DOMAIN(withdrawn_pages_are_granted_to_nobody),
		WITH_DOMAIN(a_withdrawn_huge_page_stays_withdrawn_in_pieces),
		WITH_DOMAIN(wrong_ranges_are_refused),
		WITH_DOMAIN(walks_beside_updates_see_old_or_new),
		WITH_DOMAIN(only_uses_set_accessed_bits),
		WITH_DOMAIN(a_huge_entry_has_one_accessed_bit),
	};

	return cmocka_run_group_tests_name("iommu", tests, NULL, NULL);
}
