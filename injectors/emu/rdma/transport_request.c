// SPDX-License-Identifier: GPL-2.0
/* The requester sends: entries of the send queue become packets, and what is lost is sent again. */
#include "injectors/emu/rdma/transport_private.h"

#include <errno.h>

void requester_begin(struct queue_pair *pair, __u64 position)
{
	struct requester *requester = &pair->requester;
	__u64 taken = requester->tail;

	*requester = (struct requester){
		.entries = requester->entries,
		.depth = requester->depth,
		.head = taken,
		.cursor = taken,
		.tail = taken,
		.read = taken,
		.acked = position,
		.next = position,
		.sent = position,
		.assigned = position,
		.stale = RDMA_DROP_SEQUENCE,
		.retries_left = pair->retries,
		.rnr_left = pair->rnr_retries,
	};
}

/* What no guest should have posted. */
static enum verbs_status entry_error(const struct send_entry *entry)
{
	if (entry->send.opcode > VERBS_READ || entry->send.pieces > VERBS_SGE_MAX)
		return VERBS_LOC_QP_OP_ERR;
	return entry->total > VERBS_MESSAGE_MAX ? VERBS_LOC_LEN_ERR : VERBS_SUCCESS;
}

static bool fetch_send(struct queue_pair *pair, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct send_entry *entry = send_entry_at(pair, requester->tail);
	enum verbs_status error;

	if (requester->broken || requester->tail - requester->head == requester->depth ||
	    !pair->ops->next_send(pair->device, pair, &entry->send))
		return false;
	entry->total = 0;
	for (__u32 i = 0; i < entry->send.pieces && i < VERBS_SGE_MAX; i++)
		entry->total += entry->send.piece[i].length;
	entry->received = 0;
	entry->failed = VERBS_SUCCESS;
	entry->asked = false;
	entry->first = requester->assigned;
	error = entry_error(entry);
	entry->end = entry->first + (error ? 1 : rdma_packets_of(pair, entry->total));
	requester->assigned = entry->end;
	requester->tail++;
	if (error)
		requester_fail(pair, entry, error, now_ns);
	return !error;
}

/* The entry that the next packet is of; NULL: none. */
static struct send_entry *current(struct queue_pair *pair, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct send_entry *entry;

	for (;; requester->cursor++) {
		if (requester->cursor == requester->tail && !fetch_send(pair, now_ns))
			return NULL;
		entry = send_entry_at(pair, requester->cursor);
		/* An acknowledgement that ends within a read is no good peer's; it has the read. */
		if (entry->send.opcode == VERBS_READ && requester->next > entry->first &&
		    requester->next < entry->end)
			requester->next = entry->end;
		if (requester->next < entry->end)
			break;
	}
	if (entry->failed || (requester->broken && requester->next >= requester->sent))
		return NULL;
	return entry;
}

static __u64 oldest_position(struct queue_pair *pair)
{
	const struct send_entry *read;
	__u64 missing;

	if (!pair->requester.reads)
		return pair->requester.acked;
	read = send_entry_at(pair, pair->requester.read);
	missing = read->first + read->received;
	return missing < pair->requester.acked ? missing : pair->requester.acked;
}

/* May an entry begin now that was never sent? */
static bool may_begin(struct queue_pair *pair, const struct send_entry *entry)
{
	const struct requester *requester = &pair->requester;

	if (requester->next < requester->sent)
		return true;
	if (requester->reads && (entry->send.flags & VERBS_SEND_FENCE))
		return false;
	if (entry->send.opcode == VERBS_READ && requester->reads == RDMA_READS_MAX)
		return false;
	return requester->next == oldest_position(pair) ||
	       entry->end - oldest_position(pair) <= TRANSPORT_POSITIONS;
}

static void start_timer(struct queue_pair *pair, __u64 now_ns)
{
	if (pair->requester.timer_on || !pair->timeout_ns)
		return;
	pair->requester.timer_on = true;
	pair->requester.timer_ns = now_ns;
}

void requester_timer_restart(struct queue_pair *pair, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	requester->timer_on = false;
	/* What is to be sent again starts it as it is sent. */
	if (requester->next > requester->acked ||
	    (requester->reads && !requester->again &&
	     send_entry_at(pair, requester->read)->first < requester->acked))
		start_timer(pair, now_ns);
}

__u64 requester_deadline(const struct queue_pair *pair)
{
	const struct requester *requester = &pair->requester;

	if (!requester->timer_on || pair_waits(pair, WAIT_SEND_MEMORY) ||
	    pair_waits(pair, WAIT_SEND_RNR) || pair_waits(pair, WAIT_READ_MEMORY))
		return 0;
	return requester->timer_ns + pair->timeout_ns + requester->timer_extra_ns;
}

