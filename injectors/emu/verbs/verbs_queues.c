// SPDX-License-Identifier: GPL-2.0
/* Completion queues and their channels, queue pairs, shared receive queues: as a guest makes and ends them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/verbs/verbs_handles.h"
#include "lib/base/clock.h"

static int backing_begin(struct verbs_device *device, struct verbs_backing *backing,
			 __u64 guest_address, __u64 bytes)
{
	*backing = (struct verbs_backing){.guest_address = guest_address, .bytes = bytes};
	return device->transport->back(device, backing);
}

static void backing_end(struct verbs_device *device, struct verbs_backing *backing)
{
	if (device->transport->unback)
		device->transport->unback(device, backing);
	backing->at = NULL;
}

static void queue_forget(struct verbs_queue *queue)
{
	struct verbs_device *device = queue->device;
	struct verbs_queue **link = &device->queues;

	pthread_mutex_lock(&device->lock);
	while (*link && *link != queue)
		link = &(*link)->next;
	if (*link)
		*link = queue->next;
	pthread_mutex_unlock(&device->lock);
	device->transport->queue_end(queue);
	backing_end(device, &queue->backing);
	free(queue);
}

static int queue_known(struct verbs_queue *queue, __u32 number)
{
	struct verbs_device *device = queue->device;
	int error;

	queue->number = number;
	/* Of one before it. */
	(void)verbs_registers_take_failure(device->registers, VERBS_QUEUE_FAILED, number);
	pthread_mutex_lock(&device->lock);
	queue->next = device->queues;
	device->queues = queue;
	pthread_mutex_unlock(&device->lock);
	error = device->transport->queue_begin(queue);
	if (error)
		(void)verbs_destroy_cq(queue);
	return error;
}

static void queue_clear(struct verbs_queue *queue)
{
	queue->words = queue->backing.at;
	if (!queue->words)
		return;
	memset(queue->words, 0, queue->backing.bytes);
	queue->words->armed = VERBS_UNARMED;
	queue->entries = (void *)(queue->words + 1);
}

int verbs_create_cq(struct verbs_device *device, struct verbs_queue **queue, __u64 guest_address,
		    __u32 depth)
{
	struct verbs_call call = {
		.command = {.kind = VERBS_CREATE_CQ, .argument = {guest_address, depth}},
		.called_ns = monotonic_ns(),
	};
	struct verbs_queue *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	*new = (struct verbs_queue){.device = device, .depth = depth, .eventfd = -1};
	error = backing_begin(device, &new->backing, guest_address, verbs_completion_bytes(depth));
	if (error) {
		free(new);
		return error;
	}
	queue_clear(new);
	error = verbs_call_do(device, &call);
	if (error) {
		backing_end(device, &new->backing);
		free(new);
		return error;
	}
	error = queue_known(new, (__u32)call.command.result[0]);
	if (!error)
		*queue = new;
	return error;
}

int verbs_destroy_cq(struct verbs_queue *queue)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_CQ, .argument = {queue->number}};
	int error = verbs_command_do(queue->device, &command);

	/* A device that has stopped has none any more. */
	if (error && error != -EPIPE)
		return error;
	queue_forget(queue);
	return error;
}

__u32 verbs_queue_number(const struct verbs_queue *queue)
{
	return queue->number;
}

static void ring_begin(struct verbs_ring *ring, void *entries, __u64 *word, __u32 depth)
{
	ring->entries = entries;
	ring->word = word;
	ring->depth = depth;
	atomic_store(&ring->posted, 0);
	atomic_store(&ring->freed, 0);
}

