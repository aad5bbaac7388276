/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of two domains behind one IOTLB: cmocka's setup and teardown of a test. */
#ifndef FAULTLINE_TEST_IOTLB_DEVICES_H
#define FAULTLINE_TEST_IOTLB_DEVICES_H

#include "injectors/emu/lookup.h"

#define BASE	     0x10000000ull
#define PAGE(number) (BASE + (__u64)(number)*PAGE_BYTES)
#define BOTH	     (IOMMU_READ | IOMMU_WRITE)
#define DEVICES	     3 /* the first two share a domain */
#define DOMAINS	     2

extern struct iommu_domain *domains[DOMAINS];
extern struct lookup *lookups[DEVICES];

struct iommu_domain *domain_of(unsigned int device);

/* *state: entries of the IOTLB, a __u32; 0 for none. */
int iotlb_devices_make(void **state);
int iotlb_devices_remove(void **state);

/* A test of a group, with an IOTLB of so many entries. */
#define WITH(entries, test)                                                               \
	{                                                                                 \
#test, test, iotlb_devices_make, iotlb_devices_remove, (void *)&(entries) \
	}

#endif
