/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages a trace needs, how often, how soon again, and who shares them (HyperTRIO section IV-D).
 *
 * Takes packets, keeps per page of each tenant what the tables need; memory grows with the pages,
 * not with the trace. Reuse distances are exact: the number of other pages of the same tenant since
 * the page's last access, which is what decides a hit in a fully associative LRU cache.
 */
#ifndef FAULTLINE_TRANSLATE_PAGES_H
#define FAULTLINE_TRANSLATE_PAGES_H

#include <stddef.h>

#include "lib/translate/model.h"

/* By how often and when a page is used, as the groups of section IV-D. */
enum page_class {
	PAGE_HOT,     /* far more often than the others: rings, mailboxes */
	PAGE_DATA,    /* again and again, about as often as the others */
	PAGE_STARTUP, /* less than 100 times, all in the first tenth of the tenant's accesses */
	PAGE_CLASSES,
};

struct page_use {
	__u16 tenant;
	__u8 page_class;
	__u32 shift;
	__u64 iova;
	__u64 accesses;
	__u64 first, last; /* number of the tenant's access */
	__u64 runs;    /* stretches of his accesses of pages of this size without another page */
	__u32 sharers; /* tenants that use the same address, with this one */
};

struct tenant_use {
	__u16 tenant;
	__u64 accesses, pages;
	__u64 cold; /* first accesses */
	__u64 run; /* mean accesses of a run, in thousandths, of the page size that has the longest */
	__u32 reuse_median; /* distance that half of the reuses do not exceed; 0 without any */
	__u32 active99;	    /* pages that an LRU cache must hold for 99% of the reuses to hit */
	__u32 active999;
	__u32 active_all; /* for every reuse: what "full link rate" takes (figure 11c); of these three
			     REUSE_DISTANCES means that many or more */
};

#define REUSE_DISTANCES 4096 /* longer ones count as the last */

struct pages;

int pages_create(struct pages **pages);
void pages_destroy(struct pages *pages);
/* -ENOMEM */
int pages_take(struct pages *pages, const struct model_packet *packet);
/* After the last packet: classes, sharers, active sets. -ENOMEM */
int pages_finish(struct pages *pages);

/* Sorted by tenant, then accesses, most first. */
const struct page_use *pages_uses(const struct pages *pages, size_t *count);
const struct tenant_use *pages_tenants(const struct pages *pages, size_t *count);
/* Reuses at each distance, over all tenants. */
const __u64 *pages_distances(const struct pages *pages);
/* "hot", "data", "startup" */
const char *page_class_name(unsigned int page_class);

#endif
