// SPDX-License-Identifier: GPL-2.0
/*
 * The head stays at an absent buffer, and whatever arrives before that is resolved is lost: also a
 * frame that would need fewer buffers, which are present.
 */
#include "injectors/emu/nic/rx_ring_private.h"

static enum rx_place drop_receive(struct rx_ring *ring, const struct rx_frame *frame,
				  struct rx_verdict *verdict)
{
	(void)frame;
	if (!rx_ring_posted(ring, verdict->position, verdict->count))
		return rx_lost(verdict, LOSS_NO_BUFFER);
	if (!ring->paused)
		ring->paused = !rx_all_present(ring, verdict);
	if (ring->paused) {
		verdict->absent = ring->absent;
		return rx_lost(verdict, LOSS_FAULT);
	}
	ring->head += verdict->count;
	return RX_STORE;
}

static void drop_retry(struct rx_ring *ring)
{
	ring->paused = false;
}

const struct rx_policy rx_policy_drop = {
	.name = "drop",
	.meaning = "frames are lost until it is resolved",
	.receive = drop_receive,
	.retry = drop_retry,
};
