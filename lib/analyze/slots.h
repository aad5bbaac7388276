/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an analyzer keeps per device: a table indexed by device handle.
 *
 * Handles are dense from 1, but a recording may be damaged or hostile: a handle beyond SLOTS_MAX
 * has no slot. Slot 0 stands for DEVICE_NONE. Slots are zeroed when first asked for and never move.
 */
#ifndef FAULTLINE_SLOTS_H
#define FAULTLINE_SLOTS_H

#include <stddef.h>

#include <linux/types.h>

#define SLOTS_CHUNK 64
#define SLOTS_MAX   (1u << 16)

struct slots {
	size_t size; /* of one slot */
	__u32 end;   /* one beyond the highest handle that has been asked for */
	void *chunks[SLOTS_MAX / SLOTS_CHUNK];
};

void slots_init(struct slots *slots, size_t size);
/* The slot of a handle, made if need be; NULL beyond SLOTS_MAX or without memory. */
void *slots_make(struct slots *slots, __u32 handle);
/* The slot if there is one, else NULL; slots of unseen handles between seen ones are zero. */
void *slots_find(const struct slots *slots, __u32 handle);
/*
 * The next handle that may have a slot; SLOTS_MAX behind the last. From 0 to there it takes steps by how many
 * there are, not by how high they are numbered.
 */
__u32 slots_next(const struct slots *slots, __u32 handle);
/* Frees the slots, not what they point to. */
void slots_free(struct slots *slots);

#endif
