/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the model: what happens when. One queue for each kind of event; as nearly all events of a
 * kind come a fixed delay after the present, a queue is a ring to whose end they are added, sorted
 * in from there in the rare other case.
 *
 * Two entries spare every test for the ring's ends: before the first one stands one that has been
 * taken, thus none later than any to come; after the last one stands QUEUE_END.
 */
#ifndef FAULTLINE_TRANSLATE_MODEL_QUEUE_H
#define FAULTLINE_TRANSLATE_MODEL_QUEUE_H

#include <linux/types.h>
#include <stdint.h>

/* What is due at the same time happens in this order, and within a kind first in, first out. */
enum model_event {
	EVENT_HIT,     /* DevTLB or prefetch buffer answered */
	EVENT_DONE,    /* the IOMMU's answer is back at the device */
	EVENT_WALKED,  /* page tables were read */
	EVENT_CONTEXT, /* the context entry has come */
	EVENT_IOMMU,   /* a request reached the IOMMU */
	EVENT_HISTORY, /* a prefetch request has read its history */
	MODEL_QUEUES,
};

#define QUEUE_KIND_BITS 3
#define QUEUE_END	(UINT64_MAX >> QUEUE_KIND_BITS) /* later than any event */
#define QUEUE_SPARE	2 /* entries of a ring beyond those that can be in it */

struct access;

struct model_queue_entry {
	__u64 time_ps;
	struct access *access;
};

struct model_queue {
	struct model_queue_entry *ring; /* begins as zeroes, but for QUEUE_END in the first entry */
	__u32 mask;
	__u32 head, tail;
};

static inline __u64 queue_first_ps(const struct model_queue *queue)
{
	return queue->ring[queue->head & queue->mask].time_ps;
}

static inline void queue_add(struct model_queue *queue, __u64 time_ps, struct access *access)
{
	__u32 at = queue->tail++;

	queue->ring[queue->tail & queue->mask].time_ps = QUEUE_END;
	while (queue->ring[(at - 1) & queue->mask].time_ps > time_ps) {
		queue->ring[at & queue->mask] = queue->ring[(at - 1) & queue->mask];
		at--;
	}
	queue->ring[at & queue->mask] = (struct model_queue_entry){time_ps, access};
}

static inline struct access *queue_take(struct model_queue *queue)
{
	return queue->ring[queue->head++ & queue->mask].access;
}

#endif
