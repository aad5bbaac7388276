// SPDX-License-Identifier: GPL-2.0
/* Queues of a load's ends: made, connected, polled, taken down. */
#include <errno.h>

#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RECEIVES 4 /* of a test of sends: more than there are ever under way */
#define WAIT_NS	 (50 * NSEC_PER_MSEC)

static __u32 power_of_two_to(__u32 value)
{
	__u32 power = 1;

	while (power < value)
		power *= 2;
	return power;
}

static __u32 queues_window(const struct verbs_load_config *config)
{
	bool streams = config->test == LOAD_write_bandwidth || config->test == LOAD_pressure;

	return streams ? power_of_two_to(config->outstanding) : RECEIVES;
}

__u32 verbs_load_depth(const struct verbs_load_config *config)
{
	return config->test == LOAD_create_qp ? config->entries
					      : 2 * power_of_two_to(queues_window(config));
}

/* Bytes of the queues of one lane. */
static __u64 lane_bytes(const struct verbs_load_config *config)
{
	__u32 window = queues_window(config), depth = verbs_load_depth(config);

	if (config->test == LOAD_create_qp)
		return whole_pages(verbs_completion_bytes(depth)) +
		       whole_pages(verbs_pair_bytes(config->entries, config->entries));
	return whole_pages(verbs_completion_bytes(depth)) +
	       whole_pages(verbs_pair_bytes(window, RECEIVES));
}

__u64 verbs_load_bytes(const struct verbs_load_config *config, bool on_peer)
{
	if (on_peer && !verbs_load_moves(config->test))
		return LOAD_RESERVED;
	return LOAD_RESERVED + verbs_load_pairs(config) * lane_bytes(config) +
	       verbs_load_memory_bytes(config, on_peer);
}

static int no_room(__u64 bytes)
{
	return failed(-ENOMEM, "its device has no %llu KiB of memory for queues", bytes >> 10);
}

/* Who serves sleeps: two that poll and the devices' engines would be too many for two CPUs. */
static bool lane_sleeps(const struct load_lane *lane)
{
	return lane->end->config->events || lane->end->index;
}

static int open_channel(struct load_lane *lane)
{
	int error = load_needs(lane->end, "a completion channel",
			       verbs_create_channel(lane->end->place->device, &lane->channel));

	if (!error)
		verbs_set_channel(lane->queue, lane->channel);
	return error;
}

static int open_load_queue(struct load_lane *lane)
{
	struct load_place *place = lane->end->place;
	__u32 depth = verbs_load_depth(lane->end->config);
	__u64 address, bytes = whole_pages(verbs_completion_bytes(depth));
	int error;

	if (!place->allocate(place, bytes, &address))
		return no_room(bytes);
	error = load_needs(lane->end, "a completion queue",
			   verbs_create_cq(place->device, &lane->queue, address, depth));
	return error || !lane_sleeps(lane) ? error : open_channel(lane);
}

static int open_pair(struct load_lane *lane)
{
	struct load_place *place = lane->end->place;
	struct verbs_pair_attributes attributes = {
		.send_queue = lane->queue,
		.receive_queue = lane->queue,
		.send_depth = queues_window(lane->end->config),
		.receive_depth = RECEIVES,
	};
	__u64 bytes =
		whole_pages(verbs_pair_bytes(attributes.send_depth, attributes.receive_depth));
	int error;

	if (!place->allocate(place, bytes, &attributes.guest_address))
		return no_room(bytes);
	error = load_needs(lane->end, "a queue pair",
			   verbs_create_qp(place->device, &lane->pair, &attributes));
	if (!error)
		error = load_needs(lane->end, "the state INIT of a queue pair",
				   verbs_modify_qp(lane->pair, VERBS_INIT, 0, false));
	if (!error)
		lane->end->share->facts[lane->end->index].pair[lane->index] =
			verbs_pair_number(lane->pair);
	return error;
}

static int open_lane(struct load_end *end, __u32 index)
{
	struct load_lane *lane = &end->lane[index];
	__u32 entries = end->config->entries;
	int error = open_load_queue(lane);

	if (error)
		return error;
	if (verbs_load_moves(end->config->test))
		return open_pair(lane);
	if (!end->place->allocate(end->place, whole_pages(verbs_pair_bytes(entries, entries)),
				  &end->room_address))
		return no_room(verbs_pair_bytes(entries, entries));
	return 0;
}

int load_queues_open(struct load_end *end)
{
	int error = 0;

	for (__u32 i = 0; !error && i < verbs_load_pairs(end->config); i++)
		error = open_lane(end, i);
	return error;
}

int load_queues_connect(struct load_end *end)
{
	const struct load_facts *other = &end->share->facts[!end->index];
	int error = 0;

	for (__u32 i = 0; !error && i < verbs_load_pairs(end->config); i++) {
		struct load_lane *lane = &end->lane[i];

		if (!lane->pair)
			continue;
		error = load_needs(end, "the state RTR of a queue pair",
				   verbs_modify_qp(lane->pair, VERBS_RTR, other->pair[i], false));
		if (!error)
			error = load_needs(
				end, "the state RTS of a queue pair",
				verbs_modify_qp(lane->pair, VERBS_RTS, other->pair[i], false));
	}
	return error;
}

void load_queues_close(struct load_end *end)
{
	for (__u32 i = 0; i < LOAD_CLIENTS_MAX; i++) {
		struct load_lane *lane = &end->lane[i];

		if (lane->pair)
			verbs_destroy_qp(lane->pair);
		if (lane->queue)
			verbs_destroy_cq(lane->queue);
		if (lane->channel)
			verbs_destroy_channel(lane->channel);
		lane->pair = NULL;
		lane->queue = NULL;
		lane->channel = NULL;
	}
}

/* As a program of libibverbs' does it: armed, polled once more, and then the channel is asked for the event. */
int load_completions(struct load_lane *lane, int count, struct verbs_completion *completions)
{
	int taken = verbs_poll_cq(lane->queue, count, completions), error;
	struct verbs_queue *which;

	if (taken || !lane->channel)
		return taken;
	verbs_arm_cq(lane->queue);
	taken = verbs_poll_cq(lane->queue, count, completions);
	if (taken)
		return taken;
	/* Not for ever: the other end may have gone. */
	error = verbs_get_cq_event(lane->channel, &which, monotonic_ns() + WAIT_NS);
	if (error && error != -ETIMEDOUT)
		load_share_stop(lane->end->share);
	return 0;
}
