// SPDX-License-Identifier: GPL-2.0
/* The device of a world's queue pairs: what is where, absent pages, and completions. */
#include "tests/unit/rdma_memory.h"

#include <errno.h>
#include <string.h>

static __u64 draw(struct rdma_world *world, __u64 bound)
{
	return world->draw(world->self, bound);
}

struct rdma_operation *rdma_operation_at(struct rdma_end *end, __u64 index)
{
	return &end->operations[index % RDMA_WORLD_KEPT];
}

static struct rdma_posted *posted_at(struct rdma_end *end, __u64 index)
{
	return &end->receives[index % RDMA_WORLD_KEPT];
}

/* The operation of a number: it may be over, as a read's responses may be sent in vain. */
static struct rdma_operation *numbered(struct rdma_end *end, __u64 number)
{
	for (__u64 at = end->posted; at && end->posted - at < RDMA_WORLD_KEPT; at--)
		if (rdma_operation_at(end, at - 1)->number == number)
			return rdma_operation_at(end, at - 1);
	return NULL;
}

static struct rdma_operation *of_message(struct rdma_end *end, __u64 message)
{
	for (__u64 at = end->posted; at && end->posted - at < RDMA_WORLD_KEPT; at--) {
		struct rdma_operation *operation = rdma_operation_at(end, at - 1);

		if (operation->opcode == VERBS_SEND && operation->message == message)
			return operation;
	}
	return NULL;
}

static __u64 byte_seed(__u64 number, __u64 offset)
{
	return (number << RDMA_WORLD_ADDRESS | offset) * 0x9e3779b97f4a7c15ull;
}

static void fill(void *to, __u64 number, __u64 offset, __u32 bytes)
{
	unsigned char *at = to;
	__u64 seed = byte_seed(number, offset);

	for (; bytes >= 8; bytes -= 8, at += 8, seed += 0x9e3779b97f4a7c15ull)
		memcpy(at, &seed, 8);
	memcpy(at, &seed, bytes);
}

static void compare(const void *from, __u64 number, __u64 offset, __u32 bytes)
{
	unsigned char should[RDMA_MTU_MAX];

	fill(should, number, offset, bytes);
	RDMA_CHECK(!memcmp(from, should, bytes));
}

/* Absent: once it is asked for all of that side are, until the answer. */
static bool is_absent(struct rdma_end *end, enum rdma_side side)
{
	struct rdma_world *world = end->world;
	struct rdma_page *page = &end->pages[side];

	if (page->asked)
		return true;
	if (page->present || world->calm || !world->fault_odds[side] ||
	    draw(world, world->fault_odds[side])) {
		page->present = false;
		return false;
	}
	page->asked = true;
	page->due_ns = world->now_ns + draw(world, draw(world, 4) ? 20000 : 400000);
	page->error = draw(world, 6) ? 0 : -EAGAIN;
	if (world->error_odds && !draw(world, world->error_odds))
		page->error = -EIO;
	return true;
}

static __u64 piece_bytes(const struct rdma_transfer *transfer)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < transfer->pieces; i++)
		sum += transfer->piece[i].length;
	return sum;
}

static void check_packet(struct rdma_end *end, const struct rdma_transfer *transfer, __u64 length,
			 __u32 bytes)
{
	__u64 left = length - transfer->offset;

	RDMA_CHECK(bytes && transfer->offset < length);
	RDMA_CHECK(bytes == (left < end->world->mtu ? left : end->world->mtu));
	RDMA_CHECK(transfer->total == piece_bytes(transfer));
	RDMA_CHECK(end->world->mtu && transfer->offset % end->world->mtu == 0);
}

static int gather(void *device, struct queue_pair *pair, const struct rdma_transfer *from, void *to,
		  __u32 bytes)
{
	struct rdma_end *end = device;
	struct rdma_end *initiator = from->remote ? end->peer : end;
	__u64 address = from->piece[0].address;
	const struct rdma_operation *operation = numbered(initiator, address >> RDMA_WORLD_ADDRESS);

	RDMA_CHECK(pair == end->pair && operation &&
		   from->remote == (operation->opcode == VERBS_READ));
	RDMA_CHECK(from->side == (from->remote ? RDMA_RESPONDER_READS : RDMA_INITIATOR_READS));
	if (is_absent(end, from->side))
		return -EAGAIN;
	if (!from->remote && operation->refused)
		return -EACCES;
	if (from->remote) {
		/* What is asked for again begins where something is missing. */
		__u64 skipped = address & ((1u << RDMA_WORLD_ADDRESS) - 1);

		RDMA_CHECK(skipped % end->world->mtu == 0 &&
			   skipped + from->total == operation->bytes);
		check_packet(end, from, from->total, bytes);
		fill(to, operation->number, skipped + from->offset, bytes);
		return 0;
	}
	RDMA_CHECK(from->pieces == operation->pieces);
	check_packet(end, from, operation->bytes, bytes);
	fill(to, operation->number, from->offset, bytes);
	return 0;
}

