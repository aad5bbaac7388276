/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of everything there was: per second, and in total by kind, device and process.
 *
 * Counts what aggregate frames bring, events of kinds that come one by one instead, and I/O page
 * faults. An I/O that was slow is in the frame like any other; its event is not counted again.
 */
#ifndef FAULTLINE_COUNTS_H
#define FAULTLINE_COUNTS_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"

#define COUNTS_KEYS_MAX 65536 /* of totals; what comes later counts as "other" of its kind */

struct counts_point {
	__u64 window; /* start / AGGREGATE_WINDOW_NS */
	__u64 count;
	__u64 bytes;
	__u64 latency_sum_ns;
	__u64 latency_max_ns;
};

struct faults;
struct counts;

/* history_windows: points kept per kind and device, 0: all. */
int counts_create(struct counts **counts, struct faults *faults, size_t history_windows);
struct stream counts_stream(struct counts *counts);
void counts_destroy(struct counts *counts);

/* Sum over a kind, DEVICE_NONE's and all devices' together. */
__u64 counts_of_kind(const struct counts *counts, unsigned int kind);
/* Sum over one device. */
struct counts_point counts_device(const struct counts *counts, unsigned int kind, __u32 device);
/* How many of that were in windows before this one. */
__u64 counts_before(const struct counts *counts, unsigned int kind, __u32 device, __u64 window);
/* Those of its windows that have any, by their windows; NULL: none has. */
const struct counts_point *counts_points(const struct counts *counts, unsigned int kind,
					 __u32 device, size_t *count);
/* Latencies of a device's kind, NULL if frames carried none. Buckets, so sums are approximate. */
const struct histogram *counts_latency(const struct counts *counts, unsigned int kind,
				       __u32 device);
/* Tables "rates" (a row per second, kind and device) and "counts" (totals). */
analyzer_write counts_write_rates, counts_write_totals;

#endif
