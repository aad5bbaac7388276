// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: their life, their states, what waits, and which half a packet belongs to. */
#include "injectors/emu/rdma/transport_private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

static bool is_depth(__u32 depth)
{
	return depth && depth <= VERBS_DEPTH_MAX && !(depth & (depth - 1));
}

static int check_pair_settings(const struct transport_settings *settings, __u32 send_depth,
			       __u32 receive_depth)
{
	if (settings->mtu < TRANSPORT_MTU_MIN || settings->mtu > RDMA_MTU_MAX)
		return failed(-EINVAL, "an MTU of %u: accepted: %u to %u", settings->mtu,
			      TRANSPORT_MTU_MIN, RDMA_MTU_MAX);
	if (settings->retries > TRANSPORT_RETRIES_MAX ||
	    settings->rnr_retries > TRANSPORT_RETRIES_MAX)
		return failed(-EINVAL, "%u retries and %u of RNR: accepted: 0 to %u",
			      settings->retries, settings->rnr_retries, TRANSPORT_RETRIES_MAX);
	if (settings->rnr_timer > 31)
		return failed(-EINVAL, "an RNR timer of %u: accepted: codes 0 to 31",
			      settings->rnr_timer);
	if (!is_depth(send_depth) || !is_depth(receive_depth))
		return failed(-EINVAL,
			      "queues of %u and %u entries: accepted: powers of two up to %u",
			      send_depth, receive_depth, VERBS_DEPTH_MAX);
	return 0;
}

int transport_pair_create(struct queue_pair **created, const struct transport_settings *settings,
			  const struct transport_ops *ops, void *device, __u32 number,
			  __u32 send_depth, __u32 receive_depth)
{
	int err = check_pair_settings(settings, send_depth, receive_depth);
	struct queue_pair *pair;

	if (err)
		return err;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return -ENOMEM;
	pair->requester.entries = calloc(send_depth, sizeof(*pair->requester.entries));
	if (!pair->requester.entries) {
		free(pair);
		return -ENOMEM;
	}
	pair->ops = ops;
	pair->device = device;
	pair->policy = settings->policy;
	pair->timeout_ns = settings->timeout_ns;
	pair->mtu = settings->mtu;
	if (!(pair->mtu & (pair->mtu - 1)))
		pair->mtu_shift = (__u32)__builtin_ctz(pair->mtu);
	pair->number = number;
	pair->retries = settings->retries;
	pair->rnr_retries = settings->rnr_retries;
	pair->rnr_timer = settings->rnr_timer;
	pair->read_rnr = settings->read_rnr;
	pair->requester.depth = send_depth;
	pair->responder.receive_depth = receive_depth;
	pair->state = VERBS_RESET;
	*created = pair;
	return 0;
}

void transport_pair_destroy(struct queue_pair *pair)
{
	if (!pair)
		return;
	free(pair->requester.entries);
	free(pair);
}

__u32 transport_pair_number(const struct queue_pair *pair)
{
	return pair->number;
}

enum verbs_pair_state transport_state(const struct queue_pair *pair)
{
	return pair->state;
}

const struct transport_counters *transport_counters(const struct queue_pair *pair)
{
	return &pair->counters;
}

bool transport_ready(const struct queue_pair *pair)
{
	return pair->ready;
}

void transport_tell(struct queue_pair *pair, const struct transport_event *event)
{
	pair->ops->tell(pair->device, pair, event);
}

bool transport_drop(struct queue_pair *pair, enum rdma_drop reason, __u64 position, __u64 token,
		    __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_DROPPED,
		.side = reason == RDMA_DROP_RESPONSE ? RDMA_INITIATOR_WRITES
						     : RDMA_RESPONDER_WRITES,
		.code = (__u8)reason,
		.psn = rdma_psn(position),
		.count = 1,
		.token = token,
		.now_ns = now_ns,
	};

	pair->counters.dropped[reason]++;
	transport_tell(pair, &event);
	return false;
}

