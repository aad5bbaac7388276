// SPDX-License-Identifier: GPL-2.0
/* The IOTLB that devices share: whose entries serve whom, and what an invalidation leaves of them. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "tests/unit/iotlb_devices.h"

static const __u32 none = 0, large = 64;

/* One DMA; true if it may be. */
static bool dma(unsigned int device, __u64 iova, bool write)
{
	__u64 absent[1];

	if (lookup_begin(lookups[device], iova, 1, write, absent, 1))
		return false;
	lookup_end(lookups[device], iova, 1);
	return true;
}

#define COUNTED(device, devtlb_hit, devtlb_miss, iotlb_hit, iotlb_miss) \
	do {                                                            \
		struct lookup_stats counted;                            \
		lookup_stats(lookups[device], &counted);                \
		assert_int_equal(counted.devtlb_hits, devtlb_hit);      \
		assert_int_equal(counted.devtlb_misses, devtlb_miss);   \
		assert_int_equal(counted.iotlb_hits, iotlb_hit);        \
		assert_int_equal(counted.iotlb_misses, iotlb_miss);     \
	} while (0)

static void devices_of_a_domain_share_what_one_learnt(void **state)
{
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(
		iommu_map(domains[0], BASE + HUGE_BYTES, HUGE_BYTES, HUGE_BYTES, BOTH, true), 0);
	assert_true(dma(0, PAGE(0), true) && dma(0, BASE + HUGE_BYTES, false));
	COUNTED(0, 0, 2, 0, 2);
	assert_true(dma(1, PAGE(0), true) && dma(1, BASE + 2 * HUGE_BYTES - 1, true));
	COUNTED(1, 0, 2, 2, 0);
	/* From its DevTLB the IOMMU is not asked. */
	assert_true(dma(1, PAGE(0), false) && dma(1, BASE + HUGE_BYTES + 5, false));
	COUNTED(1, 2, 2, 2, 0);
	/* Another domain has this page elsewhere, and that one not at all. */
	assert_int_equal(iommu_map(domains[1], PAGE(0), 1ull << 40, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(2, PAGE(0), true));
	assert_false(dma(2, BASE + HUGE_BYTES, true));
	COUNTED(2, 0, 2, 0, 2);
}

static void translations_are_those_of_the_tables(void **state)
{
	struct tlb_translation page;
	enum iotlb_answer answer;

	for (__u64 i = 0; i < DOMAINS; i++)
		assert_int_equal(iommu_map(domains[i], BASE, i << 40, HUGE_BYTES, BOTH, true), 0);
	for (int again = 0; again < 2; again++) {
		for (__u64 i = 0; i < DOMAINS; i++) {
			assert_int_equal(
				iommu_translate(domains[i], PAGE(3) + 7, BOTH, &page, &answer), 0);
			assert_int_equal(answer, again ? IOTLB_HIT : IOTLB_MISS);
			assert_int_equal(page.physical, i << 40);
			assert_int_equal(page.page, TLB_2M);
			assert_int_equal(page.permissions, BOTH);
		}
	}
	/* A piece is mapped elsewhere: neither it nor its neighbours are what the huge page was. */
	assert_int_equal(iommu_map(domains[1], PAGE(3), 77 * PAGE_BYTES, PAGE_BYTES, BOTH, false),
			 0);
	for (int again = 0; again < 2; again++) {
		iommu_translate(domains[1], PAGE(3), BOTH, &page, &answer);
		assert_int_equal(answer, again ? IOTLB_HIT : IOTLB_MISS);
		assert_int_equal(page.physical, 77 * PAGE_BYTES);
		assert_int_equal(page.page, TLB_4K);
	}
	iommu_translate(domains[1], PAGE(4), BOTH, &page, &answer);
	assert_int_equal(page.physical, (1ull << 40) + 4 * PAGE_BYTES);
}

static void an_invalidation_reaches_every_tlb(void **state)
{
	struct tlb_translation page;
	enum iotlb_answer answer;

	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, 4 * PAGE_BYTES, BOTH, false), 0);
	for (unsigned int device = 0; device < 2; device++)
		for (int i = 0; i < 4; i++)
			assert_true(dma(device, PAGE(i), true));
	lookup_invalidate(lookups[0], PAGE(1), PAGE_BYTES, NULL, NULL);
	assert_int_equal(iommu_translate(domains[0], PAGE(1), IOMMU_READ, &page, &answer), -ESTALE);
	assert_int_equal(answer, IOTLB_MISS);
	assert_false(dma(0, PAGE(1), false));
	lookup_invalidate(lookups[1], PAGE(1), PAGE_BYTES, NULL, NULL);
	assert_false(dma(1, PAGE(1), false));
	/* The neighbours stayed in both. */
	iommu_translate(domains[0], PAGE(2), BOTH, &page, &answer);
	assert_int_equal(answer, IOTLB_HIT);
	assert_true(dma(0, PAGE(2), true));
	COUNTED(0, 1, 5, 0, 5);
	/* Unmapped without a withdrawal, as a host may do that knows of no DMA. */
	iommu_unmap(domains[0], PAGE(2), PAGE_BYTES);
	assert_int_equal(iommu_translate(domains[0], PAGE(2), 0, &page, &answer), -ENOENT);
}

static void a_write_needs_the_permission(void **state)
{
	struct tlb_translation page;
	struct lookup_stats stats;
	enum iotlb_answer answer;

	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_true(dma(0, PAGE(0), false));
	assert_int_equal(iommu_translate(domains[0], PAGE(0), IOMMU_WRITE, &page, &answer),
			 -EACCES);
	assert_int_equal(answer, IOTLB_MISS);
	assert_false(dma(1, PAGE(0), true));
	lookup_stats(lookups[1], &stats);
	assert_int_equal(stats.read_only_faults, 1);
	assert_true(dma(1, PAGE(0), false));
	COUNTED(1, 0, 2, 1, 1);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(0, PAGE(0), true) && dma(1, PAGE(0), true));
	/* Write-protected again: the devices are told, then the tables say so. */
	for (int i = 0; i < 2; i++)
		lookup_invalidate(lookups[i], PAGE(0), PAGE_BYTES, NULL, NULL);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_true(dma(0, PAGE(0), false) && dma(1, PAGE(0), false));
	assert_false(dma(0, PAGE(0), true) || dma(1, PAGE(0), true));
	/* Without telling: the IOTLB at least knows no more than the tables. */
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_translate(domains[0], PAGE(0), BOTH, &page, &answer), 0);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_int_equal(iommu_translate(domains[0], PAGE(0), BOTH, &page, &answer), -EACCES);
}

static void without_one_nothing_is_counted(void **state)
{
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(0, PAGE(0), true) && dma(1, PAGE(0), true));
	COUNTED(0, 0, 1, 0, 0);
	COUNTED(1, 0, 1, 0, 0);
}

static void what_cannot_be_is_named(void **state)
{
	const struct cache_config wrong = {48, 8, REPLACE_LRU, 0};
	struct iotlb *created;

	assert_int_equal(iotlb_create(&created, &wrong), -EINVAL);
	assert_non_null(strstr(failure_text(), "IOTLB: TLB of 48 entries"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(large, devices_of_a_domain_share_what_one_learnt),
		WITH(large, translations_are_those_of_the_tables),
		WITH(large, an_invalidation_reaches_every_tlb),
		WITH(large, a_write_needs_the_permission),
		WITH(none, without_one_nothing_is_counted),
		cmocka_unit_test(what_cannot_be_is_named),
	};

	return cmocka_run_group_tests_name("iotlb", tests, NULL, NULL);
}
