// SPDX-License-Identifier: GPL-2.0
/* What ranks need of their device's memory, before there is any. */
#include "injectors/emu/ranks/rank_pattern.h"
#include "injectors/emu/ranks/rank_queues.h"

/* Two messages each way, at most, between two ranks that wait for each step; bcast may be a root and a leaf. */
#define WINDOW_STEP 4

__u64 ranks_largest(const struct ranks_config *config)
{
	__u64 largest = config->receive_bytes;

	for (__u32 i = 0; i < config->size_count; i++)
		if (config->sizes[i] > largest)
			largest = config->sizes[i];
	return largest;
}

static __u32 channels_of(const struct ranks_config *config, __u32 rank)
{
	__u32 channels = 0;

	for (__u32 other = 0; other < config->count; other++)
		if (other != rank && rank_patterns[config->pattern]->talk(config, rank, other))
			channels++;
	return channels;
}

static __u64 rank_bytes(const struct ranks_config *config, const struct ranks_layout *layout,
			__u32 channels)
{
	__u32 window = layout->window;

	return whole_pages(verbs_completion_bytes(rank_completions(window, channels))) +
	       channels * (rank_lane_bytes(window, RANK_CONTROL) +
			   rank_lane_bytes(window, RANK_DATA)) +
	       rank_small_bytes(window, channels) +
	       rank_patterns[config->pattern]->work * layout->largest;
}

void ranks_plan(const struct ranks_config *config, bool on_peer, __u64 bytes,
		struct ranks_layout *layout)
{
	const struct rank_pattern *pattern = rank_patterns[config->pattern];
	__u32 leases = pattern->streams ? config->depth : pattern->leases;
	__u64 fixed;

	*layout = (struct ranks_layout){
		.largest = whole_pages(ranks_largest(config)),
		.slots = pattern->streams ? config->depth : pattern->slots,
		.window = power_of_two_from(pattern->streams ? config->depth : WINDOW_STEP),
	};
	for (__u32 rank = on_peer; rank < config->count; rank += 2) {
		__u32 channels = channels_of(config, rank);

		layout->local++;
		layout->pairs += channels * RANK_LANES;
		layout->queues += rank_bytes(config, layout, channels);
	}
	if (config->memory == RANKS_MEMORY_copy)
		layout->bounce = (__u64)layout->local * leases * layout->largest;
	layout->buffers = config->buffer_bytes ? whole_pages(config->buffer_bytes)
					       : layout->slots * layout->largest;
	fixed = RANKS_RESERVED + layout->queues + layout->bounce;
	if (!config->buffer_bytes && bytes > fixed) {
		__u64 left = (bytes - fixed) / layout->local & ~(PAGE_BYTES - 1);

		if (left > layout->buffers)
			layout->buffers = left;
	}
	layout->total = fixed + layout->local * layout->buffers;
}

__u64 ranks_pinned(const struct ranks_config *config, const struct ranks_layout *layout)
{
	__u64 queues = layout->queues;

	if (config->memory == RANKS_MEMORY_pin)
		return queues + layout->local * layout->buffers;
	if (config->memory == RANKS_MEMORY_cache)
		return queues + config->cache_bytes;
	if (config->memory == RANKS_MEMORY_copy)
		return queues + layout->bounce;
	return queues -
	       (__u64)layout->local * rank_patterns[config->pattern]->work * layout->largest;
}
