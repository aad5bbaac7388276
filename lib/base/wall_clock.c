// SPDX-License-Identifier: GPL-2.0
#include "lib/base/wall_clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"

#define ANCHORS_MAX (1u << 20) /* two years, were the clock slewed all the time */
#define LATE_MAX    1024       /* places back that one is inserted: more is no recording of ours */

/* Index of the first anchor after the time. */
static size_t anchor_after(const struct wall_clock *clock, __u64 monotonic_ns)
{
	size_t low = 0, high = clock->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clock->anchors[middle].monotonic_ns <= monotonic_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static __u64 anchor_offset(const struct clock_anchor *anchor)
{
	return anchor->realtime_ns - anchor->monotonic_ns;
}

void wall_clock_add(struct wall_clock *clock, const struct clock_anchor *anchor)
{
	size_t at = anchor_after(clock, anchor->monotonic_ns);

	if (at && anchor_offset(&clock->anchors[at - 1]) == anchor_offset(anchor))
		return;
	if (at && clock->anchors[at - 1].monotonic_ns == anchor->monotonic_ns) {
		clock->anchors[at - 1] = *anchor;
		return;
	}
	if (clock->count == ANCHORS_MAX || clock->count - at > LATE_MAX)
		return;
	if (!array_grow(&clock->anchors, &clock->room, clock->count + 1, sizeof(*anchor),
			ARRAY_PLAIN))
		return;
	memmove(&clock->anchors[at + 1], &clock->anchors[at],
		(clock->count - at) * sizeof(*clock->anchors));
	clock->anchors[at] = *anchor;
	clock->count++;
}

void wall_clock_free(struct wall_clock *clock)
{
	free(clock->anchors);
	memset(clock, 0, sizeof(*clock));
}

__u64 wall_clock_at(const struct wall_clock *clock, __u64 monotonic_ns)
{
	size_t at = anchor_after(clock, monotonic_ns);

	if (!clock->count)
		return 0;
	return monotonic_ns + anchor_offset(&clock->anchors[at ? at - 1 : 0]);
}

bool wall_clock_step(const struct wall_clock *clock, __u64 since_ns, __u64 until_ns,
		     struct wall_clock_step *step)
{
	*step = (struct wall_clock_step){0};
	for (size_t i = anchor_after(clock, since_ns); i < clock->count; i++) {
		const struct clock_anchor *now = &clock->anchors[i];
		__s64 by = i ? (__s64)(anchor_offset(now) - anchor_offset(now - 1)) : 0;

		if (now->monotonic_ns >= until_ns)
			break;
		if (llabs(by) < WALL_CLOCK_STEP_NS)
			continue;
		step->count++;
		if (llabs(by) > llabs(step->by_ns)) {
			step->at_ns = now->monotonic_ns;
			step->by_ns = by;
		}
	}
	return step->count;
}

/* The times for which anchor `i` stands: the first one's from boot on, the last one's for ever. */
static __u64 anchor_begin(const struct wall_clock *clock, size_t i)
{
	return i ? clock->anchors[i].monotonic_ns : 0;
}

static __u64 anchor_end(const struct wall_clock *clock, size_t i)
{
	return i + 1 < clock->count ? clock->anchors[i + 1].monotonic_ns : UINT64_MAX;
}

/* The first time of the anchor's that is this wall-clock time or later. */
static __u64 anchor_time_of(const struct wall_clock *clock, size_t i, __u64 realtime_ns)
{
	__u64 begin = anchor_begin(clock, i), boot = anchor_offset(&clock->anchors[i]);

	return realtime_ns > boot && realtime_ns - boot > begin ? realtime_ns - boot : begin;
}

__u64 wall_clock_since(const struct wall_clock *clock, __u64 realtime_ns)
{
	for (size_t i = 0; i < clock->count; i++) {
		__u64 time = anchor_time_of(clock, i, realtime_ns);

		if (time < anchor_end(clock, i))
			return time;
	}
	return 0;
}

__u64 wall_clock_until(const struct wall_clock *clock, __u64 realtime_ns)
{
	for (size_t i = clock->count; i-- > 0;) {
		__u64 time = anchor_time_of(clock, i, realtime_ns);

		if (time > anchor_begin(clock, i))
			return time < anchor_end(clock, i) ? time : anchor_end(clock, i);
	}
	return 0;
}
