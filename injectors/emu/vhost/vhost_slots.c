// SPDX-License-Identifier: GPL-2.0
/* Requests of a queue, and where they wait: for page responses, for a while, for their turn. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

#define SLOT_DOUBLINGS 5 /* of the pause until a page is asked for again */

void slot_append(struct slot_list *list, struct vhost_slot *slot)
{
	slot->next = NULL;
	if (list->last)
		list->last->next = slot;
	else
		list->first = slot;
	list->last = slot;
}

struct vhost_slot *slot_pop(struct slot_list *list)
{
	struct vhost_slot *slot = list->first;

	if (slot)
		list->first = slot->next;
	if (!list->first)
		list->last = NULL;
	return slot;
}

int slot_later(struct vhost_slot *slot, __u64 pause_ns)
{
	struct vhost_queue *q = slot->request.queue;

	slot->retry_ns =
		monotonic_ns() +
		(pause_ns << (slot->tries < SLOT_DOUBLINGS ? slot->tries : SLOT_DOUBLINGS));
	slot->tries++;
	slot->state = SLOT_LATER;
	slot_append(&q->late, slot);
	return VHOST_PARKED;
}

/* A thread of the fault service, or the one that stops the port: the queue's takes it from here. */
static void slot_told(struct port_request *asked, int error)
{
	struct vhost_slot *slot =
		(struct vhost_slot *)((char *)asked - offsetof(struct vhost_slot, asked));
	struct vhost_queue *q = slot->request.queue;

	slot->told = error;
	pthread_mutex_lock(&q->told_lock);
	slot_append(&q->told, slot);
	/* Within the lock: who has taken it may be the last to need the queue. */
	queue_wake(q);
	pthread_mutex_unlock(&q->told_lock);
}

int slot_ask(struct vhost_slot *slot)
{
	struct vhost_queue *q = slot->request.queue;
	int error;

	slot->asked.own = NULL;
	slot->asked.done = slot_told;
	slot->request.faulted = true;
	slot->state = SLOT_ASKED;
	q->asked++;
	atomic_fetch_add(&q->parked, 1);
	error = port_request(q->vhost->config.port, &slot->asked);
	if (!error)
		return VHOST_PARKED;
	q->asked--;
	slot->state = SLOT_SERVED;
	return error == -EAGAIN ? slot_later(slot, SLOT_PAUSE_NS) : error;
}

int slot_missed(struct vhost_slot *slot, __u64 iova, bool write)
{
	struct vhost_queue *q = slot->request.queue;
	int error;

	atomic_store(&q->iotlb.waits, true);
	error = vhost_iotlb_ask(q->vhost, iova, write, &slot->miss);
	if (error == -EBUSY)
		return slot_later(slot, SLOT_PAUSE_NS);
	if (error)
		return error;
	slot->state = SLOT_MISSED;
	slot_append(&q->missed, slot);
	return VHOST_PARKED;
}

struct vhost_slot *slots_answered(struct vhost_queue *q)
{
	struct slot_list kept = {0};
	struct vhost_slot *answered = NULL, *slot;

	while ((slot = slot_pop(&q->missed))) {
		if (!answered && vhost_iotlb_answered(q->vhost, slot->miss))
			answered = slot;
		else
			slot_append(&kept, slot);
	}
	q->missed = kept;
	if (answered)
		answered->state = SLOT_SERVED;
	return answered;
}

struct vhost_slot *slots_told(struct vhost_queue *q)
{
	struct vhost_slot *slot;

	pthread_mutex_lock(&q->told_lock);
	slot = slot_pop(&q->told);
	pthread_mutex_unlock(&q->told_lock);
	if (!slot)
		return NULL;
	q->asked--;
	slot->state = SLOT_SERVED;
	switch (slot->told) {
	case 0:
	case -ETIMEDOUT:
		slot->tries = 0;
		break;
	case -EAGAIN: /* too much at once for the request queue */
		slot->pages_most = slot->pages_most > 1 ? slot->pages_most / 2 : 1;
		slot_later(slot, SLOT_PAUSE_NS);
		break;
	default:
		slot->error = slot->told;
	}
	return slot;
}

struct vhost_slot *slots_due(struct vhost_queue *q, __u64 now)
{
	struct slot_list kept = {0};
	struct vhost_slot *due = NULL, *slot;

	while ((slot = slot_pop(&q->late))) {
		if (!due && slot->retry_ns <= now)
			due = slot;
		else
			slot_append(&kept, slot);
	}
	q->late = kept;
	if (due)
		due->state = SLOT_SERVED;
	return due;
}

__u64 slots_next_ns(const struct vhost_queue *q)
{
	__u64 next = ~0ull;

	for (const struct vhost_slot *slot = q->late.first; slot; slot = slot->next)
		next = slot->retry_ns < next ? slot->retry_ns : next;
	return next;
}

void queue_slots_free(struct vhost_queue *q)
{
	for (__u32 head = 0; head < q->slot_count; head++) {
		free(queue_slot(q, (__u16)head)->request.own);
		free(queue_slot(q, (__u16)head)->piece);
	}
	free(q->slots);
	q->slots = NULL;
	q->slot_count = 0;
}

static int slot_memory(const struct vhost_config *config, struct vhost_slot *slot)
{
	__u32 own = config->model->request_bytes;

	if (own)
		slot->request.own = calloc(1, own);
	if (config->iommu)
		slot->piece = calloc(VHOST_PIECES, sizeof(*slot->piece));
	return (own && !slot->request.own) || (config->iommu && !slot->piece) ? -ENOMEM : 0;
}

int queue_slots(struct vhost_queue *q)
{
	if (q->slot_count == q->size)
		return 0;
	queue_slots_free(q);
	q->slot_bytes = sizeof(struct vhost_slot);
	q->slots = calloc(q->size, q->slot_bytes);
	if (!q->slots)
		return failed(-ENOMEM, "no memory for a queue of %u requests", q->size);
	q->slot_count = q->size;
	for (__u32 head = 0; head < q->size; head++) {
		if (slot_memory(&q->vhost->config, queue_slot(q, (__u16)head))) {
			queue_slots_free(q);
			return failed(-ENOMEM, "no memory for a queue of %u requests", q->size);
		}
	}
	return 0;
}
