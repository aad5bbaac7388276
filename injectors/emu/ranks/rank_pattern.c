// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/ranks/rank_pattern.h"

const struct rank_pattern *const rank_patterns[RANKS_PATTERNS] = {
#define RANK_PATTERN(name) &name##_pattern,
#include "injectors/emu/ranks/patterns.def"
#undef RANK_PATTERN
};

bool pattern_talks_to_all(const struct ranks_config *config, __u32 a, __u32 b)
{
	(void)config;
	return a != b;
}

bool pattern_is_neighbour(const struct ranks_config *config, __u32 a, __u32 b)
{
	return (a + 1) % config->count == b || (b + 1) % config->count == a;
}

int pattern_exchange(struct rank *rank, __u64 step, __u32 to, __u32 from, __u64 bytes)
{
	struct rank_part in = {.peer = from,
			       .address = rank_next_buffer(rank),
			       .bytes = bytes,
			       .seed = ranks_group_seed(rank->group, from, rank->index, step)};
	struct rank_part out = {.peer = to,
				.address = rank_next_buffer(rank),
				.bytes = bytes,
				.seed = ranks_group_seed(rank->group, rank->index, to, step)};
	__u64 received, sent;
	int err = rank_receive(rank, &in, &received);

	if (!err)
		err = rank_send(rank, &out, &sent);
	if (!err)
		err = rank_await_received(rank, from, received);
	return err ? err : rank_await_sent(rank, to, sent);
}
