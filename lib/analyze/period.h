/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of a recording that was asked for: --since and --until.
 *
 * What happens at one time belongs to the period by that time, what lasts by its beginning, and is then
 * told whole, however it lies across the borders. So every analyzer that puts something together from
 * several events reads all of the stream and leaves out what began outside; the others read
 * period_stream(). What is counted or judged by windows (of a second) is in the period if a part of its
 * window is, and then with all of the window.
 */
#ifndef FAULTLINE_PERIOD_H
#define FAULTLINE_PERIOD_H

#include <stdbool.h>

#include "lib/base/stream.h"

/* CLOCK_MONOTONIC, [since, until); until 0: to the end. All zero: everything. */
struct period {
	__u64 since_ns, until_ns;
};

static inline bool period_is_after(const struct period *period, __u64 time_ns)
{
	return period->until_ns && time_ns >= period->until_ns;
}

static inline bool period_has(const struct period *period, __u64 time_ns)
{
	return time_ns >= period->since_ns && !period_is_after(period, time_ns);
}

/* What lasts from `from_ns` to `to_ns` and is told by the window has a part in the period. */
static inline bool period_touches(const struct period *period, __u64 from_ns, __u64 to_ns)
{
	return to_ns > period->since_ns && !period_is_after(period, from_ns);
}

/* A second of counting, by its number: all of it is after the period; some of it is within. */
static inline bool period_is_after_window(const struct period *period, __u64 window)
{
	return period_is_after(period, window * AGGREGATE_WINDOW_NS);
}

static inline bool period_has_window(const struct period *period, __u64 window)
{
	return period_touches(period, window * AGGREGATE_WINDOW_NS,
			      (window + 1) * AGGREGATE_WINDOW_NS);
}

/* A stream of what happens within the period; what describes (devices, probes, loss) passes. */
struct period_filter {
	struct period period;
	struct stream sink;
};

struct stream period_stream(struct period_filter *filter);

#endif
