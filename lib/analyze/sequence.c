// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/sequence.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/memory.h"

/* The first range that ends beyond a position; all before it end at it or before. */
static size_t first_beyond(const struct sequence_set *set, __s64 position)
{
	size_t first = 0, end = set->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (set->ranges[middle].to <= position)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Ranges [at, at + old) become one. */
static void replace(struct sequence_set *set, size_t at, size_t old, struct sequence_range range)
{
	struct sequence_range *ranges = set->ranges;

	memmove(ranges + at + 1, ranges + at + old, (set->count - at - old) * sizeof(*ranges));
	ranges[at] = range;
	set->count = set->count - old + 1;
}

static bool insert(struct sequence_set *set, size_t at, struct sequence_range range)
{
	bool room = set->count < SEQUENCE_RANGES_MAX &&
		    array_grow(&set->ranges, &set->room, set->count + 1, sizeof(*set->ranges),
			       ARRAY_LIMITED);

	if (room)
		replace(set, at, 0, range);
	if (room || !at)
		return room;
	memmove(set->ranges, set->ranges + 1, (at - 1) * sizeof(*set->ranges));
	set->ranges[at - 1] = range;
	return false;
}

bool sequence_add(struct sequence_set *set, __s64 from, __s64 to)
{
	size_t at = first_beyond(set, from - 1), old = 0;
	struct sequence_range range = {from, to};

	for (; at + old < set->count && set->ranges[at + old].from <= to; old++) {
		const struct sequence_range *met = &set->ranges[at + old];

		range.from = met->from < range.from ? met->from : range.from;
		range.to = met->to > range.to ? met->to : range.to;
	}
	if (!old)
		return insert(set, at, range);
	replace(set, at, old, range);
	return true;
}

bool sequence_remove(struct sequence_set *set, __s64 from, __s64 to)
{
	size_t at = first_beyond(set, from), last = at;

	while (last < set->count && set->ranges[last].from < to) {
		struct sequence_range *range = &set->ranges[last];

		if (range->from < from && range->to > to) {
			struct sequence_range rest = {to, range->to};

			range->to = from;
			return insert(set, last + 1, rest);
		}
		if (range->from < from) {
			range->to = from;
			at = ++last;
		} else if (range->to > to) {
			range->from = to;
			break;
		} else {
			last++;
		}
	}
	if (at == last)
		return true;
	memmove(set->ranges + at, set->ranges + last, (set->count - last) * sizeof(*set->ranges));
	set->count -= last - at;
	return true;
}

bool sequence_overlaps(const struct sequence_set *set, __s64 from, __s64 to)
{
	size_t at = first_beyond(set, from);

	return at < set->count && set->ranges[at].from < to;
}

void sequence_free(struct sequence_set *set)
{
	memory_free(set->ranges);
	*set = (struct sequence_set){0};
}
