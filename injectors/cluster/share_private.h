/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What managers, clients and segments have in shared memory. Nothing here is locked: an entry is claimed by one atomic word
 * that names its owner, and given back by clearing it last, so that a killed process leaves entries that name it.
 */
#ifndef FAULTLINE_CLUSTER_SHARE_PRIVATE_H
#define FAULTLINE_CLUSTER_SHARE_PRIVATE_H

#include "injectors/cluster/agent.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/share.h"

#define SEGMENTS_MAX	 1024
#define SEGMENT_MAPS	 4   /* of one: a function by an adapter each, and the owner's CPU */
#define SHARE_QUEUES	 64  /* I/O queue pairs of a controller; numbers from 1 on */
#define SHARE_COMMANDS	 64  /* of a client, outstanding at most; their fates fit into a message */
#define SHARE_ENTRIES	 128 /* of a client's queues */
#define SHARE_LIST	 (HOST_PAGE / 8) /* pages that one PRP list names */
#define SHARE_PEER_SLOTS 64 /* of SEGMENT_PEER_BYTES, from the end of a peer's BAR down */

enum segment_map_kind { SEGMENT_MAP_NONE, SEGMENT_MAP_DEVICE, SEGMENT_MAP_CPU };
struct segment_map {
	__u32 kind; /* set last, cleared first */
	__u32 function, adapter;
	__u32 lender, domain; /* of the lender's IOMMU; 0: none */
	__u32 epoch;	      /* in which these domains are the function's */
	__u32 far_domain; /* of the segment's host, where its manager has borrowed it to; 0: none */
	__u64 address;	  /* the device's, or on the CPU's bus */
	bool requester;
	struct ntb_window window; /* bytes 0: none was needed */
};
struct segment_slot {
	__u32 claim; /* owner's agent + 1; 0: free */
	__u32 live;  /* its id, once all of it is there */
	__u32 peer;  /* device whose BAR it is in, or CLUSTER_NONE */
	__u32 group; /* 1: part of its owner's multicast group */
	struct segment segment;
	struct segment_map maps[SEGMENT_MAPS];
};

enum share_state { SHARE_NONE, SHARE_READY, SHARE_ENDED };
struct share_pair {  /* by its manager */
	__u32 claim; /* client's agent + 1 */
	__u32 epoch; /* in which it exists; another than the controller's: it does not */
};
struct share_controller { /* of a device */
	__u32 state, epoch;
	__u32 manager, life; /* the agent that has the admin queue, and which life of it */
	__u32 function, queues, entries;
	__u32 borrow, lender_domain, borrower_domain; /* lend.h */
	__u64 blocks;
	__u64 ended; /* I/Os of all clients so far: turns of the controller */
	struct share_pair pairs[SHARE_QUEUES + 1];
	__u32 peer_claims[SHARE_PEER_SLOTS]; /* of an accelerator: owners' agents + 1 */
};

struct share_group { /* of an agent's segments, for a multicast */
	__u32 group; /* + 1; 0: none */
	__u32 lender, device, domain;
	__u64 address;
};

struct shares {
	__u32 next_segment;
	struct share_group groups[CLUSTER_AGENTS_MAX];
	__u64 dead_ns[CLUSTER_AGENTS_MAX]; /* when who is dead was first seen with pairs left */
	struct share_counts counts[CLUSTER_AGENTS_MAX];
	struct segment_slot segments[SEGMENTS_MAX];
	struct share_controller controllers[];
};

struct share_controller *share_controller(const struct cluster *cluster, __u32 device);
struct share_counts *share_counts(const struct cluster *cluster, __u32 agent);

/* segment.c: NULL with -EACCES where there is none of that id, or it is another agent's. */
struct segment_slot *segment_of(const struct cluster *cluster, __u32 id, __u32 owner);
/* segment_map.c: its adapter has lost its tables, so that there is nothing to be given back. */
bool segment_map_stale(const struct cluster *cluster, const struct segment_map *map);
/* The caller's own, for the device, and still there. */
bool segment_mapped_device(const struct cluster *cluster, __u32 segment, __u32 function,
			   __u32 adapter);
/* Of the IOMMUs that know it; again does no harm. */
void segment_undo_domains(struct cluster *cluster, const struct segment_slot *slot,
			  const struct segment_map *map);
/* Does this agent have [address, address + bytes) mapped for the function? What a manager asks before it names it. */
bool segment_covers(const struct cluster *cluster, __u32 owner, __u32 function, __u64 address,
		    __u64 bytes);
/* share_multicast.c: of an agent that has ended, or is done with it. */
void share_group_destroy(struct cluster *cluster, __u32 agent);

/* An address of the device that is another client's; false: nobody else has one. */
bool segment_of_others(const struct cluster *cluster, __u32 self, __u32 function, __u64 *address);

/* share_path.c: an adapter of `lender` that a cable, or cables by switches, join with `adapter`; CLUSTER_NONE: none. */
__u32 share_far_adapter(const struct cluster *cluster, __u32 adapter, __u32 lender);
/* The first of a host that leads there. */
__u32 share_near_adapter(const struct cluster *cluster, __u32 host, __u32 lender);

#endif
