/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory regions of an RDMA device, and their keys.
 *
 * Two threads: the backend's registers and retires, the engine's looks up, without a lock. A region that is retired is found by
 * no lookup that begins later; who looked it up before is waited for by rdma_quiesce() (rdma.h), and only then is its place free:
 *
 *	region_retire(); rdma_quiesce(); (unpin, unmap, ...) region_free();
 *
 * A key is index << 8 | generation. The generation is 1 to 255, another at each use of the index, and of the free indices the
 * one that has been free for longest is taken: a key comes again after 255 * VERBS_REGIONS_MAX registrations, not before.
 */
#ifndef FAULTLINE_RDMA_REGIONS_H
#define FAULTLINE_RDMA_REGIONS_H

#include "injectors/emu/verbs/verbs_layout.h"

struct region {
	__u64 address; /* IOVA of its first byte; any alignment */
	__u64 bytes;   /* at least 1; address + bytes does not wrap */
	enum verbs_region kind;
	unsigned int rights; /* enum verbs_right */
};

struct region_table;

/* `regions`: at most so many at once, 1 to VERBS_REGIONS_MAX. */
int region_table_create(struct region_table **table, __u32 regions);
void region_table_destroy(struct region_table *table);

/* The backend's thread. -ENOSPC: all are in use; -EINVAL: not a region. */
int region_register(struct region_table *table, const struct region *region, __u32 *key);
/* Copies what the key stands for; -ENOENT: nothing, or it has been retired. */
int region_query(const struct region_table *table, __u32 key, struct region *region);
/* -ENOENT. No rdma_check_region() that begins from now on finds it. */
int region_retire(struct region_table *table, __u32 key);
/* Of a retired one, after rdma_quiesce(): its index may be used again. */
void region_free(struct region_table *table, __u32 key);

struct region_counters {
	__u32 regions, regions_most;
	__u64 bytes[VERBS_REGIONS];	   /* registered now, by kind */
	__u64 registered, registered_most; /* bytes of pinned and demand ones, now and at most */
};
/* Any thread. */
void region_counters(const struct region_table *table, struct region_counters *counters);

/*
 * The engine's thread, a range of one packet or of a whole request: 0; -EACCES: no such key, or it lacks one of the
 * rights (0: to be read by its own device needs none); -EINVAL: beyond its bounds. bytes may be 0: then the key and rights
 * count and the address does not.
 */
int region_check(const struct region_table *table, __u32 key, __u64 address, __u64 bytes,
		 unsigned int rights);

#endif
