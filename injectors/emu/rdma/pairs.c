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

int pinned_find(struct rdma *device, struct pinned *memory, unsigned char *host, __u64 iova,
		__u64 bytes)
{
	struct dma *dma = &device->faults.probe;
	__u64 absent;
	int found;

	*memory = (struct pinned){host, iova, bytes};
	if (host)
		return 0;
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

static const unsigned char *sends_of(const struct rdma_pair *pair)
{
	return pair->memory.host + sizeof(struct verbs_pair_words);
}

static const unsigned char *receives_of(const struct rdma_pair *pair)
{
	return sends_of(pair) + pair->setup.send_depth * sizeof(struct verbs_send);
}

void pair_blame(struct rdma_pair *pair, const char *why)
{
	if (!pair->fail)
		pair->device->totals.hostile++;
	pair->fail = why;
}

/* What a ring has said: true, if there is something. */
static bool ring_heard(struct rdma_pair *pair, int result)
{
	if (result == -EFAULT)
		port_dma_violation(pair->device->port, pair->memory.iova);
	if (result < 0)
		pair_blame(pair, hostile_index);
	return result > 0;
}

static bool read_sent(struct rdma_pair *pair)
{
	__u64 before = pair->sends.posted;
	int result = pair_ring_read(&pair->sends, &pair->words->sent, pair->setup.send_depth);

	if (result > 0)
		times_posted(pair, before, pair->sends.posted);
	return ring_heard(pair, result);
}

static bool read_received(struct rdma_pair *pair)
{
	return !pair->shared &&
	       ring_heard(pair, pair_ring_read(&pair->receives, &pair->words->received,
					       pair->setup.receive_depth));
}

static bool is_flushed(const struct rdma_pair *pair)
{
	return transport_state(pair->transport) == VERBS_ERROR;
}

/* The first key by which it would touch memory, of either side. */
static void kill_key(struct verbs_send *send)
{
	for (__u32 i = 0; i < send->pieces && i < VERBS_SGE_MAX; i++) {
		if (!send->piece[i].length)
			continue;
		send->piece[i].key = 0;
		return;
	}
	send->remote_key = 0;
}

bool pair_next_send(void *argument, struct queue_pair *transport, struct verbs_send *send)
{
	struct rdma_pair *pair = pair_find(argument, transport_pair_number(transport));
	struct pair_ring *ring = &pair->sends;

	if (ring->given == ring->fetched) {
		pair->send_first = ring->given;
		if (!ring_heard(pair, pair_ring_fetch(ring, sends_of(pair), pair->setup.send_depth,
						      pair->send)))
			return false;
	}
	*send = pair->send[ring->given - pair->send_first];
	if (!is_flushed(pair) &&
	    inject_fire(pair->device->injections, INJECT_DEAD_KEY, pair->device->place.index))
		kill_key(send);
	times_given(pair, ring->given, send);
	ring->given++;
	return true;
}

bool pair_next_receive(void *argument, struct queue_pair *transport, struct verbs_receive *receive)
{
	struct rdma_pair *pair = pair_find(argument, transport_pair_number(transport));
	struct pair_ring *ring = &pair->receives;

	if (pair->shared)
		return shared_next(pair, receive);
	if (ring->given == ring->fetched) {
		/* Nobody polls this word: what is posted is asked for when it is needed. */
		if (ring->fetched == ring->posted && !device_forwards_posts(pair->device))
			(void)read_received(pair);
		pair->receive_first = ring->given;
		if (!ring_heard(pair, pair_ring_fetch(ring, receives_of(pair),
						      pair->setup.receive_depth, pair->receive)))
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
	moved = read_sent(pair);
	if (is_flushed(pair) || device_forwards_posts(pair->device))
		moved |= read_received(pair);
	if (moved)
		transport_posted(pair->transport);
	return moved;
}

void pair_fail(struct rdma_pair *pair, __u64 now_ns)
{
	if (!pair->fail || is_flushed(pair))
		return;
	(void)transport_modify(pair->transport, VERBS_ERROR, 0, 0, 0, now_ns);
	if (pair->setup.failed)
		pair->setup.failed(pair->setup.failed_of, VERBS_PAIR_FAILED, pair->number);
}

const struct transport_ops rdma_transport_ops = {
	.gather = data_gather,
	.scatter = data_scatter,
	.check = data_check,
	.next_send = pair_next_send,
	.next_receive = pair_next_receive,
	.complete = pair_complete,
	.retire = pair_retire,
	.tell = account_event,
	.new_token = account_token,
};

static struct rdma_queue *queue_of(const struct rdma *device, __u32 number)
{
	return number < VERBS_QUEUES_MAX ? device->completion_queues[number] : NULL;
}

struct pair_call {
	const struct verbs_pair_setup *setup;
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

static void free_pair(struct rdma_pair *pair)
{
	transport_pair_destroy(pair->transport);
	times_free(pair);
	free(pair);
}

/* Its memory, its words and its transport. */
static int pair_equip(struct rdma *device, struct rdma_pair *pair)
{
	const struct verbs_pair_setup *setup = &pair->setup;
	int error = pinned_find(device, &pair->memory, setup->host, setup->iova,
				verbs_pair_bytes(setup->send_depth, setup->receive_depth));

	if (error)
		return error;
	pair->words = (struct verbs_pair_words *)pair->memory.host;
	if (setup->doorbells) {
		pair->words = &setup->doorbells[pair->number & (VERBS_QUEUE_PAIRS_MAX - 1)];
		memset(pair->words, 0, sizeof(*pair->words));
	}
	error = times_create(pair);
	if (!error)
		error = transport_pair_create(&pair->transport, &device->transport,
					      &rdma_transport_ops, device, pair->number,
					      setup->send_depth, setup->receive_depth ?: 1);
	return error;
}

static int new_pair(struct rdma *device, const struct verbs_pair_setup *setup, __u32 number)
{
	struct rdma_pair *pair = calloc(1, sizeof(*pair));
	int error;

	if (!pair)
		return -ENOMEM;
	pair->device = device;
	pair->setup = *setup;
	pair->number = number;
	pair->send_queue = queue_of(device, setup->send_queue);
	pair->receive_queue = queue_of(device, setup->receive_queue);
	pair->shared = shared_of(device, setup->shared);
	error = pair_equip(device, pair);
	if (error) {
		free_pair(pair);
		return error;
	}
	pair->send_queue->users++;
	pair->receive_queue->users++;
	if (pair->shared)
		pair->shared->users++;
	device->pairs[number & (VERBS_QUEUE_PAIRS_MAX - 1)] = pair;
	return 0;
}

static int do_create_pair(struct rdma *device, void *argument)
{
	struct pair_call *call = argument;
	const struct verbs_pair_setup *setup = call->setup;
	int error = new_number(device, &call->number);

	if (error)
		return error;
	if (!queue_of(device, setup->send_queue) || !queue_of(device, setup->receive_queue) ||
	    (setup->shared != VERBS_NO_SRQ && !shared_of(device, setup->shared)))
		return -ENOENT;
	return new_pair(device, setup, call->number);
}

int rdma_pair_create(struct rdma *device, const struct verbs_pair_setup *setup, __u32 *number)
{
	bool receives = setup->receive_depth || setup->shared == VERBS_NO_SRQ;
	struct pair_call call = {.setup = setup};
	int error;

	if (!depth_valid(setup->send_depth) || (receives && !depth_valid(setup->receive_depth)) ||
	    setup->iova & (PAGE_BYTES - 1))
		return -EINVAL;
	error = engine_do(device, do_create_pair, &call);
	if (!error)
		*number = call.number;
	return error;
}

static int pair_posted(struct rdma *device, void *argument)
{
	struct rdma_pair *pair = pair_find(device, *(__u32 *)argument);

	if (!pair)
		return -ENOENT;
	if (pair->connected)
		(void)pair_poll(pair);
	return 0;
}

int rdma_pair_posted(struct rdma *device, __u32 number)
{
	return engine_do(device, pair_posted, &number);
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
	if (pair->shared)
		pair->shared->users--;
	device->pairs[index] = NULL;
	device->generations[index] = (__u8)((device->generations[index] + 1) % PAIR_GENERATIONS);
	free_pair(pair);
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
	(void)read_sent(pair);
	(void)read_received(pair);
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
