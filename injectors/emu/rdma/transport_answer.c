// SPDX-License-Identifier: GPL-2.0
/* The requester hears: acknowledgements, NAKs and responses of reads; and what completes by them. */
#include "injectors/emu/rdma/transport_private.h"

#include <errno.h>

static void complete_send(struct queue_pair *pair, enum verbs_status status)
{
	struct requester *requester = &pair->requester;
	const struct send_entry *entry = send_entry_at(pair, requester->head);
	struct verbs_completion completion = {
		.id = entry->send.id,
		.queue_pair = pair->number,
		.bytes = status ? 0 : (__u32)entry->total,
		.status = (__u8)status,
		.opcode = entry->send.opcode > VERBS_READ ? VERBS_SEND : entry->send.opcode,
		.entry = (__u16)requester->head,
	};

	if (!status)
		pair->counters.operations[completion.opcode]++;
	requester->head++;
	if (status || (entry->send.flags & VERBS_SEND_SIGNALED))
		pair->ops->complete(pair->device, pair, &completion);
	else
		pair->ops->retire(pair->device, pair, &completion);
}

void requester_settle(struct queue_pair *pair, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	while (requester->head != requester->tail) {
		const struct send_entry *entry = send_entry_at(pair, requester->head);
		enum verbs_status failed = entry->failed;

		if (failed) {
			complete_send(pair, failed);
			transport_fail(pair, failed, now_ns);
			return;
		}
		if (entry->send.opcode == VERBS_READ ? entry->received < entry->end - entry->first
						     : entry->end > requester->acked)
			break;
		complete_send(pair, VERBS_SUCCESS);
	}
	if (requester->cursor < requester->head)
		requester->cursor = requester->head;
}

void requester_fail(struct queue_pair *pair, struct send_entry *entry, enum verbs_status status,
		    __u64 now_ns)
{
	if (!entry->failed)
		entry->failed = (__u8)status;
	pair->requester.broken = true;
	requester_settle(pair, now_ns);
}

void requester_flush(struct queue_pair *pair)
{
	struct requester *requester = &pair->requester;

	while (requester->head != requester->tail)
		complete_send(pair, VERBS_WR_FLUSH_ERR);
	for (__u32 i = 0; i < requester->depth; i++) {
		if (!pair->ops->next_send(pair->device, pair,
					  &send_entry_at(pair, requester->tail)->send))
			break;
		requester->tail++;
		complete_send(pair, VERBS_WR_FLUSH_ERR);
	}
	requester->cursor = requester->read = requester->head;
	requester->reads = 0;
}

/* The peer has taken all before a position. */
static void acknowledged(struct queue_pair *pair, __u64 position, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	if (position <= requester->acked)
		return;
	requester->acked = position;
	requester->retries_left = pair->retries;
	requester->rnr_left = pair->rnr_retries;
	requester_settle(pair, now_ns);
	requester_timer_restart(pair, now_ns);
}

/* An acknowledgement comes behind the responses of reads before it: those that are missing are lost. */
static void find_lost_responses(struct queue_pair *pair, __u64 position, __u32 generation,
				__u64 now_ns)
{
	const struct requester *requester = &pair->requester;
	const struct send_entry *read = send_entry_at(pair, requester->read);

	if (!requester->reads || generation != requester->generation || requester->again ||
	    requester->responses_lost || pair_waits(pair, WAIT_READ_MEMORY) ||
	    read->first + read->received >= position)
		return;
	if (requester_retry(pair, now_ns))
		requester_read_again(pair, RDMA_RESEND_SEQUENCE, 0, now_ns);
}

static bool hear_ack(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	__u64 position = rdma_position(packet->psn, pair->requester.acked) + 1;

	if (position > pair->requester.sent)
		return transport_drop(pair, RDMA_DROP_STATE, position - 1, 0, now_ns);
	acknowledged(pair, position, now_ns);
	find_lost_responses(pair, position, packet->generation, now_ns);
	return true;
}

static void hear_not_ready(struct queue_pair *pair, const struct rdma_packet *packet,
			   __u64 position, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct send_entry *entry = requester_find(pair, position);

	if (pair->rnr_retries != TRANSPORT_RETRIES_MAX && !requester->rnr_left) {
		if (entry)
			requester_fail(pair, entry, VERBS_RNR_RETRY_EXC_ERR, now_ns);
		return;
	}
	requester->rnr_left--;
	requester_go_back(pair, RDMA_RESEND_RNR, packet->token, now_ns);
	transport_wait_begin(pair, WAIT_SEND_RNR, packet->token,
			     now_ns + rnr_timer_ns(packet->timer), now_ns);
}

static void count_not_ready(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_RNR_RECEIVED,
		.side = RDMA_INITIATOR_READS,
		.timer = packet->timer,
		.psn = packet->psn & RDMA_PSN_MASK,
		.token = packet->token,
		.now_ns = now_ns,
	};

	pair->counters.rnr_received++;
	transport_tell(pair, &event);
}

static void hear_last_word(struct queue_pair *pair, enum rdma_nak nak, __u64 position, __u64 now_ns)
{
	struct send_entry *entry = requester_find(pair, position);

	if (!entry)
		return;
	requester_fail(pair, entry,
		       nak == RDMA_NAK_ACCESS	 ? VERBS_REM_ACCESS_ERR
		       : nak == RDMA_NAK_INVALID ? VERBS_REM_INV_REQ_ERR
						 : VERBS_REM_OP_ERR,
		       now_ns);
}

