/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A translation lookaside buffer for pages of many address spaces: a device's (PCIe ATS: address
 * translation cache, "DevTLB"), where a space is a PASID, and an IOMMU's ("IOTLB"), where it is a domain.
 *
 * A cache (cache.h), whose replacement policies it offers but for the oracle. Entries are keyed by
 * (space, page); a page has 4 KiB or 2 MiB and both sizes share the sets. The set is chosen by the
 * low bits of the page number, as hardware does: the same IOVA of two spaces competes for one set.
 *
 * Contract: one owner. There are no locks inside; whoever shares a TLB between threads locks it.
 * No function but create and destroy allocates.
 */
#ifndef FAULTLINE_TLB_H
#define FAULTLINE_TLB_H

#include "lib/translate/cache.h"

#define TLB_ENTRIES_MAX (1u << 20)
#define TLB_WAYS_MAX	1024
#define TLB_IOVA_BITS	52	   /* what lies beyond is never cached */
#define TLB_SPACES	(1u << 20) /* spaces are numbered below, or PASID_NONE (bpf/event.h) */

enum tlb_page { TLB_4K = 12, TLB_2M = 21 }; /* log2 of the page's bytes */

struct tlb_translation {
	__u64 physical;	   /* of the page's first byte */
	__u32 permissions; /* the user's bits, kept as given */
	enum tlb_page page;
};

struct tlb;

/*
 * `entries` in all and `ways` a set, both powers of two; 1 to TLB_ENTRIES_MAX and 1 to TLB_WAYS_MAX,
 * ways <= entries (equal: fully associative); any policy but REPLACE_BELADY, which needs the future.
 * -EINVAL with what is accepted, or -ENOMEM.
 */
int tlb_create(struct tlb **tlb, const struct cache_config *config);
void tlb_destroy(struct tlb *tlb);

/* True if cached; the policy learns of the use. */
bool tlb_lookup(struct tlb *tlb, __u32 space, __u64 iova, struct tlb_translation *translation);

/*
 * Caches a translation: replaces the entry of the same page, else takes a free way, else that of the
 * policy's victim. Returns true if another entry had to make way.
 */
bool tlb_insert(struct tlb *tlb, __u32 space, __u64 iova,
		const struct tlb_translation *translation);

/* Drops every entry of the space that overlaps [iova, iova + length); returns how many. */
__u32 tlb_invalidate(struct tlb *tlb, __u32 space, __u64 iova, __u64 length);
/* Drops all entries of the space; returns how many. */
__u32 tlb_invalidate_space(struct tlb *tlb, __u32 space);

#endif
