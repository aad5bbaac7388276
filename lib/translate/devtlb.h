/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device's translation cache (PCIe ATS: address translation cache, "DevTLB").
 *
 * A cache (cache.h) with true LRU in each set. Entries are keyed by (PASID, page); a page has 4 KiB
 * or 2 MiB and both sizes share the sets. The set is chosen by the low bits of the page number, as
 * hardware does: the same IOVA of two PASIDs competes for one set.
 *
 * Contract: one owner. There are no locks inside; whoever shares a cache between threads locks it.
 * No function but create and destroy allocates.
 */
#ifndef FAULTLINE_DEVTLB_H
#define FAULTLINE_DEVTLB_H

#include <linux/types.h>
#include <stdbool.h>

#define DEVTLB_ENTRIES_MAX (1u << 20)
#define DEVTLB_WAYS_MAX	   1024
#define DEVTLB_IOVA_BITS   52 /* what lies beyond is never cached */

enum devtlb_page { DEVTLB_4K = 12, DEVTLB_2M = 21 }; /* log2 of the page's bytes */

struct devtlb_translation {
	__u64 physical;	   /* of the page's first byte */
	__u32 permissions; /* the user's bits, kept as given */
	enum devtlb_page page;
};

struct devtlb;

/*
 * `entries` in all and `ways` a set, both powers of two; 1 to DEVTLB_ENTRIES_MAX and 1 to
 * DEVTLB_WAYS_MAX, ways <= entries (equal: fully associative). -EINVAL or -ENOMEM.
 */
int devtlb_create(struct devtlb **devtlb, __u32 entries, __u32 ways);
void devtlb_destroy(struct devtlb *devtlb);

/* True if cached; the entry becomes its set's most recently used. Counts a hit or a miss. */
bool devtlb_lookup(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   struct devtlb_translation *translation);

/*
 * Caches a translation as most recently used: replaces the entry of the same page, else takes a free
 * way, else the least recently used. Returns true if another entry had to make way.
 */
bool devtlb_insert(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   const struct devtlb_translation *translation);

/* Drops every entry of the PASID that overlaps [iova, iova + length); returns how many. */
__u32 devtlb_invalidate(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u64 length);
/* Drops all entries of the PASID; returns how many. */
__u32 devtlb_invalidate_pasid(struct devtlb *devtlb, __u32 pasid);

struct devtlb_stats {
	__u64 hits, misses;
	__u64 evictions;   /* valid entries that made way for others */
	__u64 invalidated; /* entries dropped by invalidations */
};
void devtlb_stats(const struct devtlb *devtlb, struct devtlb_stats *stats);

#endif
