/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NPF's backup ring, one for all rings of a device, and the IOprovider's software queue, one a
 * ring. Their memory is allocated at once, and frames move from one to the other by an exchange of
 * buffers: so the backup ring has its buffer back at once. A queue has room for all that its ring
 * can have in flight, which its bitmap limits.
 *
 * The backup ring has one thread that puts (receives) and one that takes (the IOprovider); they
 * need no lock between them. A queue is the IOprovider's.
 */
#ifndef FAULTLINE_RX_BACKUP_H
#define FAULTLINE_RX_BACKUP_H

#include "injectors/emu/nic/rx_ring.h"

#define RX_BACKUP_ENTRIES_MAX 65536

struct rx_held {
	struct rx_frame frame;
	char *memory; /* frame.bytes */
	__u64 position, bit;
	__u32 ring, count;
	bool finished; /* in a queue */
};

/* -EINVAL with a sentence, -ENOMEM. */
int rx_backup_create(struct rx_backup **backup, __u32 entries, __u32 frame_bytes);
void rx_backup_destroy(struct rx_backup *backup);
__u32 rx_backup_used(const struct rx_backup *backup);

/* For the policy. */
bool rx_backup_has_room(const struct rx_backup *backup);
void rx_backup_put(struct rx_backup *backup, __u32 ring, const struct rx_frame *frame,
		   const struct rx_verdict *verdict);

/* The oldest entry, whose ring says which queue is to take it; NULL: empty. */
const struct rx_held *rx_backup_first(const struct rx_backup *backup);

struct rx_queue;

/* Of a ring with so many bits in its bitmap. */
int rx_queue_create(struct rx_queue **queue, __u32 bitmap_bits, __u32 frame_bytes);
void rx_queue_destroy(struct rx_queue *queue);

/* Takes the backup ring's oldest entry. */
void rx_queue_take(struct rx_queue *queue, struct rx_backup *backup);

/* Frames have numbers in the order in which they were taken: those from `head` to `tail` - 1 are
 * there. */
__u64 rx_queue_head(const struct rx_queue *queue);
__u64 rx_queue_tail(const struct rx_queue *queue);
/* Until it is finished; in any order, so that one whose page takes long holds up no other. */
const struct rx_held *rx_queue_at(const struct rx_queue *queue, __u64 number);
void rx_queue_finish(struct rx_queue *queue, __u64 number);

#endif
