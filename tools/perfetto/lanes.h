/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slices that overlap, on tracks of which each has one after the other: slices of one track must nest.
 *
 * They come in the order in which they were told, not in that of their times. What is on a lane ended before the next
 * one begins, and was written before it, so that both hold for each lane whatever the others have.
 */
#ifndef FAULTLINE_PERFETTO_LANES_H
#define FAULTLINE_PERFETTO_LANES_H

#include "tools/perfetto/packets.h"

/* So many are remembered; a slice that finds no place on them has a track for itself. */
#define LANES_MAX 4096

struct slice_lane {
	__u64 until_ns; /* its last slice */
	__u64 track;
};

/* All zero but for the first two: none. */
struct lanes {
	__u64 parent;
	const char *name;	/* of each of them: who shows them draws them as one */
	struct slice_lane *all; /* by their ends */
	size_t count, room;
};

/* The track for a slice of that time; it is to be written next on it. */
__u64 lanes_place(struct lanes *lanes, struct packets *packets, __u64 from_ns, __u64 to_ns);
void lanes_free(struct lanes *lanes);

#endif
