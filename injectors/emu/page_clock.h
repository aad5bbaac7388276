/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which page has not been used for longest: the clock algorithm over the pages of all tenants (Corbató 1968; the
 * kernel's own lists with a second chance are its relatives). It is an approximation of LRU and no more.
 *
 * A hand goes round. A page that was used since it came by is spared once and its mark is taken; one that was not
 * is evicted. Marks are the kernel's and ours:
 *	CPU	the guest's mapping of the page is taken away, not its frame: whoever touches it has it mapped anew by
 *		the kernel alone, in about a microsecond, which /proc/self/pagemap shows when the hand is back.
 *		Not with backend=swap, whose only mapping must stay: uses by CPUs are not seen there
 *	DMA	a byte a page that each DMA sets when it is translated (port.c)
 * Nothing is spent while there is room: the hand moves only when pages must go.
 */
#ifndef FAULTLINE_PAGE_CLOCK_H
#define FAULTLINE_PAGE_CLOCK_H

#include <linux/types.h>
#include <stdatomic.h>
#include <stdbool.h>

struct machine;
struct page_clock;

/* The marks of DMA are `touched` of struct tenant. */
int page_clock_create(struct page_clock **clock, struct machine *machine);
void page_clock_destroy(struct page_clock *clock);

struct page_clock_step {
	__u64 evicted;	 /* pages */
	__u64 looked_at; /* likewise */
};
/* One piece: looks at a few pages of one tenant, and evicts up to `want` of them. */
void page_clock_step(struct page_clock *clock, __u64 want, struct page_clock_step *step);

/* Pages of all tenants: a round. */
__u64 page_clock_pages(const struct page_clock *clock);

#endif
