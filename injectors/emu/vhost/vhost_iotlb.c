// SPDX-License-Identifier: GPL-2.0
/* The device's translations: what is known of them, and who goes by them. */
#include "injectors/emu/vhost/vhost_iotlb.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

#define INSIDE_LOOKS	100 /* before the CPU is left to who is inside */
#define INSIDE_PAUSE_NS (20 * NSEC_PER_USEC)

int vhost_iotlb_init(struct vhost *vhost)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;

	pthread_mutex_init(&iotlb->lock, NULL);
	atomic_store(&iotlb->generation, 1);
	iotlb->asked = iotlb->answered = 1;
	if (!vhost->config.iommu)
		return 0;
	iotlb->table = iova_table_create(vhost->config.iotlb_entries ?: VHOST_IOTLB_ENTRIES);
	return iotlb->table ? 0 : failed(-ENOMEM, "no memory for an IOTLB");
}

void vhost_iotlb_free(struct vhost *vhost)
{
	iova_table_destroy(vhost->iotlb.table);
	pthread_mutex_destroy(&vhost->iotlb.lock);
}

void queue_iotlb_enter(struct vhost_queue *q)
{
	/* Seen before the look at the generation, as whoever takes back looks here behind its change of that. */
	if (!q->iotlb.depth++)
		atomic_fetch_add(&q->iotlb.inside, 1);
}

void queue_iotlb_leave(struct vhost_queue *q)
{
	if (!--q->iotlb.depth)
		atomic_fetch_add_explicit(&q->iotlb.inside, 1, memory_order_release);
}

/* Until no queue goes by what it knew before the generation changed. */
static void wait_outside(struct vhost *vhost)
{
	const struct timespec pause = timespec_of_ns(INSIDE_PAUSE_NS);

	for (__u16 i = 0; i < vhost->config.queues; i++) {
		_Atomic __u64 *inside = &vhost->queue[i].iotlb.inside;
		__u64 seen = atomic_load(inside);

		for (__u32 looks = 0; seen & 1 && atomic_load(inside) == seen; looks++)
			if (looks > INSIDE_LOOKS)
				nanosleep(&pause, NULL);
	}
	if (vhost->config.model->taken_back)
		vhost->config.model->taken_back(vhost->config.argument);
}

static bool range_has(const struct iova_range *range, __u64 iova, __u32 permissions)
{
	return iova >= range->first && iova <= range->last && !(permissions & ~range->permissions);
}

/* From the queue's own, else from the device's, which the queue's learn. */
static bool find_range(struct vhost_queue *q, __u64 iova, __u32 permissions,
		       struct iova_range *range)
{
	struct vhost_iotlb *iotlb = &q->vhost->iotlb;
	__u64 generation = atomic_load(&iotlb->generation);
	struct queue_iotlb_entry *entry =
		&q->iotlb.entry[(iova >> PAGE_BITS) & (QUEUE_IOTLB_ENTRIES - 1)];
	bool found;

	if (entry->generation == generation && range_has(&entry->range, iova, permissions)) {
		*range = entry->range;
		return true;
	}
	pthread_mutex_lock(&iotlb->lock);
	found = iova_table_find(iotlb->table, iova, permissions, range);
	pthread_mutex_unlock(&iotlb->lock);
	if (found)
		*entry = (struct queue_iotlb_entry){*range, generation};
	return found;
}

int queue_iotlb_find(struct vhost_queue *q, __u64 iova, bool write, __u64 most,
		     __u64 *guest_address, __u64 *bytes)
{
	__u32 permissions = write ? IOVA_WRITE : IOVA_READ;
	struct iova_range range;
	__u64 found = 0, rest;

	while (found < most && find_range(q, iova + found, permissions, &range)) {
		__u64 at = range.guest_address + (iova + found - range.first);

		if (!found)
			*guest_address = at;
		else if (at != *guest_address + found)
			break;
		rest = range.last - (iova + found);
		found += rest < most - found ? rest + 1 : most - found;
	}
	*bytes = found;
	return found ? 0 : -EAGAIN;
}

int vhost_iotlb_look(struct vhost *vhost, __u64 iova, bool write, __u64 *guest_address)
{
	struct iova_range range;
	bool found;

	pthread_mutex_lock(&vhost->iotlb.lock);
	found = iova_table_find(vhost->iotlb.table, iova, write ? IOVA_WRITE : IOVA_READ, &range);
	pthread_mutex_unlock(&vhost->iotlb.lock);
	if (found)
		*guest_address = range.guest_address + (iova - range.first);
	return found ? 0 : -EAGAIN;
}

