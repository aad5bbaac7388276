/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histograms as Prometheus has them: few buckets, whose bounds are bounds of lib/analyze/histogram.h, so that each
 * count is exact. A bound is the greatest whole number of ns of its bucket, as `le` includes it.
 */
#ifndef FAULTLINE_SERVE_BOUNDS_H
#define FAULTLINE_SERVE_BOUNDS_H

#include "lib/analyze/histogram.h"

#define BOUNDS 19 /* and +Inf, which makes twenty buckets */

/* Nothing but counters: struct ledger adds them up one by one. */
struct bounded {
	__u64 count, sum_ns;
	__u64 buckets[BOUNDS + 1]; /* each its own, not those below it */
};

/* The greatest time that the bucket holds. */
__u64 bounds_ns(unsigned int bound);
void bounded_add(struct bounded *into, const struct histogram *from);

#endif
