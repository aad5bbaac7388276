// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/engine_private.h"

#include <errno.h>

#include "lib/base/clock.h"

#define RING_RETRY_NS NSEC_PER_MSEC /* pause before a failed ring access is tried again */
#define IOVA_LIMIT    (1ull << 48)

/*
 * One access to the queue's own rings. A device cannot go on without them, and a failed page
 * response may be followed by a good one: it tries until it works or the machine stops.
 */
static int ring_access(struct engine_queue *q, __u64 offset, void *buffer, size_t bytes, bool write)
{
	struct engine *engine = q->engine;
	const struct channel_config *config = &engine->channel->config;
	__u64 iova = engine->channel->queue[q->index].ring + config->iova_offset + offset;
	struct timespec pause = timespec_of_ns(RING_RETRY_NS);
	int err;

	for (;;) {
		if (write)
			err = port_dma_write(engine->port, q->index, config->pasid, iova, buffer,
					     bytes);
		else
			err = port_dma_read(engine->port, q->index, config->pasid, iova, buffer,
					    bytes);
		if (!err || err == -ESHUTDOWN)
			return err;
		if (engine_stopping(engine))
			return -ESHUTDOWN;
		nanosleep(&pause, NULL);
	}
}

/* Reads what the driver has published. 1: there is more, 0: nothing new. */
static int ring_poll(struct engine_queue *q)
{
	unsigned int depth = q->engine->channel->config.queue_depth;
	__u16 index;
	int err;

	err = ring_access(q, ring_avail_index_offset(depth), &index, sizeof(index), false);
	if (err)
		return err;
	/* Entries must not be read before the index that covers them. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* More than the ring holds is nonsense: there is nothing in it that could be answered. */
	if ((__u16)(index - q->next) > depth)
		q->next = index;
	q->available = index;
	return q->next != q->available;
}

int ring_next(struct engine_queue *q, __u16 *id)
{
	unsigned int depth = q->engine->channel->config.queue_depth, count;
	int err;

	if (q->returned == q->fetched) {
		if (q->next == q->available) {
			err = ring_poll(q);
			if (err <= 0)
				return err;
		}
		count = (__u16)(q->available - q->next);
		if (count > FETCH_BATCH)
			count = FETCH_BATCH;
		if (count > depth - (q->next & (depth - 1)))
			count = depth - (q->next & (depth - 1));
		err = ring_access(q, ring_avail_offset(depth, q->next), q->batch,
				  count * sizeof(__u16), false);
		if (err)
			return err;
		q->fetched = (__u16)count;
		q->returned = 0;
	}
	*id = q->batch[q->returned++];
	q->next++;
	return 1;
}

/* Whether the segment may be part of the request; adds it. */
static bool request_add(struct engine_request *request, const struct ring_descriptor *descriptor,
			__u32 align)
{
	if ((descriptor->address | descriptor->length) & (align - 1) || !descriptor->length ||
	    descriptor->length > RING_BYTES_MAX - request->bytes ||
	    descriptor->address >= IOVA_LIMIT - descriptor->length)
		return false;
	request->segment[request->segments++] =
		(struct engine_segment){descriptor->address, descriptor->length};
	request->bytes += descriptor->length;
	return true;
}

/* A chain longer than the table has a loop. */
int ring_read_request(struct engine_queue *q, __u16 id, enum ring_status *status)
{
	unsigned int depth = q->engine->channel->config.queue_depth;
	__u32 align = q->engine->operations->class->data_align;
	struct engine_request *request = &q->request;
	struct ring_descriptor descriptor;
	__u16 current = id;
	int err;

	request->id = id;
	request->segments = 0;
	request->bytes = 0;
	*status = RING_INVALID;
	for (unsigned int count = 0; count < depth; count++) {
		if (current >= depth)
			return 0;
		err = ring_access(q, ring_descriptor_offset(current), &descriptor,
				  sizeof(descriptor), false);
		if (err)
			return err;
		if (!count) {
			request->opcode = descriptor.opcode;
			request->pasid = descriptor.pasid;
			request->target = descriptor.target;
			if (descriptor.opcode == RING_FLUSH) {
				*status = RING_OK;
				return 0;
			}
		}
		if (!request_add(request, &descriptor, align))
			return 0;
		if (!(descriptor.flags & RING_NEXT)) {
			*status = RING_OK;
			return 0;
		}
		current = descriptor.next;
	}
	return 0;
}

int ring_complete(struct engine_queue *q, enum ring_status status)
{
	struct ring_used entry = {.id = q->request.id, .status = (__u16)status};
	unsigned int depth = q->engine->channel->config.queue_depth;
	__u16 index = q->used + 1;
	int err;

	if (status == RING_OK)
		entry.length = q->request.bytes;
	err = ring_access(q, ring_used_offset(depth, q->used), &entry, sizeof(entry), true);
	if (err)
		return err;
	/* The entry must be visible before the index that covers it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	err = ring_access(q, ring_used_index_offset(depth), &index, sizeof(index), true);
	if (!err)
		q->used = index;
	return err;
}
