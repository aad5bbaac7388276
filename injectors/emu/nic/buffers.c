// SPDX-License-Identifier: GPL-2.0
/*
 * A receive ring's way to guest memory. Every access is a DMA that takes references or finds pages absent; what
 * is absent is asked for and tried again later. Descriptors are fetched in batches and checked once, as they are
 * the guest's; completions are written in batches.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"

const char halt_tail[] = "its tail went backwards, or beyond what it has room for";
const char halt_descriptor[] = "a descriptor makes no sense";
const char halt_address[] = "a buffer is outside of the guest's memory";
const char halt_scattered[] = "a frame's buffers lie in more than 16 pieces";
_Static_assert(NIC_RANGES == 16, "as halt_scattered says");

/* A ring whose guest breaks the rules is stopped, as hardware does; its frames find no buffer. */
static void ring_halt(struct nic_ring *ring, const char *why)
{
	if (ring->halted)
		return;
	ring->halted = true;
	ring->why = why;
	fprintf(stderr, "faultline: receive ring %u of %s is stopped: %s\n", ring->index,
		ring->nic->name, why);
}

static int ring_try(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
		    __u64 absent[PORT_REQUEST_PAGES])
{
	return port_dma_try(ring->nic->port, ring->index, ring->nic->pasid, iova, length, write,
			    dma, absent, PORT_REQUEST_PAGES);
}

/* 0 with references, 1: absent and asked for, *page being the first that is, or a negative errno. */
static int ring_dma(struct nic_ring *ring, __u64 iova, __u64 length, bool write, struct dma *dma,
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

/* Between a buffer's bytes and the DMA's pages; from `offset` of the DMA on. */
static void dma_copy_to(struct nic *nic, const struct dma *dma, __u64 offset, const void *bytes,
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
		if (dma_guard_copy((char *)piece->iov_base + offset, from, count))
			port_dma_violation(nic->port, dma->iova);
		from += count;
		length -= count;
		offset = 0;
	}
}

static void dma_copy_from(struct nic *nic, const struct dma *dma, void *bytes)
{
	unsigned char *to = bytes;

	for (__u32 i = 0; i < dma->segments; i++) {
		if (dma_guard_copy(to, dma->iov[i].iov_base, dma->iov[i].iov_len))
			port_dma_violation(nic->port, dma->iova);
		to += dma->iov[i].iov_len;
	}
}

static bool descriptor_valid(const struct nic *nic, const struct nic_descriptor *descriptor)
{
	return descriptor->length == nic->settings.rx_buffer && descriptor->id < nic->depth &&
	       descriptor->address < ~0ull - descriptor->length;
}

/* Up to `count` descriptors from `at` on, none beyond the array's end. How many are valid, from the first on. */
static int fetch_some(struct nic_ring *ring, __u64 at, __u32 count)
{
	struct nic_descriptor fetched[NIC_COMPLETIONS];
	struct nic *nic = ring->nic;
	__u32 first = (__u32)(at % nic->depth), valid;
	struct dma *dma = &nic->fetch;
	int result;

	if (count > nic->depth - first)
		count = nic->depth - first;
	if (count > NIC_COMPLETIONS)
		count = NIC_COMPLETIONS;
	result = ring_dma(ring, ring->descriptors + first * sizeof(*fetched),
			  count * sizeof(*fetched), false, dma, &ring->descriptor_page);
	if (result)
		return result > 0 ? 0 : result;
	dma_copy_from(nic, dma, fetched);
	port_dma_end(nic->port, dma);
	for (valid = 0; valid < count && descriptor_valid(nic, &fetched[valid]); valid++)
		;
	if (rx_ring_post(&ring->state, at + valid))
		return -EINVAL;
	for (__u32 i = 0; i < valid; i++)
		ring->posted[rx_ring_slot(&ring->state, at + i)] = fetched[i];
	return valid == count ? (int)valid : -EINVAL;
}