/* Once, and before it completes: a peer may take yet what was flushed at its sender. */
static void land(const struct rdma_end *initiator, struct rdma_operation *operation,
		 const struct rdma_transfer *to)
{
	RDMA_CHECK(!operation->done ||
		   (initiator->send_failed && to->side == RDMA_RESPONDER_WRITES));
	RDMA_CHECK(!operation->landed[to->offset / initiator->world->mtu]++);
}

static int scatter(void *device, struct queue_pair *pair, const struct rdma_transfer *to,
		   const void *from, __u32 bytes)
{
	struct rdma_end *end = device;
	struct rdma_end *initiator = to->side == RDMA_INITIATOR_WRITES ? end : end->peer;
	__u64 address = to->piece[0].address;
	struct rdma_operation *operation;

	RDMA_CHECK(pair == end->pair && to->side != RDMA_RESPONDER_READS &&
		   to->side != RDMA_INITIATOR_READS);
	if (to->side == RDMA_RESPONDER_WRITES && !to->remote)
		operation = of_message(initiator, address >> RDMA_WORLD_ADDRESS);
	else
		operation = numbered(initiator, address >> RDMA_WORLD_ADDRESS);
	RDMA_CHECK(operation);
	if (is_absent(end, to->side))
		return -EAGAIN;
	check_packet(end, to, operation->bytes, bytes);
	compare(from, operation->number, to->offset, bytes);
	land(initiator, operation, to);
	if (to->side == RDMA_RESPONDER_WRITES && !to->remote) {
		const struct rdma_posted *receive = posted_at(end, operation->message);

		RDMA_CHECK(operation->opcode == VERBS_SEND && !receive->done);
		RDMA_CHECK(to->pieces == receive->pieces);
	} else {
		RDMA_CHECK(operation->opcode ==
			   (to->side == RDMA_INITIATOR_WRITES ? VERBS_READ : VERBS_WRITE));
	}
	return 0;
}

static int check(void *device, struct queue_pair *pair, const struct rdma_transfer *range)
{
	struct rdma_end *end = device;
	const struct rdma_operation *operation =
		numbered(end->peer, range->piece[0].address >> RDMA_WORLD_ADDRESS);

	RDMA_CHECK(pair == end->pair && operation && range->remote && range->pieces == 1);
	return operation->refused ? -EACCES : 0;
}

static void split(struct verbs_sge *piece, __u32 pieces, __u64 address, __u64 bytes)
{
	for (__u32 i = 0; i < pieces; i++) {
		piece[i] =
			(struct verbs_sge){address, (__u32)(i + 1 < pieces ? bytes / 2 : bytes), 1};
		bytes -= piece[i].length;
	}
}

static bool next_send(void *device, struct queue_pair *pair, struct verbs_send *send)
{
	struct rdma_end *end = device;
	const struct rdma_operation *operation = rdma_operation_at(end, end->fetched);

	RDMA_CHECK(pair == end->pair);
	if (end->fetched == end->posted)
		return false;
	*send = (struct verbs_send){
		.id = end->fetched * 3,
		.remote_address = operation->number << RDMA_WORLD_ADDRESS,
		.remote_key = 2,
		.opcode = operation->opcode,
		.flags = operation->flags,
		.pieces = operation->pieces,
	};
	split(send->piece, operation->pieces, operation->number << RDMA_WORLD_ADDRESS,
	      operation->bytes);
	end->fetched++;
	return true;
}

static bool next_receive(void *device, struct queue_pair *pair, struct verbs_receive *receive)
{
	struct rdma_end *end = device;
	const struct rdma_posted *posted = posted_at(end, end->receives_fetched);

	RDMA_CHECK(pair == end->pair);
	if (end->receives_fetched == end->receives_posted)
		return false;
	*receive =
		(struct verbs_receive){.id = end->receives_fetched * 5, .pieces = posted->pieces};
	split(receive->piece, posted->pieces, end->receives_fetched << RDMA_WORLD_ADDRESS,
	      posted->room);
	end->receives_fetched++;
	return true;
}

