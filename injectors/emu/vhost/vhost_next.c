// SPDX-License-Identifier: GPL-2.0
/* What comes next: chains that are taken and kept back while their pages are evicted. */
#include <errno.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

/* Shorter segments are headers and states of requests, not data. */
#define NEXT_LEAST_BYTES 64

bool queue_stage(struct vhost_queue *q, struct vhost_slot *slot)
{
	struct vhost *vhost = q->vhost;
	bool staging;

	if (!atomic_load(&vhost->staging) && !q->staged.first)
		return false;
	pthread_mutex_lock(&vhost->lock);
	staging = atomic_load(&vhost->staging) || q->staged.first;
	if (staging) {
		slot->state = SLOT_STAGED;
		slot_append(&q->staged, slot);
		pthread_cond_broadcast(&vhost->changed);
	}
	pthread_mutex_unlock(&vhost->lock);
	return staging;
}

struct vhost_slot *queue_unstage(struct vhost_queue *q)
{
	struct vhost_slot *slot;

	pthread_mutex_lock(&q->vhost->lock);
	slot = slot_pop(&q->staged);
	pthread_mutex_unlock(&q->vhost->lock);
	if (slot)
		slot->state = SLOT_SERVED;
	return slot;
}

void queue_stage_forget(struct vhost_queue *q)
{
	pthread_mutex_lock(&q->vhost->lock);
	q->staged = (struct slot_list){0};
	pthread_mutex_unlock(&q->vhost->lock);
}

struct next_list {
	__u64 *pages;
	__u32 count, limit;
};

static void next_add(struct next_list *list, __u64 page)
{
	for (__u32 i = 0; i < list->count; i++)
		if (list->pages[i] == page)
			return;
	if (list->count < list->limit)
		list->pages[list->count++] = page;
}

/* What is not known is asked for: `changed` is told once it is. */
static int next_find(struct vhost *vhost, __u64 address, bool write, __u64 *guest_address)
{
	__u64 together, miss = 0;
	int error;

	if (!vhost_translates(vhost))
		return vhost_translate(vhost, address, guest_address, &together);
	error = vhost_iotlb_look(vhost, address, write, guest_address);
	if (error)
		(void)vhost_iotlb_ask(vhost, address, write, &miss);
	return error;
}

static void next_add_segment(struct vhost *vhost, const struct vhost_segment *segment, bool write,
			     struct next_list *list)
{
	__u64 at = segment->address, end = at + segment->length, guest_address;

	while (at < end && list->count < list->limit) {
		__u64 piece = PAGE_BYTES - (at & (PAGE_BYTES - 1));

		if (!next_find(vhost, at, write, &guest_address))
			next_add(list, guest_address & ~(PAGE_BYTES - 1));
		at += piece < end - at ? piece : end - at;
	}
}

/* With the lock held. */
static void next_collect(struct vhost *vhost, struct next_list *list)
{
	list->count = 0;
	for (__u32 i = 0; i < vhost->config.queues; i++) {
		const struct vhost_slot *slot = vhost->queue[i].staged.first;

		for (; slot; slot = slot->next)
			for (__u32 s = 0;
			     s < (__u32)slot->request.readable + slot->request.writable; s++)
				if (slot->segment[s].length >= NEXT_LEAST_BYTES)
					next_add_segment(vhost, &slot->segment[s],
							 s >= slot->request.readable, list);
	}
}

static void wake_all(struct vhost *vhost)
{
	for (__u32 i = 0; i < vhost->config.queues; i++)
		queue_wake(&vhost->queue[i]);
}

long vhost_next_pages(struct vhost *vhost, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	__u64 deadline = monotonic_ns() + wait_ns;
	struct next_list list = {.pages = pages, .limit = limit};
	bool waits = true;

	atomic_store(&vhost->staging, true);
	pthread_mutex_lock(&vhost->lock);
	next_collect(vhost, &list);
	while (list.count < limit && waits && !atomic_load(&vhost->stopping)) {
		waits = monotonic_cond_wait_until(&vhost->changed, &vhost->lock, deadline);
		next_collect(vhost, &list);
	}
	pthread_mutex_unlock(&vhost->lock);
	return atomic_load(&vhost->stopping) ? -ESHUTDOWN : (long)list.count;
}

void vhost_send_next(struct vhost *vhost)
{
	atomic_store(&vhost->staging, false);
	wake_all(vhost);
}
