// SPDX-License-Identifier: GPL-2.0
/*
 * As NPF's section 4 has it: what is local waits; a receiver that is not ready says so; for a read's
 * responses, which nothing can hold off, all are dropped and asked for again, or, with read_rnr,
 * there is the NAK that the authors wish for.
 */
#include "injectors/emu/rdma/transport_private.h"

static void npf_response(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	if (pair->read_rnr)
		absent_read_rnr(pair, position, now_ns);
	else
		absent_drop_responses(pair, position, now_ns);
}

const struct fault_policy fault_policy_npf = {
	.name = "npf",
	.meaning = "senders wait, receivers say that they are not ready",
	.absent =
		{
			[RDMA_INITIATOR_READS] = absent_pause_sends,
			[RDMA_INITIATOR_WRITES] = npf_response,
			[RDMA_RESPONDER_READS] = absent_pause_responses,
			[RDMA_RESPONDER_WRITES] = absent_not_ready,
		},
};
