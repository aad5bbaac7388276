// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rdma_world.h"

#include <string.h>

#include "tests/unit/rdma_memory.h"

#define MASK 0xffffffu

static __u64 draw(struct rdma_world *world, __u64 bound)
{
	return world->draw(world->self, bound);
}

static bool one_of(struct rdma_world *world, __u32 odds)
{
	return odds && !draw(world, odds);
}

static void allow(struct rdma_world *world, enum verbs_status status)
{
	world->allowed |= 1ull << status;
}

/* Near the wrap most often. */
static __u32 draw_psn(struct rdma_world *world)
{
	return draw(world, 4) ? (__u32)(MASK - draw(world, 64)) : (__u32)draw(world, MASK + 1ull);
}

static void connect(struct rdma_world *world)
{
	for (int i = 0; i < 2; i++) {
		struct rdma_end *end = &world->ends[i];

		end->world = world;
		end->peer = &world->ends[!i];
		end->start = draw_psn(world);
		RDMA_CHECK(!transport_pair_create(&end->pair, &end->settings, &rdma_world_ops, end,
						  100 + i, RDMA_WORLD_DEPTH, RDMA_WORLD_DEPTH));
		for (int at = 0; at < RDMA_WORLD_WIRE; at++) {
			end->wire[at] = malloc(sizeof(struct rdma_packet) + world->mtu);
			RDMA_CHECK(end->wire[at]);
		}
	}
	for (int i = 0; i < 2; i++) {
		struct rdma_end *end = &world->ends[i];
		__u32 other = 100 + !i;

		RDMA_CHECK(!transport_modify(end->pair, VERBS_INIT, 0, 0, 0, world->now_ns));
		RDMA_CHECK(!transport_modify(end->pair, VERBS_RTR, other, 0, end->peer->start,
					     world->now_ns));
		RDMA_CHECK(
			!transport_modify(end->pair, VERBS_RTS, 0, end->start, 0, world->now_ns));
	}
}

void rdma_world_create(struct rdma_world *world, const struct fault_policy *policy, bool read_rnr)
{
	static const __u32 odds[] = {0, 0, 2, 5, 20, 100};
	bool drops = policy != fault_policy_find("npf");

	world->policy = policy;
	world->read_rnr = read_rnr;
	world->mtu = draw(world, 4) ? 256 : 300;
	world->lossless = !drops && draw(world, 2);
	world->loss_odds = world->lossless ? 0 : odds[2 + draw(world, 4)] * 4;
	world->double_odds = world->lossless ? 0 : odds[draw(world, 6)] * 4;
	world->error_odds = draw(world, 3) ? 0 : 20;
	for (int side = 0; side < RDMA_SIDES; side++)
		world->fault_odds[side] = odds[draw(world, 6)];
	world->allowed = 1ull << VERBS_WR_FLUSH_ERR;
	world->calm = false;
	memset(world->ends, 0, sizeof(world->ends));
	if (!world->lossless)
		allow(world, VERBS_RETRY_EXC_ERR);
	if (world->error_odds) {
		allow(world, VERBS_LOC_PROT_ERR);
		allow(world, VERBS_REM_OP_ERR);
	}
	for (int i = 0; i < 2; i++) {
		struct transport_settings *settings = &world->ends[i].settings;

		*settings = (struct transport_settings){
			.mtu = world->mtu,
			.timeout_ns = world->lossless ? 50000000 * draw(world, 2)
						      : 20000 + draw(world, 200000),
			.retries = (__u8)(draw(world, 2) ? 7 : draw(world, 8)),
			.rnr_retries = (__u8)(draw(world, 3) ? 7 : draw(world, 7)),
			.rnr_timer = (__u8)(1 + draw(world, 8)),
			.read_rnr = read_rnr,
			.policy = policy,
		};
		if (settings->rnr_retries < 7)
			allow(world, VERBS_RNR_RETRY_EXC_ERR);
	}
	connect(world);
}

void rdma_world_destroy(struct rdma_world *world)
{
	for (int i = 0; i < 2; i++) {
		transport_pair_destroy(world->ends[i].pair);
		for (int at = 0; at < RDMA_WORLD_WIRE; at++)
			free(world->ends[i].wire[at]);
	}
}

