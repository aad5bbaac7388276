// SPDX-License-Identifier: GPL-2.0
/* Data: reads, writes, sends. Nothing here calls the kernel, unless the load waits for events. */
#include <errno.h>

#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define REAP 16 /* completions at once */

static __u32 transfers_window(const struct verbs_load_config *config)
{
	return config->test == LOAD_write_bandwidth || config->test == LOAD_pressure
		       ? config->outstanding
		       : 1;
}

/* Where the next transfer is at the other end, and where at this one: in the region of that number of each. */
struct transfer_place {
	__u64 remote, local;
	__u64 bytes;
	__u32 region;
};

static struct transfer_place next_place(struct load_lane *lane)
{
	const struct load_end *end = lane->end;
	const struct verbs_load_config *config = end->config;
	__u64 slot = load_slot_bytes(config), at, regions, per;

	switch (config->test) {
	case LOAD_write_bandwidth:
		at = lane->sent % config->outstanding * config->size;
		return (struct transfer_place){at, at, config->size, 0};
	case LOAD_kv:
		at = random_below(&lane->random, config->keys) * slot;
		return (struct transfer_place){at, lane->index * slot,
					       LOAD_KEY_BYTES + config->size, 0};
	case LOAD_pressure:
		regions = end->share->facts[1].regions;
		if (regions > end->regions)
			regions = end->regions;
		per = config->piece / config->size;
		at = random_below(&lane->random, regions * per);
		return (struct transfer_place){at % per * config->size, at % per * config->size,
					       config->size, (__u32)(at / per)};
	default:
		return (struct transfer_place){0, 0, config->size, 0};
	}
}

static void post_transfer(struct load_lane *lane)
{
	const struct load_end *end = lane->end;
	struct transfer_place place = next_place(lane);
	const struct load_region *there = &end->share->facts[!end->index].region[place.region];
	const struct load_region *here = &end->share->facts[end->index].region[place.region];
	__u32 slot = lane->sent % LOAD_OUTSTANDING_MAX;
	struct verbs_send send = {
		.id = lane->sent,
		.remote_address = there->address + place.remote,
		.remote_key = there->key,
		.opcode = end->config->test == LOAD_write_bandwidth ? VERBS_WRITE : VERBS_READ,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece = {{here->address + place.local, (__u32)place.bytes, here->key}},
	};
	int error;

	lane->offset[slot] = there->offset + place.remote;
	lane->local[slot] = here->offset + place.local;
	lane->posted_ns[slot] = monotonic_ns();
	error = verbs_post_send(lane->pair, &send);
	if (error)
		load_lane_failed(lane, failed(error, "a work request was not taken"));
	lane->sent++;
}

static bool completed_well(struct load_lane *lane, const struct verbs_completion *completion)
{
	if (completion->status == VERBS_SUCCESS)
		return true;
	load_lane_failed(lane, failed(-EIO, "work request %llu completed with \"%s\"",
				      completion->id, verbs_status_name(completion->status)));
	return false;
}

/* A store is asked for a key: what is there has to be it. */
static bool is_right(const struct load_lane *lane, __u32 slot)
{
	const struct verbs_load_config *config = lane->end->config;
	__u64 bytes = config->size + (config->test == LOAD_kv ? LOAD_KEY_BYTES : 0);

	if (config->test == LOAD_write_bandwidth)
		return true;
	if (!config->verify)
		bytes = config->test == LOAD_kv ? LOAD_KEY_BYTES : 0;
	return load_right(lane->end, lane->offset[slot], bytes, lane->local[slot]);
}

static void load_reap(struct load_lane *lane)
{
	struct verbs_completion completions[REAP];
	int count = load_completions(lane, REAP, completions);
	__u64 now_ns = monotonic_ns();

	for (int i = 0; i < count; i++) {
		__u32 slot = completions[i].id % LOAD_OUTSTANDING_MAX;

		lane->done++;
		if (!completed_well(lane, &completions[i]))
			return;
		load_count(lane, now_ns - lane->posted_ns[slot], lane->end->config->size);
		lane->counts->mismatches += !is_right(lane, slot);
	}
	if (!count)
		__builtin_ia32_pause();
}

