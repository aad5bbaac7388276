/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A NIC's frame cache (VPRI): one for all rings of a device, in which frames of paused rings wait.
 * It is counted in cells, as a packet buffer's memory is: a frame takes whole ones. Used by one
 * thread at a time.
 */
#ifndef FAULTLINE_RX_CACHE_H
#define FAULTLINE_RX_CACHE_H

#include "injectors/emu/nic/rx_ring.h"

#define RX_CACHE_CELL	   128 /* bytes: the least Ethernet frame takes one */
#define RX_CACHE_BYTES_MAX (1u << 30)

/* Bytes are rounded down to cells, one at least; -EINVAL with a sentence, -ENOMEM. */
int rx_cache_create(struct rx_cache **cache, __u64 bytes, __u32 frame_bytes);
void rx_cache_destroy(struct rx_cache *cache);
/* Taken by frames, in whole cells. */
__u64 rx_cache_used(const struct rx_cache *cache);

/* For policies. Frames of a ring leave in their order. */
bool rx_cache_fits(const struct rx_cache *cache, __u32 length);
void rx_cache_push(struct rx_cache *cache, struct rx_cached_frames *frames,
		   const struct rx_frame *frame);
__u32 rx_cache_first_length(const struct rx_cache *cache, const struct rx_cached_frames *frames);
/* The bytes are good until the next one. */
void rx_cache_pop(struct rx_cache *cache, struct rx_cached_frames *frames, struct rx_frame *frame);

#endif
