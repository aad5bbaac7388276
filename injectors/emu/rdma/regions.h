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

#include "bpf/page.h"
#include "injectors/emu/verbs/verbs_layout.h"

struct region {
	__u64 address; /* of its first byte, as work requests give it: its IOVA, without `pages`; any alignment */
	__u64 bytes; /* at least 1; address + bytes does not wrap */
	enum verbs_region kind;
	unsigned int rights; /* enum verbs_right */
	__u32 domain;	     /* protection domain; 0: of all of them */
	/* IOVAs of the pages that it lies in, in order, the first of which holds `address`; the table's copy, there as long as the
	 * region. NULL: its bytes are in one piece. */
	const __u64 *pages;
	__u32 page_count;
};

struct region_table;

/* `regions`: at most so many at once, 1 to VERBS_REGIONS_MAX. */
int region_table_create(struct region_table **table, __u32 regions);
void region_table_destroy(struct region_table *table);

/* The backend's thread. -ENOSPC: all are in use; -EINVAL: not a region, or not its pages; -ENOMEM: for a copy of them. */
int region_register(struct region_table *table, const struct region *region, __u32 *key);
/* Copies what the key stands for; -ENOENT: nothing, or it has been retired. */
int region_query(const struct region_table *table, __u32 key, struct region *region);
/* -ENOENT. No region_check() that begins from now on finds it. */
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

/* What somebody wants to touch: a range of one packet or of a whole request. */
struct region_range {
	__u64 address, bytes;
	__u32 key, domain;   /* domain: of the queue pair */
	unsigned int rights; /* 0: to be read by its own device needs none */
};

/*
 * The engine's thread: 0; -EACCES: no such key, or it is of another domain, or lacks one of the rights; -EINVAL: beyond its
 * bounds. bytes may be 0: then all but the address counts. *region: where it is, until the round ends; may be NULL.
 */
int region_check(const struct region_table *table, const struct region_range *range,
		 const struct region **region);

/* From an address within the region: the IOVA, and how many of `bytes` lie behind each other from there on. */
__u64 region_run(const struct region *region, __u64 address, __u64 bytes, __u64 *iova);

#endif
