// SPDX-License-Identifier: GPL-2.0
/*
 * VPRI: the ring pauses at an absent buffer, and its frames wait in the device's cache. Frames of
 * all rings pass through that: while it is full, those of a ring without a fault are lost, too.
 */
#include "injectors/emu/nic/rx_cache.h"
#include "injectors/emu/nic/rx_ring_private.h"

static enum rx_place cache_receive(struct rx_ring *ring, const struct rx_frame *frame,
				   struct rx_verdict *verdict)
{
	if (!rx_cache_fits(ring->cache, frame->length))
		return rx_lost(verdict, LOSS_CACHE_FULL);
	/* Behind a held frame others wait, for its buffers or for theirs. */
	if (!ring->cached.count) {
		bool posted = rx_ring_posted(ring, verdict->position, verdict->count);

		if (!posted && !ring->unseen)
			return rx_lost(verdict, LOSS_NO_BUFFER);
		if (posted && rx_all_present(ring, verdict)) {
			ring->head += verdict->count;
			return RX_STORE;
		}
		ring->paused = posted;
	}
	if (ring->paused)
		verdict->absent = ring->absent;
	rx_cache_push(ring->cache, &ring->cached, frame);
	return RX_CACHE;
}

static void cache_retry(struct rx_ring *ring)
{
	ring->paused = false;
}

static bool cache_next(struct rx_ring *ring, struct rx_frame *frame, struct rx_verdict *verdict)
{
	if (!ring->cached.count || ring->paused ||
	    !rx_ring_posted(ring, verdict->position, verdict->count))
		return false;
	if (!rx_all_present(ring, verdict)) {
		ring->paused = true;
		return false;
	}
	rx_cache_pop(ring->cache, &ring->cached, frame);
	ring->head += verdict->count;
	return true;
}

const struct rx_policy rx_policy_cache = {
	.name = "cache",
	.meaning = "the ring pauses, its frames wait in a cache that all rings share",
	.wants_cache = true,
	.receive = cache_receive,
	.retry = cache_retry,
	.next = cache_next,
};
