// SPDX-License-Identifier: GPL-2.0
/*
 * A receive ring's way to guest memory. Every access is a DMA that takes references or finds pages absent; what
 * is absent is asked for and tried again later.
 */
#include <linux/virtio_net.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"

int ring_try(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
	     __u64 absent[PORT_REQUEST_PAGES])
{
	return port_dma_try(ring->nic->port, ring->port_queue, ring->nic->pasid, iova, length,
			    write, dma, absent, PORT_REQUEST_PAGES);
}

int ring_absent(struct nic_ring *ring, __u64 iova, __u64 length, __u64 absent[PORT_REQUEST_PAGES])
{
	int count = ring_try(ring, iova, length, true, &ring->nic->probe, absent);

	if (!count)
		port_dma_end(ring->nic->port, &ring->nic->probe);
	return count > 0 ? count : 0;
}

int ring_dma(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
	     __u64 *page)
{
	__u64 absent[PORT_REQUEST_PAGES];
	int result = ring_try(ring, iova, length, write, dma, absent);

	if (result <= 0)
		return result;
	*page = absent[0];
	ring_want(ring, absent, (__u32)result, write);
	return 1;
}

/* Once more onto zeroes, where a virtual machine has given the page back and wants it again. */
static void copy_to_page(struct nic *nic, const struct dma *dma, void *to, const void *from,
			 __u64 bytes)
{
	while (dma_guard_copy(to, from, bytes))
		if (port_dma_undiscard(nic->port, dma)) {
			port_dma_violation(nic->port, dma->iova);
			return;
		}
}

void dma_copy_to(struct nic *nic, const struct dma *dma, __u64 offset, const void *bytes,
		 __u64 length)
{
	const unsigned char *from = bytes;

	for (__u32 i = 0; i < dma->segments && length; i++) {
		const struct iovec *piece = &dma->iov[i];
		__u64 count;

		if (offset >= piece->iov_len) {
			offset -= piece->iov_len;
			continue;
		}
		count = piece->iov_len - offset < length ? piece->iov_len - offset : length;
		copy_to_page(nic, dma, (char *)piece->iov_base + offset, from, count);
		from += count;
		length -= count;
		offset = 0;
	}
}

void references_drop(struct nic *nic, struct nic_store *store)
{
	for (__u32 i = 0; i < store->ranges; i++)
		port_dma_end(nic->port, store->range[i]);
	store->ranges = 0;
}

void store_prepare(struct nic_store *store)
{
	for (int i = 0; i <= NIC_RANGES; i++)
		store->range[i] = &store->memory[i];
}

bool ring_present(void *self, __u64 position)
{
	struct nic_ring *ring = self;
	__u64 page = 0;
	bool present = ring_take(ring, position, &ring->nic->store, &page);

	/* Of one frame the first counts. */
	if (page && !ring->first_absent)
		ring->first_absent = page;
	return present;
}

static void complete(struct nic_ring *ring, __u64 position, __u32 length, __u32 flags)
{
	ring->done[position % ring->nic->depth] = (struct nic_completion){
		.id = ring->posted[rx_ring_slot(&ring->state, position)].id,
		.length = length,
		.flags = flags,
	};
}

void ring_report(struct nic_ring *ring)
{
	if (ring->report_count)
		port_ios_done(ring->nic->port, ring->port_queue, ring->reports, ring->report_count);
	ring->report_count = 0;
}

/* Each piece of memory is an access of its own, the last one the frame's I/O. */
static void report_write(struct nic_ring *ring, const struct nic_store *store, __u32 length,
			 __u8 code, __u64 arrived_ns, __u64 now_ns)
{
	for (__u32 i = 0; i < store->ranges && length; i++) {
		const struct dma *range = store->range[i];
		__u32 piece = range->length < length ? (__u32)range->length : length;

		length -= piece;
		if (ring->report_count == NIC_REPORTS)
			ring_report(ring);
		ring->reports[ring->report_count++] = (struct io_range){
			.address = range->iova,
			.length = piece,
			.flags = EVENT_WRITE,
			.code = code | (length ? IO_PART : 0),
			.start_ns = arrived_ns,
			.end_ns = now_ns,
		};
	}
}

/* Behind each other, over all pieces of memory of a frame's buffers, from `offset` on. */
static void store_fill(struct nic *nic, const struct nic_store *store, __u64 offset,
		       const unsigned char *from, __u64 length)
{
	for (__u32 i = 0; i < store->ranges && length; i++) {
		const struct dma *range = store->range[i];
		__u64 piece;

		if (offset >= range->length) {
			offset -= range->length;
			continue;
		}
		piece = range->length - offset < length ? range->length - offset : length;
		dma_copy_to(nic, range, offset, from, piece);
		from += piece;
		length -= piece;
		offset = 0;
	}
}

/* Of a frame that is whole and its driver's to check: a virtio_net_hdr_v1 of one buffer. */
static const struct virtio_net_hdr_v1 plain_header = {.num_buffers = 1};

void ring_write(struct nic_ring *ring, __u64 position, __u32 count, const struct nic_frame *frame,
		struct nic_store *store, bool held, __u64 now_ns)
{
	__u32 left = frame->length, buffer = ring->state.buffer_bytes;
	__u32 prefix = ring->prefix_bytes;
	/* What is held behind frames that wait for the guest's buffers alone has met no fault. */
	__u8 code = held && ring_faulted_since(ring, frame->arrived_ns) ? IO_FAULTED : IO_OK;

	if (prefix)
		store_fill(ring->nic, store, 0, (const unsigned char *)&plain_header, prefix);
	store_fill(ring->nic, store, prefix, frame->bytes, left);
	for (__u32 i = 0; i < count; i++) {
		__u32 filled = left > buffer ? buffer : left;

		complete(ring, position + i, filled, i + 1 == count ? NIC_LAST : 0);
		left -= filled;
	}
	report_write(ring, store, prefix + frame->length, code, frame->arrived_ns, now_ns);
	references_drop(ring->nic, store);
}

void ring_write_nothing(struct nic_ring *ring, __u64 position, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		complete(ring, position + i, 0, NIC_LOST | (i + 1 == count ? NIC_LAST : 0));
}

void ring_tell_done(struct nic_ring *ring)
{
	const struct rx_ring *state = &ring->state;
	/* Held frames of a ring that was stopped are given up, some beyond its tail. */
	__u64 end = state->head < state->tail ? state->head : state->tail;
	__u32 count;

	ring_report(ring);
	while (ring->published < end) {
		count = ring->way->publish(ring, (__u32)(end - ring->published));
		if (!count)
			break;
		ring->published += count;
		atomic_store_explicit(&ring->registers->head, ring->published,
				      memory_order_release);
	}
}
