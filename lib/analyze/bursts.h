/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bursts among the faults of one device: more than `limit` of them within one second (VPRI section
 * 2.2), wherever that second begins.
 *
 * Faults count by their begin, in whatever order they are told: one that was held back is told after
 * others that began later. Sets of limit + 1 faults within a second that share a fault are one burst,
 * so that no fault counts in two. A burst begins with its first fault and ends with its last.
 *
 * Kept are the times of the last `late_ns`, but none that cannot decide any more: inside a burst, those
 * with `limit` of its faults on both sides. That is at most some 2 * limit times a second.
 */
#ifndef FAULTLINE_BURSTS_H
#define FAULTLINE_BURSTS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "lib/base/clock.h"

#define BURST_WINDOW_NS NSEC_PER_SEC

struct burst {
	__u32 device;
	__u64 from_ns, to_ns;
	__u64 faults;
	__u64 peak_ns; /* since then, for a second: about the peak */
	__u64 peak; /* most within one second of it, as far as its keeper counts them; at least limit + 1 */
};

struct bursts {
	unsigned int limit;
	__u64 late_ns;
	__u64 newest_ns;
	__u64 *times; /* ascending */
	size_t count, capacity;
	struct burst *open; /* that a fault may still join, ascending, apart from each other */
	size_t open_count, open_capacity;
};

/* A fault that began more than `late_ns` before the newest one, or before what was taken over, is not counted. */
void bursts_init(struct bursts *bursts, unsigned int limit, __u64 late_ns);
void bursts_free(struct bursts *bursts);
/*
 * Counts a fault; *burst is the one that it belongs to, NULL if none, and valid until the next call.
 * False if it began too long ago, or without memory: then it is not counted.
 */
bool bursts_add(struct bursts *bursts, __u64 time_ns, struct burst **burst);
/* It is `now_ns`: takes out the oldest burst that no fault can join any more; false if there is none. */
bool bursts_take_over(struct bursts *bursts, __u64 now_ns, struct burst *burst);

#endif
