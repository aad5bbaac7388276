/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The union of spans of time, in bounded memory.
 *
 * Most spans come in the order of their end, some much later. So the pieces that such a one can reach are
 * held; older ones are folded into a sum when there is no room. A span that reaches back beyond the fold
 * counts from there, and whoever unites is told: the union is a floor then.
 */
#ifndef FAULTLINE_SPANS_H
#define FAULTLINE_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

struct piece {
	__u64 from, to;
};

struct spans {
	struct piece *pieces; /* disjoint, ascending */
	size_t count, capacity;
	__u64 folded_from, folded_to; /* everything before is in the sums */
	__u64 folded_ns;
	__u64 folded_longest;
	__u64 folded_pieces;
	__u32 *folded_steps; /* ns folded by step, modulo their number; NULL before the first */
};

/*
 * False if a part of it is not in the union. `total` is the pieces that all unions of an owner have room
 * for; none comes later than `late_ns` after it began.
 */
bool spans_unite(struct spans *spans, __u64 from, __u64 to, size_t *total, __u64 late_ns);
/* The first piece that ends at `time_ns` or later. */
size_t spans_first_from(const struct spans *spans, __u64 time_ns);
/* Of what was folded, the part within the window; a step that the window cuts counts by its share. */
__u64 spans_folded_within(const struct spans *spans, __u64 from, __u64 to);
void spans_free(struct spans *spans);

#endif
