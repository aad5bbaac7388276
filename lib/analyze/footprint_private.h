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

struct device_footprint {
	struct footprint_device sums;
	struct histogram intervals; /* in windows; 0: less than one */
	struct footprint_point *points;
	size_t count, capacity;
};

struct footprint {
	struct footprint_config config;
	__u32 threshold_windows;
	__u64 first_window; /* windows of the page tables count from here */
	bool begun;
	struct page_table pages;
	struct page_table huge;
	struct page_table earlier; /* 2 MiB pages touched before the period */
	struct slots devices;	   /* struct device_footprint * */
};

const struct device_footprint *footprint_find(const struct footprint *footprint, __u32 device);

#endif
