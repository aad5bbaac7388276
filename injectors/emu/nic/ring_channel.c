// SPDX-License-Identifier: GPL-2.0
/*
 * A receive ring of an emulated guest's (layout.h). Descriptors are fetched in batches and checked once, as they are the
 * guest's; completions are written in batches.
 */
#include <errno.h>
#include <stdio.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/nic/nic_private.h"

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

static void channel_fetch(struct nic_ring *ring)
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

/* As ring_dma(), of the buffer at `position` and what lies before it: asked for with all that its frame lacks. */
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

static bool channel_take_buffer(struct nic_ring *ring, __u64 position, struct nic_store *store,
				__u64 *page)
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

/* Completions that lie behind each other, at most NIC_COMPLETIONS. */
static __u32 channel_publish(struct nic_ring *ring, __u32 count)
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

static void channel_interrupt(struct nic_ring *ring)
{
	doorbell_ring(&ring->registers->interrupt);
}

static int channel_absent(struct nic_ring *ring, __u64 position, __u64 absent[PORT_REQUEST_PAGES])
{
	const struct nic_descriptor *descriptor =
		&ring->posted[rx_ring_slot(&ring->state, position)];

	return ring_absent(ring, descriptor->address, descriptor->length, absent);
}

const struct ring_way ring_channel = {
	.fetch = channel_fetch,
	.take = channel_take_buffer,
	.absent = channel_absent,
	.publish = channel_publish,
	.interrupt = channel_interrupt,
};
