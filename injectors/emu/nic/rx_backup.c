// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/rx_backup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

/* A ring of frames with a buffer each. */
struct frame_slots {
	struct rx_held *slots;
	char *memory;
	__u32 count;
};

struct rx_backup {
	struct frame_slots ring;
	__u64 head; /* next to be filled */
	__u64 tail; /* so many buffers were posted: taken entries + size */
};

struct rx_queue {
	struct frame_slots ring;
	__u64 head, tail;
};

static int frame_slots_create(struct frame_slots *ring, __u32 count, __u32 frame_bytes)
{
	size_t bytes = ((size_t)frame_bytes + 63) & ~63ul;

	ring->slots = calloc(count, sizeof(*ring->slots));
	ring->memory = calloc(count, bytes);
	ring->count = count;
	if (!ring->slots || !ring->memory)
		return -ENOMEM;
	for (__u32 i = 0; i < count; i++)
		ring->slots[i].memory = ring->memory + i * bytes;
	return 0;
}

static void frame_slots_destroy(struct frame_slots *ring)
{
	free(ring->slots);
	free(ring->memory);
}

static struct rx_held *frame_slots_at(const struct frame_slots *ring, __u64 index)
{
	return &ring->slots[index % ring->count];
}

int rx_backup_create(struct rx_backup **backup, __u32 entries, __u32 frame_bytes)
{
	struct rx_backup *new;

	if (!entries || entries > RX_BACKUP_ENTRIES_MAX)
		return failed(-EINVAL, "a backup ring of %u entries: accepted: 1 to %u", entries,
			      RX_BACKUP_ENTRIES_MAX);
	new = calloc(1, sizeof(*new));
	if (!new || frame_slots_create(&new->ring, entries, frame_bytes)) {
		rx_backup_destroy(new);
		return failed(-ENOMEM, "no memory for a backup ring of %u entries", entries);
	}
	new->tail = entries;
	*backup = new;
	return 0;
}

void rx_backup_destroy(struct rx_backup *backup)
{
	if (backup)
		frame_slots_destroy(&backup->ring);
	free(backup);
}

static __u64 backup_head(const struct rx_backup *backup)
{
	return __atomic_load_n(&backup->head, __ATOMIC_ACQUIRE);
}

static __u64 backup_tail(const struct rx_backup *backup)
{
	return __atomic_load_n(&backup->tail, __ATOMIC_ACQUIRE);
}

__u32 rx_backup_used(const struct rx_backup *backup)
{
	__u64 taken = backup_tail(backup) - backup->ring.count;

	return (__u32)(backup_head(backup) - taken);
}

bool rx_backup_has_room(const struct rx_backup *backup)
{
	return backup->head < backup_tail(backup);
}

void rx_backup_put(struct rx_backup *backup, __u32 ring, const struct rx_frame *frame,
		   const struct rx_verdict *verdict)
{
	struct rx_held *held = frame_slots_at(&backup->ring, backup->head);

	held->frame = *frame;
	held->frame.bytes = held->memory;
	memcpy(held->memory, frame->bytes, frame->length);
	held->ring = ring;
	held->count = verdict->count;
	held->position = verdict->position;
	held->bit = verdict->bit;
	__atomic_store_n(&backup->head, backup->head + 1, __ATOMIC_RELEASE);
}

const struct rx_held *rx_backup_first(const struct rx_backup *backup)
{
	__u64 taken = backup->tail - backup->ring.count;

	return taken < backup_head(backup) ? frame_slots_at(&backup->ring, taken) : NULL;
}

int rx_queue_create(struct rx_queue **queue, __u32 bitmap_bits, __u32 frame_bytes)
{
	struct rx_queue *new = calloc(1, sizeof(*new));

	if (!new || frame_slots_create(&new->ring, bitmap_bits, frame_bytes)) {
		rx_queue_destroy(new);
		return failed(-ENOMEM, "no memory for a queue of %u frames", bitmap_bits);
	}
	*queue = new;
	return 0;
}

void rx_queue_destroy(struct rx_queue *queue)
{
	if (queue)
		frame_slots_destroy(&queue->ring);
	free(queue);
}

void rx_queue_take(struct rx_queue *queue, struct rx_backup *backup)
{
	struct rx_held *from = frame_slots_at(&backup->ring, backup->tail - backup->ring.count);
	struct rx_held *to = frame_slots_at(&queue->ring, queue->tail++);
	char *spare = to->memory;

	*to = *from;
	to->finished = false;
	from->memory = spare;
	__atomic_store_n(&backup->tail, backup->tail + 1, __ATOMIC_RELEASE);
}

__u64 rx_queue_head(const struct rx_queue *queue)
{
	return queue->head;
}

__u64 rx_queue_tail(const struct rx_queue *queue)
{
	return queue->tail;
}

const struct rx_held *rx_queue_at(const struct rx_queue *queue, __u64 number)
{
	return frame_slots_at(&queue->ring, number);
}

void rx_queue_finish(struct rx_queue *queue, __u64 number)
{
	frame_slots_at(&queue->ring, number)->finished = true;
	while (queue->head < queue->tail && frame_slots_at(&queue->ring, queue->head)->finished)
		queue->head++;
}
