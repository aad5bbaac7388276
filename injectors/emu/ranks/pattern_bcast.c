// SPDX-License-Identifier: GPL-2.0
/* As IMB's Bcast: a binomial tree, whose root is another rank each time. */
#include "injectors/emu/ranks/rank_pattern.h"

#define BCAST_CHILDREN 6 /* of a rank at most, log2(RANKS_MAX) */

_Static_assert(1 << BCAST_CHILDREN == RANKS_MAX, "the tree of all ranks");

struct bcast {
	struct rank_part part; /* without its peer */
	__u32 root, place;     /* 0: the root */
};

static __u32 bcast_peer(const struct rank *rank, const struct bcast *bcast, __u32 place)
{
	return (place + bcast->root) % rank->config->count;
}

/* The one whose place has the lowest bit of ours less. */
static int bcast_receive(struct rank *rank, const struct bcast *bcast)
{
	struct rank_part part = bcast->part;
	__u64 number;
	int err;

	part.peer = bcast_peer(rank, bcast, bcast->place & (bcast->place - 1));
	err = rank_receive(rank, &part, &number);
	return err ? err : rank_await_received(rank, part.peer, number);
}

/* Those with one bit more, below the lowest of ours. */
static int bcast_forward(struct rank *rank, const struct bcast *bcast)
{
	__u32 lowest = bcast->place ? bcast->place & -bcast->place : RANKS_MAX, bit;
	struct rank_part part = bcast->part;
	__u64 number[BCAST_CHILDREN];
	__u32 peer[BCAST_CHILDREN], children = 0;
	int err = 0;

	/* What came is sent on as it is. */
	if (bcast->place)
		part.seed = 0;
	for (bit = lowest >> 1; !err && bit; bit >>= 1) {
		if (bcast->place + bit >= rank->config->count)
			continue;
		part.peer = bcast_peer(rank, bcast, bcast->place + bit);
		peer[children] = part.peer;
		err = rank_send(rank, &part, &number[children++]);
		part.seed = 0;
	}
	for (__u32 i = 0; !err && i < children; i++)
		err = rank_await_sent(rank, peer[i], number[i]);
	return err;
}

static int bcast_step(struct rank *rank, __u64 step, __u64 bytes)
{
	__u32 count = rank->config->count, root = (__u32)(step % count);
	struct bcast bcast = {
		.part = {.address = rank_next_buffer(rank),
			 .bytes = bytes,
			 .seed = ranks_group_seed(rank->group, root, root, step)},
		.root = root,
		.place = (rank->index + count - root) % count,
	};
	int err = bcast.place ? bcast_receive(rank, &bcast) : 0;

	return err ? err : bcast_forward(rank, &bcast);
}

const struct rank_pattern bcast_pattern = {
	.name = "bcast",
	.talk = pattern_talks_to_all,
	.slots = 1,
	.leases = BCAST_CHILDREN + 1,
	.step = bcast_step,
};
