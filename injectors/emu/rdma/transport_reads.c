// SPDX-License-Identifier: GPL-2.0
/* Reads that arrive at the responder: new ones, and what is asked for again of former ones. */
#include "injectors/emu/rdma/transport_private.h"

static struct responder_read *read_at(struct responder *responder, __u32 index)
{
	return &responder->reads[index % RDMA_READS_MAX];
}

static bool refuse(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
		   __u64 position, __u64 now_ns)
{
	responder_refuse(pair, nak, status, position);
	return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
}

/* Of this generation it goes on where it ended; a newer one begins where it likes. */
static bool is_asked_again(const struct responder *responder, const struct rdma_packet *packet,
			   __u64 position)
{
	__s32 newer = (__s32)(packet->generation - responder->generation);

	return newer > 0 || (!newer && position >= responder->asked_end);
}

static void begin_generation(struct responder *responder, const struct rdma_packet *packet)
{
	if (packet->generation == responder->generation)
		return;
	responder->generation = packet->generation;
	responder->read_head = responder->read_floor = responder->read_tail;
	responder->replay_token = packet->token;
}

bool responder_read(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
		    __u64 now_ns)
{
	struct responder *responder = &pair->responder;
	bool is_new = position == responder->expected;
	__u64 end = position + packets_of(pair, packet->length);
	struct verbs_sge piece = {packet->address, packet->length, packet->key};
	struct rdma_transfer from = {
		.side = RDMA_RESPONDER_READS,
		.piece = &piece,
		.pieces = 1,
		.remote = true,
		.total = packet->length,
	};

	if (is_new && (responder->in_message || packet->length > VERBS_MESSAGE_MAX))
		return refuse(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, position, now_ns);
	if (!is_new && (end > responder->expected || !is_asked_again(responder, packet, position)))
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	if (pair->ops->check(pair->device, pair, &from))
		return refuse(pair, RDMA_NAK_ACCESS, VERBS_REM_ACCESS_ERR, position, now_ns);
	begin_generation(responder, packet);
	if (responder->read_tail - responder->read_head == RDMA_READS_MAX)
		return refuse(pair, RDMA_NAK_INVALID, VERBS_REM_INV_REQ_ERR, position, now_ns);
	*read_at(responder, responder->read_tail++) =
		(struct responder_read){position, position, end, piece};
	responder->asked_end = end;
	if (is_new)
		responder->expected = end;
	else
		pair->counters.replayed++;
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
	__u32 kept = responder->read_tail - responder->read_floor, back = 1;

	if (!pair->read_rnr)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	if ((__s32)(packet->generation - responder->generation) <= 0)
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	if (kept > RDMA_READS_MAX)
		kept = RDMA_READS_MAX;
	for (; back <= kept; back++) {
		struct responder_read *read = read_at(responder, responder->read_tail - back);

		if (position >= read->first && position < read->end) {
			read->next = position;
			break;
		}
	}
	if (back > kept)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	responder->read_head = responder->read_tail - back;
	while (--back) {
		struct responder_read *read = read_at(responder, responder->read_tail - back);

		read->next = read->first;
	}
	responder->generation = packet->generation;
	responder->asked_end = read_at(responder, responder->read_tail - 1)->end;
	responder->replay_token = packet->token;
	tell_read_rnr(pair, packet, position, now_ns);
	transport_wait_begin(pair, WAIT_RESPONSE_RNR, packet->token,
			     now_ns + rnr_timer_ns(packet->timer), now_ns);
	return true;
}
