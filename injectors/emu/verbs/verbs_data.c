// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_data.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "injectors/emu/verbs/verbs_private.h"
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

int verbs_post_send(struct verbs_pair *pair, const struct verbs_send *send)
{
	struct verbs_send *entry = posted_next(&pair->send, sizeof(*entry));

	if (send->pieces > VERBS_SGE_MAX)
		return -EINVAL;
	if (!entry)
		return -ENOMEM;
	*entry = *send;
	ring_doorbell(&pair->send);
	return 0;
}

int verbs_post_recv(struct verbs_pair *pair, const struct verbs_receive *receive)
{
	struct verbs_receive *entry = posted_next(&pair->receive, sizeof(*entry));

	if (receive->pieces > VERBS_SGE_MAX)
		return -EINVAL;
	if (!entry)
		return -ENOMEM;
	*entry = *receive;
	ring_doorbell(&pair->receive);
	return 0;
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
	ring_free(completion->opcode == VERBS_RECEIVE ? &pair->receive : &pair->send,
		  completion->entry);
}

static const struct verbs_completion *completion_next(const struct verbs_queue *queue)
{
	const struct verbs_completion *entry = &queue->entries[queue->taken & (queue->depth - 1)];

	return __atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) == queue->taken + 1 ? entry : NULL;
}

int verbs_poll_cq(struct verbs_queue *queue, int count, struct verbs_completion *completions)
{
	const struct verbs_completion *entry;
	int taken = 0;

	while (taken < count && (entry = completion_next(queue))) {
		completions[taken] = *entry;
		completion_taken(queue->device, &completions[taken++]);
		queue->taken++;
	}
	if (taken)
		__atomic_store_n(&queue->words->taken, queue->taken, __ATOMIC_RELEASE);
	return taken;
}

/* Sleeps until the descriptor is told. False: the deadline has passed. */
static bool wait_told(const struct verbs_queue *queue, __u64 deadline_ns)
{
	struct pollfd descriptor = {.fd = queue->eventfd, .events = POLLIN};
	__u64 now_ns = deadline_ns ? monotonic_ns() : 0;
	struct timespec left;
	eventfd_t told;

	if (deadline_ns && now_ns >= deadline_ns)
		return false;
	left = timespec_of_ns(deadline_ns - now_ns);
	if (ppoll(&descriptor, 1, deadline_ns ? &left : NULL, NULL) > 0)
		(void)eventfd_read(queue->eventfd, &told);
	return true;
}

int verbs_wait_cq(struct verbs_queue *queue, __u64 deadline_ns)
{
	const struct verbs_registers *registers = queue->device->registers;
	bool in_time = true;

	while (!completion_next(queue)) {
		if (atomic_load(&registers->stopping))
			return -EPIPE;
		if (!in_time)
			return -ETIMEDOUT;
		/* Armed before it looks again: either it sees the entry or the device sees that it waits. */
		__atomic_store_n(&queue->words->armed, queue->taken, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		if (!completion_next(queue))
			in_time = wait_told(queue, deadline_ns);
		__atomic_store_n(&queue->words->armed, VERBS_UNARMED, __ATOMIC_RELAXED);
	}
	return 0;
}
