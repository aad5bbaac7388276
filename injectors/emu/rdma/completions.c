// SPDX-License-Identifier: GPL-2.0
/* Completion queues: entries into guest memory, as many as there are at once, and their eventfds. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"

#define UNARMED (~0ull)

static const char queue_full[] = "a completion queue is full";

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
		times_reap(device, queue);
	}
}

static bool queue_has_room(struct rdma *device, struct rdma_queue *queue)
{
	__u64 end = queue->written + queue->staged_count;

	if (end - queue->taken >= queue->depth && !queue->broken)
		read_taken(device, queue);
	return !queue->broken && end - queue->taken < queue->depth;
}

/* What it has lost nobody can know of by polling: it and all that use it go into error, and that is told. */
static void queue_overrun(struct rdma *device, struct rdma_queue *queue)
{
	device->totals.overflows++;
	if (queue->overrun)
		return;
	queue->overrun = queue->broken = true;
	if (queue->failed)
		queue->failed(queue->failed_of, VERBS_QUEUE_FAILED, queue->number);
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++) {
		struct rdma_pair *pair = device->pairs[i];

		if (pair && !pair->fail &&
		    (pair->send_queue == queue || pair->receive_queue == queue))
			pair->fail = queue_full;
	}
}

void pair_complete(void *argument, struct queue_pair *transport,
		   const struct verbs_completion *completion)
{
	struct rdma *device = argument;
	struct rdma_pair *pair = pair_find(device, transport_pair_number(transport));
	bool receive = completion->opcode == VERBS_RECEIVE;
	struct rdma_queue *queue = receive ? pair->receive_queue : pair->send_queue;
	struct verbs_completion *staged;

	if (!queue_has_room(device, queue) ||
	    inject_fire(device->injections, INJECT_CQ_OVERRUN, device->place.index)) {
		queue_overrun(device, queue);
		/* Also one that has been reset since. */
		if (!pair->fail)
			pair->fail = queue_full;
		return;
	}
	if (queue->staged_count == QUEUE_STAGED)
		queue_flush(device, queue);
	times_completed(pair, queue, completion);
	staged = &queue->staged[queue->staged_count++];
	*staged = *completion;
	if (receive && pair->shared)
		staged->entry = (__u16)pair->shared_entry;
	if (queue->dirty)
		return;
	queue->dirty = true;
	queue->next_dirty = device->dirty;
	device->dirty = queue;
}

void pair_retire(void *argument, struct queue_pair *transport,
		 const struct verbs_completion *completion)
{
	times_retired(pair_find(argument, transport_pair_number(transport)), completion);
}

/* `count` entries that do not go beyond the ring's end. Each is valid by its turn, which comes behind all of them. */
static int write_entries(struct rdma_queue *queue, const struct verbs_completion *from, __u32 count)
{
	int error = dma_guard_copy(queue_entry(queue, queue->written), from, count * sizeof(*from));

	atomic_thread_fence(memory_order_release);
	for (__u32 i = 0; i < count && !error; i++) {
		__u64 turn = queue->written + i + 1;

		error = dma_guard_copy(&queue_entry(queue, queue->written + i)->turn, &turn,
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
	if ((queue->eventfd < 0 && !queue->notify) ||
	    dma_guard_copy(&armed, &words->armed, sizeof(armed)) || armed == UNARMED ||
	    armed == queue->told || queue->written <= armed)
		return;
	queue->told = armed;
	if (queue->notify) {
		queue->notify(queue->argument, queue->number);
		return;
	}
	/* Its counter may be full: then there is enough to read. */
	if (write(queue->eventfd, &one, sizeof(one)) != sizeof(one))
		return;
}

void queue_flush(struct rdma *device, struct rdma_queue *queue)
{
	__u32 done = 0, piece;
	int error = 0;

	times_writing(queue);
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

void queues_reap(struct rdma *device)
{
	for (__u32 i = 0; i < VERBS_QUEUES_MAX; i++) {
		struct rdma_queue *queue = device->completion_queues[i];

		if (queue && queue->reaped != queue->written && !queue->broken)
			read_taken(device, queue);
	}
}

struct queue_call {
	const struct verbs_queue_setup *setup;
	__u32 number;
};

static int new_queue(struct rdma *device, const struct verbs_queue_setup *setup, __u32 number)
{
	struct rdma_queue *queue = calloc(1, sizeof(*queue));
	int error;

	if (!queue)
		return -ENOMEM;
	queue->number = number;
	queue->depth = setup->depth;
	queue->eventfd = setup->eventfd;
	queue->notify = setup->notify;
	queue->argument = setup->argument;
	queue->failed = setup->failed;
	queue->failed_of = setup->failed_of;
	queue->told = UNARMED;
	error = pinned_find(device, &queue->memory, setup->host, setup->iova,
			    verbs_completion_bytes(setup->depth));
	if (!error)
		error = times_queue_create(device, queue);
	if (error)
		free(queue);
	else
		device->completion_queues[number] = queue;
	return error;
}

static int do_create_queue(struct rdma *device, void *argument)
{
	struct queue_call *call = argument;

	while (call->number < VERBS_QUEUES_MAX && device->completion_queues[call->number])
		call->number++;
	return call->number < VERBS_QUEUES_MAX ? new_queue(device, call->setup, call->number)
					       : -ENOSPC;
}

int rdma_queue_create(struct rdma *device, const struct verbs_queue_setup *setup, __u32 *number)
{
	struct queue_call call = {.setup = setup};
	int error;

	if (!depth_valid(setup->depth) || setup->iova & (PAGE_BYTES - 1))
		return -EINVAL;
	error = engine_do(device, do_create_queue, &call);
	if (!error)
		*number = call.number;
	return error;
}

void queue_free(struct rdma_queue *queue)
{
	if (queue)
		free(queue->told_of);
	free(queue);
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
	if (queue->told_of && !queue->broken)
		read_taken(device, queue);
	times_forsaken(queue);
	device->completion_queues[number] = NULL;
	queue_free(queue);
	return 0;
}

int rdma_queue_destroy(struct rdma *device, __u32 number)
{
	return engine_do(device, destroy_queue, &number);
}