void load_transfers(struct load_lane *lane)
{
	__u32 window = transfers_window(lane->end->config);

	if (!lane->end->regions || !lane->end->share->facts[1].regions) {
		lane->counts->finished = true; /* all of it was refused: there is nothing to read */
		return;
	}
	for (;;) {
		bool more = load_goes_on(lane, lane->sent, monotonic_ns());

		while (more && lane->sent - lane->done < window) {
			post_transfer(lane);
			more = load_goes_on(lane, lane->sent, lane->counts->end_ns);
		}
		if (lane->sent == lane->done || load_share_stopping(lane->end->share))
			break;
		load_reap(lane);
	}
	lane->counts->finished = !load_share_stopping(lane->end->share);
}

/* The second half of its memory. */
static __u64 inbox_of(const struct load_end *end)
{
	return end->memory_bytes / 2;
}

static void load_post_receive(struct load_lane *lane)
{
	const struct verbs_mr *region = &lane->end->region[0];
	struct verbs_receive receive = {
		.pieces = 1,
		.piece = {{region->address + inbox_of(lane->end), (__u32)lane->end->config->size,
			   region->key}},
	};
	int error = verbs_post_recv(lane->pair, &receive);

	if (error)
		load_lane_failed(lane, failed(error, "a receive was not taken"));
}

static void load_post(struct load_lane *lane)
{
	const struct verbs_mr *region = &lane->end->region[0];
	struct verbs_send send = {
		.opcode = VERBS_SEND,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece = {{region->address, (__u32)lane->end->config->size, region->key}},
	};
	int error = verbs_post_send(lane->pair, &send);

	if (error)
		load_lane_failed(lane, failed(error, "a message was not taken"));
}

/* Until there is a message, and all that was sent has gone. False: it stops. */
static bool await_message(struct load_lane *lane, bool sent, bool *heard)
{
	struct verbs_completion completions[REAP];
	enum load_stage over = LOAD_MEASURED;

	while (!*heard || sent) {
		int count = load_completions(lane, REAP, completions);

		for (int i = 0; i < count; i++) {
			if (!completed_well(lane, &completions[i]))
				return false;
			if (completions[i].opcode == VERBS_RECEIVE)
				*heard = true;
			else
				sent = false;
		}
		if (load_share_stopping(lane->end->share))
			return false;
		if (!count && atomic_load(&lane->end->share->stage[!lane->end->index]) >= over)
			return false;
		if (!count)
			__builtin_ia32_pause();
	}
	return true;
}

static void check_message(struct load_lane *lane)
{
	const struct load_end *end = lane->end;

	if (end->config->verify && !load_right(end, 0, end->config->size, inbox_of(end)))
		lane->counts->mismatches++;
}

void load_ping(struct load_lane *lane)
{
	while (load_goes_on(lane, lane->done, monotonic_ns())) {
		__u64 start_ns = monotonic_ns();
		bool heard = false;

		load_post_receive(lane);
		load_post(lane);
		if (!await_message(lane, true, &heard))
			return;
		load_count(lane, monotonic_ns() - start_ns, lane->end->config->size);
		lane->done++;
		check_message(lane);
	}
	lane->counts->finished = !load_share_stopping(lane->end->share);
}

void load_pong_begin(struct load_lane *lane)
{
	load_post_receive(lane);
}

void load_pong(struct load_lane *lane)
{
	bool sent = false, heard;

	for (;; sent = true) {
		heard = false;
		if (!await_message(lane, sent, &heard))
			break;
		check_message(lane);
		/* Before the answer, after which the next message may come. */
		load_post_receive(lane);
		load_post(lane);
	}
	lane->counts->finished = true;
}
