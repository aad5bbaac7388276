// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/histogram.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SUB_BUCKETS (1u << HISTOGRAM_SUB_BITS)

void histogram_init(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/* A bucket stops at its top rather than wrapping to nothing; count stays exact. */
static void bucket_grow(__u32 *bucket, __u64 by)
{
	*bucket = by > UINT32_MAX - *bucket ? UINT32_MAX : *bucket + (__u32)by;
}

static void histogram_note(struct histogram *h, __u64 low, __u64 high)
{
	if (low < h->min)
		h->min = low;
	if (high > h->max)
		h->max = high;
}

void histogram_add(struct histogram *h, __u64 value)
{
	histogram_add_many(h, value, 1);
}

void histogram_add_many(struct histogram *h, __u64 value, __u32 count)
{
	h->count += count;
	h->sum += value * count;
	histogram_note(h, value, value);
	bucket_grow(&h->buckets[histogram_bucket(value)], count);
}

__u64 histogram_bucket_middle(unsigned int bucket)
{
	__u64 low = histogram_bucket_low(bucket);

	return low + (histogram_bucket_high(bucket) - low) / 2;
}

void histogram_add_bucket(struct histogram *h, unsigned int bucket, __u32 count)
{
	__u64 middle;

	if (bucket >= HISTOGRAM_BUCKETS || !count)
		return;
	middle = histogram_bucket_middle(bucket);
	h->count += count;
	h->sum += middle * count;
	histogram_note(h, middle, middle);
	bucket_grow(&h->buckets[bucket], count);
}

void histogram_add_spread(struct histogram *h, __u64 low, __u64 high, __u64 count)
{
	if (!count)
		return;
	h->count += count;
	h->sum += (__u64)(((double)low + (double)high) / 2 * (double)count);
	histogram_note(h, low, high);
	bucket_grow(&h->buckets[histogram_bucket(low)], count);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (!from->count)
		return;
	into->count += from->count;
	into->sum += from->sum;
	histogram_note(into, from->min, from->max);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		bucket_grow(&into->buckets[i], from->buckets[i]);
}

/* The sample, counted from 1 in ascending order, that a percentile names (nearest rank). */
static __u64 rank_of(const struct histogram *h, double percent)
{
	double rank = ceil(percent / 100.0 * (double)h->count);

	if (!(rank >= 1))
		return 1;
	return rank >= (double)h->count ? h->count : (__u64)rank;
}

__u64 histogram_percentile(const struct histogram *h, double percent)
{
	__u64 rank, below = 0, value;

	if (!h->count)
		return 0;
	rank = rank_of(h, percent);
	if (rank == h->count)
		return h->max;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		below += h->buckets[i];
		if (below < rank)
			continue;
		value = histogram_bucket_middle(i);
		if (value < h->min)
			return h->min;
		return value > h->max ? h->max : value;
	}
	/* The last bucket is open above: its middle would be an invention. */
	return h->max;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

__u64 histogram_bucket_low(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < SUB_BUCKETS)
		return bucket;
	shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
	return (__u64)(SUB_BUCKETS + (bucket & (SUB_BUCKETS - 1))) << shift;
}

__u64 histogram_bucket_high(unsigned int bucket)
{
	return histogram_bucket_low(bucket + 1);
}

__u64 histogram_beyond(const struct histogram *h, double percent)
{
	return h->count ? h->count - rank_of(h, percent) : 0;
}
