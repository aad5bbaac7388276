/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The region of in-flight requests (vhost-user, "Inflight I/O tracking", split virtqueues): what a back-end has taken and not yet
 * answered, in memory that the front-end keeps over the back-end's death. We make it; it comes back with SET_INFLIGHT_FD.
 *
 * Each step is one store, in the order that the protocol gives: whatever instant we end at, who reconnects finds each request either
 * in the used ring or marked. The memory is the front-end's as well: what is read from it is checked.
 */
#ifndef FAULTLINE_INFLIGHT_H
#define FAULTLINE_INFLIGHT_H

#include <linux/types.h>
#include <stdbool.h>

struct inflight; /* the mapped region */

/* Of one queue. */
struct inflight_descriptor {
	__u8 inflight;
	__u8 padding[5];
	__u16 next; /* of the last batch */
	__u64 counter;
};

struct inflight_queue {
	__u64 features;
	__u16 version;
	__u16 descriptors;
	__u16 last_batch_head;
	__u16 used_index;
	struct inflight_descriptor descriptor[];
};

_Static_assert(sizeof(struct inflight_descriptor) == 16, "the protocol's");
_Static_assert(sizeof(struct inflight_queue) == 16, "the protocol's");

/* A new region for so many queues of such a size: its file (the caller's, sealed against resizing) and length. Negative errno with a sentence. */
int inflight_make(__u16 queues, __u16 queue_size, __u64 *bytes);
/* Maps one that was given. -EINVAL with a sentence: it can shrink, is too short, or is no such region. `file` stays the caller's. */
int inflight_map(struct inflight **inflight, int file, __u64 bytes, __u64 offset, __u16 queues,
		 __u16 queue_size);
void inflight_unmap(struct inflight *inflight);
/* NULL: the region has no such queue, or one that is smaller than `size`. */
struct inflight_queue *inflight_queue(struct inflight *inflight, __u16 index, __u16 size);

/* A chain is taken: before anything is done for it. `counter` is the queue's, one more each time. */
void inflight_take(struct inflight_queue *queue, __u16 head, __u64 counter);
/* It is about to be in the used ring, is in it, whose index is `used_index` now. */
void inflight_begin_used(struct inflight_queue *queue, __u16 head);
void inflight_end_used(struct inflight_queue *queue, __u16 head, __u16 used_index);

/*
 * After a reconnect: strikes out what had reached the used ring, whose index is `used_index`, and lists the rest, in the order that it had
 * been taken; `heads` has room for `size`. Returns how many. *counter: the next. -EPROTO with a sentence: the region makes no
 * sense.
 */
int inflight_recover(struct inflight_queue *queue, __u16 size, __u16 used_index, __u16 *heads,
		     __u64 *counter);

#endif