static void sent_until(struct queue_pair *pair, __u64 end, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	if (requester->next < requester->sent)
		transport_count_resent(pair, requester->why, requester->next, requester->why_token,
				       now_ns);
	requester->next = end;
	if (requester->sent < end)
		requester->sent = end;
	start_timer(pair, now_ns);
}

static void fill_read(struct queue_pair *pair, struct rdma_packet *packet,
		      const struct send_entry *entry)
{
	__u64 offset = entry->received * pair->mtu;

	transport_begin_packet(pair, packet, RDMA_READ_REQUEST, entry->first + entry->received);
	packet->address = entry->send.remote_address + offset;
	packet->key = entry->send.remote_key;
	packet->length = (__u32)(entry->total - offset);
	packet->generation = pair->requester.generation;
}

static bool send_read(struct queue_pair *pair, struct send_entry *entry, struct rdma_packet *packet,
		      __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	if (pair_waits(pair, WAIT_READ_MEMORY))
		return false;
	if (!entry->asked) {
		entry->asked = true;
		if (!requester->reads++)
			requester->read = requester->cursor;
	}
	if (requester->cursor == requester->read)
		requester->again = false;
	fill_read(pair, packet, entry);
	sent_until(pair, entry->end, now_ns);
	return true;
}

static bool send_payload(struct queue_pair *pair, struct send_entry *entry,
			 struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	__u64 at = requester->next - entry->first;
	struct rdma_transfer from = {
		.side = RDMA_INITIATOR_READS,
		.piece = entry->send.piece,
		.pieces = entry->send.pieces,
		.offset = at * pair->mtu,
		.total = entry->total,
		.entry = requester->cursor,
	};
	__u32 bytes = payload_at(pair, from.offset, entry->total);
	int err = bytes ? pair->ops->gather(pair->device, pair, &from, packet->payload, bytes) : 0;

	if (err == -EAGAIN)
		pair->policy->absent[RDMA_INITIATOR_READS](pair, requester->next, now_ns);
	else if (err)
		requester_fail(pair, entry, VERBS_LOC_PROT_ERR, now_ns);
	if (err)
		return false;
	transport_begin_packet(pair, packet,
			       entry->send.opcode == VERBS_SEND ? RDMA_SEND : RDMA_WRITE,
			       requester->next);
	packet->bytes = bytes;
	if (!at) {
		packet->flags = RDMA_FIRST;
		packet->address = entry->send.remote_address;
		packet->key = entry->send.remote_key;
		packet->length = (__u32)entry->total;
	}
	if (requester->next + 1 == entry->end)
		packet->flags |= RDMA_LAST | RDMA_ACK_REQUEST;
	else if (at % TRANSPORT_ACK_EVERY == TRANSPORT_ACK_EVERY - 1)
		packet->flags |= RDMA_ACK_REQUEST;
	sent_until(pair, requester->next + 1, now_ns);
	return true;
}

static bool ask_again(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	const struct send_entry *entry = send_entry_at(pair, requester->read);

	/* It may be sent as it was, unless an acknowledgement comes before. */
	if (requester->reads && entry->first >= requester->next)
		return false;
	requester->again = false;
	if (!requester->reads || entry->failed)
		return false;
	fill_read(pair, packet, entry);
	packet->token = requester->stale_token;
	pair->counters.asked_again++;
	if (!requester->timer_on)
		requester_timer_restart(pair, now_ns);
	return true;
}

static void send_read_rnr(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	const struct send_entry *entry = send_entry_at(pair, requester->read);
	struct transport_event event = {
		.kind = TRANSPORT_RNR_SENT,
		.side = RDMA_INITIATOR_WRITES,
		.code = RDMA_DROP_RESPONSE,
		.timer = pair->rnr_timer,
		.psn = rdma_psn(entry->first + entry->received),
		.token = requester->stale_token,
		.now_ns = now_ns,
	};

	transport_begin_packet(pair, packet, RDMA_READ_RNR, entry->first + entry->received);
	packet->timer = pair->rnr_timer;
	packet->token = requester->stale_token;
	packet->generation = requester->generation;
	requester->read_rnr_due = false;
	pair->counters.rnr_sent++;
	transport_tell(pair, &event);
}

