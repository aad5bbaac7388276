// SPDX-License-Identifier: GPL-2.0
/*
 * The IOprovider (NPF section 5): empties the backup ring at once into a queue for each ring, then sees to each held
 * frame: the guest has posted its buffers, their pages are there, the bytes are copied, the NIC is told. It
 * waits for all of them together, so that one that takes long holds up nobody else's.
 */
#include <errno.h>

#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/thread.h"

#define TRIED_AT_ONCE 256 /* held frames of a ring, from the oldest on */

static bool drain_backup(struct nic *nic)
{
	const struct rx_held *held;
	bool any = false;

	while ((held = rx_backup_first(nic->backup))) {
		rx_queue_take(nic->ring[held->ring].queue, nic->backup);
		any = true;
	}
	return any;
}

static bool take_buffers(struct nic_ring *ring, const struct rx_held *held)
{
	struct nic_store *store = &ring->nic->provider_store;
	__u64 page;
	bool all = true;

	/* All are looked at, so that all that are absent are asked for. */
	ring->placing = held->count;
	for (__u32 i = 0; i < held->count; i++)
		all &= ring_take(ring, held->position + i, store, &page);
	ring_ask(ring);
	if (!all)
		references_drop(ring->nic, store);
	return all;
}

static void deliver_held(struct nic_ring *ring, const struct rx_held *held)
{
	struct nic *nic = ring->nic;
	struct nic_frame frame = nic_frame_held(nic, &held->frame);
	__u32 advanced;

	ring_write(ring, held->position, held->count, &frame, &nic->provider_store, true,
		   monotonic_ns());
	advanced = rx_ring_resolve(&ring->state, held->bit, held->count, frame.length, true);
	account_delivered(ring, &frame, HOLD_BACKUP);
	if (advanced)
		account_head(ring, advanced);
}

void ring_give_up_held(struct nic_ring *ring)
{
	__u64 number, end;

	if (!ring->queue)
		return;
	drain_backup(ring->nic);
	number = rx_queue_head(ring->queue);
	end = rx_queue_tail(ring->queue);
	for (; number < end; number++) {
		const struct rx_held *held = rx_queue_at(ring->queue, number);
		struct nic_frame frame = nic_frame_held(ring->nic, &held->frame);

		if (held->finished)
			continue;
		ring_write_nothing(ring, held->position, held->count);
		(void)rx_ring_resolve(&ring->state, held->bit, held->count, frame.length, false);
		account_lost(ring, &frame, LOSS_NO_BUFFER, (struct nic_blame){0});
		rx_queue_finish(ring->queue, number);
	}
}

/* Whether any of this ring's held frames has got its buffers. */
static bool ring_provide(struct nic_ring *ring)
{
	__u64 number = rx_queue_head(ring->queue), end = rx_queue_tail(ring->queue);
	bool any = false;

	if (number == end)
		return false;
	if (ring->halted) {
		ring_give_up_held(ring);
		return true;
	}
	atomic_store(&ring->registers->tail_wanted, true);
	ring_fetch(ring);
	for (__u32 tried = 0; number < end && tried < TRIED_AT_ONCE; number++) {
		const struct rx_held *held = rx_queue_at(ring->queue, number);

		if (held->finished)
			continue;
		tried++;
		if (!rx_ring_posted(&ring->state, held->position, held->count))
			break;
		if (!take_buffers(ring, held))
			continue;
		deliver_held(ring, held);
		rx_queue_finish(ring->queue, number);
		any = true;
	}
	if (any)
		account_released(ring);
	return any;
}

void *nic_provide(void *argument)
{
	struct nic *nic = argument;

	pthread_mutex_lock(&nic->lock);
	while (!nic_stopping(nic)) {
		__u64 until = monotonic_ns() + NIC_ACCOUNT_NS;
		bool any = drain_backup(nic);

		for (__u32 r = 0; r < nic->queues; r++) {
			any |= ring_provide(&nic->ring[r]);
			if (nic->ring[r].retry_ns && nic->ring[r].retry_ns < until)
				until = nic->ring[r].retry_ns;
		}
		/* The head has moved: completions are the receiving thread's. */
		if (any)
			nic_wake(nic);
		else
			monotonic_cond_wait_until(&nic->changed, &nic->lock, until);
	}
	pthread_mutex_unlock(&nic->lock);
	return NULL;
}
