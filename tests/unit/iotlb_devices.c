// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/iotlb_devices.h"

#include "tests/unit/test.h"

#define WINDOW (4 * HUGE_BYTES)

struct iommu_domain *domains[DOMAINS];
struct lookup *lookups[DEVICES];
static struct iotlb *iotlb;

struct iommu_domain *domain_of(unsigned int device)
{
	return domains[device / 2];
}

static void create(__u32 iotlb_entries)
{
	const struct cache_config config = {iotlb_entries, 4, REPLACE_LRU, 0};
	const struct lookup_config window = {.kind = LOOKUP_ATS,
					     .iova_base = BASE,
					     .iova_bytes = WINDOW,
					     .devtlb = {.entries = 8, .ways = 4}};

	if (iotlb_entries)
		assert_int_equal(iotlb_create(&iotlb, &config), 0);
	for (int i = 0; i < DOMAINS; i++) {
		assert_int_equal(iommu_domain_create(&domains[i]), 0);
		if (iotlb)
			assert_int_equal(iotlb_attach(iotlb, domains[i]), 0);
	}
	for (unsigned int i = 0; i < DEVICES; i++)
		assert_int_equal(lookup_create(&lookups[i], &window, domain_of(i)), 0);
}

int iotlb_devices_make(void **state)
{
	create(*(const __u32 *)*state);
	return 0;
}

int iotlb_devices_remove(void **state)
{
	for (int i = 0; i < DEVICES; i++)
		lookup_destroy(lookups[i]);
	for (int i = 0; i < DOMAINS; i++)
		iommu_domain_destroy(domains[i]);
	iotlb_destroy(iotlb);
	iotlb = NULL;
	return 0;
}