static void post_send(struct rdma_world *world, struct rdma_end *end)
{
	struct rdma_operation *operation = rdma_operation_at(end, end->posted);
	__u64 bytes = draw(world, 3) ? draw(world, 65) : draw(world, 5 * world->mtu / 4 * 4);

	if (end->posted - end->told == RDMA_WORLD_DEPTH)
		return;
	if (!draw(world, 8))
		bytes = world->mtu * draw(world, 5);
	*operation = (struct rdma_operation){
		.number = ++world->numbers,
		.first = end->assigned,
		.packets = bytes ? (bytes + world->mtu - 1) / world->mtu : 1,
		.bytes = bytes,
		.opcode = (__u8)draw(world, 3),
		.pieces = (__u8)(1 + draw(world, draw(world, 2) ? 1 : VERBS_SGE_MAX)),
		.refused = bytes && one_of(world, 2000),
	};
	if (draw(world, 4) || end->posted % 4 == 0)
		operation->flags |= VERBS_SEND_SIGNALED;
	if (one_of(world, 6))
		operation->flags |= VERBS_SEND_FENCE;
	if (operation->opcode == VERBS_SEND)
		operation->message = end->sends++;
	if (operation->refused) {
		allow(world, VERBS_LOC_PROT_ERR);
		allow(world, VERBS_REM_ACCESS_ERR);
	}
	end->assigned += operation->packets;
	end->posted++;
	transport_posted(end->pair);
}

static void post_receive(struct rdma_world *world, struct rdma_end *end)
{
	struct rdma_posted *receive = &end->receives[end->receives_posted % RDMA_WORLD_KEPT];

	if (end->receives_posted - end->receives_completed == RDMA_WORLD_DEPTH)
		return;
	*receive = (struct rdma_posted){
		.room = world->mtu * RDMA_WORLD_PACKETS,
		.pieces = (__u8)(1 + draw(world, VERBS_SGE_MAX)),
	};
	if (!world->calm && one_of(world, 500)) {
		receive->room = draw(world, 3 * world->mtu);
		allow(world, VERBS_LOC_LEN_ERR);
		allow(world, VERBS_REM_INV_REQ_ERR);
	}
	end->receives_posted++;
	transport_posted(end->pair);
}

/* Where a packet of this end's requests lies. */
static struct rdma_operation *operation_of(struct rdma_end *end, __u64 position)
{
	for (__u64 at = end->posted; at && end->posted - at < RDMA_WORLD_KEPT; at--) {
		struct rdma_operation *operation = rdma_operation_at(end, at - 1);

		if (position >= operation->first &&
		    position < operation->first + operation->packets)
			return operation;
	}
	RDMA_CHECK(!"a packet of no request");
	return NULL;
}

static __u64 relative(const struct rdma_end *requester, const struct rdma_packet *packet)
{
	return (packet->psn - requester->start) & MASK;
}

static __u64 landed(const struct rdma_operation *operation, __u32 mtu)
{
	__u64 count = 0;

	while (count * mtu < operation->bytes && operation->landed[count])
		count++;
	return count;
}

static bool is_read_done(const struct rdma_operation *operation, __u32 mtu)
{
	return operation->answered && landed(operation, mtu) * mtu >= operation->bytes;
}

static void check_fence(struct rdma_end *end, const struct rdma_operation *operation)
{
	for (__u64 at = end->completed; rdma_operation_at(end, at) != operation; at++) {
		const struct rdma_operation *before = rdma_operation_at(end, at);

		if (before->opcode == VERBS_READ)
			RDMA_CHECK(is_read_done(before, end->world->mtu));
	}
}

