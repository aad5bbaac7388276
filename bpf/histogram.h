/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One log-linear histogram for kernel and user space.
 *
 * Values below 2^HISTOGRAM_SUB_BITS have a bucket each. Above, every power of two is cut into
 * 2^HISTOGRAM_SUB_BITS equal buckets, the scheme of fio's stat.h. Reporting a bucket's middle is
 * off by at most 1 / 2^(HISTOGRAM_SUB_BITS + 1) of the value: 1.6%. Values of 2^HISTOGRAM_MAX_BITS
 * and more fall into the last bucket; sum, min and max stay exact. Two histograms merge by adding.
 */
#ifndef FAULTLINE_HISTOGRAM_BITS_H
#define FAULTLINE_HISTOGRAM_BITS_H

#include "bpf/bits.h"

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_MAX_BITS 40 /* 2^40 ns is 18 minutes */
#define HISTOGRAM_BUCKETS  (((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS) + 1) << HISTOGRAM_SUB_BITS)

/* Index of the highest set bit; v != 0. */
static inline unsigned int histogram_msb(__u64 v)
{
#ifdef __bpf__
	return bits_of(v) - 1;
#else
	return 63 - (unsigned int)__builtin_clzll(v);
#endif
}

static inline unsigned int histogram_bucket(__u64 value)
{
	unsigned int msb, shift, bucket;

	if (value < (1u << HISTOGRAM_SUB_BITS))
		return (unsigned int)value;
	msb = histogram_msb(value);
	if (msb >= HISTOGRAM_MAX_BITS)
		return HISTOGRAM_BUCKETS - 1;
	shift = msb - HISTOGRAM_SUB_BITS;
	bucket = ((shift + 1) << HISTOGRAM_SUB_BITS) +
		 (unsigned int)((value >> shift) & ((1u << HISTOGRAM_SUB_BITS) - 1));
	return bucket;
}

#endif
