/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a rank makes a buffer of its program usable by the device: a table of functions, a file each, beside each other
 * (NPF, ASPLOS'17, table 3 and 6.3). What a way costs its author is the length of its file (docs/rdma-device.md).
 */
#ifndef FAULTLINE_RANKS_MEMORY_H
#define FAULTLINE_RANKS_MEMORY_H

#include <pthread.h>

#include "injectors/emu/memory.h"
#include "injectors/emu/ranks/guest_heap.h"
#include "injectors/emu/ranks/ranks.h"
#include "injectors/emu/verbs/verbs_control.h"

/* Of the ranks of one device together. */
struct rank_memory {
	struct verbs_device *device;
	struct guest_memory *memory; /* of the tenant, as its CPUs see it */
	struct guest_heap *heap;     /* of the device's share, for open() and close() alone */
	const struct memory_mode *mode;
	__u64 start, bytes;		       /* guest addresses of all ranks' buffers */
	__u64 cache_bytes;		       /* memory=cache */
	__u64 largest;			       /* of a message, whole pages */
	__u32 bounces;			       /* memory=copy: messages at once at most, 0: none */
	bool advise;			       /* memory=demand */
	pthread_mutex_t lock;		       /* for the mode's own use */
	void *own;			       /* the mode's */
	__u64 hits, misses, overflows, copied; /* with the lock */
};

/* A buffer between get() and put(). */
struct memory_lease {
	struct verbs_sge sge; /* what the device may use instead; its length is `bytes` */
	__u64 address, bytes; /* the program's buffer, a guest address */
	bool write;	      /* by the device */
	void *own;	      /* the mode's */
};

/* 0 or a negative errno with a sentence. get() and put(): any rank of the device, several at once. */
struct memory_mode {
	const char *name;
	int (*open)(struct rank_memory *memory);
	void (*close)(struct rank_memory *memory); /* also after an open() that failed */
	/* Before the device, or a peer, learns of the buffer: lease->address, bytes and write are set. */
	int (*get)(struct rank_memory *memory, struct memory_lease *lease);
	/* The device is done with it; `bytes` have arrived, if it has written. */
	int (*put)(struct rank_memory *memory, struct memory_lease *lease, __u64 bytes);
};

#define RANK_MEMORY(name) extern const struct memory_mode name##_memory;
#include "injectors/emu/ranks/memories.def"
#undef RANK_MEMORY

extern const struct memory_mode *const memory_modes[RANKS_MEMORIES];

/* A piece of a region. */
static inline struct verbs_sge memory_piece(const struct verbs_mr *region, __u64 region_start,
					    __u64 address, __u64 bytes)
{
	return (struct verbs_sge){.address = region->address + (address - region_start),
				  .length = (__u32)bytes,
				  .key = region->key};
}

#define MEMORY_RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

#endif
