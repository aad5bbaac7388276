// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/bounds.h"

#include "lib/base/clock.h"

#define USEC(count) ((count)*1000ull)
#define MSEC(count) ((count)*1000000ull)

static const __u64 about_ns[BOUNDS] = {
	USEC(1),   USEC(5),   USEC(10),	  USEC(25),   USEC(50),	   USEC(100), USEC(250),
	USEC(500), MSEC(1),   USEC(2500), MSEC(5),    MSEC(10),	   MSEC(25),  MSEC(50),
	MSEC(100), MSEC(250), MSEC(500),  MSEC(1000), MSEC(10000),
};

__u64 bounds_ns(unsigned int bound)
{
	return histogram_bucket_high(histogram_bucket(about_ns[bound])) - 1;
}

void bounded_add(struct bounded *into, const struct histogram *from)
{
	unsigned int bucket = 0;
	__u64 below = 0;

	if (!from->count)
		return;
	into->count += from->count;
	into->sum_ns += from->sum;
	for (unsigned int b = 0; b < BOUNDS; b++) {
		unsigned int last = histogram_bucket(about_ns[b]);
		__u64 in = 0;

		for (; bucket <= last; bucket++)
			in += from->buckets[bucket];
		into->buckets[b] += in;
		below += in;
	}
	/* A bucket of the histogram stops at its top, its count does not. */
	into->buckets[BOUNDS] += from->count > below ? from->count - below : 0;
}
