// SPDX-License-Identifier: GPL-2.0
/* As IMB's Alltoall: each has a message for every other, exchanged in as many turns, with another partner each. */
#include "injectors/emu/ranks/rank_pattern.h"

static int alltoall_step(struct rank *rank, __u64 step, __u64 bytes)
{
	__u32 count = rank->config->count;
	int err = 0;

	for (__u32 turn = 1; !err && turn < count; turn++)
		err = pattern_exchange(rank, step, (rank->index + turn) % count,
				       (rank->index + count - turn) % count, bytes);
	return err;
}

const struct rank_pattern alltoall_pattern = {
	.name = "alltoall",
	.talk = pattern_talks_to_all,
	.slots = 2,
	.leases = 2,
	.step = alltoall_step,
};
