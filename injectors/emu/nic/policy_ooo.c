// SPDX-License-Identifier: GPL-2.0
/*
 * VPRI's proposal: the next present buffer takes the frame. Positions stay in order of arrival, so
 * that the head counts completions; what changes is which slot a position means. A buffer that was
 * passed over has been moved behind, oldest first, and is asked for again after rx_ring_retry().
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/rx_ring_private.h"
#include "lib/base/fail.h"

static int ooo_create(struct rx_ring *ring)
{
	ring->order = calloc(ring->size, sizeof(*ring->order));
	if (!ring->order)
		return failed(-ENOMEM, "no memory for a ring of %u", ring->size);
	for (__u32 slot = 0; slot < ring->size; slot++)
		ring->order[slot] = (__u16)slot;
	return 0;
}

static __u16 *slot_of(struct rx_ring *ring, __u64 position)
{
	return &ring->order[position % ring->size];
}

/* The first `count` positions that are present, behind those known as absent. Returns how many
 * there are. */
static __u32 find_present(struct rx_ring *ring, struct rx_verdict *verdict, __u64 *found)
{
	__u64 position = ring->head + ring->skipped;
	__u32 some = 0;

	for (; some < verdict->count && position < ring->tail; position++) {
		if (rx_is_present(ring, verdict, position))
			found[some++] = position;
		else if (!some)
			ring->skipped++;
	}
	return some;
}

/* The slots of the found positions come first; what they have passed over follows in its order. */
static void move_to_head(struct rx_ring *ring, const __u64 *found, __u32 count)
{
	__u16 slots[RX_FRAME_BUFFERS];
	__u64 to = found[count - 1];
	__u32 left = count;

	for (__u32 i = 0; i < count; i++)
		slots[i] = *slot_of(ring, found[i]);
	for (__u64 from = to + 1; from-- > ring->head;) {
		if (left && from == found[left - 1])
			left--;
		else
			*slot_of(ring, to--) = *slot_of(ring, from);
	}
	for (__u32 i = 0; i < count; i++)
		*slot_of(ring, ring->head + i) = slots[i];
}

static enum rx_place ooo_receive(struct rx_ring *ring, const struct rx_frame *frame,
				 struct rx_verdict *verdict)
{
	__u32 count = verdict->count;
	__u64 found[RX_FRAME_BUFFERS];

	(void)frame;
	if (!rx_ring_posted(ring, verdict->position, count))
		return rx_lost(verdict, LOSS_NO_BUFFER);
	if (!ring->starved || count < ring->starved)
		ring->starved = find_present(ring, verdict, found) < count ? count : 0;
	if (ring->starved && count >= ring->starved) {
		verdict->absent = ring->absent;
		return rx_lost(verdict, LOSS_FAULT);
	}
	ring->skipped = (__u32)(found[count - 1] + 1 - ring->head) - count;
	if (ring->skipped) {
		move_to_head(ring, found, count);
		ring->counters.skipped++;
	}
	ring->head += count;
	return RX_STORE;
}

static void ooo_retry(struct rx_ring *ring)
{
	ring->skipped = 0;
	ring->starved = 0;
}

const struct rx_policy rx_policy_ooo = {
	.name = "ooo",
	.meaning = "the next present buffer takes the frame",
	.create = ooo_create,
	.receive = ooo_receive,
	.retry = ooo_retry,
};
