/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device queue in guest memory: descriptor table, available ring, used ring.
 *
 * Modelled on the split virtqueue of virtio 1.2, section 2.7: the driver writes descriptors and
 * publishes their ids in the available ring; the device publishes finished ids in the used ring.
 * Indices are free-running 16-bit counters. Differences: a descriptor is a whole request (opcode
 * and target lie in it), a used entry carries a status, and notifications are never suppressed in
 * memory (the doorbell knows whether anybody sleeps). Each queue starts on a page of its own, so
 * that an absent ring page pauses one queue only.
 */
#ifndef FAULTLINE_RING_H
#define FAULTLINE_RING_H

#include <linux/types.h>
#include <stddef.h>

#define RING_DEPTH_MAX	4096 /* each model has its own below that */
#define RING_QUEUES_MAX 64
#define RING_BYTES_MAX	(2u << 20) /* data of one request */
#define RING_SECTOR	512	   /* block: unit of `target`; its lengths are multiples */

enum ring_opcode {
	RING_READ = 1,	/* block: disk to memory (the device writes memory) */
	RING_WRITE = 2, /* block: memory to disk */
	RING_FLUSH = 3, /* block: what was written is on stable storage; no data */
	RING_COPY = 4,	/* accel: from `address` to `target` in memory */
	RING_SEND = 5,	/* nic: a frame */
};

enum ring_flags {
	RING_NEXT = 1 << 0, /* the data goes on in descriptor `next` */
};

enum ring_status {
	RING_OK = 0,
	RING_IO_ERROR = 1, /* the medium, or a DMA that could not be done */
	RING_INVALID = 2,  /* the descriptor makes no sense: nothing or only a part was done */
};

struct ring_descriptor {
	__u64 address; /* IOVA of the data */
	__u64 target;  /* block: first sector; accel: destination IOVA. First of a chain only */
	__u32 length;  /* bytes */
	__u32 pasid;   /* of address and target, or PASID_NONE. First of a chain only */
	__u16 opcode;  /* first of a chain only */
	__u16 flags;
	__u16 next;
	__u16 reserved;
};

_Static_assert(sizeof(struct ring_descriptor) == 32, "two a cache line, none across");

struct ring_used {
	__u16 id;     /* first descriptor of the chain */
	__u16 status; /* enum ring_status */
	__u32 length; /* bytes moved */
};

/* Offsets from the queue's start, for a depth that is a power of two. */
static inline __u64 ring_descriptor_offset(unsigned int id)
{
	return (__u64)id * sizeof(struct ring_descriptor);
}

/* The two indices have a cache line each: driver and device write one and read the other. */
static inline __u64 ring_avail_index_offset(unsigned int depth)
{
	return (__u64)depth * sizeof(struct ring_descriptor);
}

static inline __u64 ring_used_index_offset(unsigned int depth)
{
	return ring_avail_index_offset(depth) + 64;
}

static inline __u64 ring_avail_offset(unsigned int depth, __u16 index)
{
	return ring_used_index_offset(depth) + 64 + (index & (depth - 1)) * sizeof(__u16);
}

static inline __u64 ring_used_offset(unsigned int depth, __u16 index)
{
	return ring_used_index_offset(depth) + 64 + ((depth * sizeof(__u16) + 63) & ~63ul) +
	       (index & (depth - 1)) * sizeof(struct ring_used);
}

/* Bytes of one queue, whole pages. */
static inline __u64 ring_bytes(unsigned int depth)
{
	return (ring_used_offset(depth, 0) + depth * sizeof(struct ring_used) + 4095) & ~4095ull;
}

#endif
