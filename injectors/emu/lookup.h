/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a device knows that a page is absent: one interface, two mechanisms.
 *
 *   pa-bitmap  VPRI section 4.1: 2 bits per 4 KiB of IOVA in device memory (present, writable); the
 *		host's invalidations arrive synchronously through the EMQ; after a page response
 *		the device sets the PAEs itself.
 *   uffd	of a virtual machine's memory: none of these. The device accesses the memory as it is mapped, the
 *		kernel finds what is absent, and the pager brings it: no page request, no IOPT, no invalidation
 *   ats	PCIe ATS: a DevTLB (lib/translate/tlb.h); a miss asks the domain's IOMMU,
 *		its IOTLB if there is one, else the IOPT;
 *		invalidations drop DevTLB entries.
 *
 * Order that makes reclaim safe (VPRI section 5.1, R1-R3): every DMA holds a reference on its pages
 * from its check to its end; lookup_invalidate() makes the range absent first, then waits for the
 * references to drain, then returns (the ack); only then may the caller unmap the IOPT and free the
 * frame. A PAE is never set ahead of its IOPT entry: checked at run time in lookup_mapped().
 *
 * The host has to keep a resolve and an eviction of one page apart, but must hold no lock that a
 * resolve needs while it waits in lookup_invalidate(): a DMA may hold a reference on one page while
 * it waits for another. So:
 *	resolve: lock page, guest_memory_resolve(), iommu_map(), unlock; later the response
 *	evict:	 keep other evictions of the page out, by a lock that no resolve takes
 *		 again: lookup_invalidate() of every device that maps the page; lock page; if
 *		 iommu_walk() of one of them grants it again: unlock, again;
 *		 iommu_unmap(), guest_memory_evict(), unlock
 * Two evictions of a page at once would take each other's withdrawal for their own, and the second
 * would not wait for the DMAs that the first still waits for. Lookups may share a domain if the host
 * also keeps resolves of the page out, from the first of their invalidations on: the withdrawal for
 * one would hide from the walk that the page has been mapped again, and learnt, for the other.
 */
#ifndef FAULTLINE_LOOKUP_H
#define FAULTLINE_LOOKUP_H

#include "injectors/emu/emq.h"
#include "injectors/emu/iommu.h"
#include "lib/translate/cache.h"

/* LOOKUP_UFFD: nobody looks (port_direct.c); its lookup is as of a device that has nothing mapped. */
enum lookup_kind { LOOKUP_PA_BITMAP, LOOKUP_ATS, LOOKUP_UFFD };

struct lookup_config {
	enum lookup_kind kind;
	__u64 iova_base; /* window covered, page aligned */
	__u64 iova_bytes;
	struct cache_config devtlb; /* ats, as of tlb_create(); 0 entries: 64, 0 ways: 8 */
	/* pa-bitmap: carries invalidations and maps to the PA manager, and outlives the lookup's use;
	 * NULL, or once stopped: the caller does the PA manager's part itself */
	struct emq *emq;
	__u64 lookup_delay_ns; /* busy-waited per DMA range: what slower DRAM or PCIe would add */
};

struct lookup; /* of one (device, PASID) */

int lookup_create(struct lookup **lookup, const struct lookup_config *config,
		  struct iommu_domain *domain);
void lookup_destroy(struct lookup *lookup);

/*
 * Checks [iova, iova + length) and, if every page is present with the permission, takes a reference
 * on each and returns 0: translate with lookup_physical(), DMA, then lookup_end(). Otherwise holds
 * nothing, writes up to `limit` (at least 1) absent page addresses in ascending order, and returns
 * how many it wrote.
 * -EINVAL if the range leaves the window, -ENOBUFS if the thread already holds LOOKUP_DMA_MAX of
 * them. Never blocks, any thread; the thread that began a DMA also ends it.
 */
#define LOOKUP_DMA_MAX 24 /* three cache lines of the thread's lane */
int lookup_begin(struct lookup *lookup, __u64 iova, __u64 length, bool write, __u64 *absent,
		 unsigned int limit);
/* Host physical address of a referenced page; LOOKUP_NOWHERE, an order violation, if the host
 * unmapped it all the same. */
#define LOOKUP_NOWHERE (~0ull)
__u64 lookup_physical(struct lookup *lookup, __u64 iova);
void lookup_end(struct lookup *lookup, __u64 iova, __u64 length);

/* Device side, on a successful page response: the pages may be used from now on. Pages that the host
 * took back in the meantime stay absent; a page that was never mapped is an order violation. */
void lookup_mapped(struct lookup *lookup, __u64 iova, __u64 length);

/* Host side: returns once no DMA uses or will use the range (device told, then acknowledged).
 * told(argument) is called between the two, at the moment the device was told, with pa-bitmap by
 * the PA manager's thread; may be NULL. */
void lookup_invalidate(struct lookup *lookup, __u64 iova, __u64 length,
		       void (*told)(void *argument), void *argument);

/* Host side: tells the device of pages that it did not ask for, once they are in the IOPT. Returns
 * once acknowledged. */
void lookup_map_ahead(struct lookup *lookup, __u64 iova, __u64 length);

struct lookup_stats {
	__u64 lookups;		/* ranges asked for */
	__u64 faults;		/* of these: refused */
	__u64 read_only_faults; /* of these: for lack of the write permission on some page */
	__u64 invalidations;
	__u64 order_violations; /* must be 0: PAE ahead of the IOPT, unmap or end out of order */
	__u64 devtlb_hits, devtlb_misses; /* per page, ats only */
	__u64 iotlb_hits, iotlb_misses;	  /* of these misses, if the domain has an IOTLB */
};
void lookup_stats(const struct lookup *lookup, struct lookup_stats *stats);

#endif
