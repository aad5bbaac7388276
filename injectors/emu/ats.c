// SPDX-License-Identifier: GPL-2.0
/*
 * PCIe ATS: a DevTLB in the device; a miss is a translation request, which walks the IOPT. What the
 * IOPT does not grant is absent, and becomes a page request of the device.
 */
#include "injectors/emu/lookup_private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/translate/tlb.h"

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

/*
 * One page: from the DevTLB, else from the IOPT. Returns how many bytes from `iova` on are granted, 0
 * if it is absent. The walk is under the lock too: an invalidation that comes after it finds the
 * entry that it made, one that came before had withdrawn the page.
 */
static __u64 ats_translate(struct lookup *lookup, struct lookup_lane *lane, __u64 iova,
			   __u64 permissions, bool *read_only)
{
	struct ats *ats = lookup->mechanism;
	struct tlb_translation cached;
	struct iommu_translation walked;
	int error;

	if (tlb_lookup(ats->devtlb, 0, iova, &cached) && !(permissions & ~cached.permissions)) {
		lane_count(&lane->devtlb_hits);
		return (1ull << cached.page) - (iova & ((1ull << cached.page) - 1));
	}
	lane_count(&lane->devtlb_misses);
	error = iommu_walk(lookup->domain, iova, permissions, &walked);
	*read_only |= error == -EACCES;
	if (error)
		return 0;
	cached.page = walked.levels == 4 ? TLB_4K : TLB_2M;
	cached.physical = walked.physical & ~((1ull << cached.page) - 1);
	cached.permissions = walked.permissions;
	tlb_insert(ats->devtlb, 0, iova, &cached);
	return walked.bytes;
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
