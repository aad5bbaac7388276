/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings of a device that share a backup ring and a cache, their guests and what becomes of pages:
 * steps that somebody draws, by a seed or from a fuzzer's bytes. Any step that is not as the model
 * says ends the program.
 */
#ifndef FAULTLINE_RX_WORLD_H
#define FAULTLINE_RX_WORLD_H

#include "tests/unit/rx_model.h"

#define RX_WORLD_RINGS 4

struct rx_world {
	__u64 (*draw)(void *self, __u64 bound); /* 0 to bound - 1 */
	void *self;
	struct rx_shared shared;
	struct rx_model rings[RX_WORLD_RINGS];
	__u32 ring_count;
	__u32 buffer_bytes, frame_bytes;
	char *bytes; /* a frame ends where this does, so that what is read behind it is seen */
	__u32 cells;
	__u32 calm; /* of so many times that pages may go, once they do */
	__u64 number, steps;
};

/* Draws all of it but the policy; at most `size` buffers a ring. */
void rx_world_create(struct rx_world *world, const struct rx_policy *policy, __u32 size);
void rx_world_step(struct rx_world *world);
/* No page is absent any more, guests take all there is: nothing may be held in the end. */
void rx_world_finish(struct rx_world *world);
void rx_world_destroy(struct rx_world *world);

#endif
