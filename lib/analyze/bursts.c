// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/bursts.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/memory.h"

void bursts_init(struct bursts *b, unsigned int limit, __u64 late_ns)
{
	*b = (struct bursts){.limit = limit, .late_ns = late_ns};
}

void bursts_free(struct bursts *b)
{
	memory_free(b->times);
	memory_free(b->open);
}

/* A late fault looks at the second before it, too. */
static __u64 horizon(const struct bursts *b)
{
	__u64 kept_ns = b->late_ns + BURST_WINDOW_NS;

	return b->newest_ns > kept_ns ? b->newest_ns - kept_ns : 0;
}

/* Drops the times that cannot decide any more. */
static void bursts_compact(struct bursts *b)
{
	const struct burst *burst = b->open, *end = b->open + b->open_count;
	__u64 oldest = horizon(b);
	size_t kept = 0, inside = 0;

	for (size_t i = 0; i < b->count; i++) {
		__u64 time = b->times[i];

		if (time < oldest)
			continue;
		for (; burst < end && burst->to_ns < time; burst++)
			inside = 0;
		if (burst < end && burst->from_ns <= time && inside++ >= b->limit &&
		    i + b->limit < b->count && b->times[i + b->limit] <= burst->to_ns)
			continue;
		b->times[kept++] = time;
	}
	b->count = kept;
}

static bool bursts_make_room(struct bursts *b)
{
	size_t wanted = 2 * (b->capacity ? b->capacity : 4ul * b->limit + 64);

	if (b->count < b->capacity)
		return true;
	bursts_compact(b);
	if (b->capacity && b->count <= b->capacity / 2)
		return true;
	return array_grow(&b->times, &b->capacity, wanted, sizeof(*b->times), ARRAY_LIMITED) ||
	       b->count < b->capacity;
}

static size_t insert_time(struct bursts *b, __u64 time_ns)
{
	size_t at = b->count++;

	for (; at && b->times[at - 1] > time_ns; at--)
		b->times[at] = b->times[at - 1];
	b->times[at] = time_ns;
	return at;
}

/* Of the times [first, last] those in none of the bursts [low, high). */
static __u64 count_outside(const struct bursts *b, size_t first, size_t last, size_t low,
			   size_t high)
{
	__u64 outside = 0;

	for (size_t i = last + 1; i-- > first;) {
		while (high > low && b->times[i] < b->open[high - 1].from_ns)
			high--;
		if (high == low || b->times[i] > b->open[high - 1].to_ns)
			outside++;
		else if (b->open[high - 1].from_ns <= b->times[first])
			break; /* and all that are left, too */
	}
	return outside;
}

/* The faults [first, last] are one burst, with all bursts that have one of them. NULL without memory. */
static struct burst *bursts_unite(struct bursts *b, size_t first, size_t last)
{
	struct burst all = {.from_ns = b->times[first],
			    .to_ns = b->times[last],
			    .peak_ns = b->times[first],
			    .peak = b->limit + 1ull};
	size_t high = b->open_count, low;

	while (high && b->open[high - 1].from_ns > all.to_ns)
		high--;
	for (low = high; low && b->open[low - 1].to_ns >= all.from_ns; low--)
		;
	all.faults = count_outside(b, first, last, low, high);
	for (size_t i = low; i < high; i++) {
		const struct burst *part = &b->open[i];

		all.faults += part->faults;
		all.from_ns = part->from_ns < all.from_ns ? part->from_ns : all.from_ns;
		all.to_ns = part->to_ns > all.to_ns ? part->to_ns : all.to_ns;
		if (part->peak > all.peak) {
			all.peak = part->peak;
			all.peak_ns = part->peak_ns;
		}
	}
	if (low == high && !array_grow(&b->open, &b->open_capacity, b->open_count + 1,
				       sizeof(*b->open), ARRAY_LIMITED))
		return NULL;
	if (high != low + 1) {
		memmove(&b->open[low + 1], &b->open[high],
			(b->open_count - high) * sizeof(*b->open));
		b->open_count = b->open_count + low + 1 - high;
	}
	b->open[low] = all;
	return &b->open[low];
}

static struct burst *bursts_find(const struct bursts *b, __u64 time_ns)
{
	size_t i = b->open_count;

	while (i && b->open[i - 1].from_ns > time_ns)
		i--;
	return i && b->open[i - 1].to_ns >= time_ns ? &b->open[i - 1] : NULL;
}

/* `limit` times from the i-th on lie within a second of it. */
static bool is_dense(const struct bursts *b, size_t i)
{
	return b->times[i + b->limit] - b->times[i] < BURST_WINDOW_NS;
}

bool bursts_add(struct bursts *b, __u64 time_ns, struct burst **burst)
{
	size_t at, first, last;

	*burst = NULL;
	if ((b->newest_ns > b->late_ns && time_ns < b->newest_ns - b->late_ns) ||
	    !bursts_make_room(b))
		return false;
	if (time_ns > b->newest_ns)
		b->newest_ns = time_ns;
	*burst = bursts_find(b, time_ns);
	if (*burst)
		(*burst)->faults++;
	at = insert_time(b, time_ns);
	if (b->count <= b->limit)
		return true;
	/* The sets of limit + 1 neighbours that have the fault: all share it, so they are one burst. */
	first = at > b->limit ? at - b->limit : 0;
	last = at + b->limit < b->count ? at : b->count - b->limit - 1;
	while (first <= last && !is_dense(b, first))
		first++;
	if (first > last)
		return true;
	while (!is_dense(b, last))
		last--;
	*burst = bursts_unite(b, first, last + b->limit);
	return *burst;
}

bool bursts_take_over(struct bursts *b, __u64 now_ns, struct burst *burst)
{
	if (now_ns > b->newest_ns)
		b->newest_ns = now_ns;
	if (!b->open_count || b->open[0].to_ns >= horizon(b))
		return false;
	*burst = b->open[0];
	b->open_count--;
	memmove(b->open, b->open + 1, b->open_count * sizeof(*b->open));
	return true;
}