bool requester_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct send_entry *entry;

	if (requester->read_rnr_due && requester->reads) {
		send_read_rnr(pair, packet, now_ns);
		return true;
	}
	if (pair_waits(pair, WAIT_SEND_MEMORY) || pair_waits(pair, WAIT_SEND_RNR))
		return false;
	if (requester->next < requester->acked)
		requester->next = requester->acked;
	if (requester->again && !pair_waits(pair, WAIT_READ_MEMORY) &&
	    ask_again(pair, packet, now_ns))
		return true;
	entry = current(pair, now_ns);
	if (!entry || (requester->next == entry->first && !may_begin(pair, entry)))
		return false;
	return entry->send.opcode == VERBS_READ ? send_read(pair, entry, packet, now_ns)
						: send_payload(pair, entry, packet, now_ns);
}

struct send_entry *requester_find(struct queue_pair *pair, __u64 position)
{
	for (__u64 at = pair->requester.head; at != pair->requester.tail; at++) {
		struct send_entry *entry = send_entry_at(pair, at);

		if (position >= entry->first && position < entry->end)
			return entry;
	}
	return NULL;
}

static void tell_going_back(struct queue_pair *pair, enum rdma_resend why, __u64 position,
			    __u64 count, __u64 token, __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_REWOUND,
		.code = (__u8)why,
		.psn = rdma_psn(position),
		.count = (__u32)count,
		.token = token,
		.since_ns = why == RDMA_RESEND_TIMEOUT ? pair->requester.timer_ns : 0,
		.now_ns = now_ns,
	};

	pair->counters.rewound++;
	transport_tell(pair, &event);
}

/* Responses that are missing of reads that have been asked for, up to a position. */
static __u64 missing_responses(struct queue_pair *pair, __u64 end)
{
	__u64 count = 0;

	for (__u64 at = pair->requester.read; at != pair->requester.tail; at++) {
		const struct send_entry *entry = send_entry_at(pair, at);

		if (entry->first >= end)
			break;
		count += entry->asked ? entry->end - entry->first - entry->received : 0;
	}
	return count;
}

void requester_read_again(struct queue_pair *pair, enum rdma_resend why, __u64 token, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	const struct send_entry *entry = send_entry_at(pair, requester->read);

	if (!requester->reads)
		return;
	tell_going_back(pair, why, entry->first + entry->received,
			missing_responses(pair, requester->next), token, now_ns);
	requester->generation++;
	requester->again = true;
	requester->responses_lost = false;
	requester->stale = why == RDMA_RESEND_READ ? RDMA_DROP_RESPONSE : RDMA_DROP_SEQUENCE;
	requester->stale_token = token;
	requester_timer_restart(pair, now_ns);
}

/* Packets of requests from acked on that have been sent. */
static __u64 packets_behind(struct queue_pair *pair, __u64 end)
{
	const struct requester *requester = &pair->requester;
	__u64 count = 0;

	for (__u64 at = requester->cursor; at != requester->tail; at++) {
		const struct send_entry *entry = send_entry_at(pair, at);
		__u64 first = entry->first > requester->acked ? entry->first : requester->acked;

		if (first >= end)
			break;
		if (entry->send.opcode == VERBS_READ)
			count++;
		else
			count += (entry->end < end ? entry->end : end) - first;
	}
	return count;
}

void requester_go_back(struct queue_pair *pair, enum rdma_resend why, __u64 token, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	__u64 end = requester->next;

	requester->cursor = requester->head;
	while (requester->cursor != requester->tail &&
	       send_entry_at(pair, requester->cursor)->end <= requester->acked)
		requester->cursor++;
	requester->next = requester->acked;
	requester->why = why;
	requester->why_token = token;
	if (requester->acked < end)
		tell_going_back(pair, why, requester->acked, packets_behind(pair, end), token,
				now_ns);
	/* Reads behind acked are sent again as they come; those before are asked for, unless it is
	 * known why their responses were not taken, and when they will be asked for. */
	if (requester->reads && send_entry_at(pair, requester->read)->first >= requester->acked) {
		requester->generation++;
		requester->again = true;
	} else if (why == RDMA_RESEND_TIMEOUT || !requester->target_absent) {
		requester_read_again(pair, why, token, now_ns);
	}
	requester_timer_restart(pair, now_ns);
}

bool requester_retry(struct queue_pair *pair, __u64 now_ns)
{
	struct requester *requester = &pair->requester;

	if (requester->retries_left) {
		requester->retries_left--;
		return true;
	}
	requester_fail(pair, send_entry_at(pair, requester->head), VERBS_RETRY_EXC_ERR, now_ns);
	return false;
}

void requester_timeout(struct queue_pair *pair, __u64 now_ns)
{
	if (requester_retry(pair, now_ns))
		requester_go_back(pair, RDMA_RESEND_TIMEOUT, pair->ops->new_token(pair->device),
				  now_ns);
}
