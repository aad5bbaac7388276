// SPDX-License-Identifier: GPL-2.0
/* A rank's queues and buffers: made, connected, taken down. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/ranks/rank_pattern.h"
#include "injectors/emu/ranks/rank_queues.h"
#include "lib/base/fail.h"

static __u32 channel_count(const struct rank *rank)
{
	__u32 count = 0;

	for (__u32 peer = 0; peer < rank->config->count; peer++)
		count +=
			peer != rank->index && rank->pattern->talk(rank->config, rank->index, peer);
	return count;
}

static int create_rank_queue(struct rank *rank, __u32 channels)
{
	__u32 depth = rank_completions(rank->layout.window, channels);
	int err = guest_heap_take(rank->memory->heap, verbs_completion_bytes(depth),
				  &rank->queue_address);

	return err ? err
		   : verbs_create_cq(rank->memory->device, &rank->queue, rank->queue_address,
				     depth);
}

/* Registered memory beside the program's buffers: small messages, and what a pattern works in. */
static int create_own_memory(struct rank *rank, __u32 channels)
{
	struct rank_memory *memory = rank->memory;
	__u64 bytes = rank_small_bytes(rank->layout.window, channels);
	enum verbs_region kind =
		rank->config->memory == RANKS_MEMORY_demand ? VERBS_DEMAND : VERBS_PINNED;
	int err = guest_heap_take(memory->heap, bytes, &rank->small_address);

	if (!err)
		err = verbs_reg_mr(memory->device, &rank->small, rank->small_address, bytes,
				   VERBS_PINNED, VERBS_LOCAL_WRITE);
	rank->work_bytes = rank->pattern->work * rank->layout.largest;
	if (err || !rank->work_bytes)
		return err;
	err = guest_heap_take(memory->heap, rank->work_bytes, &rank->work_address);
	if (!err)
		err = verbs_reg_mr(memory->device, &rank->work, rank->work_address,
				   rank->work_bytes, kind, MEMORY_RIGHTS);
	return err;
}

static int create_rank_pair(struct rank *rank, struct rank_channel *channel, enum rank_lane lane)
{
	__u32 window = rank->layout.window;
	bool control = lane == RANK_CONTROL;
	struct verbs_pair_attributes attributes = {
		.send_queue = rank->queue,
		.receive_queue = rank->queue,
		.send_depth = control ? rank_controls(window) : rank_send_depth(window),
		.receive_depth = control ? rank_controls(window) : rank_receive_depth(window),
	};
	int err = guest_heap_take(rank->memory->heap, rank_lane_bytes(window, lane),
				  &channel->pair_address[lane]);

	if (err)
		return err;
	attributes.guest_address = channel->pair_address[lane];
	err = verbs_create_qp(rank->memory->device, &channel->pair[lane], &attributes);
	if (!err)
		err = verbs_modify_qp(channel->pair[lane], VERBS_INIT, 0, false);
	if (!err)
		rank->group->number[rank->index][channel->peer][lane] =
			verbs_pair_number(channel->pair[lane]);
	return err;
}

static int create_channel(struct rank *rank, __u32 peer, __u32 place)
{
	__u32 window = rank->layout.window;
	struct rank_channel *channel = calloc(1, sizeof(*channel));
	int err = 0;

	if (!channel)
		return failed(-ENOMEM, "no memory for a rank");
	rank->channel[peer] = channel;
	channel->peer = peer;
	channel->out.message = calloc(window, sizeof(*channel->out.message));
	channel->in.message = calloc(window, sizeof(*channel->in.message));
	channel->told = calloc(window, sizeof(*channel->told));
	if (!channel->out.message || !channel->in.message || !channel->told)
		return failed(-ENOMEM, "no memory for a rank");
	channel->controls = rank_controls(window);
	channel->control_address = rank->small_address +
				   2ull * place * channel->controls * sizeof(struct rank_control);
	for (int lane = 0; !err && lane < RANK_LANES; lane++)
		err = create_rank_pair(rank, channel, lane);
	return err ? err : rank_post_control_receives(rank, channel);
}

int rank_create(struct rank *rank)
{
	__u32 channels = channel_count(rank), place = 0;
	int err = create_rank_queue(rank, channels);

	histogram_init(&rank->result.latency);
	if (!err)
		err = create_own_memory(rank, channels);
	for (__u32 peer = 0; !err && peer < rank->config->count; peer++)
		if (peer != rank->index && rank->pattern->talk(rank->config, rank->index, peer))
			err = create_channel(rank, peer, place++);
	return err;
}

int rank_connect(struct rank *rank)
{
	int err = 0;

	for (__u32 peer = 0; !err && peer < rank->config->count; peer++) {
		struct rank_channel *channel = rank->channel[peer];
		bool loopback = peer % 2 == rank->index % 2;

		for (int lane = 0; !err && channel && lane < RANK_LANES; lane++) {
			__u32 number = rank->group->number[peer][rank->index][lane];

			err = verbs_modify_qp(channel->pair[lane], VERBS_RTR, number, loopback);
			if (!err)
				err = verbs_modify_qp(channel->pair[lane], VERBS_RTS, number,
						      loopback);
		}
	}
	return err;
}

static void destroy_channel(struct rank *rank, struct rank_channel *channel)
{
	for (int lane = 0; lane < RANK_LANES; lane++) {
		if (channel->pair[lane])
			verbs_destroy_qp(channel->pair[lane]);
		if (channel->pair_address[lane])
			guest_heap_give(rank->memory->heap, channel->pair_address[lane]);
	}
	free(channel->out.message);
	free(channel->in.message);
	free(channel->told);
	free(channel);
}

void rank_destroy(struct rank *rank)
{
	struct guest_heap *heap = rank->memory->heap;

	for (__u32 peer = 0; peer < rank->config->count; peer++)
		if (rank->channel[peer])
			destroy_channel(rank, rank->channel[peer]);
	if (rank->queue)
		verbs_destroy_cq(rank->queue);
	if (rank->queue_address)
		guest_heap_give(heap, rank->queue_address);
	if (rank->small.bytes)
		verbs_dereg_mr(rank->memory->device, &rank->small);
	if (rank->small_address)
		guest_heap_give(heap, rank->small_address);
	if (rank->work.bytes)
		verbs_dereg_mr(rank->memory->device, &rank->work);
	if (rank->work_address)
		guest_heap_give(heap, rank->work_address);
}