/* The handle of a pair that there is now. */
static struct verbs_pair *pair_known(struct verbs_device *device,
				     const struct verbs_pair_attributes *attributes,
				     struct verbs_srq *srq, const struct verbs_backing *backing,
				     const __u64 result[2])
{
	__u32 number = (__u32)result[0];
	struct verbs_pair *new = &device->pairs[number % VERBS_QUEUE_PAIRS_MAX];
	struct verbs_pair_words *words = backing->at;
	struct verbs_send *sends = (void *)(words + 1);

	if (device->doorbells && result[1] < VERBS_QUEUE_PAIRS_MAX)
		words = &device->doorbells[result[1]];
	new->device = device;
	new->send_queue = attributes->send_queue;
	new->receive_queue = attributes->receive_queue;
	new->srq = srq;
	new->backing = *backing;
	ring_begin(&new->send, sends, &words->sent, attributes->send_depth);
	ring_begin(&new->receive, sends + attributes->send_depth, &words->received,
		   attributes->receive_depth);
	atomic_store(&new->number, number);
	(void)verbs_registers_take_failure(device->registers, VERBS_PAIR_FAILED, number);
	atomic_store_explicit(&new->live, true, memory_order_release);
	return new;
}

static int pair_ask(struct verbs_device *device, struct verbs_pair **pair,
		    const struct verbs_pair_attributes *attributes, struct verbs_srq *srq,
		    const struct verbs_command *command)
{
	struct verbs_call call = {.command = *command, .called_ns = monotonic_ns()};
	__u64 bytes = verbs_pair_bytes(attributes->send_depth, attributes->receive_depth);
	struct verbs_backing backing;
	int error = backing_begin(device, &backing, attributes->guest_address, bytes);

	if (error)
		return error;
	if (backing.at)
		memset(backing.at, 0, bytes);
	error = verbs_call_do(device, &call);
	if (error) {
		backing_end(device, &backing);
		return error;
	}
	*pair = pair_known(device, attributes, srq, &backing, call.command.result);
	return 0;
}

int verbs_create_qp(struct verbs_device *device, struct verbs_pair **pair,
		    const struct verbs_pair_attributes *attributes)
{
	const struct verbs_command command = {
		.kind = VERBS_CREATE_QP,
		.argument = {attributes->guest_address, attributes->send_depth,
			     attributes->receive_depth, attributes->send_queue->number,
			     attributes->receive_queue->number},
	};

	/* Whose doorbells are the host's pages is only asked so. */
	if (device->doorbells)
		return verbs_create_qp_of(device, pair, attributes, 0, NULL);
	return pair_ask(device, pair, attributes, NULL, &command);
}

int verbs_create_qp_of(struct verbs_device *device, struct verbs_pair **pair,
		       const struct verbs_pair_attributes *attributes, __u32 domain,
		       struct verbs_srq *srq)
{
	const struct verbs_command command = {
		.kind = VERBS_CREATE_QP_OF,
		.argument = {attributes->guest_address,
			     attributes->send_depth | (__u64)attributes->receive_depth << 32,
			     attributes->send_queue->number |
				     (__u64)attributes->receive_queue->number << 32,
			     domain | (__u64)(srq ? srq->number : VERBS_NO_SRQ) << 32},
	};

	return pair_ask(device, pair, attributes, srq, &command);
}

int verbs_destroy_qp(struct verbs_pair *pair)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_QP,
					.argument = {verbs_pair_number(pair)}};
	/* Another may have its place before this returns. */
	struct verbs_backing backing = pair->backing;
	int error;

	/* Before another can have its place. */
	atomic_store(&pair->live, false);
	error = verbs_command_do(pair->device, &command);
	if (error && error != -EPIPE)
		atomic_store(&pair->live, true);
	else
		backing_end(pair->device, &backing);
	return error;
}

__u32 verbs_pair_number(const struct verbs_pair *pair)
{
	return atomic_load_explicit(&pair->number, memory_order_relaxed);
}

int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer, bool loopback)
{
	struct verbs_command command = {
		.kind = VERBS_MODIFY_QP,
		.argument = {verbs_pair_number(pair), state, peer, loopback ? VERBS_LOOPBACK : 0},
	};

	return verbs_command_do(pair->device, &command);
}

int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state)
{
	struct verbs_command command = {.kind = VERBS_QUERY_QP,
					.argument = {verbs_pair_number(pair)}};
	int error = verbs_command_do(pair->device, &command);

	if (!error)
		*state = (enum verbs_pair_state)command.result[0];
	return error;
}

