/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's allocator of memory that a device can reach: whole pages of the device's share, first fit. What it knows
 * stands outside of that memory. Not for several threads at once.
 */
#ifndef FAULTLINE_GUEST_HEAP_H
#define FAULTLINE_GUEST_HEAP_H

#include <linux/types.h>

struct guest_heap;

/* Guest addresses; page aligned. -ENOMEM. */
int guest_heap_create(struct guest_heap **heap, __u64 start, __u64 bytes);
void guest_heap_destroy(struct guest_heap *heap);
/* -ENOMEM with a sentence that has both numbers; -EINVAL: 0 bytes. */
int guest_heap_take(struct guest_heap *heap, __u64 bytes, __u64 *address);
/* What guest_heap_take() gave. -EINVAL: it did not, or has it back already. */
int guest_heap_give(struct guest_heap *heap, __u64 address);
/* Bytes that are not taken, and of them the most in one piece. */
__u64 guest_heap_free(const struct guest_heap *heap);
__u64 guest_heap_largest(const struct guest_heap *heap);

#endif
