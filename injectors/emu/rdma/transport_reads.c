// SPDX-License-Identifier: GPL-2.0
/* Reads that arrive at the responder: new ones, and what is asked for again of former ones. */
#include "injectors/emu/rdma/transport_private.h"

static struct responder_read *kept_read(struct responder *responder, __u32 index)
{
	return &responder->reads[index % RDMA_READS_MAX];
}

static bool refuse_read(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
			__u64 position, __u64 now_ns)
{
	responder_refuse(pair, nak, status, position);
	return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
}

/*
 * All responses from a position on are sent again. Of the reads that the initiator misses something of,
 * all are kept, and no newer one is missing. NULL: none has this position.
 */
static struct responder_read *rewind_reads(struct responder *responder, __u64 position,
					   const struct rdma_packet *packet)
{
	__u32 kept = responder->read_tail < RDMA_READS_MAX ? responder->read_tail : RDMA_READS_MAX;

	for (__u32 back = 1; back <= kept; back++) {
		struct responder_read *read = kept_read(responder, responder->read_tail - back);

		if (position < read->first || position >= read->end)
			continue;
		responder->read_head = responder->read_tail - back;
		read->next = position;
		while (--back) {
			struct responder_read *behind =
				kept_read(responder, responder->read_tail - back);

			behind->next = behind->first;
		}
		responder->generation = packet->generation;
		responder->replay_token = packet->token;
		return read;
	}
	return NULL;
}

static bool is_newer(const struct responder *responder, const struct rdma_packet *packet)
{
	return (__s32)(packet->generation - responder->generation) > 0;
}

/* Its responses are read from memory again, which may have changed. */
static bool read_again(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
		       __u64 end, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	struct responder_read *read = NULL;

	if (end <= responder->expected)
		read = rewind_reads(responder, position, packet);
	if (!read || read->end != end)
		return refuse_read(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, position, now_ns);
	*read = (struct responder_read){
		position, position, end, {packet->address, packet->length, packet->key}};
	pair->counters.replayed++;
	return true;
}

bool responder_read(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
		    __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	__u64 end = position + rdma_packets_of(pair, packet->length);
	struct verbs_sge piece = {packet->address, packet->length, packet->key};
	struct rdma_transfer from = {
		.side = RDMA_RESPONDER_READS,
		.piece = &piece,
		.pieces = 1,
		.remote = true,
		.total = packet->length,
	};

	if (packet->length > VERBS_MESSAGE_MAX)
		return refuse_read(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, position, now_ns);
	if (position != responder->expected && !is_newer(responder, packet))
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	if (pair->ops->check(pair->device, pair, &from))
		return refuse_read(pair, RDMA_NAK_ACCESS, VERBS_REM_ACCESS_ERR, position, now_ns);
	if (position != responder->expected)
		return read_again(pair, packet, position, end, now_ns);
	if (responder->in_message || responder->read_tail - responder->read_head == RDMA_READS_MAX)
		return refuse_read(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, position, now_ns);
	*kept_read(responder, responder->read_tail++) =
		(struct responder_read){position, position, end, piece};
	responder->expected = end;
	if (is_newer(responder, packet))
		responder->generation = packet->generation;
	return true;
}

static void tell_read_rnr(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
			  __u64 now_ns)
{
	__u64 responded = pair->responder.responded;
	struct transport_event event = {
		.kind = TRANSPORT_RNR_RECEIVED,
		.side = RDMA_RESPONDER_READS,
		.timer = packet->timer,
		.psn = rdma_psn(position),
		.token = packet->token,
		.now_ns = now_ns,
	};

	pair->counters.rnr_received++;
	transport_tell(pair, &event);
	event.kind = TRANSPORT_REWOUND;
	event.code = RDMA_RESEND_READ;
	event.count = responded > position ? (__u32)(responded - position) : 0;
	pair->counters.rewound++;
	transport_tell(pair, &event);
}

bool responder_read_rnr(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	__u64 position = rdma_position(packet->psn, responder->expected);

	if (!pair->read_rnr)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	if (!is_newer(responder, packet))
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	if (!rewind_reads(responder, position, packet))
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	tell_read_rnr(pair, packet, position, now_ns);
	transport_wait_begin(pair, WAIT_RESPONSE_RNR, packet->token,
			     now_ns + rnr_timer_ns(packet->timer), now_ns);
	return true;
}
