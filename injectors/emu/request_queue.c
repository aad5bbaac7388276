// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/request_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "injectors/emu/request_truth.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

struct request_queue_entry {
	struct page_request request;
	bool posted;
};

struct request_queue {
	pthread_mutex_t lock;
	pthread_cond_t interrupt;
	struct request_queue_entry *ring;
	__u32 entries;
	__u64 head,
		tail; /* run freely: a slot's number is its place in the order of all requests */
	__u64 epoch;
	bool overflow; /* PRO */
	bool stopped;
	struct request_queue_stats stats;
};

int request_queue_create(struct request_queue **queue, __u32 entries)
{
	struct request_queue *new;

	if (entries < 2 || entries > 65536 || (entries & (entries - 1)))
		return failed(-EINVAL,
			      "request queue of %u entries: accepted: a power of two, "
			      "2 to 65536",
			      entries);
	new = calloc(1, sizeof(*new));
	if (new)
		new->ring = calloc(entries, sizeof(*new->ring));
	if (!new || !new->ring) {
		free(new);
		return failed(-ENOMEM, "no memory for a request queue of %u entries", entries);
	}
	new->entries = entries;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->interrupt);
	*queue = new;
	return 0;
}

void request_queue_destroy(struct request_queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->interrupt);
	pthread_mutex_destroy(&queue->lock);
	free(queue->ring);
	free(queue);
}

static struct request_queue_entry *entry_of(struct request_queue *queue, __u64 number)
{
	return &queue->ring[number & (queue->entries - 1)];
}

/* `time_ns` 0: now. */
static void queue_log_request(__u8 what, const struct page_request *request, __u64 value,
			      __u64 time_ns)
{
	struct truth_record truth = request_truth(TRUTH_IOMMU, what, request);

	truth.value = value;
	truth.time_ns = time_ns;
	truth_log(truth);
}

/* With the lock held. The first one interrupts, as the ISR has to clear the bit. */
static void queue_drop(struct request_queue *queue, const struct page_request *request)
{
	queue->stats.overflows++;
	if (!queue->overflow) {
		queue->overflow = true;
		queue->stats.epochs++;
		pthread_cond_signal(&queue->interrupt);
	}
	queue_log_request(TRUTH_OVERFLOW, request, queue->entries, 0);
}

bool request_queue_reserve(struct request_queue *queue, const struct page_request *request,
			   bool force, struct request_slot *slot)
{
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = !force && !queue->overflow && queue->tail - queue->head < queue->entries - 1;
	if (room) {
		*slot = (struct request_slot){.number = queue->tail++, .epoch = queue->epoch};
		slot->taken_ns = truth_enabled() ? monotonic_ns() : 0;
		slot->depth = (__u32)(queue->tail - queue->head);
		if (slot->depth > queue->stats.depth_max)
			queue->stats.depth_max = slot->depth;
		queue->stats.requests++;
	} else {
		queue_drop(queue, request);
	}
	pthread_mutex_unlock(&queue->lock);
	return room;
}

void request_queue_post(struct request_queue *queue, const struct request_slot *slot,
			const struct page_request *request)
{
	pthread_mutex_lock(&queue->lock);
	*entry_of(queue, slot->number) = (struct request_queue_entry){*request, true};
	queue_log_request(TRUTH_REQUEST, request, slot->number, slot->taken_ns);
	if (slot->number == queue->head)
		pthread_cond_signal(&queue->interrupt);
	pthread_mutex_unlock(&queue->lock);
}

/* The request at the head, NULL if there is none; *due_ns: when its interrupt comes. */
static const struct page_request *request_queue_first(struct request_queue *queue, __u64 *due_ns)
{
	const struct request_queue_entry *entry = entry_of(queue, queue->head);

	if (queue->head == queue->tail || !entry->posted)
		return NULL;
	*due_ns = queue->stopped ? 0 : entry->request.deliver_ns;
	return &entry->request;
}

/* False if stopped and nothing is left. */
static bool wait_for_interrupt(struct request_queue *queue)
{
	__u64 due_ns;

	for (;;) {
		const struct page_request *request = request_queue_first(queue, &due_ns);

		if (request && (!due_ns || due_ns <= monotonic_ns()))
			return true;
		if (request)
			monotonic_cond_wait_until(&queue->interrupt, &queue->lock, due_ns);
		else if (queue->head == queue->tail && (queue->overflow || queue->stopped))
			return queue->overflow;
		else
			pthread_cond_wait(&queue->interrupt, &queue->lock);
	}
}

size_t request_queue_take(struct request_queue *queue, struct page_request *requests, size_t limit,
			  bool *overflowed)
{
	const struct page_request *request;
	__u64 now, due_ns;
	size_t count = 0;

	pthread_mutex_lock(&queue->lock);
	if (wait_for_interrupt(queue)) {
		now = monotonic_ns();
		while (count < limit && (request = request_queue_first(queue, &due_ns)) &&
		       due_ns <= now) {
			queue_log_request(TRUTH_ISR, request, queue->head, 0);
			requests[count++] = *request;
			entry_of(queue, queue->head++)->posted = false;
		}
	}
	*overflowed = queue->overflow && queue->head == queue->tail;
	pthread_mutex_unlock(&queue->lock);
	return count;
}

void request_queue_clear_overflow(struct request_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->overflow = false;
	queue->epoch++;
	pthread_mutex_unlock(&queue->lock);
}

void request_queue_stop(struct request_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stopped = true;
	pthread_cond_broadcast(&queue->interrupt);
	pthread_mutex_unlock(&queue->lock);
}

void request_queue_stats(struct request_queue *queue, struct request_queue_stats *stats)
{
	pthread_mutex_lock(&queue->lock);
	*stats = queue->stats;
	pthread_mutex_unlock(&queue->lock);
}