int verbs_create_srq(struct verbs_device *device, struct verbs_srq **srq, __u64 guest_address,
		     __u32 depth, __u32 domain)
{
	struct verbs_call call = {
		.command = {.kind = VERBS_CREATE_SRQ, .argument = {guest_address, depth, domain}},
		.called_ns = monotonic_ns(),
	};
	struct verbs_srq *new = calloc(1, sizeof(*new));
	__u64 bytes = verbs_shared_bytes(depth), *word;
	int error;

	if (!new)
		return -ENOMEM;
	new->device = device;
	error = backing_begin(device, &new->backing, guest_address, bytes);
	word = new->backing.at;
	if (word)
		memset(word, 0, bytes);
	if (!error) {
		error = verbs_call_do(device, &call);
		if (error)
			backing_end(device, &new->backing);
	}
	if (error) {
		free(new);
		return error;
	}
	new->number = (__u32)call.command.result[0];
	ring_begin(&new->ring, (char *)word + 64, word, depth);
	pthread_mutex_lock(&device->lock);
	new->next = device->srqs;
	device->srqs = new;
	pthread_mutex_unlock(&device->lock);
	*srq = new;
	return 0;
}

static void srq_forget(struct verbs_srq *srq)
{
	struct verbs_srq **link = &srq->device->srqs;

	pthread_mutex_lock(&srq->device->lock);
	while (*link && *link != srq)
		link = &(*link)->next;
	if (*link)
		*link = srq->next;
	pthread_mutex_unlock(&srq->device->lock);
	backing_end(srq->device, &srq->backing);
	free(srq);
}

int verbs_destroy_srq(struct verbs_srq *srq)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_SRQ, .argument = {srq->number}};
	int error = verbs_command_do(srq->device, &command);

	if (!error || error == -EPIPE)
		srq_forget(srq);
	return error;
}

int verbs_create_channel(struct verbs_device *device, struct verbs_channel **channel)
{
	struct verbs_command command = {.kind = VERBS_CREATE_CHANNEL};
	struct verbs_channel *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	*new = (struct verbs_channel){
		.device = device, .descriptor = -1, .own = -1, .last = &new->first};
	error = device->transport->channel_begin(new);
	if (!error) {
		error = verbs_command_do(device, &command);
		/* It is an account of the host's alone: a device without a mode keeps none. */
		if (error == -EOPNOTSUPP)
			error = 0;
		if (error)
			device->transport->channel_end(new);
	}
	if (error) {
		free(new);
		return error;
	}
	new->number = (__u32)command.result[0];
	*channel = new;
	return 0;
}

int verbs_destroy_channel(struct verbs_channel *channel)
{
	struct verbs_command command = {.kind = VERBS_DESTROY_CHANNEL,
					.argument = {channel->number}};
	struct verbs_device *device = channel->device;
	const struct verbs_queue *queue;
	bool used = false;
	int error = 0;

	pthread_mutex_lock(&device->lock);
	for (queue = device->queues; queue && !used; queue = queue->next)
		used = queue->channel == channel;
	pthread_mutex_unlock(&device->lock);
	if (used)
		return -EBUSY;
	if (channel->number)
		error = verbs_command_do(device, &command);
	if (error && error != -EPIPE)
		return error;
	device->transport->channel_end(channel);
	free(channel);
	return error;
}

void verbs_set_channel(struct verbs_queue *queue, struct verbs_channel *channel)
{
	queue->channel = channel;
	queue->device->transport->channel_add(channel, queue);
}

int verbs_channel_descriptor(struct verbs_channel *channel)
{
	return channel->device->transport->channel_descriptor(channel);
}

void verbs_queues_end(struct verbs_device *device)
{
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (atomic_load(&device->pairs[i].live))
			(void)verbs_destroy_qp(&device->pairs[i]);
	while (device->queues) {
		struct verbs_queue *queue = device->queues;
		struct verbs_command destroy = {.kind = VERBS_DESTROY_CQ,
						.argument = {queue->number}};

		(void)verbs_command_do(device, &destroy);
		queue_forget(queue);
	}
	while (device->srqs) {
		struct verbs_command destroy = {.kind = VERBS_DESTROY_SRQ,
						.argument = {device->srqs->number}};

		(void)verbs_command_do(device, &destroy);
		srq_forget(device->srqs);
	}
}
