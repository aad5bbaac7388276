/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O page tables in x86 second-level format (VT-d specification 9.8): 4 levels of 512 entries,
 * bit 0 read, bit 1 write, bit 7 page size at levels 2 and 3, bit 8 accessed. One domain per (device, PASID).
 * Walks are lock-free and may run beside updates; updates of one domain are serialised inside.
 *
 * A bit that the format leaves to software marks an entry as withdrawn: the host is taking the page
 * back. From then on no walk grants it, so that no device can learn the translation anew between
 * its invalidation and the unmap; DMAs already under way keep theirs. The mark stays on the
 * unmapped entry until the page is mapped again, which tells "taken back" from "never mapped".
 *
 * An IOTLB may stand in front of the tables of many domains: it answers translation requests of
 * devices (iommu_translate). What is withdrawn, unmapped or mapped otherwise is gone from it when the
 * call that did so returns.
 */
#ifndef FAULTLINE_IOMMU_H
#define FAULTLINE_IOMMU_H

#include <linux/types.h>
#include <stdbool.h>

#include "injectors/emu/memory.h"
#include "lib/translate/tlb.h"

#define IOMMU_READ  (1ull << 0)
#define IOMMU_WRITE (1ull << 1)

struct iommu_domain;

struct iommu_translation {
	__u64 physical; /* of the address asked for */
	__u64 bytes;	/* from there to the end of the mapping's page */
	__u64 permissions;
	__u32 levels; /* page-table accesses of this walk, 1-4 */
};

int iommu_domain_create(struct iommu_domain **domain);
void iommu_domain_destroy(struct iommu_domain *domain);
/* 4 KiB entries, or 2 MiB where address, physical and length allow and `huge` is set. */
int iommu_map(struct iommu_domain *domain, __u64 iova, __u64 physical, __u64 length,
	      __u64 permissions, bool huge);
/* Marks what is mapped in the range as withdrawn; a 2 MiB entry hit partly is split first. */
void iommu_withdraw(struct iommu_domain *domain, __u64 iova, __u64 length);
/* Returns bytes unmapped; a 2 MiB entry hit partly is split first. */
__u64 iommu_unmap(struct iommu_domain *domain, __u64 iova, __u64 length);
/* 0, or -ENOENT (never mapped, or unmapped without being withdrawn), -ESTALE (withdrawn;
 * `permissions` of the translation is nonzero as long as it is not unmapped too), -EACCES (permission missing). */
int iommu_walk(const struct iommu_domain *domain, __u64 iova, __u64 permissions,
	       struct iommu_translation *translation);

/* As iommu_walk() for a DMA of the device: sets the accessed bit of the entry that it goes by. */
void iommu_use(const struct iommu_domain *domain, __u64 iova,
	       struct iommu_translation *translation);
/*
 * Takes the accessed bits of `pages` 4 KiB pages from `iova` on: sets used[i] where there was one, and leaves the others.
 * A 2 MiB entry has one for all of its pages, and loses it with the first of them. As if all translation caches were
 * flushed afterwards: what they know is marked again by the next DMA.
 */
void iommu_take_accessed(struct iommu_domain *domain, __u64 iova, __u32 pages, bool *used);

struct iommu_domain_stats {
	__u64 huge, splits;	   /* 2 MiB entries written, and of them split into 4 KiB ones */
	__u64 mapped, mapped_most; /* bytes that entries grant, now and at most */
};
void iommu_domain_stats(struct iommu_domain *domain, struct iommu_domain_stats *stats);

/* Of one IOMMU, shared by its domains; as of tlb_create(). It outlives the domains attached to it. */
struct iotlb;
int iotlb_create(struct iotlb **iotlb, const struct cache_config *config);
void iotlb_destroy(struct iotlb *iotlb);
/* Before the domain's first translation. -ENOSPC after TLB_SPACES domains. */
int iotlb_attach(struct iotlb *iotlb, struct iommu_domain *domain);

enum iotlb_answer { IOTLB_NONE, IOTLB_MISS, IOTLB_HIT };

/*
 * A device's translation request: from the domain's IOTLB if that grants `permissions`, else by a
 * walk, whose success the IOTLB learns. *page is the page that `iova` lies in. Returns 0 or what
 * iommu_walk() does. Any thread; allocates nothing.
 */
int iommu_translate(struct iommu_domain *domain, __u64 iova, __u64 permissions,
		    struct tlb_translation *page, enum iotlb_answer *answer);

#endif