static void check_request(struct rdma_end *end, const struct rdma_packet *packet)
{
	__u64 position = relative(end, packet);
	const struct rdma_operation *operation = operation_of(end, position);
	__u64 at = position - operation->first, left = operation->bytes - at * end->world->mtu;
	bool reads = operation->opcode == VERBS_READ;
	__u64 asked = transport_counters(end->pair)->asked_again;

	RDMA_CHECK(reads == (packet->kind == RDMA_READ_REQUEST));
	if (reads) {
		RDMA_CHECK(at == landed(operation, end->world->mtu) && packet->length == left);
	} else {
		RDMA_CHECK((packet->kind == RDMA_SEND) == (operation->opcode == VERBS_SEND));
		RDMA_CHECK(!(packet->flags & RDMA_FIRST) == !!at);
		RDMA_CHECK(!(packet->flags & RDMA_LAST) == (at + 1 < operation->packets));
		RDMA_CHECK(packet->bytes == (left < end->world->mtu ? left : end->world->mtu));
	}
	if (position >= end->sent) {
		RDMA_CHECK(position == end->sent);
		if (operation->flags & VERBS_SEND_FENCE && !at)
			check_fence(end, operation);
		end->sent += reads ? operation->packets : 1;
		end->fresh[0]++;
	} else if (asked != end->asked_again) {
		end->asked_again = asked;
	} else {
		end->again[0]++;
	}
}

static void check_sent(struct rdma_end *end, const struct rdma_packet *packet)
{
	__u64 position = relative(end->peer, packet);

	end->sent_packets++;
	RDMA_CHECK(packet->destination == transport_pair_number(end->peer->pair));
	if (packet->kind <= RDMA_READ_REQUEST) {
		check_request(end, packet);
	} else if (packet->kind == RDMA_READ_RESPONSE) {
		RDMA_CHECK(position < end->taken);
		end->again[1] += position < end->responded;
		end->fresh[1] += position >= end->responded;
		if (end->responded <= position)
			end->responded = position + 1;
	} else if (packet->kind == RDMA_ACK) {
		RDMA_CHECK(((position + 1) & MASK) <= end->taken);
	} else if (packet->kind == RDMA_NAK) {
		RDMA_CHECK(position == end->taken ||
			   (position < end->taken && packet->code >= RDMA_NAK_ACCESS));
	}
}

static struct rdma_packet *wire_slot(struct rdma_end *end)
{
	return end->wire[(end->wire_head + end->wire_count) % RDMA_WORLD_WIRE];
}

static bool transmit(struct rdma_world *world, struct rdma_end *end)
{
	struct rdma_packet *packet = wire_slot(end);
	bool ready = transport_ready(end->pair);

	if (end->wire_count + 2 > RDMA_WORLD_WIRE ||
	    !transport_transmit(end->pair, packet, world->now_ns))
		return false;
	RDMA_CHECK(ready);
	check_sent(end, packet);
	if (!world->calm && one_of(world, world->loss_odds)) {
		end->lost++;
		return true;
	}
	end->wire_count++;
	if (!world->calm && one_of(world, world->double_odds)) {
		memcpy(wire_slot(end), packet, sizeof(*packet) + packet->bytes);
		end->wire_count++;
		end->doubled++;
	}
	return true;
}

/* Of those some of whose responses are missing; NULL: none. */
static const struct rdma_operation *oldest_read(struct rdma_end *end)
{
	for (__u64 at = end->completed; at != end->posted; at++) {
		const struct rdma_operation *operation = rdma_operation_at(end, at);

		if (operation->opcode == VERBS_READ && !is_read_done(operation, end->world->mtu))
			return operation;
	}
	return NULL;
}

/* What the receiver is told by a packet, before it knows. */
static void heard(struct rdma_end *end, const struct rdma_packet *packet)
{
	__u64 position = relative(end, packet), acked = position;

	end->hearing = NULL;
	if (packet->kind == RDMA_READ_RESPONSE) {
		const struct rdma_operation *oldest = oldest_read(end);

		if (!oldest || position < oldest->first + landed(oldest, end->world->mtu))
			return;
		end->hearing = oldest;
		acked = oldest->first;
	} else if (packet->kind == RDMA_ACK) {
		acked = (position + 1) & MASK;
	} else if (packet->kind != RDMA_NAK || position > end->sent) {
		return;
	}
	if (acked > end->acked && acked <= end->sent) {
		end->acked = acked;
		end->tries = 0;
	}
}

