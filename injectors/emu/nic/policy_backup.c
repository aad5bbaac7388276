// SPDX-License-Identifier: GPL-2.0
/*
 * NPF's backup ring (Fig. 6). A frame whose buffer is absent, or not posted yet, goes into a pinned
 * ring that all rings of the device share, marked with the position that it shall have; those
 * behind it go on into their buffers. The guest sees nothing beyond the oldest held frame, so that
 * its order is kept.
 *
 * Where the figure is printed otherwise: a position has room below the tail; the backup ring has
 * room while its head is below its tail; bits count on as positions do, and are taken modulo
 * bm_size only where they are looked up; and one lock (the ring's) covers what a frame looks at and
 * what it changes, as a head that is resolved between the two leaves a ring that is ahead of its
 * head for good.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/nic/rx_ring_private.h"
#include "lib/base/fail.h"

static int backup_create(struct rx_ring *ring)
{
	ring->bitmap = calloc((ring->bm_size + 63) / 64, sizeof(*ring->bitmap));
	return ring->bitmap ? 0 : failed(-ENOMEM, "no memory for a bitmap of %u", ring->bm_size);
}

static __u64 *held_bit_word(const struct rx_ring *ring, __u64 bit)
{
	return &ring->bitmap[bit % ring->bm_size / 64];
}

static __u64 held_bit_mask(const struct rx_ring *ring, __u64 bit)
{
	return 1ull << (bit % ring->bm_size % 64);
}

static bool is_held_bit(const struct rx_ring *ring, __u64 bit)
{
	return *held_bit_word(ring, bit) & held_bit_mask(ring, bit);
}

static void held_bits_set(struct rx_ring *ring, __u64 bit, __u32 count)
{
	for (__u64 end = bit + count; bit < end; bit++)
		*held_bit_word(ring, bit) |= held_bit_mask(ring, bit);
}

static void held_bits_clear(struct rx_ring *ring, __u64 bit, __u32 count)
{
	for (__u64 end = bit + count; bit < end; bit++)
		*held_bit_word(ring, bit) &= ~held_bit_mask(ring, bit);
}

static enum rx_place backup_receive(struct rx_ring *ring, const struct rx_frame *frame,
				    struct rx_verdict *verdict)
{
	if (rx_ring_posted(ring, verdict->position, verdict->count) &&
	    rx_all_present(ring, verdict)) {
		if (ring->head_offset) {
			ring->head_offset += verdict->count;
			ring->counters.skipped++;
		} else {
			ring->head += verdict->count;
		}
		return RX_STORE;
	}
	if (ring->head_offset + verdict->count > ring->bm_size || !rx_backup_has_room(ring->backup))
		return rx_lost(verdict, LOSS_BACKUP_FULL);
	verdict->bit = ring->bm_index + ring->head_offset;
	held_bits_set(ring, verdict->bit, verdict->count);
	ring->head_offset += verdict->count;
	rx_backup_put(ring->backup, ring->id, frame, verdict);
	return RX_BACKUP;
}

static void backup_resolve(struct rx_ring *ring, __u64 bit, __u32 count)
{
	held_bits_clear(ring, bit, count);
	while (ring->head_offset && !is_held_bit(ring, ring->bm_index)) {
		ring->head_offset--;
		ring->head++;
		ring->bm_index++;
	}
}

const struct rx_policy rx_policy_backup = {
	.name = "backup",
	.meaning = "frames take a pinned ring and are moved once it is resolved, later ones go on",
	.wants_backup = true,
	.create = backup_create,
	.receive = backup_receive,
	.resolve = backup_resolve,
};
