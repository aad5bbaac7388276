/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the model: what happens when. One queue for each kind of step; as nearly all steps of a
 * kind come a fixed delay after the present, a queue is a list to whose end they are added, sorted
 * in from there in the rare other case.
 */
#ifndef FAULTLINE_TRANSLATE_MODEL_QUEUE_H
#define FAULTLINE_TRANSLATE_MODEL_QUEUE_H

#include <linux/types.h>
#include <stdint.h>

/* What is due at the same time happens in this order, and within a kind first in, first out. */
enum model_step_kind {
	MODEL_STEP_HIT,	    /* DevTLB or prefetch buffer answered */
	MODEL_STEP_DONE,    /* the IOMMU's answer is back at the device */
	MODEL_STEP_WALKED,  /* page tables were read */
	MODEL_STEP_CONTEXT, /* the context entry has come */
	MODEL_STEP_IOMMU,   /* a request reached the IOMMU */
	MODEL_STEP_HISTORY, /* a prefetch request has read its history */
	MODEL_QUEUES,
};

/* When and what in one number, the kind in its low bits: the smallest of all comes next. */
#define DUE_KIND_BITS 3
#define DUE_KIND      ((1u << DUE_KIND_BITS) - 1)
#define TIME_END_PS   (UINT64_MAX >> DUE_KIND_BITS) /* later than any step */

struct model_step {
	__u64 due;
	struct model_step *next, *previous;
};

/* A ring of steps and one that is none, due at the end of time, from whose `next` it begins. */
struct model_queue {
	struct model_step ends;
};

static inline __u64 due_at(__u64 time_ps, enum model_step_kind kind)
{
	return time_ps << DUE_KIND_BITS | kind;
}

static inline void queue_begin(struct model_queue *queue, enum model_step_kind kind)
{
	queue->ends = (struct model_step){due_at(TIME_END_PS, kind), &queue->ends, &queue->ends};
}

static inline __u64 queue_first(const struct model_queue *queue)
{
	return queue->ends.next->due;
}

static inline void queue_add(struct model_queue *queue, struct model_step *step, __u64 due)
{
	struct model_step *previous = queue->ends.previous, *next;

	while (previous->due > due && previous != &queue->ends)
		previous = previous->previous;
	next = previous->next;
	*step = (struct model_step){due, next, previous};
	previous->next = step;
	next->previous = step;
}

/* Takes the first step of a queue that has one. */
static inline struct model_step *queue_take(struct model_queue *queue)
{
	struct model_step *step = queue->ends.next;

	queue->ends.next = step->next;
	step->next->previous = &queue->ends;
	return step;
}

#endif
