// SPDX-License-Identifier: GPL-2.0
/* The responder hears: sends and writes that arrive, in order or not. */
#include "injectors/emu/rdma/transport_private.h"

#include <errno.h>

static void complete_receive(struct queue_pair *pair, enum verbs_status status, __u64 bytes)
{
	struct responder *responder = &pair->responder;
	struct verbs_completion completion = {
		.id = responder->receive.id,
		.queue_pair = pair->number,
		.bytes = (__u32)bytes,
		.status = (__u8)status,
		.opcode = VERBS_RECEIVE,
		.entry = (__u16)(responder->receives - 1),
	};

	if (!status)
		pair->counters.operations[VERBS_RECEIVE]++;
	responder->receive_held = false;
	pair->ops->complete(pair->device, pair, &completion);
}

static bool hold_receive(struct queue_pair *pair)
{
	struct responder *responder = &pair->responder;

	if (responder->receive_held)
		return true;
	if (!pair->ops->next_receive(pair->device, pair, &responder->receive))
		return false;
	responder->receive_held = true;
	responder->receives++;
	responder->receive_total = 0;
	for (__u32 i = 0; i < responder->receive.pieces && i < VERBS_SGE_MAX; i++)
		responder->receive_total += responder->receive.piece[i].length;
	return true;
}

void responder_flush(struct queue_pair *pair)
{
	/* One may be held already. */
	for (__u32 i = 0; i <= pair->responder.receive_depth && hold_receive(pair); i++)
		complete_receive(pair, VERBS_WR_FLUSH_ERR, 0);
}

/* The last word to a request, of a packet that is dropped with it. */
static bool refuse_request(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
			   __u64 now_ns)
{
	__u64 position = pair->responder.expected;

	responder_refuse(pair, nak, status, position);
	return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
}

static bool refuse_receive(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
			   __u64 now_ns)
{
	complete_receive(pair, status, 0);
	return refuse_request(pair, nak, status, now_ns);
}

/* Is it where a packet of its kind and length may be? */
static bool is_in_place(const struct queue_pair *pair, const struct rdma_packet *packet)
{
	const struct responder *responder = &pair->responder;
	bool first = packet->flags & RDMA_FIRST;

	if (first == responder->in_message || (!first && packet->kind != responder->kind))
		return false;
	return (packet->flags & RDMA_LAST) ? packet->bytes <= pair->mtu
					   : packet->bytes == pair->mtu;
}

static void request_taken(struct queue_pair *pair, const struct rdma_packet *packet, __u64 offset)
{
	struct responder *responder = &pair->responder;

	responder->kind = packet->kind;
	responder->offset = offset + packet->bytes;
	responder->in_message = !(packet->flags & RDMA_LAST);
	responder->expected++;
	responder->target_absent = false;
	if (packet->flags & RDMA_ACK_REQUEST)
		responder->ack_due = true;
	pair->counters.useful_bytes += packet->bytes;
}

/* 0, -EAGAIN: the fault policy has decided; another: it can never be had. */
static int scatter_request(struct queue_pair *pair, const struct rdma_packet *packet,
			   const struct rdma_transfer *to, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	int err = responder->memory_error;

	responder->memory_error = 0;
	if (!err && packet->bytes)
		err = pair->ops->scatter(pair->device, pair, to, packet->payload, packet->bytes);
	if (err == -EAGAIN) {
		responder->target_absent = true;
		pair->policy->absent[RDMA_RESPONDER_WRITES](pair, responder->expected, now_ns);
	}
	return err;
}

static bool take_send(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	__u64 offset = packet->flags & RDMA_FIRST ? 0 : responder->offset;
	struct rdma_transfer to = {
		.side = RDMA_RESPONDER_WRITES,
		.piece = responder->receive.piece,
		.offset = offset,
	};
	int err;

	if (!hold_receive(pair)) {
		absent_no_receive(pair, responder->expected, now_ns);
		return false;
	}
	to.pieces = responder->receive.pieces;
	to.total = responder->receive_total;
	if (to.pieces > VERBS_SGE_MAX)
		return refuse_receive(pair, RDMA_NAK_OPERATION, VERBS_LOC_QP_OP_ERR, now_ns);
	if (offset + packet->bytes > to.total || offset + packet->bytes > VERBS_MESSAGE_MAX)
		return refuse_receive(pair, RDMA_NAK_INVALID, VERBS_LOC_LEN_ERR, now_ns);
	err = scatter_request(pair, packet, &to, now_ns);
	if (err == -EAGAIN)
		return false;
	if (err)
		return refuse_receive(pair, RDMA_NAK_OPERATION, VERBS_LOC_PROT_ERR, now_ns);
	request_taken(pair, packet, offset);
	if (!responder->in_message)
		complete_receive(pair, VERBS_SUCCESS, responder->offset);
	return true;
}

static bool take_write(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	bool first = packet->flags & RDMA_FIRST;
	__u64 offset = first ? 0 : responder->offset;
	struct rdma_transfer to = {
		.side = RDMA_RESPONDER_WRITES,
		.piece = &responder->target,
		.pieces = 1,
		.remote = true,
		.offset = offset,
	};
	int err;

	if (first)
		responder->target =
			(struct verbs_sge){packet->address, packet->length, packet->key};
	to.total = responder->target.length;
	if (to.total > VERBS_MESSAGE_MAX || offset + packet->bytes > to.total ||
	    ((packet->flags & RDMA_LAST) && offset + packet->bytes != to.total))
		return refuse_request(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, now_ns);
	if (first && pair->ops->check(pair->device, pair, &to))
		return refuse_request(pair, RDMA_NAK_ACCESS, VERBS_REM_ACCESS_ERR, now_ns);
	err = scatter_request(pair, packet, &to, now_ns);
	if (err == -EAGAIN)
		return false;
	if (err)
		return refuse_request(pair, err == -EIO ? RDMA_NAK_OPERATION : RDMA_NAK_ACCESS,
				      err == -EIO ? VERBS_LOC_PROT_ERR : VERBS_LOC_ACCESS_ERR,
				      now_ns);
	request_taken(pair, packet, offset);
	return true;
}

static bool refuse_gap(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	struct responder *responder = &pair->responder;

	if (!responder->refusing) {
		responder->refusing = true;
		responder->behind = RDMA_DROP_SEQUENCE;
		responder->behind_token = 0;
		responder_nak(pair, RDMA_NAK_SEQUENCE, responder->expected);
	}
	return transport_drop(pair, responder->behind, position, responder->behind_token, now_ns);
}

bool responder_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	__u64 position = rdma_position(packet->psn, responder->expected);

	if (position > responder->expected)
		return refuse_gap(pair, position, now_ns);
	if (position < responder->expected) {
		if (packet->kind == RDMA_READ_REQUEST)
			return responder_read(pair, packet, position, now_ns);
		responder->ack_due = true; /* the acknowledgement was lost */
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	}
	responder->refusing = responder->nak_due = false;
	if (packet->kind == RDMA_READ_REQUEST)
		return responder_read(pair, packet, position, now_ns);
	if (!is_in_place(pair, packet))
		return refuse_request(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, now_ns);
	return packet->kind == RDMA_SEND ? take_send(pair, packet, now_ns)
					 : take_write(pair, packet, now_ns);
}
