/* SPDX-License-Identifier: GPL-2.0 */
/* Inside counts.c and counts_tables.c. */
#ifndef FAULTLINE_COUNTS_PRIVATE_H
#define FAULTLINE_COUNTS_PRIVATE_H

#include "lib/analyze/counts.h"
#include "lib/analyze/hash.h"

struct series_key {
	__u32 device;
	__u32 kind;
};

/* Points ascend by window; the ring is for live views, which keep only so many. */
struct series {
	struct series_key key;
	struct counts_point *points;
	size_t count, capacity;
	struct counts_point total;
	struct histogram *latency;
	UT_hash_handle hh;
};

struct total_key {
	__u32 kind;
	__u32 device;
	__u32 pid;
	__u32 code;
};

struct total {
	struct total_key key;
	__u64 count;
	__u64 bytes;
	UT_hash_handle hh;
};

struct counts {
	size_t history;
	struct series *series;
	struct total *totals;
	int error;
};

#endif