void transport_count_resent(struct queue_pair *pair, enum rdma_resend why, __u64 position,
			    __u64 token, __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_RESENT,
		.code = (__u8)why,
		.psn = rdma_psn(position),
		.count = 1,
		.token = token,
		.now_ns = now_ns,
	};

	pair->counters.resent[why]++;
	transport_tell(pair, &event);
}

void transport_begin_packet(struct queue_pair *pair, struct rdma_packet *packet,
			    enum rdma_packet_kind kind, __u64 position)
{
	*packet = (struct rdma_packet){
		.destination = pair->peer,
		.source = pair->number,
		.psn = rdma_psn(position),
		.kind = (__u8)kind,
	};
}

static const struct {
	enum rdma_side side;
	enum rdma_wait wait;
} waits[TRANSPORT_WAITS] = {
	[WAIT_SEND_MEMORY] = {RDMA_INITIATOR_READS, RDMA_WAIT_MEMORY},
	[WAIT_SEND_RNR] = {RDMA_INITIATOR_READS, RDMA_WAIT_RNR},
	[WAIT_READ_MEMORY] = {RDMA_INITIATOR_WRITES, RDMA_WAIT_READ},
	[WAIT_RESPONSE_MEMORY] = {RDMA_RESPONDER_READS, RDMA_WAIT_MEMORY},
	[WAIT_RESPONSE_RNR] = {RDMA_RESPONDER_READS, RDMA_WAIT_RNR},
};

static void send_queue_stops(struct queue_pair *pair, __u64 now_ns)
{
	bool stopped = pair_waits(pair, WAIT_SEND_MEMORY) || pair_waits(pair, WAIT_SEND_RNR);

	if (stopped && !pair->requester.stopped) {
		pair->requester.stopped_ns = now_ns;
	} else if (!stopped && pair->requester.stopped) {
		pair->counters.paused_ns += now_ns - pair->requester.stopped_ns;
	}
	pair->requester.stopped = stopped;
}

void transport_wait_begin(struct queue_pair *pair, enum transport_waits wait, __u64 token,
			  __u64 until_ns, __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_PAUSED,
		.side = waits[wait].side,
		.code = (__u8)waits[wait].wait,
		.token = token,
		.now_ns = now_ns,
	};

	if (pair_waits(pair, wait))
		transport_wait_end(pair, wait, now_ns);
	pair->waits[wait] = (struct transport_wait){true, token, now_ns, until_ns};
	send_queue_stops(pair, now_ns);
	transport_tell(pair, &event);
}

static void close_wait(struct queue_pair *pair, enum transport_waits wait, bool goes_on,
		       __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_RESUMED,
		.side = waits[wait].side,
		.code = (__u8)waits[wait].wait,
		.count = !goes_on,
		.token = pair->waits[wait].token,
		.since_ns = pair->waits[wait].since_ns,
		.now_ns = now_ns,
	};

	if (!pair_waits(pair, wait))
		return;
	pair->waits[wait].on = false;
	send_queue_stops(pair, now_ns);
	transport_tell(pair, &event);
}

void transport_wait_end(struct queue_pair *pair, enum transport_waits wait, __u64 now_ns)
{
	close_wait(pair, wait, true, now_ns);
}

void transport_give_up(struct queue_pair *pair, __u64 now_ns)
{
	for (unsigned int wait = 0; wait < TRANSPORT_WAITS; wait++)
		close_wait(pair, wait, false, now_ns);
}

static void enter_error(struct queue_pair *pair, enum verbs_status status, __u64 now_ns)
{
	struct transport_event event = {
		.kind = TRANSPORT_ERROR,
		.code = (__u8)status,
		.now_ns = now_ns,
	};

	pair->state = VERBS_ERROR;
	pair->ready = false;
	pair->requester.timer_on = false;
	/* Who hears that a wait ends has heard why. */
	transport_tell(pair, &event);
	transport_give_up(pair, now_ns);
	requester_flush(pair);
	responder_flush(pair);
}

