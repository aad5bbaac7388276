/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Merges several nearly sorted sources into one stream ordered by time.
 *
 * A pass: T0 = now, then drain every source. A source drained empty promises T0: what it delivers
 * later is younger, because a record is stamped after it was reserved. A source whose oldest record
 * is still being written promises the time of its last event. What is not younger than the lowest
 * promise less a slack is released. An event that comes after the merge has passed its time is
 * released at once, marked EVENT_LATE and counted; nothing is dropped and nothing waits for ever:
 * a promise counts at most MERGE_HOLD_NS behind T0.
 */
#ifndef FAULTLINE_MERGE_H
#define FAULTLINE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/event.h"

#define MERGE_SLACK_NS 100000ull /* disorder within a ring: interrupts between reserve and stamp */
#define MERGE_HOLD_NS  500000000ull /* how long a record being written may hold all others back */

struct merge;

int merge_create(struct merge **merge, size_t sources);
void merge_destroy(struct merge *merge);

/*
 * Adds an event of a source, in constant time. Memory grows to the largest backlog once, then is reused: a
 * source may hold several streams, one behind the other (the logs of all emulated machines do), and is
 * put in order as its events are taken.
 */
int merge_push(struct merge *merge, size_t source, const struct event *event);

/* After draining `source`: nothing older than `low_ns` will come from it. Monotonic per source. */
void merge_promise(struct merge *merge, size_t source, __u64 low_ns);
/* The promise for a source that could not be drained: the time of its last event. */
void merge_promise_last(struct merge *merge, size_t source);

/* The time up to which everything may be released, given the T0 of this pass. */
__u64 merge_watermark(const struct merge *merge, __u64 now_ns);

/*
 * Takes up to `room` events not younger than the watermark, in order. Returns how many; fewer than
 * `room` means that all were taken.
 */
size_t merge_take(struct merge *merge, __u64 watermark_ns, struct event *events, size_t room);

/* Comparisons and moves of events that putting sources in order has taken so far. */
__u64 merge_work(const struct merge *merge);
__u64 merge_late(const struct merge *merge);
size_t merge_held(const struct merge *merge);

#endif