static void took(struct rdma_end *end, const struct rdma_packet *packet)
{
	__u64 position;

	if (packet->kind == RDMA_READ_RESPONSE) {
		struct rdma_operation *operation = operation_of(end, relative(end, packet));

		operation->answered = true;
		end->tries = 0;
		if (end->acked < operation->first + operation->packets)
			end->acked = operation->first + operation->packets;
	}
	if (packet->kind > RDMA_READ_REQUEST)
		return;
	position = relative(end->peer, packet);
	if (packet->kind == RDMA_READ_REQUEST && position < end->taken)
		return;
	RDMA_CHECK(position == end->taken);
	end->taken +=
		packet->kind == RDMA_READ_REQUEST ? operation_of(end->peer, position)->packets : 1;
}

static void count_try(struct rdma_end *end)
{
	end->tries += end->tried;
	RDMA_CHECK(end->tries <= end->settings.retries);
}

static bool deliver(struct rdma_world *world, struct rdma_end *end)
{
	struct rdma_end *to = end->peer;
	struct rdma_packet *packet = end->wire[end->wire_head % RDMA_WORLD_WIRE];
	const struct transport_counters *counters = transport_counters(to->pair);
	__u64 taken = counters->taken;

	if (!end->wire_count)
		return false;
	end->wire_head++;
	end->wire_count--;
	end->delivered++;
	to->tried = false;
	if (transport_state(to->pair) == VERBS_RTS)
		heard(to, packet);
	transport_receive(to->pair, packet, world->now_ns);
	if (counters->taken != taken)
		took(to, packet);
	count_try(to);
	return true;
}

static void answers(struct rdma_world *world, struct rdma_end *end)
{
	for (int side = 0; side < RDMA_SIDES; side++) {
		struct rdma_page *page = &end->pages[side];

		if (!page->asked || page->due_ns > world->now_ns)
			continue;
		page->asked = false;
		page->present = !page->error;
		transport_memory(end->pair, side, world->calm ? 0 : page->error, world->now_ns);
	}
}

static void timeouts(struct rdma_world *world, struct rdma_end *end)
{
	__u64 deadline = transport_deadline(end->pair);

	if (!deadline || deadline > world->now_ns)
		return;
	end->tried = false;
	transport_timeout(end->pair, world->now_ns);
	count_try(end);
}

static void pass_time(struct rdma_world *world, __u64 ns)
{
	world->now_ns += ns;
	for (int i = 0; i < 2; i++) {
		answers(world, &world->ends[i]);
		timeouts(world, &world->ends[i]);
	}
}

/* To what comes next; false: nothing does. */
static bool pass_time_until_next(struct rdma_world *world)
{
	__u64 next = 0;

	for (int i = 0; i < 2; i++) {
		__u64 deadline = transport_deadline(world->ends[i].pair);

		if (deadline && (!next || deadline < next))
			next = deadline;
		for (int side = 0; side < RDMA_SIDES; side++)
			if (world->ends[i].pages[side].asked &&
			    (!next || world->ends[i].pages[side].due_ns < next))
				next = world->ends[i].pages[side].due_ns;
	}
	if (!next)
		return false;
	pass_time(world, next > world->now_ns ? next - world->now_ns : 0);
	return true;
}

static void check_sums(struct rdma_end *end)
{
	const struct transport_counters *counters = transport_counters(end->pair);
	__u64 dropped = 0;

	for (int why = 0; why < RDMA_DROPS; why++)
		dropped += counters->dropped[why];
	RDMA_CHECK(counters->arrived == counters->taken + dropped);
	RDMA_CHECK(counters->arrived == end->peer->delivered);
	RDMA_CHECK(counters->sent == end->sent_packets);
	RDMA_CHECK(end->sent_packets + end->doubled ==
		   end->delivered + end->lost + end->wire_count);
	RDMA_CHECK(counters->resent[RDMA_RESEND_READ] == end->again[1]);
	RDMA_CHECK(counters->resent[RDMA_RESEND_RNR] + counters->resent[RDMA_RESEND_SEQUENCE] +
			   counters->resent[RDMA_RESEND_TIMEOUT] ==
		   end->again[0]);
	if (transport_state(end->pair) == VERBS_ERROR) {
		RDMA_CHECK(end->completed == end->posted);
		RDMA_CHECK(end->receives_completed == end->receives_posted);
	}
}

static bool failed(const struct rdma_end *end)
{
	return transport_state(end->pair) == VERBS_ERROR || end->receive_failed;
}