void transport_fail(struct queue_pair *pair, enum verbs_status status, __u64 now_ns)
{
	if (pair->state != VERBS_ERROR)
		enter_error(pair, status, now_ns);
}

static void forget_pair(struct queue_pair *pair, __u64 now_ns)
{
	transport_give_up(pair, now_ns);
	pair->state = VERBS_RESET;
	pair->ready = false;
	requester_begin(pair, RDMA_POSITION_FIRST);
	responder_begin(pair, RDMA_POSITION_FIRST);
}

int transport_modify(struct queue_pair *pair, enum verbs_pair_state state, __u32 peer,
		     __u32 send_psn, __u32 receive_psn, __u64 now_ns)
{
	enum verbs_pair_state from = pair->state;

	if (state == VERBS_ERROR) {
		transport_fail(pair, VERBS_WR_FLUSH_ERR, now_ns);
	} else if (state == VERBS_RESET) {
		forget_pair(pair, now_ns);
	} else if (state == VERBS_INIT && (from == VERBS_RESET || from == VERBS_INIT)) {
		pair->state = VERBS_INIT;
	} else if (state == VERBS_RTR && from == VERBS_INIT) {
		pair->peer = peer;
		responder_begin(pair, RDMA_POSITION_FIRST + (receive_psn & RDMA_PSN_MASK));
		pair->state = VERBS_RTR;
	} else if (state == VERBS_RTS && from == VERBS_RTR) {
		requester_begin(pair, RDMA_POSITION_FIRST + (send_psn & RDMA_PSN_MASK));
		pair->state = VERBS_RTS;
		pair->ready = true;
	} else if (state != VERBS_RTS || from != VERBS_RTS) {
		return -EINVAL;
	}
	return 0;
}

void transport_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns)
{
	bool connected = pair->state == VERBS_RTR || pair->state == VERBS_RTS;
	bool taken;

	pair->counters.arrived++;
	if (packet->kind <= RDMA_READ_REQUEST)
		taken = connected && !pair->responder.failing
				? responder_receive(pair, packet, now_ns)
				: transport_drop(pair, RDMA_DROP_STATE, packet->psn, 0, now_ns);
	else if (packet->kind == RDMA_READ_RNR)
		taken = connected && !pair->responder.failing
				? responder_read_rnr(pair, packet, now_ns)
				: transport_drop(pair, RDMA_DROP_STATE, packet->psn, 0, now_ns);
	else
		taken = pair->state == VERBS_RTS
				? requester_receive(pair, packet, now_ns)
				: transport_drop(pair, RDMA_DROP_STATE, packet->psn, 0, now_ns);
	pair->counters.taken += taken;
	pair->ready = pair->state == VERBS_RTR || pair->state == VERBS_RTS;
}

bool transport_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns)
{
	bool filled = false;

	if (pair->state == VERBS_RTR || pair->state == VERBS_RTS)
		filled = responder_transmit(pair, packet, now_ns);
	if (!filled && pair->state == VERBS_RTS && !pair->responder.failing)
		filled = requester_transmit(pair, packet, now_ns);
	if (!filled) {
		pair->ready = false;
		return false;
	}
	pair->counters.sent++;
	pair->counters.sent_bytes += packet->bytes;
	return true;
}

