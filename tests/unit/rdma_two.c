// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rdma_two.h"

#include <errno.h>
#include <string.h>

/* The byte of an offset into a scatter list: pieces lie behind each other there. */
static unsigned char *place(struct two_end *end, const struct rdma_transfer *transfer)
{
	__u64 offset = transfer->offset;
	__u32 piece = 0;

	while (offset >= transfer->piece[piece].length)
		offset -= transfer->piece[piece++].length;
	assert_true(piece < transfer->pieces);
	assert_true(transfer->piece[piece].address + offset < TWO_BYTES);
	return end->memory + transfer->piece[piece].address + offset;
}

static int gather(void *device, struct queue_pair *pair, const struct rdma_transfer *from, void *to,
		  __u32 bytes)
{
	struct two_end *end = device;

	assert_ptr_equal(pair, end->pair);
	if (!end->fault[from->side])
		memcpy(to, place(end, from), bytes);
	return end->fault[from->side];
}

static int scatter(void *device, struct queue_pair *pair, const struct rdma_transfer *to,
		   const void *from, __u32 bytes)
{
	struct two_end *end = device;

	assert_ptr_equal(pair, end->pair);
	if (!end->fault[to->side])
		memcpy(place(end, to), from, bytes);
	return end->fault[to->side];
}

static int check(void *device, struct queue_pair *pair, const struct rdma_transfer *range)
{
	struct two_end *end = device;

	assert_true(pair == end->pair && range->remote);
	return end->refused;
}

static bool next_send(void *device, struct queue_pair *pair, struct verbs_send *send)
{
	struct two_end *end = device;

	if (end->fetched == end->posted)
		return false;
	*send = end->sends[end->fetched++];
	return true;
}

static bool next_receive(void *device, struct queue_pair *pair, struct verbs_receive *receive)
{
	struct two_end *end = device;

	if (end->receives_fetched == end->receives_posted)
		return false;
	*receive = end->receives[end->receives_fetched++];
	return true;
}

static void complete(void *device, struct queue_pair *pair,
		     const struct verbs_completion *completion)
{
	struct two_end *end = device;

	assert_true(end->done_count < COUNT(end->done));
	end->done[end->done_count++] = *completion;
}

/* What two_send() posts is signaled. */
static void retire(void *device, struct queue_pair *pair, const struct verbs_completion *completion)
{
	fail_msg("request %llu left no completion", completion->id);
}

static void tell(void *device, struct queue_pair *pair, const struct transport_event *event)
{
	struct two_end *end = device;

	assert_true(end->event_count < TWO_EVENTS);
	end->events[end->event_count++] = *event;
}

static __u64 new_token(void *device)
{
	return ++*((struct two_end *)device)->tokens;
}

static const struct transport_ops ops = {
	.gather = gather,
	.scatter = scatter,
	.check = check,
	.next_send = next_send,
	.next_receive = next_receive,
	.complete = complete,
	.retire = retire,
	.tell = tell,
	.new_token = new_token,
};

struct transport_settings two_settings(const char *policy)
{
	return (struct transport_settings){
		.mtu = TWO_MTU,
		.timeout_ns = MS,
		.retries = 7,
		.rnr_retries = 7,
		.rnr_timer = 1,
		.policy = fault_policy_find(policy),
	};
}

void two_create(struct two *two, const struct transport_settings *settings)
{
	struct two_end *ends[] = {&two->a, &two->b};

	memset(two, 0, sizeof(*two));
	for (__u32 i = 0; i < 2; i++) {
		ends[i]->tokens = &two->tokens;
		for (__u32 at = 0; at < TWO_BYTES; at++)
			ends[i]->memory[at] = (unsigned char)(at * 7 + at / 256 * 3 + i * 101);
		assert_int_equal(
			transport_pair_create(&ends[i]->pair, settings, &ops, ends[i], i, 16, 16),
			0);
		assert_int_equal(transport_modify(ends[i]->pair, VERBS_INIT, 0, 0, 0, 0), 0);
		assert_int_equal(transport_modify(ends[i]->pair, VERBS_RTR, !i, 0, TWO_BEGIN, 0),
				 0);
		assert_int_equal(transport_modify(ends[i]->pair, VERBS_RTS, 0, TWO_BEGIN, 0, 0), 0);
	}
}

void two_destroy(struct two *two)
{
	transport_pair_destroy(two->a.pair);
	transport_pair_destroy(two->b.pair);
}

void two_send(struct two_end *end, enum verbs_opcode opcode, __u32 local, __u32 remote, __u32 bytes,
	      unsigned int flags)
{
	end->sends[end->posted] = (struct verbs_send){
		.id = end->posted,
		.remote_address = remote,
		.opcode = (__u8)opcode,
		.flags = (__u8)(flags | VERBS_SEND_SIGNALED),
		.pieces = 2,
		.piece = {{local, bytes / 3, 1}, {local + bytes / 3, bytes - bytes / 3, 1}},
	};
	end->posted++;
	transport_posted(end->pair);
}

void two_receive(struct two_end *end, __u32 local, __u32 bytes)
{
	end->receives[end->receives_posted] = (struct verbs_receive){
		.id = 100 + end->receives_posted,
		.pieces = 1,
		.piece = {{local, bytes, 1}},
	};
	end->receives_posted++;
	transport_posted(end->pair);
}

bool two_take(struct two *two, struct two_end *from)
{
	return transport_transmit(from->pair, &two->packet.header, two->now_ns);
}

void two_expect(struct two *two, struct two_end *from, enum rdma_packet_kind kind, __u32 psn)
{
	assert_true(two_take(two, from));
	assert_int_equal(two->packet.header.kind, kind);
	assert_int_equal(two->packet.header.psn, (TWO_BEGIN + psn) & RDMA_PSN_MASK);
}

void two_give(struct two *two, struct two_end *to)
{
	transport_receive(to->pair, &two->packet.header, two->now_ns);
}

void two_run(struct two *two)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (; two_take(two, &two->a); moved = true)
			two_give(two, &two->b);
		for (; two_take(two, &two->b); moved = true)
			two_give(two, &two->a);
	}
}

bool two_wait(struct two *two)
{
	__u64 a = transport_deadline(two->a.pair), b = transport_deadline(two->b.pair);
	__u64 next = !a || (b && b < a) ? b : a;

	if (!next)
		return false;
	two->now_ns = next;
	transport_timeout(two->a.pair, next);
	transport_timeout(two->b.pair, next);
	return true;
}

void two_done(struct two_end *end, const int *ids_and_statuses)
{
	__u32 at = 0;

	for (; *ids_and_statuses >= 0; ids_and_statuses += 2, at++) {
		assert_true(at < end->done_count);
		assert_int_equal(end->done[at].id, ids_and_statuses[0]);
		assert_int_equal(end->done[at].status, ids_and_statuses[1]);
	}
	assert_int_equal(at, end->done_count);
}

__u32 two_count(const struct two_end *end, enum transport_event_kind kind)
{
	__u32 count = 0;

	for (__u32 at = 0; at < end->event_count; at++)
		count += end->events[at].kind == kind;
	return count;
}

const struct transport_event *two_last(const struct two_end *end, enum transport_event_kind kind)
{
	for (__u32 at = end->event_count; at; at--)
		if (end->events[at - 1].kind == kind)
			return &end->events[at - 1];
	fail_msg("no event of kind %d", kind);
	return NULL;
}
