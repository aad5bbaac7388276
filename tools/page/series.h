/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Values over time, in as many bins as a page has pixels and more: of each the least, the greatest and how many there
 * were. However many values there are, none that stands out is lost.
 */
#ifndef FAULTLINE_PAGE_SERIES_H
#define FAULTLINE_PAGE_SERIES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_BINS 4096

struct page_bin {
	__u64 count; /* 0: nothing in it */
	__u64 least, most;
};

struct page_series {
	__u64 begin_ns; /* of the first bin */
	__u64 bin_ns;
	size_t count;
	struct page_bin bins[PAGE_BINS];
};

/*
 * Covers [first, last] in bins whose length is the least multiple of step_ns with which PAGE_BINS are enough; they
 * begin at a multiple of step_ns.
 */
void page_series_init(struct page_series *series, __u64 first_ns, __u64 last_ns, __u64 step_ns);
/* A value outside goes to the bin at that end. */
void page_series_add(struct page_series *series, __u64 time_ns, __u64 value);
/* Whether any value came. */
bool page_series_any(const struct page_series *series);
/* The least, the greatest and the number of column `column` of `columns` that share all bins. */
struct page_bin page_series_column(const struct page_series *series, size_t column, size_t columns);

#endif
