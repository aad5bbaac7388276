// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: their life, and the entries and doorbell words that their guest writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

#define WINDOW_MOST HUGE_BYTES /* of one look-up */

static const char hostile_index[] = "a doorbell word that goes back, or beyond the queue";

int pinned_find(struct rdma *device, struct pinned *memory, __u64 iova, __u64 bytes)
{
	struct dma *dma = &device->faults.probe;
	__u64 absent;
	int found;

	if (bytes > WINDOW_MOST)
		return -EINVAL;
	found = port_dma_try(device->port, 0, device->pasid, iova, bytes, true, dma, &absent, 1);
	if (found)
		return -EFAULT;
	/* What is pinned stays mapped as it is: its place holds beyond the reference. A guest's memory is in one piece. */
	*memory = (struct pinned){dma->iov[0].iov_base, iova, bytes};
	found = dma->segments == 1 ? 0 : -EFAULT;
	port_dma_end(device->port, dma);
	return found;
}

static const struct verbs_pair_words *pair_words(const struct rdma_pair *pair)
{
	return (const void *)pair->memory.host;
}

static const unsigned char *sends_of(const struct rdma_pair *pair)
{
	return pair->memory.host + sizeof(struct verbs_pair_words);
}

static const unsigned char *receives_of(const struct rdma_pair *pair)
{
	return sends_of(pair) + pair->setup.send_depth * sizeof(struct verbs_send);
}

static void pair_blame(struct rdma_pair *pair, const char *why)
{
	if (!pair->fail)
		pair->device->totals.hostile++;
	pair->fail = why;
}

/* Reads a doorbell word. True: it has moved on. */
static bool read_posted(struct rdma_pair *pair, struct pair_ring *ring, const __u64 *word,
			__u32 depth)
{
	__u64 posted;

	if (dma_guard_copy(&posted, word, sizeof(posted))) {
		port_dma_violation(pair->device->port, pair->memory.iova);
		pair_blame(pair, hostile_index);
		return false;
	}
	if (posted == ring->posted)
		return false;
	if (posted < ring->posted || posted - ring->given > depth) {
		pair_blame(pair, hostile_index);
		return false;
	}
	ring->posted = posted;
	atomic_thread_fence(memory_order_acquire);
	return true;
}

/* Some of what is posted, up to the ring's end. */
static bool fetch_entries(struct rdma_pair *pair, struct pair_ring *ring,
			  const unsigned char *entries, __u32 depth, void *into)
{
	const size_t size = sizeof(struct verbs_send);
	__u64 at = ring->fetched & (depth - 1), count = ring->posted - ring->fetched;

	if (count > PAIR_FETCH)
		count = PAIR_FETCH;
	if (count > depth - at)
		count = depth - at;
	if (!count)
		return false;
	if (dma_guard_copy(into, entries + at * size, count * size)) {
		port_dma_violation(pair->device->port, pair->memory.iova);
		pair_blame(pair, hostile_index);
		return false;
	}
	ring->fetched += count;
	return true;
}

static bool is_flushed(const struct rdma_pair *pair)
{
	return transport_state(pair->transport) == VERBS_ERROR;
}

bool pair_next_send(void *argument, struct queue_pair *transport, struct verbs_send *send)
{
	struct rdma_pair *pair = pair_find(argument, transport_pair_number(transport));
	struct pair_ring *ring = &pair->sends;

	if (ring->given == ring->fetched) {
		pair->send_first = ring->given;
		if (!fetch_entries(pair, ring, sends_of(pair), pair->setup.send_depth, pair->send))
			return false;
	}
	*send = pair->send[ring->given - pair->send_first];
	ring->given++;
	return true;
}

bool pair_next_receive(void *argument, struct queue_pair *transport, struct verbs_receive *receive)
{
	struct rdma_pair *pair = pair_find(argument, transport_pair_number(transport));
	struct pair_ring *ring = &pair->receives;

	if (ring->given == ring->fetched) {
		/* Nobody polls this word: what is posted is asked for when it is needed. */
		if (ring->fetched == ring->posted)
			(void)read_posted(pair, ring, &pair_words(pair)->received,
					  pair->setup.receive_depth);
		pair->receive_first = ring->given;
		if (!fetch_entries(pair, ring, receives_of(pair), pair->setup.receive_depth,
				   pair->receive))
			return false;
	}
	*receive = pair->receive[ring->given - pair->receive_first];
	ring->given++;
	return true;
}

bool pair_poll(struct rdma_pair *pair)
{
	bool moved = false;

	if (pair->fail == hostile_index)
		return false;
	moved = read_posted(pair, &pair->sends, &pair_words(pair)->sent, pair->setup.send_depth);
	if (is_flushed(pair))
		moved |= read_posted(pair, &pair->receives, &pair_words(pair)->received,
				     pair->setup.receive_depth);
	if (moved)
		transport_posted(pair->transport);
	return moved;
}

void pair_fail(struct rdma_pair *pair, __u64 now_ns)
{
	if (!pair->fail || is_flushed(pair))
		return;
	(void)transport_modify(pair->transport, VERBS_ERROR, 0, 0, 0, now_ns);
}

const struct transport_ops rdma_transport_ops = {
	.gather = data_gather,
	.scatter = data_scatter,
	.check = data_check,
	.next_send = pair_next_send,
	.next_receive = pair_next_receive,
	.complete = pair_complete,
	.tell = account_event,
	.new_token = account_token,
};

static struct rdma_queue *queue_of(const struct rdma *device, __u32 number)
{
	return number < VERBS_QUEUES_MAX ? device->completion_queues[number] : NULL;
}

