// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/workload_driver.h"

#include <errno.h>
#include <string.h>

static __u16 *avail_index(const struct driver_queue *queue)
{
	return (__u16 *)(queue->ring + ring_avail_index_offset(queue->depth));
}

void driver_init(struct driver_queue *queue, struct channel *channel, __u16 index,
		 struct guest_memory *memory)
{
	*queue = (struct driver_queue){
		.channel = channel,
		.registers = &channel->queue[index],
		.depth = channel->config.queue_depth,
		.free_count = channel->config.queue_depth,
		.ring = guest_memory_cpu(memory, channel->queue[index].ring),
	};
	for (__u16 id = 0; id < queue->free_count; id++)
		queue->free[id] = queue->free_count - 1 - id;
	memset(queue->ring, 0, ring_bytes(queue->depth));
}

void driver_submit(struct driver_queue *queue, const struct workload_io *io, __u64 now)
{
	const struct channel_config *config = &queue->channel->config;
	struct ring_descriptor *descriptor;
	__u64 target = io->target;
	__u16 id;

	id = queue->free[--queue->free_count];
	queue->io[id] = *io;
	queue->io[id].busy = true;
	queue->registers->submitted_ns[id] = now;
	if (io->opcode == RING_COPY)
		target += config->iova_offset;
	else
		target /= RING_SECTOR;
	descriptor = (struct ring_descriptor *)(queue->ring + ring_descriptor_offset(id));
	*descriptor = (struct ring_descriptor){
		.address = io->memory + config->iova_offset,
		.target = target,
		.length = io->length,
		.pasid = config->pasid,
		.opcode = io->opcode,
	};
	*(__u16 *)(queue->ring + ring_avail_offset(queue->depth, queue->available)) = id;
	queue->available++;
	queue->unpublished++;
	queue->in_flight++;
}

void driver_kick(struct driver_queue *queue)
{
	if (!queue->unpublished)
		return;
	queue->unpublished = 0;
	__atomic_store_n(avail_index(queue), queue->available, __ATOMIC_RELEASE);
	doorbell_ring(&queue->registers->doorbell);
}

const struct workload_io *driver_reap(struct driver_queue *queue, int *status)
{
	const __u16 *index = (__u16 *)(queue->ring + ring_used_index_offset(queue->depth));
	const struct ring_used *used;
	struct workload_io *io;

	if (__atomic_load_n(index, __ATOMIC_ACQUIRE) == queue->used)
		return NULL;
	used = (struct ring_used *)(queue->ring + ring_used_offset(queue->depth, queue->used));
	queue->used++;
	if (used->id >= queue->depth || !queue->io[used->id].busy) {
		*status = -EPROTO;
		return &queue->io[0];
	}
	io = &queue->io[used->id];
	io->busy = false;
	*status = used->status;
	queue->free[queue->free_count++] = used->id;
	queue->in_flight--;
	return io;
}
