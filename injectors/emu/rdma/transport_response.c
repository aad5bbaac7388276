// SPDX-License-Identifier: GPL-2.0
/*
 * The responder sends, in the order of what it answers: responses of reads, then what acknowledges
 * or refuses requests behind these.
 */
#include "injectors/emu/rdma/transport_private.h"

#include <errno.h>

void responder_begin(struct queue_pair *pair, __u64 position)
{
	struct responder *responder = &pair->responder;

	*responder = (struct responder){
		.expected = position,
		.acked = position,
		.responded = position,
		.receive_depth = responder->receive_depth,
		.receives = responder->receives,
	};
}

void responder_nak(struct queue_pair *pair, enum rdma_nak nak, __u64 position)
{
	struct responder *responder = &pair->responder;

	responder->nak_due = true;
	responder->nak = nak;
	responder->nak_position = position;
	responder->nak_token = nak == RDMA_NAK_RNR ? responder->behind_token : 0;
}

void responder_refuse(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
		      __u64 position)
{
	struct responder *responder = &pair->responder;

	responder->failing = true;
	responder->failed = status;
	if (position < responder->expected)
		responder->read_head = responder->read_tail; /* of a read: no more responses */
	responder_nak(pair, nak, position);
}

static void tell_not_ready(struct queue_pair *pair, __u64 now_ns)
{
	const struct responder *responder = &pair->responder;
	struct transport_event event = {
		.kind = TRANSPORT_RNR_SENT,
		.side = RDMA_RESPONDER_WRITES,
		.code = (__u8)responder->nak_for,
		.timer = pair->rnr_timer,
		.psn = rdma_psn(responder->nak_position),
		.token = responder->nak_token,
		.now_ns = now_ns,
	};

	pair->counters.rnr_sent++;
	transport_tell(pair, &event);
}

static void send_nak(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;

	transport_begin_packet(pair, packet, RDMA_NAK, responder->nak_position);
	packet->code = (__u8)responder->nak;
	if (responder->nak == RDMA_NAK_RNR) {
		packet->timer = pair->rnr_timer;
		packet->token = responder->nak_token;
		tell_not_ready(pair, now_ns);
	}
	responder->nak_due = responder->ack_due = false;
	responder->acked = responder->nak_position;
	if (responder->failing)
		transport_fail(pair, responder->failed, now_ns);
}

static void send_ack(struct queue_pair *pair, struct rdma_packet *packet, __u64 end)
{
	struct responder *responder = &pair->responder;

	transport_begin_packet(pair, packet, RDMA_ACK, end - 1);
	packet->generation = responder->generation;
	responder->acked = end;
}

static bool send_response(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	struct responder_read *read = &responder->reads[responder->read_head % RDMA_READS_MAX];
	struct rdma_transfer from = {
		.side = RDMA_RESPONDER_READS,
		.piece = &read->from,
		.pieces = 1,
		.remote = true,
		.offset = (read->next - read->first) * pair->mtu,
		.total = read->from.length,
	};
	__u32 bytes = payload_at(pair, from.offset, read->from.length);
	int err = bytes ? pair->ops->gather(pair->device, pair, &from, packet->payload, bytes) : 0;

	if (err == -EAGAIN)
		pair->policy->absent[RDMA_RESPONDER_READS](pair, read->next, now_ns);
	else if (err)
		responder_refuse(pair, err == -EIO ? RDMA_NAK_OPERATION : RDMA_NAK_ACCESS,
				 err == -EIO ? VERBS_LOC_PROT_ERR : VERBS_LOC_ACCESS_ERR,
				 read->next);
	if (err)
		return false;
	transport_begin_packet(pair, packet, RDMA_READ_RESPONSE, read->next);
	packet->flags = (read->next == read->first ? RDMA_FIRST : 0) |
			(read->next + 1 == read->end ? RDMA_LAST : 0);
	packet->bytes = bytes;
	packet->length = read->from.length;
	packet->generation = responder->generation;
	if (read->next < responder->responded)
		transport_count_resent(pair, RDMA_RESEND_READ, read->next, responder->replay_token,
				       now_ns);
	if (++read->next == read->end)
		responder->read_head++;
	if (responder->responded < read->next)
		responder->responded = read->next;
	return true;
}

bool responder_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;

	if (responder_owes(responder)) {
		__u64 next = responder->reads[responder->read_head % RDMA_READS_MAX].next;

		if (!pair_waits(pair, WAIT_RESPONSE_MEMORY) &&
		    !pair_waits(pair, WAIT_RESPONSE_RNR) && send_response(pair, packet, now_ns))
			return true;
		if (responder_owes(responder)) {
			/* What is before the read need not wait for it. */
			if (!responder->ack_due || responder->acked >= next)
				return false;
			send_ack(pair, packet, next);
			return true;
		}
	}
	if (responder->nak_due) {
		send_nak(pair, packet, now_ns);
		return true;
	}
	if (!responder->ack_due)
		return false;
	responder->ack_due = false;
	send_ack(pair, packet, responder->expected);
	return true;
}
