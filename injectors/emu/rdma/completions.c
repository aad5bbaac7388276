// SPDX-License-Identifier: GPL-2.0
/* Completion queues: entries into guest memory, as many as there are at once, and their eventfds. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"

#define UNARMED (~0ull)

static struct verbs_completion *entry_at(const struct rdma_queue *queue, __u64 index)
{
	return (struct verbs_completion *)(queue->memory.host +
					   sizeof(struct verbs_completion_words)) +
	       (index & (queue->depth - 1));
}

/* The guest's words may say anything; what is no count of entries it has seen breaks the queue. */
static void read_taken(struct rdma *device, struct rdma_queue *queue)
{
	const struct verbs_completion_words *words = (const void *)queue->memory.host;
	__u64 taken;

	if (dma_guard_copy(&taken, &words->taken, sizeof(taken))) {
		port_dma_violation(device->port, queue->memory.iova);
		queue->broken = true;
	} else if (taken < queue->taken || taken > queue->written) {
		queue->broken = true;
		device->totals.hostile++;
	} else {
		queue->taken = taken;
	}
}

static bool queue_has_room(struct rdma *device, struct rdma_queue *queue)
{
	__u64 end = queue->written + queue->staged_count;

	if (end - queue->taken >= queue->depth && !queue->broken)
		read_taken(device, queue);
	return !queue->broken && end - queue->taken < queue->depth;
}

void pair_complete(void *argument, struct queue_pair *transport,
		   const struct verbs_completion *completion)
{
	struct rdma *device = argument;
	struct rdma_pair *pair = pair_find(device, transport_pair_number(transport));
	struct rdma_queue *queue =
		completion->opcode == VERBS_RECEIVE ? pair->receive_queue : pair->send_queue;

	if (!queue_has_room(device, queue)) {
		device->totals.overflows++;
		pair->fail = "a completion queue is full";
		return;
	}
	if (queue->staged_count == QUEUE_STAGED)
		queue_flush(device, queue);
	queue->staged[queue->staged_count++] = *completion;
	if (queue->dirty)
		return;
	queue->dirty = true;
	queue->next_dirty = device->dirty;
	device->dirty = queue;
}

/* `count` entries that do not go beyond the ring's end. Each is valid by its turn, which comes behind all of them. */
static int write_entries(struct rdma_queue *queue, const struct verbs_completion *from, __u32 count)
{
	int error = dma_guard_copy(entry_at(queue, queue->written), from, count * sizeof(*from));

	atomic_thread_fence(memory_order_release);
	for (__u32 i = 0; i < count && !error; i++) {
		__u64 turn = queue->written + i + 1;

		error = dma_guard_copy(&entry_at(queue, queue->written + i)->turn, &turn,
				       sizeof(turn));
	}
	queue->written += count;
	return error;
}

/* Once for each value that the guest gave. */
static void tell_guest(struct rdma_queue *queue)
{
	const struct verbs_completion_words *words = (const void *)queue->memory.host;
	const __u64 one = 1;
	__u64 armed;

	/* The guest arms, then looks for entries; we write entries, then look whether it armed. */
	atomic_thread_fence(memory_order_seq_cst);
	if (queue->eventfd < 0 || dma_guard_copy(&armed, &words->armed, sizeof(armed)) ||
	    armed == UNARMED || armed == queue->told || queue->written <= armed)
		return;
	queue->told = armed;
	/* Its counter may be full: then there is enough to read. */
	if (write(queue->eventfd, &one, sizeof(one)) != sizeof(one))
		return;
}

void queue_flush(struct rdma *device, struct rdma_queue *queue)
{
	__u32 done = 0, piece;
	int error = 0;

	/* What was valid a lap ago is not again before its turn is there. */
	for (__u32 i = 0; i < queue->staged_count; i++)
		queue->staged[i].turn = 0;
	while (done < queue->staged_count && !error) {
		piece = queue->depth - (__u32)(queue->written & (queue->depth - 1));
		if (piece > queue->staged_count - done)
			piece = queue->staged_count - done;
		error = write_entries(queue, queue->staged + done, piece);
		done += piece;
	}
	queue->staged_count = 0;
	if (error) {
		port_dma_violation(device->port, queue->memory.iova);
		queue->broken = true;
	} else {
		tell_guest(queue);
	}
}

void queues_flush(struct rdma *device)
{
	struct rdma_queue *queue = device->dirty;

	device->dirty = NULL;
	for (; queue; queue = queue->next_dirty) {
		queue->dirty = false;
		queue_flush(device, queue);
	}
}

struct queue_call {
	__u64 iova;
	__u32 depth, number;
	int eventfd;
};

static int do_create_queue(struct rdma *device, void *argument)
{
	struct queue_call *call = argument;
	struct rdma_queue *queue;
	__u32 number = 0;
	int error;

	while (number < VERBS_QUEUES_MAX && device->completion_queues[number])
		number++;
	if (number == VERBS_QUEUES_MAX)
		return -ENOSPC;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	error = pinned_find(device, &queue->memory, call->iova,
			    verbs_completion_bytes(call->depth));
	if (error) {
		free(queue);
		return error;
	}
	queue->number = number;
	queue->depth = call->depth;
	queue->eventfd = call->eventfd;
	queue->told = UNARMED;
	device->completion_queues[number] = queue;
	call->number = number;
	return 0;
}

int rdma_queue_create(struct rdma *device, __u64 iova, __u32 depth, int eventfd, __u32 *number)
{
	struct queue_call call = {.iova = iova, .depth = depth, .eventfd = eventfd};
	int error;

	if (!depth || depth > VERBS_DEPTH_MAX || depth & (depth - 1) || iova & (PAGE_BYTES - 1))
		return -EINVAL;
	error = engine_do(device, do_create_queue, &call);
	if (!error)
		*number = call.number;
	return error;
}

static int destroy_queue(struct rdma *device, void *argument)
{
	__u32 number = *(__u32 *)argument;
	struct rdma_queue *queue =
		number < VERBS_QUEUES_MAX ? device->completion_queues[number] : NULL;

	if (!queue)
		return -ENOENT;
	if (queue->users)
		return -EBUSY;
	queues_flush(device);
	device->completion_queues[number] = NULL;
	free(queue);
	return 0;
}

int rdma_queue_destroy(struct rdma *device, __u32 number)
{
	return engine_do(device, destroy_queue, &number);
}
