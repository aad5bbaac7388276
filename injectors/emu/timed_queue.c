// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/timed_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

/* Heap nodes are small and move; the items stay in their slots. */
struct node {
	__u64 due_ns;
	__u64 sequence;
	__u32 slot;
};

struct timed_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct node *heap;
	__u32 *free_slots; /* stack; the first capacity - count are free */
	char *items;
	size_t item_size, count, capacity;
	__u64 sequence;
	bool stopped;
};

static int timed_queue_grow(struct timed_queue *queue, size_t capacity)
{
	struct node *heap = realloc(queue->heap, capacity * sizeof(*heap));
	__u32 *free_slots;
	char *items;

	if (!heap)
		return -ENOMEM;
	queue->heap = heap;
	free_slots = realloc(queue->free_slots, capacity * sizeof(*free_slots));
	if (!free_slots)
		return -ENOMEM;
	queue->free_slots = free_slots;
	items = realloc(queue->items, capacity * queue->item_size);
	if (!items)
		return -ENOMEM;
	queue->items = items;
	for (size_t slot = queue->capacity; slot < capacity; slot++)
		free_slots[slot - queue->count] = (__u32)slot;
	queue->capacity = capacity;
	return 0;
}

int timed_queue_create(struct timed_queue **queue, size_t item_size, size_t capacity)
{
	struct timed_queue *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for a queue");
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->changed);
	new->item_size = item_size;
	if (timed_queue_grow(new, capacity ? capacity : 1)) {
		timed_queue_destroy(new);
		return failed(-ENOMEM, "no memory for a queue of %zu entries", capacity);
	}
	*queue = new;
	return 0;
}

void timed_queue_destroy(struct timed_queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
	free(queue->heap);
	free(queue->free_slots);
	free(queue->items);
	free(queue);
}

static bool node_before(const struct node *a, const struct node *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->sequence < b->sequence;
}

static void timed_queue_sift_up(struct node *heap, size_t at)
{
	struct node node = heap[at];

	for (; at && node_before(&node, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = node;
}

static void timed_queue_sift_down(struct node *heap, size_t count, size_t at)
{
	struct node node = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && node_before(&heap[child + 1], &heap[child]))
			child++;
		if (!node_before(&heap[child], &node))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = node;
}

int timed_queue_push(struct timed_queue *queue, __u64 due_ns, const void *item)
{
	__u64 now;
	__u32 slot;
	int error = 0;

	pthread_mutex_lock(&queue->lock);
	if (queue->count == queue->capacity)
		error = timed_queue_grow(queue, queue->capacity * 2);
	if (!error) {
		now = monotonic_ns();
		slot = queue->free_slots[queue->capacity - queue->count - 1];
		memcpy(queue->items + slot * queue->item_size, item, queue->item_size);
		queue->heap[queue->count] = (struct node){
			.due_ns = due_ns > now ? due_ns : now,
			.sequence = queue->sequence++,
			.slot = slot,
		};
		timed_queue_sift_up(queue->heap, queue->count++);
		/* The one waiter is waiting for the earliest item: wake it only for an earlier one. */
		if (queue->heap[0].slot == slot)
			pthread_cond_signal(&queue->changed);
	}
	pthread_mutex_unlock(&queue->lock);
	return error;
}

static void wait_for_due(struct timed_queue *queue)
{
	while (!queue->stopped) {
		if (!queue->count)
			pthread_cond_wait(&queue->changed, &queue->lock);
		else if (queue->heap[0].due_ns <= monotonic_ns())
			return;
		else
			monotonic_cond_wait_until(&queue->changed, &queue->lock,
						  queue->heap[0].due_ns);
	}
}

size_t timed_queue_pop(struct timed_queue *queue, void *items, size_t limit)
{
	size_t popped = 0;
	__u64 now;

	pthread_mutex_lock(&queue->lock);
	wait_for_due(queue);
	now = queue->stopped ? ~0ull : monotonic_ns();
	while (popped < limit && queue->count && queue->heap[0].due_ns <= now) {
		__u32 slot = queue->heap[0].slot;

		memcpy((char *)items + popped++ * queue->item_size,
		       queue->items + slot * queue->item_size, queue->item_size);
		queue->heap[0] = queue->heap[--queue->count];
		queue->free_slots[queue->capacity - queue->count - 1] = slot;
		timed_queue_sift_down(queue->heap, queue->count, 0);
	}
	pthread_mutex_unlock(&queue->lock);
	return popped;
}

void timed_queue_stop(struct timed_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stopped = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}
