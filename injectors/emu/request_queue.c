// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/request_queue.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "injectors/emu/timed_queue.h"
#include "lib/base/fail.h"

struct request_queue {
	struct timed_queue *queue;
	__u32 entries;
	atomic_uint taken;
	atomic_uint depth_max;
};

int request_queue_create(struct request_queue **queue, __u32 entries)
{
	struct request_queue *new;
	int error;

	if (entries < 2 || entries > 65536 || (entries & (entries - 1)))
		return failed(-EINVAL,
			      "request queue of %u entries: accepted: a power of two, "
			      "2 to 65536",
			      entries);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for the request queue");
	new->entries = entries;
	error = timed_queue_create(&new->queue, sizeof(struct queue_entry), entries);
	if (error) {
		free(new);
		return error;
	}
	*queue = new;
	return 0;
}

void request_queue_destroy(struct request_queue *queue)
{
	if (!queue)
		return;
	timed_queue_destroy(queue->queue);
	free(queue);
}

bool request_queue_reserve(struct request_queue *queue, __u32 *depth)
{
	unsigned int taken = atomic_load(&queue->taken), max;

	do {
		if (taken >= queue->entries)
			return false;
	} while (!atomic_compare_exchange_weak(&queue->taken, &taken, taken + 1));
	*depth = taken + 1;
	max = atomic_load_explicit(&queue->depth_max, memory_order_relaxed);
	while (max < *depth && !atomic_compare_exchange_weak(&queue->depth_max, &max, *depth))
		;
	return true;
}

int request_queue_post(struct request_queue *queue, const struct page_request *request)
{
	struct queue_entry entry = {.request = *request};
	int error = timed_queue_push(queue->queue, request->deliver_ns, &entry);

	if (error)
		atomic_fetch_sub(&queue->taken, 1);
	return error;
}

int request_queue_answered(struct request_queue *queue, const struct page_request *last)
{
	struct queue_entry entry = {.request = *last, .answered = true};

	return timed_queue_push(queue->queue, last->deliver_ns, &entry);
}

size_t request_queue_take(struct request_queue *queue, struct queue_entry *entries, size_t limit)
{
	size_t count = timed_queue_pop(queue->queue, entries, limit);
	unsigned int freed = 0;

	for (size_t i = 0; i < count; i++)
		freed += !entries[i].answered;
	atomic_fetch_sub(&queue->taken, freed);
	return count;
}

void request_queue_stop(struct request_queue *queue)
{
	timed_queue_stop(queue->queue);
}

__u32 request_queue_depth_max(const struct request_queue *queue)
{
	return atomic_load(&queue->depth_max);
}
