// SPDX-License-Identifier: GPL-2.0
#include "tools/perfetto/lanes.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/memory.h"

/* How many end at that time or before. */
static size_t lanes_free_at(const struct lanes *lanes, __u64 time_ns)
{
	size_t first = 0, end = lanes->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (lanes->all[middle].until_ns <= time_ns)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Takes the lane at `from` to where its new end belongs. */
static void lanes_move(struct lanes *lanes, size_t from, struct slice_lane lane)
{
	size_t to = lanes_free_at(lanes, lane.until_ns);

	if (to > from) {
		to--; /* it is one of those that end earlier itself */
		memmove(&lanes->all[from], &lanes->all[from + 1], (to - from) * sizeof(lane));
	} else {
		memmove(&lanes->all[to + 1], &lanes->all[to], (from - to) * sizeof(lane));
	}
	lanes->all[to] = lane;
}

__u64 lanes_place(struct lanes *lanes, struct packets *packets, __u64 from_ns, __u64 to_ns)
{
	size_t free_lanes = lanes_free_at(lanes, from_ns);
	struct slice_lane lane = {.until_ns = to_ns};

	/* That one which ended last: what ends early stays for what began early. */
	if (free_lanes) {
		lane.track = lanes->all[free_lanes - 1].track;
		lanes_move(lanes, free_lanes - 1, lane);
		return lane.track;
	}
	lane.track = packets_track(packets, lanes->parent, lanes->name, NULL);
	if (lanes->count < LANES_MAX &&
	    array_grow(&lanes->all, &lanes->room, lanes->count + 1, sizeof(lane), ARRAY_LIMITED)) {
		lanes->all[lanes->count] = (struct slice_lane){UINT64_MAX, 0};
		lanes->count++;
		lanes_move(lanes, lanes->count - 1, lane);
	}
	return lane.track;
}

void lanes_free(struct lanes *lanes)
{
	memory_free(lanes->all);
	lanes->all = NULL;
	lanes->count = lanes->room = 0;
}
