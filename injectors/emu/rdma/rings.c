// SPDX-License-Identifier: GPL-2.0
/* Rings of entries that guests post: a doorbell word, which may say anything, and what is fetched behind it. */
#include <errno.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"

int pair_ring_read(struct pair_ring *ring, const __u64 *word, __u32 depth)
{
	__u64 posted;

	if (dma_guard_copy(&posted, word, sizeof(posted)))
		return -EFAULT;
	if (posted == ring->posted)
		return 0;
	if (posted < ring->posted || posted - ring->given > depth)
		return -EINVAL;
	ring->posted = posted;
	atomic_thread_fence(memory_order_acquire);
	return 1;
}

int pair_ring_fetch(struct pair_ring *ring, const unsigned char *entries, __u32 depth, void *into)
{
	const size_t size = sizeof(struct verbs_send);
	__u64 at = ring->fetched & (depth - 1), count = ring->posted - ring->fetched;

	_Static_assert(sizeof(struct verbs_send) == sizeof(struct verbs_receive), "of one size");
	if (count > PAIR_FETCH)
		count = PAIR_FETCH;
	if (count > depth - at)
		count = depth - at;
	if (!count)
		return 0;
	if (dma_guard_copy(into, entries + at * size, count * size))
		return -EFAULT;
	ring->fetched += count;
	return (int)count;
}
