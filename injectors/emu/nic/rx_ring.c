// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/rx_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/rx_cache.h"
#include "lib/base/fail.h"

static int check_settings(const struct rx_settings *settings)
{
	if (!settings->size || settings->size > RX_RING_SIZE_MAX)
		return failed(-EINVAL, "a receive ring of %u buffers: accepted: 1 to %u",
			      settings->size, RX_RING_SIZE_MAX);
	if (!settings->buffer_bytes || !settings->frame_bytes)
		return failed(-EINVAL,
			      "a receive ring needs buffers and frames of a byte at least");
	if (settings->policy->wants_backup &&
	    (!settings->bitmap_bits || settings->bitmap_bits > RX_BITMAP_BITS_MAX))
		return failed(-EINVAL, "a bitmap of %u: accepted: 1 to %u", settings->bitmap_bits,
			      RX_BITMAP_BITS_MAX);
	if (settings->policy->wants_backup && !settings->backup)
		return failed(-EINVAL, "receive policy %s needs a backup ring",
			      settings->policy->name);
	if (settings->policy->wants_cache && !settings->cache)
		return failed(-EINVAL, "receive policy %s needs a frame cache",
			      settings->policy->name);
	return 0;
}

int rx_ring_create(struct rx_ring *ring, const struct rx_settings *settings)
{
	int err = check_settings(settings);

	if (err)
		return err;
	*ring = (struct rx_ring){
		.policy = settings->policy,
		.id = settings->id,
		.size = settings->size,
		.buffer_bytes = settings->buffer_bytes,
		.frame_bytes = settings->frame_bytes,
		.present = settings->present,
		.self = settings->self,
		.absent = RX_NO_SLOT,
		.backup = settings->backup,
		.bm_size = settings->bitmap_bits,
		.cache = settings->cache,
	};
	return ring->policy->create ? ring->policy->create(ring) : 0;
}

void rx_ring_destroy(struct rx_ring *ring)
{
	free(ring->bitmap);
	free(ring->order);
	ring->bitmap = NULL;
	ring->order = NULL;
}

static void verdict_begin(const struct rx_ring *ring, __u32 length, struct rx_verdict *verdict)
{
	verdict->reason = LOSS_UNKNOWN;
	verdict->count = length > ring->buffer_bytes
				 ? (length + ring->buffer_bytes - 1) / ring->buffer_bytes
				 : 1;
	verdict->position = ring->head + ring->head_offset;
	verdict->bit = 0;
	verdict->absent = RX_NO_SLOT;
}

static void count_stored(struct rx_ring *ring, __u32 length)
{
	ring->counters.stored++;
	ring->counters.stored_bytes += length;
}

static __u32 count_advanced(struct rx_ring *ring, __u64 head)
{
	ring->counters.advanced += ring->head - head;
	return (__u32)(ring->head - head);
}

static bool is_overlong(const struct rx_ring *ring, __u32 length, __u32 count)
{
	return length > ring->frame_bytes || count > ring->size || count > RX_FRAME_BUFFERS;
}

void rx_ring_receive(struct rx_ring *ring, const struct rx_frame *frame, struct rx_verdict *verdict)
{
	__u64 head = ring->head;

	verdict_begin(ring, frame->length, verdict);
	ring->counters.in++;
	if (is_overlong(ring, frame->length, verdict->count)) {
		verdict->place = RX_LOST;
		verdict->reason = LOSS_OVERLONG;
	} else {
		verdict->place = ring->policy->receive(ring, frame, verdict);
	}
	verdict->advanced = count_advanced(ring, head);
	if (verdict->place == RX_STORE) {
		count_stored(ring, frame->length);
	} else if (verdict->place == RX_LOST) {
		ring->counters.lost[verdict->reason]++;
	} else {
		ring->counters.held++;
		ring->counters.held_ever++;
	}
}

void rx_ring_lose(struct rx_ring *ring, enum loss_reason reason)
{
	ring->counters.in++;
	ring->counters.lost[reason]++;
}

int rx_ring_post(struct rx_ring *ring, __u64 tail)
{
	if (tail < ring->tail || tail - ring->head > ring->size)
		return -EINVAL;
	ring->tail = tail;
	ring->starved = 0;
	return 0;
}

void rx_ring_restart(struct rx_ring *ring)
{
	ring->tail = ring->head;
	ring->unseen = false;
	ring->paused = false;
	ring->absent = RX_NO_SLOT;
	rx_ring_retry(ring);
}

void rx_ring_retry(struct rx_ring *ring)
{
	if (ring->policy->retry)
		ring->policy->retry(ring);
}

bool rx_ring_next(struct rx_ring *ring, struct rx_frame *frame, struct rx_verdict *verdict)
{
	__u64 head = ring->head;

	if (!ring->cached.count)
		return false;
	verdict_begin(ring, rx_cache_first_length(ring->cache, &ring->cached), verdict);
	if (!ring->policy->next(ring, frame, verdict))
		return false;
	verdict->place = RX_STORE;
	verdict->advanced = count_advanced(ring, head);
	ring->counters.held--;
	count_stored(ring, frame->length);
	return true;
}

bool rx_ring_discard(struct rx_ring *ring, enum loss_reason reason, struct rx_frame *frame)
{
	if (!ring->cached.count)
		return false;
	rx_cache_pop(ring->cache, &ring->cached, frame);
	ring->paused = false;
	ring->counters.held--;
	ring->counters.lost[reason]++;
	return true;
}

__u32 rx_ring_resolve(struct rx_ring *ring, __u64 bit, __u32 count, __u32 length, bool written)
{
	__u64 head = ring->head;

	ring->policy->resolve(ring, bit, count);
	ring->counters.held--;
	if (written)
		count_stored(ring, length);
	else
		ring->counters.lost[LOSS_FAULT]++;
	return count_advanced(ring, head);
}