static void memory_failed(struct queue_pair *pair, enum rdma_side side, __u64 now_ns)
{
	struct requester *requester = &pair->requester;
	struct responder *responder = &pair->responder;

	/* Late acknowledgements may have completed what waits to be sent again. */
	if (side == RDMA_INITIATOR_READS && pair_waits(pair, WAIT_SEND_MEMORY) &&
	    requester->absent - requester->head < requester->tail - requester->head)
		requester_fail(pair, send_entry_at(pair, requester->absent), VERBS_LOC_PROT_ERR,
			       now_ns);
	else if (side == RDMA_INITIATOR_WRITES && requester->reads && requester->target_absent)
		requester_fail(pair, send_entry_at(pair, requester->read), VERBS_LOC_PROT_ERR,
			       now_ns);
	else if (side == RDMA_RESPONDER_READS && pair_waits(pair, WAIT_RESPONSE_MEMORY) &&
		 responder_owes(responder))
		responder_refuse(pair, RDMA_NAK_OPERATION, VERBS_LOC_PROT_ERR,
				 responder->reads[responder->read_head % RDMA_READS_MAX].next);
	else if (side == RDMA_RESPONDER_WRITES && responder->target_absent)
		responder->memory_error = -EIO; /* once it comes again */
}

void transport_memory(struct queue_pair *pair, enum rdma_side side, int error, __u64 now_ns)
{
	static const enum transport_waits of_side[RDMA_SIDES] = {
		[RDMA_INITIATOR_READS] = WAIT_SEND_MEMORY,
		[RDMA_INITIATOR_WRITES] = WAIT_READ_MEMORY,
		[RDMA_RESPONDER_READS] = WAIT_RESPONSE_MEMORY,
	};
	__u64 token;

	if (pair->state != VERBS_RTR && pair->state != VERBS_RTS)
		return;
	pair->ready = true;
	if (error && error != -EAGAIN)
		memory_failed(pair, side, now_ns);
	if (pair->state == VERBS_ERROR || side == RDMA_RESPONDER_WRITES ||
	    !pair_waits(pair, of_side[side]))
		return;
	token = pair->waits[of_side[side]].token;
	transport_wait_end(pair, of_side[side], now_ns);
	if (side == RDMA_INITIATOR_WRITES)
		requester_read_again(pair, RDMA_RESEND_READ, token, now_ns);
	if (side == RDMA_INITIATOR_READS || side == RDMA_INITIATOR_WRITES)
		requester_timer_restart(pair, now_ns);
}

static __u64 earlier_deadline(__u64 one, __u64 other)
{
	return !one || (other && other < one) ? other : one;
}

__u64 transport_deadline(const struct queue_pair *pair)
{
	__u64 deadline = 0;

	if (pair->state != VERBS_RTR && pair->state != VERBS_RTS)
		return 0;
	if (pair_waits(pair, WAIT_SEND_RNR))
		deadline = pair->waits[WAIT_SEND_RNR].until_ns;
	if (pair_waits(pair, WAIT_RESPONSE_RNR))
		deadline = earlier_deadline(deadline, pair->waits[WAIT_RESPONSE_RNR].until_ns);
	return earlier_deadline(deadline, requester_deadline(pair));
}

void transport_timeout(struct queue_pair *pair, __u64 now_ns)
{
	__u64 timer = requester_deadline(pair);

	if (pair->state != VERBS_RTR && pair->state != VERBS_RTS)
		return;
	if (pair_waits(pair, WAIT_RESPONSE_RNR) &&
	    pair->waits[WAIT_RESPONSE_RNR].until_ns <= now_ns) {
		transport_wait_end(pair, WAIT_RESPONSE_RNR, now_ns);
		pair->ready = true;
	}
	if (pair_waits(pair, WAIT_SEND_RNR) && pair->waits[WAIT_SEND_RNR].until_ns <= now_ns) {
		transport_wait_end(pair, WAIT_SEND_RNR, now_ns);
		requester_timer_restart(pair, now_ns);
		pair->ready = true;
	}
	if (timer && timer <= now_ns) {
		requester_timeout(pair, now_ns);
		pair->ready = pair->state == VERBS_RTR || pair->state == VERBS_RTS;
	}
}

void transport_posted(struct queue_pair *pair)
{
	if (pair->state == VERBS_ERROR) {
		requester_flush(pair);
		responder_flush(pair);
	} else {
		pair->ready = pair->state == VERBS_RTR || pair->state == VERBS_RTS;
	}
}
