/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From CLOCK_MONOTONIC to wall-clock time and back: the one rule for every table, for --since and
 * --until, and for the live view.
 *
 * A time is told by the newest anchor at or before it; what is before the first anchor, by the
 * first. So a step of the host's clock changes nothing of what was told already, and an event has
 * one time wherever and whenever it is printed. Between a step and the next anchor, a minute at
 * most, the old offset holds: nobody has seen the step before.
 */
#ifndef FAULTLINE_WALL_CLOCK_H
#define FAULTLINE_WALL_CLOCK_H

#include <stdbool.h>

#include "lib/base/stream.h"

struct wall_clock {
	struct clock_anchor *anchors; /* by time, those of one offset in a row kept once */
	size_t count, room;
};

/* Anchors beyond the memory there is, or of a stream that cannot be sound, are left out. */
void wall_clock_add(struct wall_clock *clock, const struct clock_anchor *anchor);
void wall_clock_free(struct wall_clock *clock);

/* Offsets that differ by less are slewed (a minute of adjtime() makes 30 ms), not set. */
#define WALL_CLOCK_STEP_NS 100000000

struct wall_clock_step {
	__u64 at_ns; /* CLOCK_MONOTONIC, when it was seen */
	__s64 by_ns; /* negative: back */
	size_t count;
};

/* The greatest step, and how many there were, between two times of CLOCK_MONOTONIC; false: none. */
bool wall_clock_step(const struct wall_clock *clock, __u64 since_ns, __u64 until_ns,
		     struct wall_clock_step *step);

/* CLOCK_REALTIME at a CLOCK_MONOTONIC time; 0 if there is no anchor. */
__u64 wall_clock_at(const struct wall_clock *clock, __u64 monotonic_ns);

/*
 * The window [since, until) of CLOCK_MONOTONIC that holds all events of these wall-clock times. A
 * clock that was set back has told some times twice: then the window holds both, and what lies between.
 */
__u64 wall_clock_since(const struct wall_clock *clock, __u64 realtime_ns);
__u64 wall_clock_until(const struct wall_clock *clock, __u64 realtime_ns);

#endif