static bool hear_nak(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	__u64 position = rdma_position(packet->psn, requester->acked);
	bool again = packet->code == RDMA_NAK_RNR || packet->code == RDMA_NAK_SEQUENCE;

	if (packet->code >= RDMA_NAKS || position >= requester->sent)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	if (packet->code == RDMA_NAK_RNR)
		count_not_ready(pair, packet, now_ns);
	acknowledged(pair, position, now_ns);
	/* What was sent again since, or is about to be, was not refused by this one. */
	if (pair->state != VERBS_RTS ||
	    (again && (position < requester->acked || position >= requester->next)))
		return true;
	if (packet->code == RDMA_NAK_RNR)
		hear_not_ready(pair, packet, position, now_ns);
	else if (packet->code != RDMA_NAK_SEQUENCE)
		hear_last_word(pair, packet->code, position, now_ns);
	else if (requester_retry(pair, now_ns))
		requester_go_back(pair, RDMA_RESEND_SEQUENCE, 0, now_ns);
	return true;
}

/* A response that is not the next: what is missing is asked for again, once. */
static bool hear_gap(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
		     __u64 now_ns)
{
	const struct requester *requester = &pair->requester;
	bool told = requester->responses_lost;

	if (told || packet->generation != requester->generation || requester->again)
		return transport_drop(pair, told ? RDMA_DROP_RESPONSE : requester->stale, position,
				      told ? 0 : requester->stale_token, now_ns);
	transport_drop(pair, RDMA_DROP_SEQUENCE, position, 0, now_ns);
	if (requester_retry(pair, now_ns))
		requester_read_again(pair, RDMA_RESEND_SEQUENCE, 0, now_ns);
	return false;
}

static void response_taken(struct queue_pair *pair, struct send_entry *entry, __u32 bytes,
			   __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	pair->counters.useful_bytes += bytes;
	requester->target_absent = requester->responses_lost = false;
	requester->timer_extra_ns = 0;
	requester->retries_left = pair->retries;
	if (++entry->received == entry->end - entry->first) {
		entry->asked = false;
		requester->reads--;
		while (requester->reads && !send_entry_at(pair, requester->read)->asked)
			requester->read++;
	}
	/* The request has been taken, and all before it. */
	if (requester->acked < entry->end)
		acknowledged(pair, entry->end, now_ns);
	else
		requester_settle(pair, now_ns);
	if (pair->state == VERBS_RTS)
		requester_timer_restart(pair, now_ns);
}

static bool take_read_response(struct queue_pair *pair, const struct rdma_packet *packet,
			       struct send_entry *entry, __u64 now_ns)
{
	__u64 position = entry->first + entry->received;
	struct rdma_transfer to = {
		.side = RDMA_INITIATOR_WRITES,
		.piece = entry->send.piece,
		.pieces = entry->send.pieces,
		.offset = entry->received * pair->mtu,
		.total = entry->total,
		.entry = pair->requester.read,
	};
	int err;

	if (packet->bytes != payload_at(pair, to.offset, entry->total)) {
		transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
		requester_fail(pair, entry, VERBS_BAD_RESP_ERR, now_ns);
		return false;
	}
	err = packet->bytes
		      ? pair->ops->scatter(pair->device, pair, &to, packet->payload, packet->bytes)
		      : 0;
	if (err == -EAGAIN) {
		pair->requester.target_absent = true;
		pair->policy->absent[RDMA_INITIATOR_WRITES](pair, position, now_ns);
		return false;
	}
	if (err) {
		transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
		requester_fail(pair, entry, VERBS_LOC_PROT_ERR, now_ns);
		return false;
	}
	response_taken(pair, entry, packet->bytes, now_ns);
	return true;
}

static bool hear_response(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct send_entry *entry = send_entry_at(pair, requester->read);
	__u64 missing, position;

	if (!requester->reads)
		return transport_drop(pair, RDMA_DROP_DUPLICATE, packet->psn, 0, now_ns);
	missing = entry->first + entry->received;
	position = rdma_position(packet->psn, missing);
	if (position < missing)
		return transport_drop(pair, RDMA_DROP_DUPLICATE, position, 0, now_ns);
	if (position >= requester->sent || entry->failed)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	/* Taken or not, it tells that all before its read was. */
	acknowledged(pair, entry->first, now_ns);
	if (pair->state != VERBS_RTS)
		return transport_drop(pair, RDMA_DROP_STATE, position, 0, now_ns);
	if (pair_waits(pair, WAIT_READ_MEMORY))
		return transport_drop(pair, RDMA_DROP_RESPONSE, position,
				      pair->waits[WAIT_READ_MEMORY].token, now_ns);
	if (position > missing)
		return hear_gap(pair, packet, position, now_ns);
	return take_read_response(pair, packet, entry, now_ns);
}

bool requester_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	switch (packet->kind) {
	case RDMA_READ_RESPONSE:
		return hear_response(pair, packet, now_ns);
	case RDMA_ACK:
		return hear_ack(pair, packet, now_ns);
	case RDMA_NAK:
		return hear_nak(pair, packet, now_ns);
	default:
		return transport_drop(pair, RDMA_DROP_STATE, packet->psn, 0, now_ns);
	}
}
