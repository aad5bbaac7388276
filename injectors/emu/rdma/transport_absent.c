// SPDX-License-Identifier: GPL-2.0
/* What becomes of a packet whose page is absent: what fault policies are made of. */
#include "injectors/emu/rdma/transport_private.h"

static __u64 new_token(struct queue_pair *pair)
{
	return pair->ops->new_token(pair->device);
}

void absent_pause_sends(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	(void)position;
	pair->requester.absent = pair->requester.cursor;
	transport_wait_begin(pair, WAIT_SEND_MEMORY, new_token(pair), 0, now_ns);
}

void absent_pause_responses(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	(void)position;
	transport_wait_begin(pair, WAIT_RESPONSE_MEMORY, new_token(pair), 0, now_ns);
}

void absent_drop_responses(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	requester->stale = RDMA_DROP_RESPONSE;
	requester->stale_token = new_token(pair);
	transport_wait_begin(pair, WAIT_READ_MEMORY, requester->stale_token, 0, now_ns);
	transport_drop(pair, RDMA_DROP_RESPONSE, position, requester->stale_token, now_ns);
}

/* A new generation: what is on its way is dropped, and no gap. */
void absent_read_rnr(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	requester->generation++;
	requester->read_rnr_due = true;
	requester->stale = RDMA_DROP_RESPONSE;
	requester->stale_token = new_token(pair);
	requester_timer_restart(pair, now_ns);
	requester->timer_extra_ns = rnr_timer_ns(pair->rnr_timer);
	transport_drop(pair, RDMA_DROP_RESPONSE, position, requester->stale_token, now_ns);
}

void absent_lose_response(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	pair->requester.responses_lost = true;
	transport_drop(pair, RDMA_DROP_RESPONSE, position, 0, now_ns);
}

static void not_ready(struct queue_pair *pair, enum rdma_drop why, __u64 position, __u64 now_ns)
{
	struct responder *responder = &pair->responder;

	responder->refusing = true;
	responder->behind = RDMA_DROP_RNR;
	responder->behind_token = new_token(pair);
	responder->nak_for = why;
	responder_nak(pair, RDMA_NAK_RNR, position);
	transport_drop(pair, why, position, responder->behind_token, now_ns);
}

void absent_not_ready(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	not_ready(pair, RDMA_DROP_FAULT, position, now_ns);
}

void absent_no_receive(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	not_ready(pair, RDMA_DROP_NO_RECEIVE, position, now_ns);
}

void absent_lose_request(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	struct responder *responder = &pair->responder;

	responder->refusing = true;
	responder->behind = RDMA_DROP_SEQUENCE;
	responder->behind_token = 0;
	transport_drop(pair, RDMA_DROP_FAULT, position, 0, now_ns);
}
