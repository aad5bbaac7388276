/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `tuned` learns from: for how long known pages lay idle, whether pinned or not, and after how long they were used
 * again. Of both follows what any window of idle time, in which pages are pinned, would have avoided and cost.
 *
 * Time beyond `from_ns` is counted in units, and units in classes, 8 for each doubling. A page's idle time enters
 * once it ends, by what is below it: one count in its class and the rest within it; classes below are summed up
 * when a decision is made. What was idle before the last decision is subtracted, likewise. Rules: docs/protect.md.
 */
#ifndef FAULTLINE_PROTECT_LEARNER_H
#define FAULTLINE_PROTECT_LEARNER_H

#include "lib/protect/page_store.h"

#define LEARNER_CLASSES	  144
#define LEARNER_UNITS_MAX ((1u << 20) - 1) /* in the last class is what is longer */
#define LEARNER_ALL	  256		   /* pages are admitted by so many parts of 256 */

/* In all, modulo 2^64 where it is a difference. */
struct learner_sums {
	__u64 ended[LEARNER_CLASSES];  /* idle times that ended in it */
	__u64 within[LEARNER_CLASSES]; /* units of these, from its lower end */
};

struct learner {
	__u64 from_ns, fault_after_ns, unit_ns;
	struct learner_sums sums;
	/* Each decision leaves half of them to the next. */
	__u64 hits[LEARNER_CLASSES], faults[LEARNER_CLASSES];
	__u64 idle[LEARNER_CLASSES]; /* page x units, until the last decision */
	__u64 units;		     /* of time, likewise */
	__u64 decided_ns;
};

struct learner_choice {
	__u64 window_ns; /* idle beyond from_ns */
	__u32 admitted;	 /* 0: nothing was learned */
};

void learner_init(struct learner *learner, __u64 from_ns, __u64 fault_after_ns);
void learner_start(struct learner *learner, __u64 time_ns);
/* A page was used that had been idle for so long. */
void learner_used(struct learner *learner, __u64 idle_ns);
/* A page is not looked at any more. */
void learner_lost(struct learner *learner, __u64 idle_ns);
/* What to do from now on with room for so many pages, each of which stays for `stay_ns` longer once it is used. */
struct learner_choice learner_decide(struct learner *learner, const struct page_store *store,
				     __u64 time_ns, __u64 room, __u64 stay_ns);

#endif