void ring_fetch(struct nic_ring *ring)
{
	__u64 tail = atomic_load_explicit(&ring->registers->tail, memory_order_acquire);
	__u64 at = ring->state.tail;
	int count = 1;

	/* More than the ring holds, or backwards: nothing that a guest can mean. */
	if (!ring->halted && (tail < at || tail - at > ring->nic->depth))
		ring_halt(ring, halt_tail);
	while (at < tail && count > 0 && !ring->halted) {
		count = fetch_some(ring, at, (__u32)(tail - at));
		if (count < 0)
			ring_halt(ring, halt_descriptor);
		else
			at += (__u32)count;
	}
	ring->state.unseen = at < tail && !ring->halted;
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

/* Likewise of the buffer at `position`, and of what lies before it: asked for with all that its frame lacks. */
static int buffer_dma(struct nic_ring *ring, __u64 position, __u64 iova, __u64 length,
		      struct dma *dma, __u64 *page)
{
	__u64 absent[PORT_REQUEST_PAGES];
	int result = ring_try(ring, iova, length, true, dma, absent);

	if (result <= 0)
		return result;
	*page = absent[0];
	ring_want_buffer(ring, position, absent, (__u32)result);
	return 1;
}

/* The new references are taken before the old ones go: what was answered as present stays so. */
static int extend(struct nic_ring *ring, __u64 position, struct nic_store *store, __u32 length,
		  __u64 *page)
{
	struct dma **last = &store->range[store->ranges - 1], *both = store->range[store->ranges];
	int result =
		buffer_dma(ring, position, (*last)->iova, (*last)->length + length, both, page);

	if (result)
		return result;
	port_dma_end(ring->nic->port, *last);
	store->range[store->ranges] = *last;
	*last = both;
	return 0;
}

/* Buffers that lie behind each other are one DMA: a frame's references are few. */
static bool range_continues(const struct nic_store *store, const struct nic_descriptor *descriptor)
{
	const struct dma *last = store->ranges ? store->range[store->ranges - 1] : NULL;

	return last && last->iova + last->length == descriptor->address &&
	       last->length + descriptor->length <= NIC_RANGE_BYTES;
}

bool ring_take(struct nic_ring *ring, __u64 position, struct nic_store *store, __u64 *page)
{
	const struct nic_descriptor *descriptor =
		&ring->posted[rx_ring_slot(&ring->state, position)];
	int result;

	if (range_continues(store, descriptor)) {
		result = extend(ring, position, store, descriptor->length, page);
	} else if (store->ranges == NIC_RANGES) {
		ring_halt(ring, halt_scattered);
		return false;
	} else {
		result = buffer_dma(ring, position, descriptor->address, descriptor->length,
				    store->range[store->ranges], page);
		store->ranges += !result;
	}
	if (result < 0)
		ring_halt(ring, halt_address);
	return !result;
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
		port_ios_done(ring->nic->port, ring->index, ring->reports, ring->report_count);
	ring->report_count = 0;
}

/* Each piece of memory is an access of its own, the last one the frame's I/O. */
static void report_write(struct nic_ring *ring, const struct nic_store *store, __u32 length,
			 __u64 arrived_ns, __u64 now_ns)
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
			.code = IO_OK | (length ? IO_PART : 0),
			.start_ns = arrived_ns,
			.end_ns = now_ns,
		};
	}
}

void ring_write(struct nic_ring *ring, __u64 position, __u32 count, const struct nic_frame *frame,
		struct nic_store *store, __u64 now_ns)
{
	__u32 left = frame->length, buffer = (__u32)ring->nic->settings.rx_buffer;
	const unsigned char *from = frame->bytes;

	for (__u32 i = 0; i < store->ranges && left; i++) {
		__u32 piece =
			store->range[i]->length < left ? (__u32)store->range[i]->length : left;

		dma_copy_to(ring->nic, store->range[i], 0, from, piece);
		from += piece;
		left -= piece;
	}
	left = frame->length;
	for (__u32 i = 0; i < count; i++) {
		__u32 filled = left > buffer ? buffer : left;

		complete(ring, position + i, filled, i + 1 == count ? NIC_LAST : 0);
		left -= filled;
	}
	report_write(ring, store, frame->length, frame->arrived_ns, now_ns);
	references_drop(ring->nic, store);
}

void ring_write_nothing(struct nic_ring *ring, __u64 position, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		complete(ring, position + i, 0, NIC_LOST | (i + 1 == count ? NIC_LAST : 0));
}

/* Completions that lie behind each other, at most NIC_COMPLETIONS. How many were written. */
static __u32 publish_some(struct nic_ring *ring, __u32 count)
{
	struct nic *nic = ring->nic;
	__u32 first = (__u32)(ring->published % nic->depth);
	struct dma *dma = &nic->fetch;
	__u64 page;
	int result;

	if (count > nic->depth - first)
		count = nic->depth - first;
	if (count > NIC_COMPLETIONS)
		count = NIC_COMPLETIONS;
	result = ring_dma(ring, ring->completions + first * sizeof(*ring->done),
			  count * sizeof(*ring->done), true, dma, &page);
	if (result < 0)
		ring_halt(ring, halt_address);
	if (result)
		return 0;
	dma_copy_to(nic, dma, 0, &ring->done[first], count * sizeof(*ring->done));
	port_dma_end(nic->port, dma);
	return count;
}

void ring_tell_done(struct nic_ring *ring)
{
	const struct rx_ring *state = &ring->state;
	/* Held frames of a ring that was stopped are given up, some beyond its tail. */
	__u64 end = state->head < state->tail ? state->head : state->tail;
	__u32 count;

	ring_report(ring);
	while (ring->published < end) {
		count = publish_some(ring, (__u32)(end - ring->published));
		if (!count)
			break;
		ring->published += count;
		atomic_store_explicit(&ring->registers->head, ring->published,
				      memory_order_release);
	}
}
