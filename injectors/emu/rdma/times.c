// SPDX-License-Identifier: GPL-2.0
/*
 * When what happened to the work requests of a device with a mode: posted (as the guest says), its doorbell seen, the first and the
 * last DMA of its bytes here, its completion written, its completion taken (as the guest says). Told of each once the guest has
 * taken its completion, or at once if there will be none, or when its queue goes if that is not taken. What the guest says is believed as far as it fits between what the engine has seen.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/hyv/hyv_observe.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

struct send_times {
	__u32 mask;  /* of both arrays */
	__u64 given; /* entries that the transport has been given, ever */
	__u64 receive_start_ns, receive_end_ns; /* of the receive that it holds */
	__u64 *rung_ns;				/* by index in the ring */
	struct work_request_told of[];		/* by number of those given */
};

int times_create(struct rdma_pair *pair)
{
	__u32 depth = pair->setup.send_depth;
	struct send_times *times;

	if (!device_has_mode(pair->device))
		return 0;
	times = calloc(1, sizeof(*times) + depth * sizeof(times->of[0]));
	if (!times)
		return -ENOMEM;
	times->mask = depth - 1;
	times->rung_ns = calloc(depth, sizeof(*times->rung_ns));
	pair->times = times;
	return times->rung_ns ? 0 : -ENOMEM;
}

void times_free(struct rdma_pair *pair)
{
	if (pair->times)
		free(pair->times->rung_ns);
	free(pair->times);
}

int times_queue_create(struct rdma *device, struct rdma_queue *queue)
{
	if (!device_has_mode(device))
		return 0;
	queue->told_of = calloc(queue->depth, sizeof(*queue->told_of));
	return queue->told_of ? 0 : -ENOMEM;
}

void times_posted(struct rdma_pair *pair, __u64 from, __u64 to)
{
	struct send_times *times = pair->times;
	__u64 now_ns;

	if (!times)
		return;
	now_ns = monotonic_ns();
	for (; from != to; from++)
		times->rung_ns[from & times->mask] = now_ns;
}

void times_given(struct rdma_pair *pair, __u64 index, const struct verbs_send *send)
{
	struct send_times *times = pair->times;
	const struct rdma_place *place = &pair->device->place;
	struct work_request_told *told;

	if (!times)
		return;
	told = &times->of[times->given++ & times->mask];
	*told = (struct work_request_told){
		.device = place->index,
		.tenant = pair->device->tenant,
		.pair = pair->number,
		.index = index,
		.opcode = send->opcode,
		.doorbell_ns = times->rung_ns[index & times->mask],
	};
	if (send->posted_ns <= told->doorbell_ns)
		told->posted_ns = send->posted_ns;
}

void times_moved(struct rdma_pair *pair, const struct rdma_transfer *transfer, __u32 bytes)
{
	struct send_times *times = pair->times;
	__u64 now_ns;

	if (!times || transfer->remote)
		return;
	now_ns = monotonic_ns();
	if (transfer->side == RDMA_RESPONDER_WRITES) {
		if (!transfer->offset)
			times->receive_start_ns = now_ns;
		times->receive_end_ns = now_ns;
	} else if (side_initiates(transfer->side)) {
		struct work_request_told *told = &times->of[transfer->entry & times->mask];

		if (!told->dma_start_ns)
			told->dma_start_ns = now_ns;
		told->dma_end_ns = now_ns;
		/* What is sent again begins before where it was. */
		if (told->bytes < transfer->offset + bytes)
			told->bytes = (__u32)(transfer->offset + bytes);
	}
}

static struct work_request_told receive_told(struct rdma_pair *pair,
					     const struct verbs_completion *completion)
{
	struct send_times *times = pair->times;
	struct work_request_told told = {
		.device = pair->device->place.index,
		.tenant = pair->device->tenant,
		.pair = pair->number,
		.index = pair->shared ? pair->shared_entry : pair->receives.given - 1,
		.opcode = VERBS_RECEIVE,
		.bytes = completion->bytes,
		.dma_start_ns = times->receive_start_ns,
		.dma_end_ns = times->receive_end_ns,
	};

	times->receive_start_ns = times->receive_end_ns = 0;
	return told;
}

static struct work_request_told send_told(const struct send_times *times,
					  const struct verbs_completion *completion)
{
	__u16 back = (__u16)(times->given - 1 - completion->entry);
	struct work_request_told told = times->of[(times->given - 1 - back) & times->mask];

	/* One that failed has moved what it has; one that succeeded all, however often that was sent. */
	if (!completion->status)
		told.bytes = completion->bytes;
	return told;
}

void times_retired(struct rdma_pair *pair, const struct verbs_completion *completion)
{
	struct work_request_told told;

	if (!pair->times)
		return;
	told = send_told(pair->times, completion);
	told.completed_ns = monotonic_ns();
	observe_work_request(&told);
}

void times_completed(struct rdma_pair *pair, struct rdma_queue *queue,
		     const struct verbs_completion *completion)
{
	struct send_times *times = pair->times;
	struct work_request_told *told;

	if (!times)
		return;
	told = &queue->told_of[(queue->written + queue->staged_count) & (queue->depth - 1)];
	if (completion->opcode == VERBS_RECEIVE)
		*told = receive_told(pair, completion);
	else
		*told = send_told(times, completion);
	told->status = completion->status;
}

/* Before it is: what the guest then says of its own clock is later. */
void times_writing(struct rdma_queue *queue)
{
	__u64 now_ns;

	if (!queue->told_of)
		return;
	now_ns = monotonic_ns();
	for (__u32 i = 0; i < queue->staged_count; i++)
		queue->told_of[(queue->written + i) & (queue->depth - 1)].completed_ns = now_ns;
}

static void step_took(struct rdma *device, enum rdma_step step, __u64 from_ns, __u64 to_ns)
{
	if (from_ns && to_ns > from_ns &&
	    to_ns - from_ns < atomic_load_explicit(&device->least_ns[step], memory_order_relaxed))
		atomic_store_explicit(&device->least_ns[step], to_ns - from_ns,
				      memory_order_relaxed);
}

static void times_least(struct rdma *device, const struct work_request_told *told)
{
	if (told->opcode == VERBS_RECEIVE || told->status != VERBS_SUCCESS)
		return;
	step_took(device, RDMA_STEP_POST, told->posted_ns, told->doorbell_ns);
	step_took(device, RDMA_STEP_DEVICE, told->doorbell_ns, told->completed_ns);
	step_took(device, RDMA_STEP_REAP, told->completed_ns, told->reaped_ns);
}

void rdma_least(const struct rdma *device, __u64 least_ns[RDMA_STEPS])
{
	for (int step = 0; step < RDMA_STEPS; step++)
		least_ns[step] =
			atomic_load_explicit(&device->least_ns[step], memory_order_relaxed);
}

void times_reap(struct rdma *device, struct rdma_queue *queue)
{
	__u64 now_ns = monotonic_ns(), said;

	for (; queue->told_of && queue->reaped < queue->taken; queue->reaped++) {
		struct work_request_told *told =
			&queue->told_of[queue->reaped & (queue->depth - 1)];

		if (dma_guard_copy(&said, &queue_entry(queue, queue->reaped)->id, sizeof(said)))
			said = 0;
		if (said >= told->completed_ns && said <= now_ns)
			told->reaped_ns = said;
		times_least(device, told);
		observe_work_request(told);
	}
}

void times_forsaken(struct rdma_queue *queue)
{
	for (; queue->told_of && queue->reaped < queue->written; queue->reaped++)
		observe_work_request(&queue->told_of[queue->reaped & (queue->depth - 1)]);
}
