/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of every page that devices touched: an open-addressing table keyed by (device, pasid,
 * page). 24 bytes a page at up to 3/4 full; grows by doubling, never shrinks.
 */
#ifndef FAULTLINE_PAGE_TABLE_H
#define FAULTLINE_PAGE_TABLE_H

#include <stddef.h>

#include <linux/types.h>

struct page_entry {
	__u64 page; /* number, not address */
	__u32 device;
	__u32 pasid;
	__u32 last;	/* window of the newest access, counted from where the user likes */
	__u32 accesses; /* saturating; 0: the entry is free */
};

struct page_table {
	struct page_entry *entries;
	size_t capacity; /* a power of two, 0 before the first page */
	size_t used;
};

/* NULL if it is not there. */
const struct page_entry *page_table_find(const struct page_table *table, __u32 device, __u32 pasid,
					 __u64 page);
/* The entry of a page, new with accesses 0 if it was not there: the caller sets accesses. NULL
 * without memory. Invalid after the next call. */
struct page_entry *page_table_make(struct page_table *table, __u32 device, __u32 pasid, __u64 page);
void page_table_free(struct page_table *table);

#endif
