/* SPDX-License-Identifier: GPL-2.0 */
/* What policies have in common. */
#ifndef FAULTLINE_RX_RING_PRIVATE_H
#define FAULTLINE_RX_RING_PRIVATE_H

#include "injectors/emu/nic/rx_ring.h"

static inline enum rx_place rx_lost(struct rx_verdict *verdict, enum loss_reason reason)
{
	verdict->reason = reason;
	return RX_LOST;
}

static inline bool rx_is_present(struct rx_ring *ring, struct rx_verdict *verdict, __u64 position)
{
	if (ring->present(ring->self, position))
		return true;
	if (verdict->absent == RX_NO_SLOT)
		verdict->absent = ring->absent = rx_ring_slot(ring, position);
	return false;
}

/* Are all buffers of the frame present? Each of them is asked for. */
static inline bool rx_all_present(struct rx_ring *ring, struct rx_verdict *verdict)
{
	bool all = true;

	for (__u32 i = 0; i < verdict->count; i++)
		all &= rx_is_present(ring, verdict, verdict->position + i);
	return all;
}

#endif
