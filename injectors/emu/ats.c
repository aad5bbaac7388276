// SPDX-License-Identifier: GPL-2.0
/*
 * PCIe ATS: a DevTLB in the device; a miss is a translation request to the IOMMU, which asks its
 * IOTLB or walks the IOPT. What that does not grant is absent, and becomes a page request of the device.
 */
#include "injectors/emu/lookup_private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

#define DEFAULT_ENTRIES 64
#define DEFAULT_WAYS	8

/* The queues of a device share its DevTLB; a lookup stands for one PASID, so the key's is 0. */
struct ats {
	pthread_mutex_t lock;
	struct tlb *devtlb;
};

static int ats_create(struct lookup *lookup, const struct lookup_config *config)
{
	struct cache_config devtlb = config->devtlb;
	struct ats *ats = calloc(1, sizeof(*ats));
	int error;

	if (!ats)
		return failed(-ENOMEM, "no memory for a lookup");
	devtlb.entries = devtlb.entries ?: DEFAULT_ENTRIES;
	if (!devtlb.ways)
		devtlb.ways = devtlb.entries < DEFAULT_WAYS ? devtlb.entries : DEFAULT_WAYS;
	error = tlb_create(&ats->devtlb, &devtlb);
	if (error) {
		free(ats);
		return error;
	}
	pthread_mutex_init(&ats->lock, NULL);
	lookup->mechanism = ats;
	return 0;
}

static void ats_destroy(struct lookup *lookup)
{
	struct ats *ats = lookup->mechanism;

	tlb_destroy(ats->devtlb);
	pthread_mutex_destroy(&ats->lock);
	free(ats);
}

static __u64 bytes_left(__u64 iova, enum tlb_page page)
{
	return (1ull << page) - (iova & ((1ull << page) - 1));
}

/*
 * One page: from the DevTLB, else by a translation request. Returns how many bytes from `iova` on are
 * granted, 0 if it is absent. The request is under the lock too: an invalidation that comes after it
 * finds the entry that it made, one that came before had withdrawn the page, from the IOPT and the
 * IOTLB (iotlb.c).
 */
static __u64 ats_translate(struct lookup *lookup, struct lookup_lane *lane, __u64 iova,
			   __u64 permissions, bool *read_only)
{
	struct ats *ats = lookup->mechanism;
	struct tlb_translation page;
	enum iotlb_answer answer;
	int error;

	if (tlb_lookup(ats->devtlb, 0, iova, &page)) {
		if (!(permissions & ~page.permissions)) {
			lane_count(&lane->devtlb_hits);
			return bytes_left(iova, page.page);
		}
		/* It grants too little: the device asks anew, and the answer may be a smaller page. */
		tlb_invalidate(ats->devtlb, 0, iova, PAGE_BYTES);
	}
	lane_count(&lane->devtlb_misses);
	error = iommu_translate(lookup->domain, iova, permissions, &page, &answer);
	if (answer != IOTLB_NONE)
		lane_count(answer == IOTLB_HIT ? &lane->iotlb_hits : &lane->iotlb_misses);
	*read_only |= error == -EACCES;
	if (error)
		return 0;
	tlb_insert(ats->devtlb, 0, iova, &page);
	return bytes_left(iova, page.page);
}

static int ats_check(struct lookup *lookup, struct lookup_lane *lane, __u64 page, __u64 pages,
		     bool write, __u64 *absent, unsigned int limit)
{
	struct ats *ats = lookup->mechanism;
	__u64 iova = lookup->base + (page << PAGE_BITS), end = iova + (pages << PAGE_BITS), bytes;
	unsigned int found = 0;
	bool read_only = false;

	pthread_mutex_lock(&ats->lock);
	for (; iova < end; iova += bytes) {
		bytes = ats_translate(lookup, lane, iova, write ? IOMMU_WRITE : IOMMU_READ,
				      &read_only);
		if (bytes)
			continue;
		bytes = PAGE_BYTES;
		if (found < limit)
			absent[found++] = iova;
	}
	pthread_mutex_unlock(&ats->lock);
	if (read_only)
		lane_count(&lane->read_only_faults);
	return (int)found;
}

/* A response carries no translation: the device asks again and finds it in the IOPT. */
static void ats_set(struct lookup *lookup, __u64 page, __u64 pages, __u64 permissions)
{
	(void)lookup;
	(void)page;
	(void)pages;
	(void)permissions;
}

static void ats_clear(struct lookup *lookup, __u64 page, __u64 pages)
{
	struct ats *ats = lookup->mechanism;

	pthread_mutex_lock(&ats->lock);
	tlb_invalidate(ats->devtlb, 0, lookup->base + (page << PAGE_BITS), pages << PAGE_BITS);
	pthread_mutex_unlock(&ats->lock);
}

const struct lookup_ops ats_ops = {
	.create = ats_create,
	.destroy = ats_destroy,
	.check = ats_check,
	.set = ats_set,
	.clear = ats_clear,
};
