/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The newest latencies, so that percentiles can be over the last seconds instead of since the start.
 *
 * A ring of samples that analyzers add to while the stream passes; it grows to WINDOW_MOST and then
 * forgets the oldest. Whoever looks (lib/analyze/live.h) says how long the window is; the analyzer then
 * makes log-linear histograms of what is left. What was added since the look before belongs to this one,
 * so a sample is in every window that is long enough, however late its fault was handed over.
 */
#ifndef FAULTLINE_WINDOW_H
#define FAULTLINE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "lib/analyze/analyzer.h"

#define WINDOW_SERIES 8
#define WINDOW_MOST   (1u << 18) /* samples: 22 MiB */

/* What a percentile is over. */
struct window_sample {
	__u64 seen_ns; /* of the first look after it was added */
	__u64 ns[WINDOW_SERIES];
	__u32 owner, part; /* the analyzer's: a device and, say, its region */
	__u32 count;	   /* of the same: a bucket counted in the kernel may stand for many */
	__u8 measured;	   /* bit per series that has a value */
	__u8 merged;	   /* likewise: holds its neighbour's time, too */
	__u8 seen;	   /* the analyzer's */
};

struct window;

/* NULL without memory. */
struct window *window_create(void);
void window_destroy(struct window *window);
/* A new sample, all zero but its count of 1, to be filled; NULL if `window` is NULL or without memory. */
struct window_sample *window_add(struct window *window);
/* Forgets what was seen length_ns before now_ns and earlier. */
void window_look(struct window *window, __u64 now_ns, __u64 length_ns);
/* Of what is left, oldest first. */
size_t window_count(const struct window *window);
const struct window_sample *window_at(const struct window *window, size_t index);
/* Some sample was forgotten although it is not as old as the window of the last look. */
bool window_is_cut(const struct window *window);

#endif
