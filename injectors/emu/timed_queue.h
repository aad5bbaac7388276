/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue whose items become visible at a time of their own.
 *
 * It is how delays of different faults overlap as in hardware: nobody sleeps with an item in hand.
 * Items come out by due time, equal ones in the order of their pushes. An item pushed as due in the
 * past is due now, so that of two pushed one after the other at once, the first comes first.
 */
#ifndef FAULTLINE_TIMED_QUEUE_H
#define FAULTLINE_TIMED_QUEUE_H

#include <linux/types.h>
#include <stddef.h>

struct timed_queue;

/* `capacity`: room to begin with; it grows. */
int timed_queue_create(struct timed_queue **queue, size_t item_size, size_t capacity);
void timed_queue_destroy(struct timed_queue *queue);

/* Copies the item in; -ENOMEM if the queue could not grow. */
int timed_queue_push(struct timed_queue *queue, __u64 due_ns, const void *item);

/* Waits for items that are due and copies up to `limit` of them out. Returns their number; 0 once
 * the queue has been stopped and is empty. */
size_t timed_queue_pop(struct timed_queue *queue, void *items, size_t limit);

/* From now on everything is due at once, and pop() does not wait for more. */
void timed_queue_stop(struct timed_queue *queue);

#endif