struct pair_call {
	const struct rdma_pair_setup *setup;
	__u32 number, peer;
	enum verbs_pair_state state;
	bool loopback;
};

static int new_number(struct rdma *device, __u32 *number)
{
	__u32 index = 0;

	while (index < device->settings->queue_pairs && device->pairs[index])
		index++;
	if (index == device->settings->queue_pairs)
		return -ENOSPC;
	*number = (__u32)device->generations[index] << PAIR_INDEX_BITS | index;
	return 0;
}

static int do_create_pair(struct rdma *device, void *argument)
{
	struct pair_call *call = argument;
	const struct rdma_pair_setup *setup = call->setup;
	struct rdma_pair *pair;
	int error = new_number(device, &call->number);

	if (error)
		return error;
	if (!queue_of(device, setup->send_queue) || !queue_of(device, setup->receive_queue))
		return -ENOENT;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return -ENOMEM;
	*pair = (struct rdma_pair){
		.device = device,
		.setup = *setup,
		.number = call->number,
		.send_queue = queue_of(device, setup->send_queue),
		.receive_queue = queue_of(device, setup->receive_queue),
	};
	error = pinned_find(device, &pair->memory, setup->iova,
			    verbs_pair_bytes(setup->send_depth, setup->receive_depth));
	if (!error)
		error = transport_pair_create(&pair->transport, &device->transport,
					      &rdma_transport_ops, device, pair->number,
					      setup->send_depth, setup->receive_depth);
	if (error) {
		free(pair);
		return error;
	}
	pair->send_queue->users++;
	pair->receive_queue->users++;
	device->pairs[pair->number & (VERBS_QUEUE_PAIRS_MAX - 1)] = pair;
	return 0;
}

static bool pair_depth_valid(__u32 depth)
{
	return depth && depth <= VERBS_DEPTH_MAX && !(depth & (depth - 1));
}

int rdma_pair_create(struct rdma *device, const struct rdma_pair_setup *setup, __u32 *number)
{
	struct pair_call call = {.setup = setup};
	int error;

	if (!pair_depth_valid(setup->send_depth) || !pair_depth_valid(setup->receive_depth) ||
	    setup->iova & (PAGE_BYTES - 1))
		return -EINVAL;
	error = engine_do(device, do_create_pair, &call);
	if (!error)
		*number = call.number;
	return error;
}

static void set_live(struct rdma *device, struct rdma_pair *pair, bool live)
{
	if (live == pair->connected)
		return;
	pair->connected = live;
	accesses_end(pair);
	if (live) {
		pair->at = device->live_count;
		device->live[device->live_count++] = pair;
		return;
	}
	device->live[pair->at] = device->live[--device->live_count];
	device->live[pair->at]->at = pair->at;
}

void pair_release(struct rdma *device, struct rdma_pair *pair)
{
	__u32 index = pair->number & (VERBS_QUEUE_PAIRS_MAX - 1);

	set_live(device, pair, false);
	transport_give_up(pair->transport, monotonic_ns());
	faults_forget(pair);
	account_pair_gone(device, pair);
	pair->send_queue->users--;
	pair->receive_queue->users--;
	device->pairs[index] = NULL;
	device->generations[index] = (__u8)((device->generations[index] + 1) % PAIR_GENERATIONS);
	transport_pair_destroy(pair->transport);
	free(pair);
}

static int destroy_pair(struct rdma *device, void *argument)
{
	struct rdma_pair *pair = pair_find(device, *(__u32 *)argument);

	if (!pair)
		return -ENOENT;
	pair_release(device, pair);
	return 0;
}

int rdma_pair_destroy(struct rdma *device, __u32 number)
{
	return engine_do(device, destroy_pair, &number);
}

/* What the guest's words say from here on counts from where they are now. */
static void forget_posted(struct rdma_pair *pair)
{
	faults_forget(pair);
	(void)read_posted(pair, &pair->sends, &pair_words(pair)->sent, pair->setup.send_depth);
	(void)read_posted(pair, &pair->receives, &pair_words(pair)->received,
			  pair->setup.receive_depth);
	pair->fail = NULL;
	pair->sends.fetched = pair->sends.given = pair->sends.posted;
	pair->receives.fetched = pair->receives.given = pair->receives.posted;
}

static int modify_pair(struct rdma *device, void *argument)
{
	const struct pair_call *call = argument;
	struct rdma_pair *pair = pair_find(device, call->number);
	int error;

	if (!pair)
		return -ENOENT;
	error = transport_modify(pair->transport, call->state, call->peer, 0, 0, monotonic_ns());
	if (error)
		return error;
	if (call->state == VERBS_RTR) {
		pair->peer = call->peer;
		pair->loopback = call->loopback;
	} else if (call->state == VERBS_RESET) {
		forget_posted(pair);
	}
	set_live(device, pair, call->state >= VERBS_RTR);
	return 0;
}

int rdma_pair_modify(struct rdma *device, __u32 number, enum verbs_pair_state state, __u32 peer,
		     bool loopback)
{
	struct pair_call call = {
		.number = number, .state = state, .peer = peer, .loopback = loopback};

	return engine_do(device, modify_pair, &call);
}

static int query_pair(struct rdma *device, void *argument)
{
	struct pair_call *call = argument;
	const struct rdma_pair *pair = pair_find(device, call->number);

	if (!pair)
		return -ENOENT;
	call->state = transport_state(pair->transport);
	call->peer = pair->peer;
	return 0;
}

int rdma_pair_query(struct rdma *device, __u32 number, enum verbs_pair_state *state, __u32 *peer)
{
	struct pair_call call = {.number = number};
	int error = engine_do(device, query_pair, &call);

	*state = call.state;
	*peer = call.peer;
	return error;
}
