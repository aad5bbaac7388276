// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_data.h"

#include <errno.h>

#include "injectors/emu/verbs/verbs_handles.h"
#include "lib/base/clock.h"

/* Where the next entry goes, NULL: the queue is full. */
static void *posted_next(const struct verbs_ring *ring, size_t bytes)
{
	__u64 posted = atomic_load_explicit(&ring->posted, memory_order_relaxed);

	if (posted - atomic_load_explicit(&ring->freed, memory_order_acquire) >= ring->depth)
		return NULL;
	return (char *)ring->entries + (posted & (ring->depth - 1)) * bytes;
}

static void ring_doorbell(struct verbs_ring *ring)
{
	__u64 posted = atomic_load_explicit(&ring->posted, memory_order_relaxed) + 1;

	atomic_store_explicit(&ring->posted, posted, memory_order_relaxed);
	__atomic_store_n(ring->word, posted, __ATOMIC_RELEASE);
}

__u32 verbs_send_room(const struct verbs_pair *pair)
{
	const struct verbs_ring *ring = &pair->send;

	return ring->depth - (__u32)(atomic_load_explicit(&ring->posted, memory_order_relaxed) -
				     atomic_load_explicit(&ring->freed, memory_order_acquire));
}

/* The store is what counts: a host that does not hear of it now will look with the next one. */
static int forward(struct verbs_pair *pair, bool receive)
{
	struct verbs_device *device = pair->device;

	return device->forward ? device->forward(device, verbs_pair_number(pair), receive) : 0;
}

int verbs_post_send(struct verbs_pair *pair, const struct verbs_send *send)
{
	struct verbs_send *entry = posted_next(&pair->send, sizeof(*entry));

	if (send->pieces > VERBS_SGE_MAX)
		return -EINVAL;
	if (!entry)
		return -ENOMEM;
	*entry = *send;
	entry->posted_ns = pair->device->timed ? monotonic_ns() : 0;
	ring_doorbell(&pair->send);
	return forward(pair, false);
}

static int receive_put(struct verbs_ring *ring, const struct verbs_receive *receive)
{
	struct verbs_receive *entry = posted_next(ring, sizeof(*entry));

	if (receive->pieces > VERBS_SGE_MAX)
		return -EINVAL;
	if (!entry)
		return -ENOMEM;
	*entry = *receive;
	ring_doorbell(ring);
	return 0;
}

int verbs_post_recv(struct verbs_pair *pair, const struct verbs_receive *receive)
{
	int error = receive_put(&pair->receive, receive);

	return error ? error : forward(pair, true);
}

int verbs_post_srq_recv(struct verbs_srq *srq, const struct verbs_receive *receive)
{
	return receive_put(&srq->ring, receive);
}

/* The device is done with the entry and all before it: the index is completed from its low bits. */
static void ring_free(struct verbs_ring *ring, __u16 entry)
{
	__u64 freed = atomic_load_explicit(&ring->freed, memory_order_relaxed);
	__u16 ahead = (__u16)(entry - (__u16)freed);

	if (ahead < atomic_load_explicit(&ring->posted, memory_order_relaxed) - freed)
		atomic_store_explicit(&ring->freed, freed + ahead + 1, memory_order_release);
}

static void completion_taken(struct verbs_device *device, const struct verbs_completion *completion)
{
	struct verbs_pair *pair = &device->pairs[completion->queue_pair % VERBS_QUEUE_PAIRS_MAX];

	if (!atomic_load_explicit(&pair->live, memory_order_acquire) ||
	    atomic_load_explicit(&pair->number, memory_order_relaxed) != completion->queue_pair)
		return;
	/* The device takes what is shared in order and copies it, but the pairs complete it in any. */
	if (completion->opcode == VERBS_RECEIVE && pair->srq)
		atomic_fetch_add_explicit(&pair->srq->ring.freed, 1, memory_order_release);
	else
		ring_free(completion->opcode == VERBS_RECEIVE ? &pair->receive : &pair->send,
			  completion->entry);
}

static struct verbs_completion *completion_next(const struct verbs_queue *queue)
{
	struct verbs_completion *entry = &queue->entries[queue->taken & (queue->depth - 1)];

	return __atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) == queue->taken + 1 ? entry : NULL;
}

int verbs_poll_cq(struct verbs_queue *queue, int count, struct verbs_completion *completions)
{
	struct verbs_completion *entry;
	int taken = 0;

	while (taken < count && (entry = completion_next(queue))) {
		completions[taken] = *entry;
		if (queue->device->timed)
			entry->id = monotonic_ns();
		completion_taken(queue->device, &completions[taken++]);
		queue->taken++;
	}
	if (taken)
		__atomic_store_n(&queue->words->taken, queue->taken, __ATOMIC_RELEASE);
	return taken;
}

int verbs_wait_cq(struct verbs_queue *queue, __u64 deadline_ns)
{
	struct verbs_device *device = queue->device;
	__u64 seen = 0;
	bool in_time = true;

	while (!completion_next(queue)) {
		if (device->transport->gone(device))
			return -EPIPE;
		if (!in_time)
			return -ETIMEDOUT;
		/* Armed before it looks again: either it sees the entry or the device sees that it waits. */
		__atomic_store_n(&queue->words->armed, queue->taken, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		if (!completion_next(queue))
			in_time = device->transport->queue_wait(queue, &seen, deadline_ns);
		__atomic_store_n(&queue->words->armed, VERBS_UNARMED, __ATOMIC_RELAXED);
	}
	return 0;
}

void verbs_arm_cq(struct verbs_queue *queue)
{
	__u64 written = queue->taken;

	/* Beyond what is there: the device tells but once for each value, and polling need not have gone on since. */
	while (written - queue->taken < queue->depth &&
	       __atomic_load_n(&queue->entries[written & (queue->depth - 1)].turn,
			       __ATOMIC_ACQUIRE) == written + 1)
		written++;
	__atomic_store_n(&queue->words->armed, written, __ATOMIC_SEQ_CST);
	/* Who polls now sees what the device has written without seeing this. */
	atomic_thread_fence(memory_order_seq_cst);
}

int verbs_get_cq_event(struct verbs_channel *channel, struct verbs_queue **queue, __u64 deadline_ns)
{
	return channel->device->transport->channel_wait(channel, queue, deadline_ns);
}
