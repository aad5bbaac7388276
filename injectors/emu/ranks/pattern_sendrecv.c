// SPDX-License-Identifier: GPL-2.0
/* As IMB's Sendrecv: a ring, each sends to its right and receives from its left at once. */
#include "injectors/emu/ranks/rank_pattern.h"

static int sendrecv_step(struct rank *rank, __u64 step, __u64 bytes)
{
	__u32 count = rank->config->count;

	return pattern_exchange(rank, step, (rank->index + 1) % count,
				(rank->index + count - 1) % count, bytes);
}

const struct rank_pattern sendrecv_pattern = {
	.name = "sendrecv",
	.talk = pattern_is_neighbour,
	.slots = 2,
	.leases = 2,
	.step = sendrecv_step,
};
