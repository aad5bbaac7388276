// SPDX-License-Identifier: GPL-2.0
/*
 * What DMA of packets' bytes has touched, for counters, access log and truth. An I/O is what one queue pair has read or
 * written in a round and lies together, from the round's begin to its end; or what a packet needed that was tried in
 * vain before, from the first try. What a packet touches before its last piece is IO_PART, as of all devices.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

int accesses_create(struct rdma *device)
{
	device->accesses = calloc(device->queues, sizeof(*device->accesses));
	return device->accesses ? 0 : -ENOMEM;
}

static void report_queue(struct rdma *device, __u16 queue, __u64 now_ns)
{
	struct access_batch *batch = &device->accesses[queue];

	for (__u32 i = 0; i < batch->count; i++)
		batch->range[i].end_ns = now_ns;
	port_ios_done(device->port, queue, batch->range, batch->count);
	batch->count = 0;
}

/* The last range, if the next bytes lie behind it. */
static struct io_range *range_before(struct access_batch *batch, const struct rdma_pair *pair,
				     const struct io_range *next)
{
	struct io_range *last = batch->count ? &batch->range[batch->count - 1] : NULL;

	return last && batch->pair == pair->number && last->flags == next->flags &&
			       last->start_ns == next->start_ns &&
			       last->address + last->length == next->address &&
			       last->length + next->length <= HUGE_BYTES
		       ? last
		       : NULL;
}

static void add_range(struct rdma_pair *pair, const struct io_range *range)
{
	struct rdma *device = pair->device;
	__u16 queue = (__u16)(pair->number % device->queues);
	struct access_batch *batch = &device->accesses[queue];
	struct io_range *before = range_before(batch, pair, range);

	if (before) {
		before->length += range->length;
		before->code = range->code;
		return;
	}
	if (batch->count == ACCESS_RANGES)
		report_queue(device, queue, monotonic_ns());
	batch->range[batch->count++] = *range;
	batch->pair = pair->number;
	device->accessed |= 1ull << queue;
}

void accesses_add(struct rdma_pair *pair, enum rdma_side side, __u32 count)
{
	struct rdma *device = pair->device;
	bool write = side == RDMA_INITIATOR_WRITES || side == RDMA_RESPONDER_WRITES;
	__u64 absent_ns = pair->absent_ns[side];

	pair->absent_ns[side] = 0;
	for (__u32 i = 0; i < count; i++) {
		const struct dma *dma = &device->pieces[i];
		const struct io_range range = {
			.address = dma->iova,
			.length = (__u32)dma->length,
			.flags = write ? EVENT_WRITE : EVENT_READ,
			.code = (absent_ns ? IO_FAULTED : IO_OK) | (i + 1 < count ? IO_PART : 0),
			.start_ns = absent_ns ? absent_ns : device->round_ns,
		};

		add_range(pair, &range);
	}
}

void accesses_report(struct rdma *device)
{
	__u64 now_ns;

	if (!device->accessed)
		return;
	now_ns = monotonic_ns();
	for (; device->accessed; device->accessed &= device->accessed - 1)
		report_queue(device, (__u16)__builtin_ctzll(device->accessed), now_ns);
}
