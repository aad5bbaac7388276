// SPDX-License-Identifier: GPL-2.0
/* What a device without a word for it does: what arrives is lost, and the sender's timer finds out. */
#include "injectors/emu/rdma/transport_private.h"

const struct fault_policy fault_policy_drop = {
	.name = "drop",
	.meaning = "packets that arrive are lost, until the sender's timer expires",
	.absent =
		{
			[RDMA_INITIATOR_READS] = absent_pause_sends,
			[RDMA_INITIATOR_WRITES] = absent_lose_response,
			[RDMA_RESPONDER_READS] = absent_pause_responses,
			[RDMA_RESPONDER_WRITES] = absent_lose_request,
		},
};
