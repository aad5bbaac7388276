/* SPDX-License-Identifier: GPL-2.0 */
/* Depths of a rank's queues, and what they take of guest memory: for the plan and for who makes them. */
#ifndef FAULTLINE_RANK_QUEUES_H
#define FAULTLINE_RANK_QUEUES_H

#include "bpf/page.h"
#include "injectors/emu/ranks/rank.h"

static inline __u32 power_of_two_from(__u32 least)
{
	__u32 power = 2;

	while (power < least)
		power *= 2;
	return power;
}

/* Small messages of one direction between two ranks that can be under way: a grant, or an offer and its end, each. */
static inline __u32 rank_controls(__u32 window)
{
	return power_of_two_from(2 * window);
}

/* A write is followed by an empty send. */
static inline __u32 rank_send_depth(__u32 window)
{
	return power_of_two_from(2 * window);
}

static inline __u32 rank_receive_depth(__u32 window)
{
	return power_of_two_from(window);
}

/* All that can complete of a rank with so many channels. */
static inline __u32 rank_completions(__u32 window, __u32 channels)
{
	return power_of_two_from(channels * (2 * rank_controls(window) + rank_send_depth(window) +
					     rank_receive_depth(window)));
}

static inline __u64 rank_lane_bytes(__u32 window, enum rank_lane lane)
{
	return whole_pages(
		lane == RANK_CONTROL
			? verbs_pair_bytes(rank_controls(window), rank_controls(window))
			: verbs_pair_bytes(rank_send_depth(window), rank_receive_depth(window)));
}

static inline __u64 rank_small_bytes(__u32 window, __u32 channels)
{
	return whole_pages(2ull * channels * rank_controls(window) * sizeof(struct rank_control));
}

#endif
