/* SPDX-License-Identifier: GPL-2.0 */
/* What `tuned` learns, by docs/protect.md: every class of every idle time is gone through, every window is summed up anew. */
#ifndef FAULTLINE_SLOW_LEARN_H
#define FAULTLINE_SLOW_LEARN_H

#include <linux/types.h>
#include <stdbool.h>

#define SLOW_CLASSES 144

typedef __int128 wide; /* sums of times do not end */

struct slow_sums {
	wide idle[SLOW_CLASSES], hits[SLOW_CLASSES], faults[SLOW_CLASSES], time;
};

struct slow_learn {
	wide promote_after_ns, fault_after_ns;
	wide start_ns, decided_ns;
	struct slow_sums now, before;
	wide window_ns; /* -1: without an end */
	unsigned int admitted;
};

void slow_learn_begin(struct slow_learn *learn, wide promote_after_ns, wide fault_after_ns);
/* A page's idle time was counted as far as `*counted` units, and is so long now. */
void slow_learn_idle(struct slow_learn *learn, wide *counted, wide idle_ns);
/* Likewise, and it ends with an access. */
void slow_learn_use(struct slow_learn *learn, wide *counted, wide idle_ns);
/* Once all idle times are counted. */
void slow_learn_decide(struct slow_learn *learn, wide time_ns, wide room_pages, wide stay_ns);

#endif
