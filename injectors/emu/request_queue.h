/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page request queue (VT-d specification 7.4: PRQ; VPRI: PFQ): a ring that devices write at its
 * tail and the ISR reads at its head, in that order and no other.
 *
 * As in VT-d one slot stays empty: N entries hold N - 1 requests. A request that finds the queue
 * full sets the overflow bit (PRO), and while that is set every request is dropped, room or not.
 * Software clears it once it has taken what is queued: what it knows of the groups until then is all
 * it will ever know. An epoch is the time from one clearing to the next.
 *
 * The queue logs in the truth log what it takes, drops and hands over.
 */
#ifndef FAULTLINE_REQUEST_QUEUE_H
#define FAULTLINE_REQUEST_QUEUE_H

#include "injectors/emu/service.h"

struct request_queue;

int request_queue_create(struct request_queue **queue, __u32 entries);
void request_queue_destroy(struct request_queue *queue);

/* Takes the slot at the tail; false if the request is dropped, which with `force` happens as if the
 * queue were full. Every slot taken must be posted: those behind it wait for it. */
bool request_queue_reserve(struct request_queue *queue, const struct page_request *request,
			   bool force, struct request_slot *slot);
/* Writes the request into its slot, and interrupts. */
void request_queue_post(struct request_queue *queue, const struct request_slot *slot,
			const struct page_request *request);

/*
 * The ISR, one thread. Waits for the interrupt of the request at the head, which comes at its
 * deliver_ns, or for the overflow bit of an empty queue; takes up to `limit` requests in their order.
 * *overflowed: the bit is set and all that was queued has been taken, now or before. 0 without it:
 * stopped and empty.
 */
size_t request_queue_take(struct request_queue *queue, struct page_request *requests, size_t limit,
			  bool *overflowed);
/* Only after *overflowed: a new epoch begins. */
void request_queue_clear_overflow(struct request_queue *queue);

/* No delay holds from now on. */
void request_queue_stop(struct request_queue *queue);

struct request_queue_stats {
	__u64 requests;	 /* taken from devices */
	__u64 overflows; /* dropped */
	__u64 epochs;	 /* times that the overflow bit was set */
	__u32 depth_max;
};
void request_queue_stats(struct request_queue *queue, struct request_queue_stats *stats);

#endif
