/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranges of a TCP stream's sequence numbers. These have 32 bits and wrap around: sequence_position()
 * makes positions of 64 bits of them, which are in order as long as what is compared lies within 2 GiB.
 */
#ifndef FAULTLINE_SEQUENCE_H
#define FAULTLINE_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define SEQUENCE_RANGES_MAX 4096

struct sequence_range {
	__s64 from, to;
};

/* Disjoint ranges that do not touch, in order. All zero is empty. */
struct sequence_set {
	struct sequence_range *ranges;
	size_t count, room;
};

/* The position of a sequence number that is nearest to another position. */
static inline __s64 sequence_position(__s64 near, __u32 sequence)
{
	return near + (__s32)(sequence - (__u32)near);
}

/* False if the lowest range was forgotten for want of room. */
bool sequence_add(struct sequence_set *set, __s64 from, __s64 to);
/* Likewise: what is taken out of the middle of a range makes two of it. */
bool sequence_remove(struct sequence_set *set, __s64 from, __s64 to);
bool sequence_overlaps(const struct sequence_set *set, __s64 from, __s64 to);
void sequence_free(struct sequence_set *set);

#endif
