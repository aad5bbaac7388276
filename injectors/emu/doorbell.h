/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A counter that can be waited for. Ringing costs a system call only if somebody sleeps. The waiter
 * polls for a short while before it sleeps, for longer when that paid off lately and not at all
 * when it did not (as KVM's halt polling), nor while the ringer needs the same CPU. One waiter, any
 * number of ringers.
 */
#ifndef FAULTLINE_DOORBELL_H
#define FAULTLINE_DOORBELL_H

#include <linux/types.h>

struct doorbell {
	__u32 count;
	__u32 sleeping;
	__u32 poll_ns; /* the waiter's */
	int cpu;       /* where it was rung last */
};

void doorbell_ring(struct doorbell *bell);
__u32 doorbell_count(const struct doorbell *bell);
/* Returns once the count differs from `seen` or at `deadline_ns` (CLOCK_MONOTONIC, 0: never). */
__u32 doorbell_wait(struct doorbell *bell, __u32 seen, __u64 deadline_ns);

/*
 * The same in memory that two processes share, one of which may write anything into it: who waits returns after one sleep, whatever
 * the count is then, and polls no longer than others; `wake` ends a sleep that the words know nothing of.
 */
void doorbell_ring_shared(struct doorbell *bell);
void doorbell_wait_shared(struct doorbell *bell, __u32 seen, __u64 deadline_ns);
void doorbell_wake_shared(struct doorbell *bell);

#endif
