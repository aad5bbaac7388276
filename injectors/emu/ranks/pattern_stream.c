// SPDX-License-Identifier: GPL-2.0
/* As ib_send_bw and its sisters: of each two ranks the even one sends all the time, `depth` messages at once. */
#include "injectors/emu/ranks/rank_pattern.h"

static bool stream_talks(const struct ranks_config *config, __u32 a, __u32 b)
{
	(void)config;
	return a != b && a / 2 == b / 2;
}

static struct rank_part stream_part(struct rank *rank, __u32 from, __u32 to, __u64 number)
{
	return (struct rank_part){
		.peer = from == rank->index ? to : from,
		.address = rank_next_buffer(rank),
		.bytes = ranks_group_size(rank->group, rank->index / 2, number),
		.seed = ranks_group_seed(rank->group, from, to, number),
	};
}

static int stream_out(struct rank *rank, __u64 step)
{
	__u32 to = rank->index + 1, depth = rank->config->depth;
	struct rank_part part;
	/* A buffer is used again once its message has arrived. */
	int err = step >= depth ? rank_await_sent(rank, to, step - depth) : 0;

	if (err)
		return err;
	part = stream_part(rank, rank->index, to, step);
	return rank_send(rank, &part, NULL);
}

static int stream_in(struct rank *rank, __u64 step)
{
	__u32 from = rank->index - 1;
	const struct rank_direction *in = &rank->channel[from]->in;
	int err = 0;

	while (!err && in->wanted < step + rank->config->depth) {
		struct rank_part part = stream_part(rank, from, rank->index, in->wanted);

		err = rank_receive(rank, &part, NULL);
	}
	return err ? err : rank_await_received(rank, from, step);
}

static int stream_step(struct rank *rank, __u64 step, __u64 bytes)
{
	(void)bytes; /* of several messages that are received at once each has its own */
	return rank->index % 2 ? stream_in(rank, step) : stream_out(rank, step);
}

const struct rank_pattern stream_pattern = {
	.name = "stream",
	.talk = stream_talks,
	.streams = true,
	.step = stream_step,
};