static void note_status(struct rdma_end *end, enum verbs_status status, bool *failed)
{
	end->world->seen_status[status]++;
	if (*failed)
		RDMA_CHECK(status == VERBS_WR_FLUSH_ERR);
	*failed |= status != VERBS_SUCCESS;
	/* All are, once the pair is. */
	if (status == VERBS_WR_FLUSH_ERR)
		RDMA_CHECK(transport_state(end->pair) == VERBS_ERROR);
	RDMA_CHECK(status == VERBS_SUCCESS || (end->world->allowed & 1ull << status));
	if (status == VERBS_RETRY_EXC_ERR)
		RDMA_CHECK(end->tries == end->settings.retries);
}

static void check_success(struct rdma_end *end, const struct rdma_operation *operation)
{
	RDMA_CHECK(!end->send_failed && !operation->refused);
	RDMA_CHECK(operation->opcode == VERBS_READ
			   ? (operation->answered || end->hearing == operation) &&
				     operation->first <= end->acked
			   : operation->first + operation->packets <= end->acked);
	for (__u64 at = 0; at * end->world->mtu < operation->bytes; at++)
		RDMA_CHECK(operation->landed[at] == 1);
	if (operation->opcode == VERBS_SEND) {
		const struct rdma_posted *receive = posted_at(end->peer, operation->message);

		RDMA_CHECK(operation->message < end->peer->receives_completed &&
			   receive->received && receive->bytes == operation->bytes);
	}
}

static void complete_operation(struct rdma_end *end, enum verbs_status status)
{
	struct rdma_operation *operation = rdma_operation_at(end, end->completed);

	RDMA_CHECK(end->completed < end->fetched && !operation->done);
	if (!status)
		check_success(end, operation);
	operation->done = true;
	end->completed++;
	end->world->seen_operations++;
}

static void complete_send(struct rdma_end *end, const struct verbs_completion *completion)
{
	const struct rdma_operation *operation = rdma_operation_at(end, end->completed);

	RDMA_CHECK((__u16)end->completed == completion->entry);
	RDMA_CHECK(completion->id == end->completed * 3);
	RDMA_CHECK(completion->status || (completion->bytes == operation->bytes &&
					  completion->opcode == operation->opcode));
	complete_operation(end, completion->status);
	note_status(end, completion->status, &end->send_failed);
}

static void complete_receive(struct rdma_end *end, const struct verbs_completion *completion)
{
	struct rdma_posted *receive = posted_at(end, end->receives_completed);

	RDMA_CHECK((__u16)end->receives_completed == completion->entry);
	RDMA_CHECK(completion->id == end->receives_completed * 5 && !receive->done);
	RDMA_CHECK(end->receives_completed < end->receives_fetched);
	note_status(end, completion->status, &end->receive_failed);
	if (!completion->status) {
		const struct rdma_operation *operation =
			of_message(end->peer, end->receives_completed);

		RDMA_CHECK(operation && operation->bytes == completion->bytes);
		for (__u64 at = 0; at * end->world->mtu < operation->bytes; at++)
			RDMA_CHECK(operation->landed[at] == 1);
		receive->received = true;
		receive->bytes = completion->bytes;
	}
	receive->done = true;
	end->receives_completed++;
}

static void complete(void *device, struct queue_pair *pair,
		     const struct verbs_completion *completion)
{
	struct rdma_end *end = device;

	RDMA_CHECK(pair == end->pair && completion->queue_pair == transport_pair_number(pair));
	if (completion->opcode == VERBS_RECEIVE) {
		complete_receive(end, completion);
		return;
	}
	RDMA_CHECK(completion->status ||
		   (rdma_operation_at(end, end->completed)->flags & VERBS_SEND_SIGNALED));
	complete_send(end, completion);
	end->told = end->completed;
}

static void retire(void *device, struct queue_pair *pair, const struct verbs_completion *completion)
{
	struct rdma_end *end = device;

	RDMA_CHECK(pair == end->pair && completion->queue_pair == transport_pair_number(pair));
	RDMA_CHECK(!completion->status && !end->send_failed);
	RDMA_CHECK(!(rdma_operation_at(end, end->completed)->flags & VERBS_SEND_SIGNALED));
	complete_send(end, completion);
}

static void tell(void *device, struct queue_pair *pair, const struct transport_event *event)
{
	struct rdma_end *end = device;

	RDMA_CHECK(pair == end->pair && event->now_ns == end->world->now_ns);
	if (event->kind == TRANSPORT_REWOUND &&
	    (event->code == RDMA_RESEND_TIMEOUT || event->code == RDMA_RESEND_SEQUENCE))
		end->tried = true;
}

static __u64 new_token(void *device)
{
	return ++((struct rdma_end *)device)->world->tokens;
}

const struct transport_ops rdma_world_ops = {
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
