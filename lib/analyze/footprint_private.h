/* SPDX-License-Identifier: GPL-2.0 */
/* What footprint.c fills and footprint_tables.c prints; nobody else includes this. */
#ifndef FAULTLINE_FOOTPRINT_PRIVATE_H
#define FAULTLINE_FOOTPRINT_PRIVATE_H

#include "lib/analyze/footprint.h"
#include "lib/analyze/page_table.h"
#include "lib/analyze/slots.h"

struct footprint_point {
	__u64 window;
	__u64 bytes, huge_bytes; /* touched so far */
	__u64 window_bytes, window_huge_bytes;
	__u64 accesses;
	__u64 simulated_faults; /* so far */
};

/* What was touched within one of the windows that were asked for, which are numbered from 0. */
struct footprint_window {
	__u64 number;
	__u64 bytes, huge_bytes;
	__u64 accesses;
};

struct device_footprint {
	struct footprint_device sums;
	struct histogram intervals; /* in windows; 0: less than one */
	struct footprint_point *points;
	size_t count, capacity;
	struct footprint_window *windows;
	size_t window_count, window_room;
};

struct footprint {
	struct footprint_config config;
	__u32 threshold_windows;
	__u64 first_window; /* windows of the page tables count from here */
	bool begun;
	__u32 span;   /* seconds of a window that was asked for, 0: none was */
	__u32 origin; /* the first of them begins so long after first_window */
	bool has_origin;
	struct page_table pages;
	struct page_table huge;
	struct page_table earlier; /* 2 MiB pages touched before the period */
	struct slots devices;	   /* struct device_footprint * */
};

const struct device_footprint *footprint_find(const struct footprint *footprint, __u32 device);

/* The number of the window that was asked for in which that second is. */
static inline __u32 footprint_span_of(const struct footprint *f, __u32 second)
{
	return second > f->origin ? (second - f->origin) / f->span : 0;
}

/* Whether the newest access to a page, `entry->last`, is in another one than `second`. */
static inline bool footprint_span_is_new(const struct footprint *f, __u32 last, __u32 second)
{
	return f->span && footprint_span_of(f, last) != footprint_span_of(f, second);
}

#endif
