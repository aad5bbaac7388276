// SPDX-License-Identifier: GPL-2.0
/* Requests that are done: into the used ring, and out of the queue. */
#include <errno.h>

#include "injectors/emu/vhost/vhost_private.h"

static void slot_close(struct vhost_slot *slot)
{
	if (slot->state == SLOT_KEPT)
		slot->request.queue->kept--;
	slot->state = SLOT_FREE;
	slot->request.queue->open--;
}

/* In the used ring, then reported: from then on the driver may use the descriptor again. */
static int slot_use(struct vhost_slot *slot)
{
	struct vhost_request *request = &slot->request;
	struct vhost_queue *q = request->queue;
	const struct vhost_config *config = &q->vhost->config;
	int error = virtqueue_put_used(q, request->head, request->used);

	if (error)
		return error;
	/* A fault of the rings, or of a request before it, that was open while this one was there. */
	request->faulted |= port_fault_end_ns(config->port, q->index) >= request->start_ns;
	atomic_fetch_add(&q->requests, 1);
	if (config->model->report)
		config->model->report(config->argument, request, request->faulted ? IO_FAULTED : 0,
				      q->used_ns);
	slot_close(slot);
	return 0;
}

int slot_done(struct vhost_slot *slot)
{
	struct vhost_queue *q = slot->request.queue;
	int error = q->done.first ? -EAGAIN : slot_use(slot);

	if (error != -EAGAIN)
		return error;
	if (slot->state == SLOT_KEPT)
		q->kept--;
	slot->state = SLOT_DONE;
	slot_append(&q->done, slot);
	return 0;
}

int slots_use_done(struct vhost_queue *q)
{
	struct vhost_slot *slot;
	int error = 0;

	while (!error && (slot = q->done.first)) {
		error = slot_use(slot);
		if (!error)
			slot_pop(&q->done);
	}
	return error;
}

int vhost_request_done(struct vhost_request *request)
{
	return slot_done((struct vhost_slot *)request);
}