void rdma_world_step(struct rdma_world *world)
{
	struct rdma_end *end = &world->ends[draw(world, 2)];
	__u64 what = draw(world, 64);

	if (what < 8)
		post_send(world, end);
	else if (what < 12)
		post_receive(world, end);
	else if (what < 32)
		transmit(world, end);
	else if (what < 56)
		deliver(world, end);
	else if (what < 62)
		pass_time(world, draw(world, 4000));
	else if (what == 62)
		pass_time(world, draw(world, 16) ? 0 : draw(world, 200000));
	else if (one_of(world, 64))
		transport_modify(end->pair, VERBS_ERROR, 0, 0, 0, world->now_ns);
	/* Its peer hears nothing any more. */
	if (failed(end))
		allow(world, VERBS_RETRY_EXC_ERR);
	check_sums(end);
}

/* Of a wire that lost nothing, what was dropped before the sender knew is what it sent again. */
static void check_exact(struct rdma_world *world, const struct rdma_end *end)
{
	const struct transport_counters *sender = transport_counters(end->pair);
	const struct transport_counters *receiver = transport_counters(end->peer->pair);
	__u64 refused = receiver->dropped[RDMA_DROP_FAULT] + receiver->dropped[RDMA_DROP_RNR] +
			receiver->dropped[RDMA_DROP_NO_RECEIVE];

	RDMA_CHECK(refused == sender->resent[RDMA_RESEND_RNR]);
	RDMA_CHECK(sender->resent[RDMA_RESEND_RNR] == end->again[0]);
	RDMA_CHECK(sender->dropped[RDMA_DROP_RESPONSE] == receiver->resent[RDMA_RESEND_READ]);
	RDMA_CHECK(sender->asked_again == receiver->replayed);
	RDMA_CHECK(!receiver->dropped[RDMA_DROP_SEQUENCE] &&
		   !receiver->dropped[RDMA_DROP_DUPLICATE] && !receiver->dropped[RDMA_DROP_STATE]);
	/* READ_RNR is an RNR of the initiator, heard by the responder. */
	RDMA_CHECK(receiver->rnr_sent == sender->rnr_received);
	world->exact += refused + sender->dropped[RDMA_DROP_RESPONSE];
}

static void add_seen(struct rdma_world *world, const struct rdma_end *end)
{
	const struct transport_counters *counters = transport_counters(end->pair);
	const __u64 *from = (const __u64 *)counters;
	__u64 *to = (__u64 *)&world->seen;

	for (size_t i = 0; i < sizeof(*counters) / sizeof(__u64); i++)
		to[i] += from[i];
}

static bool move(struct rdma_world *world)
{
	bool moved = false;

	for (int i = 0; i < 2; i++) {
		struct rdma_end *end = &world->ends[i];

		while (end->receives_posted - end->receives_completed < RDMA_WORLD_DEPTH &&
		       transport_state(end->pair) == VERBS_RTS)
			post_receive(world, end);
		while (transmit(world, end))
			moved = true;
	}
	for (int i = 0; i < 2; i++)
		while (deliver(world, &world->ends[i]))
			moved = true;
	return moved;
}

void rdma_world_finish(struct rdma_world *world)
{
	bool failures;

	world->calm = true;
	do {
		while (move(world))
			;
		if (failed(&world->ends[0]) || failed(&world->ends[1]))
			allow(world, VERBS_RETRY_EXC_ERR);
	} while (pass_time_until_next(world));
	failures = failed(&world->ends[0]) || failed(&world->ends[1]);
	for (int i = 0; i < 2; i++) {
		struct rdma_end *end = &world->ends[i];

		check_sums(end);
		if (failures)
			continue;
		RDMA_CHECK(end->fetched == end->posted);
		RDMA_CHECK(end->sent == end->assigned && end->peer->taken == end->assigned);
		RDMA_CHECK(end->acked == end->assigned);
		if (world->lossless)
			check_exact(world, end);
	}
	for (int i = 0; i < 2; i++) {
		struct rdma_end *end = &world->ends[i];

		RDMA_CHECK(failures || end->completed == end->posted);
		transport_modify(end->pair, VERBS_ERROR, 0, 0, 0, world->now_ns);
		check_sums(end);
		add_seen(world, end);
	}
}
