// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU's translation cache, between the devices' own and the page tables.
 *
 * Neither keeps what the host takes back. The host marks the page withdrawn in the tables, then drops
 * it here under this lock (iotlb_forget), then drops it in the device under the lock of its DevTLB
 * (ats_clear). A translation request holds its DevTLB's lock all along, and this lock from its look
 * into the IOTLB to the entry that it leaves here, the walk included. So a request comes to this lock
 *	before iotlb_forget(): what it leaves here is dropped there; what it leaves in its DevTLB is
 *		there before that lock is free for ats_clear(), which is still to come;
 *	after it: nothing is left here, and the walk sees the mark. The request is refused.
 * Were the walk before the lock, an entry read just before the mark could be left here just after the
 * host had looked, for all devices and for good.
 *
 * Devices of other domains do not matter: an entry carries its domain's number. Devices of one domain
 * find each other's entries, and both cases hold for any of them, because the host forgets here before
 * it tells the first. Until a device is told, its DevTLB may still let DMAs pass; their references are
 * waited for before the page is given away (lookup.h).
 */
#include "injectors/emu/iommu_private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

struct iotlb {
	pthread_mutex_t lock; /* innermost: nothing else is taken under it */
	struct tlb *tlb;
	__u32 domains; /* numbers given out; none is used again */
};

int iotlb_create(struct iotlb **iotlb, const struct cache_config *config)
{
	struct iotlb *created = calloc(1, sizeof(*created));
	int error;

	if (!created)
		return failed(-ENOMEM, "no memory for an IOTLB");
	error = tlb_create(&created->tlb, config);
	if (error) {
		free(created);
		return failed_in(error, "IOTLB");
	}
	pthread_mutex_init(&created->lock, NULL);
	*iotlb = created;
	return 0;
}

void iotlb_destroy(struct iotlb *iotlb)
{
	if (!iotlb)
		return;
	tlb_destroy(iotlb->tlb);
	pthread_mutex_destroy(&iotlb->lock);
	free(iotlb);
}

int iotlb_attach(struct iotlb *iotlb, struct iommu_domain *domain)
{
	int error = 0;

	pthread_mutex_lock(&iotlb->lock);
	if (iotlb->domains == TLB_SPACES)
		error = failed(-ENOSPC, "an IOTLB tells %u domains apart", TLB_SPACES);
	else
		domain->number = iotlb->domains++;
	pthread_mutex_unlock(&iotlb->lock);
	if (!error)
		domain->iotlb = iotlb;
	return error;
}

void iotlb_detach(struct iommu_domain *domain)
{
	if (!domain->iotlb)
		return;
	pthread_mutex_lock(&domain->iotlb->lock);
	tlb_invalidate_space(domain->iotlb->tlb, domain->number);
	pthread_mutex_unlock(&domain->iotlb->lock);
}

void iotlb_forget(struct iommu_domain *domain, __u64 iova, __u64 length)
{
	if (!domain->iotlb)
		return;
	pthread_mutex_lock(&domain->iotlb->lock);
	tlb_invalidate(domain->iotlb->tlb, domain->number, iova, length);
	pthread_mutex_unlock(&domain->iotlb->lock);
}

static int iotlb_walk(const struct iommu_domain *domain, __u64 iova, __u64 permissions,
		      struct tlb_translation *page)
{
	struct iommu_translation walked;
	int error = iommu_walk(domain, iova, permissions, &walked);

	if (error)
		return error;
	page->page = walked.levels == 4 ? TLB_4K : TLB_2M;
	page->physical = walked.physical & ~((1ull << page->page) - 1);
	page->permissions = (__u32)walked.permissions;
	return 0;
}

int iommu_translate(struct iommu_domain *domain, __u64 iova, __u64 permissions,
		    struct tlb_translation *page, enum iotlb_answer *answer)
{
	struct iotlb *iotlb = domain->iotlb;
	int error = 0;

	*answer = IOTLB_NONE;
	if (!iotlb)
		return iotlb_walk(domain, iova, permissions, page);
	pthread_mutex_lock(&iotlb->lock);
	if (tlb_lookup(iotlb->tlb, domain->number, iova, page) &&
	    !(permissions & ~page->permissions)) {
		*answer = IOTLB_HIT;
	} else {
		*answer = IOTLB_MISS;
		error = iotlb_walk(domain, iova, permissions, page);
		if (!error)
			tlb_insert(iotlb->tlb, domain->number, iova, page);
	}
	pthread_mutex_unlock(&iotlb->lock);
	return error;
}
