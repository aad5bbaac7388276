// SPDX-License-Identifier: GPL-2.0
/*
 * As b_eff, the effective bandwidth benchmark (Rabenseifner 2001): rings in which each sends to both of its neighbours, every other
 * one in an order of chance.
 */
#include "injectors/emu/ranks/rank_pattern.h"
#include "lib/base/random.h"

/* The ranks in the order of a ring. All of them draw the same. */
static void beff_ring(const struct rank *rank, __u64 step, __u8 *ring)
{
	struct random random = {rank->config->seed + step};
	__u32 count = rank->config->count;

	for (__u32 i = 0; i < count; i++)
		ring[i] = (__u8)i;
	for (__u32 i = count - 1; step % 2 && i; i--) {
		__u32 other = (__u32)random_below(&random, i + 1);
		__u8 taken = ring[i];

		ring[i] = ring[other];
		ring[other] = taken;
	}
}

/* Both directions at once: the number of each message, and the ranks to the left and right. */
struct beff {
	__u32 peer[2];
	__u64 received[2], sent[2];
};

/* Of two neighbours that are one rank the first message goes to its right: what we get first comes from our left. */
static int beff_begin(struct rank *rank, struct beff *beff, __u64 step, __u64 bytes)
{
	int err = 0;

	for (int side = 0; !err && side < 2; side++) {
		struct rank_part in = {
			.peer = beff->peer[side],
			.address = rank_next_buffer(rank),
			.bytes = bytes,
			.seed = ranks_group_seed(rank->group, beff->peer[side], rank->index, step)};

		err = rank_receive(rank, &in, &beff->received[side]);
	}
	for (int side = 1; !err && side >= 0; side--) {
		struct rank_part out = {
			.peer = beff->peer[side],
			.address = rank_next_buffer(rank),
			.bytes = bytes,
			.seed = ranks_group_seed(rank->group, rank->index, beff->peer[side], step)};

		err = rank_send(rank, &out, &beff->sent[side]);
	}
	return err;
}

static int beff_step(struct rank *rank, __u64 step, __u64 bytes)
{
	__u32 count = rank->config->count, place = 0;
	__u8 ring[RANKS_MAX];
	struct beff beff;
	int err;

	beff_ring(rank, step, ring);
	while (ring[place] != rank->index)
		place++;
	beff.peer[0] = ring[(place + count - 1) % count];
	beff.peer[1] = ring[(place + 1) % count];
	err = beff_begin(rank, &beff, step, bytes);
	for (int side = 0; !err && side < 2; side++)
		err = rank_await_received(rank, beff.peer[side], beff.received[side]);
	for (int side = 0; !err && side < 2; side++)
		err = rank_await_sent(rank, beff.peer[side], beff.sent[side]);
	return err;
}

const struct rank_pattern beff_pattern = {
	.name = "beff",
	.talk = pattern_talks_to_all,
	.slots = 4,
	.leases = 4,
	.step = beff_step,
};
