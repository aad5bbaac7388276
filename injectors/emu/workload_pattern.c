// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/workload_pattern.h"

#include <math.h>

/* Integral of x^-theta from 1, and its inverse. */
static double zipf_integral(const struct zipf *zipf, double x)
{
	return (pow(x, 1 - zipf->theta) - 1) / (1 - zipf->theta);
}

static double zipf_inverse(const struct zipf *zipf, double y)
{
	return pow(1 + y * (1 - zipf->theta), 1 / (1 - zipf->theta));
}

void zipf_init(struct zipf *zipf, __u64 items, double theta)
{
	zipf->items = items;
	zipf->theta = theta;
	zipf->low = zipf_integral(zipf, 1.5) - 1;
	zipf->high = zipf_integral(zipf, (double)items + 0.5);
	zipf->accept = 2 - zipf_inverse(zipf, zipf_integral(zipf, 2.5) - pow(2, -theta));
}

__u64 zipf_next(const struct zipf *zipf, struct random *random)
{
	for (;;) {
		double y = zipf->high + random_unit(random) * (zipf->low - zipf->high);
		double x = zipf_inverse(zipf, y), rank = floor(x + 0.5);

		if (rank < 1)
			rank = 1;
		else if (rank > (double)zipf->items)
			rank = (double)zipf->items;
		if (rank - x <= zipf->accept ||
		    y >= zipf_integral(zipf, rank + 0.5) - pow(rank, -zipf->theta))
			return (__u64)rank;
	}
}

static __u64 greatest_common_divisor(__u64 a, __u64 b)
{
	while (b) {
		__u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void pattern_init(struct pattern *pattern, enum access_pattern kind, __u64 span, __u64 align,
		  double theta, __u64 seed)
{
	__u64 items = span / align;

	*pattern = (struct pattern){.kind = kind, .span = items * align, .align = align};
	pattern->random.state = seed;
	if (kind != PATTERN_ZIPF)
		return;
	zipf_init(&pattern->zipf, items, theta);
	/* A stride without common divisor visits every place once. */
	pattern->stride = random_below(&pattern->random, items) | 1;
	while (greatest_common_divisor(pattern->stride, items) != 1)
		pattern->stride += 2;
	pattern->shift = random_below(&pattern->random, items);
}

__u64 pattern_next(struct pattern *pattern, __u64 length)
{
	__u64 items = pattern->span / pattern->align, offset, rank;

	switch (pattern->kind) {
	case PATTERN_SEQUENTIAL:
		offset = pattern->next + length <= pattern->span ? pattern->next : 0;
		pattern->next = offset + length;
		return offset;
	case PATTERN_ZIPF:
		rank = zipf_next(&pattern->zipf, &pattern->random) - 1;
		offset = (__u64)(((unsigned __int128)rank * pattern->stride + pattern->shift) %
				 items) *
			 pattern->align;
		break;
	default:
		offset = random_below(&pattern->random, items) * pattern->align;
	}
	return offset + length <= pattern->span ? offset : pattern->span - length;
}
