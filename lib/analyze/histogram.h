/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space side of the log-linear histogram (scheme and error bound: bpf/histogram.h).
 * Fixed size, no allocation, mergeable; sum, minimum and maximum are exact.
 */
#ifndef FAULTLINE_HISTOGRAM_H
#define FAULTLINE_HISTOGRAM_H

#include "bpf/histogram.h"

struct histogram {
	__u64 count;
	__u64 sum;
	__u64 min; /* UINT64_MAX while empty */
	__u64 max;
	__u32 buckets[HISTOGRAM_BUCKETS];
};

void histogram_init(struct histogram *h);
void histogram_add(struct histogram *h, __u64 value);
/* The same value `count` times. */
void histogram_add_many(struct histogram *h, __u64 value, __u32 count);
void histogram_add_bucket(struct histogram *h, unsigned int bucket, __u32 count);
/* `count` values at equal distances from `low` to `high`, which are in one bucket. */
void histogram_add_spread(struct histogram *h, __u64 low, __u64 high, __u64 count);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Value at or below which `percent` of the samples lie; 0 when empty. Bucket middle, clamped to
 * [min, max]. percent: 0 to 100. */
__u64 histogram_percentile(const struct histogram *h, double percent);
double histogram_mean(const struct histogram *h);
/* What stands for a bucket's values. */
__u64 histogram_bucket_middle(unsigned int bucket);
/* Lowest value of a bucket and the first value beyond it. */
__u64 histogram_bucket_low(unsigned int bucket);
__u64 histogram_bucket_high(unsigned int bucket);
/* Samples strictly beyond the percentile's rank: a percentile is asserted only with >= 20. */
__u64 histogram_beyond(const struct histogram *h, double percent);

#endif
