// SPDX-License-Identifier: GPL-2.0
/* Buffers are pinned, and so never absent. */
#include "injectors/emu/nic/rx_ring_private.h"

static enum rx_place pin_receive(struct rx_ring *ring, const struct rx_frame *frame,
				 struct rx_verdict *verdict)
{
	(void)frame;
	if (!rx_ring_posted(ring, verdict->position, verdict->count))
		return rx_lost(verdict, LOSS_NO_BUFFER);
	if (!rx_all_present(ring, verdict)) {
		ring->counters.broken++;
		return rx_lost(verdict, LOSS_FAULT);
	}
	ring->head += verdict->count;
	return RX_STORE;
}

const struct rx_policy rx_policy_pin = {
	.name = "pin",
	.meaning = "never absent: rings and buffers are pinned",
	.pins = true,
	.receive = pin_receive,
};