static int update_check(struct vhost *vhost, const struct vhost_user_iotlb *message,
			struct iova_range *range)
{
	__u64 together;
	const char *wrong = NULL;

	if (!message->bytes || (message->iova | message->bytes | message->user) & (PAGE_BYTES - 1))
		wrong = "is not of whole pages";
	else if (message->bytes - 1 > ~message->iova)
		wrong = "wraps around";
	else if (!message->permissions || message->permissions & ~(IOVA_READ | IOVA_WRITE))
		wrong = "has permissions that there are none of";
	else if (memory_table_user(&vhost->table, message->user, &range->guest_address,
				   &together) ||
		 together < message->bytes)
		wrong = "lies outside of the memory table";
	if (wrong)
		return failed(
			-EPROTO,
			"IOTLB UPDATE of IOVA 0x%llx, 0x%llx bytes at 0x%llx, permissions %u, %s",
			message->iova, message->bytes, message->user, message->permissions, wrong);
	range->first = message->iova;
	range->last = message->iova + (message->bytes - 1);
	range->permissions = message->permissions;
	return 0;
}

/* With the lock. */
static void misses_told(struct vhost_iotlb *iotlb, const struct iova_range *range)
{
	for (__u64 i = iotlb->answered; i < iotlb->asked; i++) {
		struct iotlb_miss *miss = &iotlb->miss[i % VHOST_IOTLB_MISSES];

		if (range_has(range, miss->page, miss->permissions))
			miss->state = IOTLB_TOLD;
	}
}

static int iotlb_update(struct vhost *vhost, const struct vhost_user_iotlb *message)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;
	struct iova_range range;
	int error = update_check(vhost, message, &range);
	bool contradicts;

	if (error)
		return error;
	pthread_mutex_lock(&iotlb->lock);
	contradicts = iova_table_contradicts(iotlb->table, &range);
	iotlb->stats.evicted += iova_table_add(iotlb->table, &range);
	iotlb->stats.updates++;
	misses_told(iotlb, &range);
	if (contradicts)
		atomic_fetch_add(&iotlb->generation, 1);
	pthread_mutex_unlock(&iotlb->lock);
	if (contradicts)
		wait_outside(vhost);
	vhost_iotlb_wake(vhost);
	return 0;
}

/* All that there is has a length of 2^64, which is 0. */
static int iotlb_invalidate(struct vhost *vhost, const struct vhost_user_iotlb *message)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;
	__u64 behind = message->bytes - 1;

	if ((!message->bytes && message->iova) || behind > ~message->iova)
		return failed(-EPROTO, "IOTLB INVALIDATE of IOVA 0x%llx, 0x%llx bytes, %s",
			      message->iova, message->bytes,
			      message->bytes ? "wraps around" : "is of nothing");
	pthread_mutex_lock(&iotlb->lock);
	iova_table_drop(iotlb->table, message->iova, message->iova + behind);
	iotlb->stats.invalidations++;
	atomic_fetch_add(&iotlb->generation, 1);
	pthread_mutex_unlock(&iotlb->lock);
	wait_outside(vhost);
	return 0;
}

int vhost_iotlb_message(struct vhost *vhost, const struct vhost_user_iotlb *message)
{
	if (!vhost_translates(vhost))
		return failed(-EPROTO, "IOTLB_MSG without VIRTIO_F_ACCESS_PLATFORM");
	switch (message->type) {
	case VHOST_USER_IOTLB_UPDATE:
		return iotlb_update(vhost, message);
	case VHOST_USER_IOTLB_INVALIDATE:
		return iotlb_invalidate(vhost, message);
	default:
		return failed(-EPROTO, "IOTLB_MSG of type %u: accepted: UPDATE and INVALIDATE",
			      message->type);
	}
}

void vhost_iotlb_forget(struct vhost *vhost)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;

	if (!iotlb->table)
		return;
	pthread_mutex_lock(&iotlb->lock);
	iova_table_drop(iotlb->table, 0, ~0ull);
	atomic_fetch_add(&iotlb->generation, 1);
	pthread_mutex_unlock(&iotlb->lock);
	wait_outside(vhost);
}

void vhost_iotlb_stats(struct vhost *vhost, struct vhost_iotlb_stats *stats)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;

	pthread_mutex_lock(&iotlb->lock);
	*stats = iotlb->stats;
	stats->entries = iotlb->table ? iova_table_count(iotlb->table) : 0;
	pthread_mutex_unlock(&iotlb->lock);
}
