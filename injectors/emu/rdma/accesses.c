// SPDX-License-Identifier: GPL-2.0
/*
 * What DMA of packets' bytes has touched, for counters, access log and truth. An I/O is what one queue pair reads, or
 * writes, and lies together: a message, mostly. It ends where the next bytes lie elsewhere or none have come for a while.
 * It took from the round of its first bytes, or from when these were first tried in vain, to the round of its last. A
 * packet's pieces are ranges of one I/O: all but the last are IO_PART.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

#define QUIET_NS NSEC_PER_MSEC /* without bytes for so long, at least, it is over */

int accesses_create(struct rdma *device)
{
	device->accesses = calloc(device->queues, sizeof(*device->accesses));
	return device->accesses ? 0 : -ENOMEM;
}

static void report_queue(struct rdma *device, __u16 queue)
{
	struct access_batch *batch = &device->accesses[queue];

	port_ios_done(device->port, queue, batch->range, batch->count);
	batch->count = 0;
}

static void report_all(struct rdma *device)
{
	for (; device->accessed; device->accessed &= device->accessed - 1)
		report_queue(device, (__u16)__builtin_ctzll(device->accessed));
}

static void close_access(const struct rdma_pair *pair, struct open_access *open, bool part)
{
	struct rdma *device = pair->device;
	__u16 queue = pair_queue(pair);
	struct access_batch *batch = &device->accesses[queue];

	if (!open->range.length)
		return;
	open->range.code = (open->faulted ? IO_FAULTED : IO_OK) | (part ? IO_PART : 0);
	if (batch->count == ACCESS_RANGES)
		report_queue(device, queue);
	batch->range[batch->count++] = open->range;
	device->accessed |= 1ull << queue;
	open->range.length = 0;
}

static bool lies_behind(const struct io_range *open, const struct dma *next)
{
	return open->length && open->address + open->length == next->iova &&
	       open->length + next->length <= HUGE_BYTES;
}

void accesses_add(struct rdma_pair *pair, enum rdma_side side, __u32 count)
{
	struct rdma *device = pair->device;
	bool write = side_writes(side);
	struct open_access *open = &pair->accesses[write];
	__u64 absent_ns = pair->absent_ns[side];
	/* Behind the resume that it waited for, which may be of this round. */
	__u64 now_ns = absent_ns ? monotonic_ns() : device->round_ns;

	pair->absent_ns[side] = 0;
	for (__u32 i = 0; i < count; i++) {
		const struct dma *dma = &device->pieces[i];

		if (!lies_behind(&open->range, dma)) {
			close_access(pair, open, i);
			open->range.address = dma->iova;
			open->range.flags = write ? EVENT_WRITE : EVENT_READ;
			open->range.start_ns = absent_ns ? absent_ns : device->round_ns;
			open->faulted = false;
		}
		open->range.length += (__u32)dma->length;
		open->range.end_ns = now_ns;
		open->faulted |= absent_ns != 0;
	}
}

static void close_old(const struct rdma_pair *pair, struct open_access *open, __u64 now_ns)
{
	if (now_ns >= open->range.end_ns + QUIET_NS)
		close_access(pair, open, false);
}

void accesses_report(struct rdma *device)
{
	__u64 now_ns = device->round_ns;

	if (now_ns - device->swept_ns >= QUIET_NS) {
		device->swept_ns = now_ns;
		for (__u32 i = 0; i < device->live_count; i++) {
			close_old(device->live[i], &device->live[i]->accesses[false], now_ns);
			close_old(device->live[i], &device->live[i]->accesses[true], now_ns);
		}
	}
	report_all(device);
}

void accesses_end(struct rdma_pair *pair)
{
	close_access(pair, &pair->accesses[false], false);
	close_access(pair, &pair->accesses[true], false);
	report_all(pair->device);
}
