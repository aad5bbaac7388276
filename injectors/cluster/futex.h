/* SPDX-License-Identifier: GPL-2.0 */
/* Counters in shared memory that processes wait for. */
#ifndef FAULTLINE_CLUSTER_FUTEX_H
#define FAULTLINE_CLUSTER_FUTEX_H

#include <linux/types.h>

/* One more, and whoever waits for that wakes up. */
void shared_counter_add(__u32 *counter);
__u32 shared_counter(const __u32 *counter);
/* Until it is not `seen`. -ETIMEDOUT. */
int shared_counter_wait(const __u32 *counter, __u32 seen, __u64 timeout_ns);

/* A word that is no counter: returns at once if it is not `value`; also for a signal or for nothing: the caller looks again. */
void shared_futex_wait(const __u32 *word, __u32 value, __u64 timeout_ns);
void shared_futex_wake(const __u32 *word);

#endif
