/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A controller that many processes share, each with a queue pair of its own (PV section 6.2 to 6.4).
 *
 * The manager, a thread of its host's process, borrows and resets the controller, has the admin queue and relays admin commands.
 * A client maps the doorbells, allocates segments where its hint says, has the manager create its pair, and is on its own then.
 */
#ifndef FAULTLINE_CLUSTER_SHARE_H
#define FAULTLINE_CLUSTER_SHARE_H

#include "injectors/cluster/lend.h"
#include "injectors/cluster/nvme.h"

#define SHARE_PATHS 2 /* pairs of a client: primary and backup */

/* Memory that was registered with the cluster, and nothing else, can be named to a device (PV section 8.1). */
struct segment {
	__u32 id;	      /* never used again; never 0 */
	__u32 host, owner;    /* agent */
	__u64 address, bytes; /* on its host's bus */
};
/* By hint: near the CPU, near the device, or a peer's BAR memory (of at most SEGMENT_PEER_BYTES). Page-rounded. */
#define SEGMENT_PEER_BYTES 65536u
int segment_create(struct cluster *cluster, enum segment_hint hint, __u32 device, __u32 peer,
		   __u64 bytes, struct segment *segment);
/* On a host that the caller names: a part of a multicast group. */
int segment_create_on(struct cluster *cluster, __u32 host, __u64 bytes, struct segment *segment);
/* Its pages go as well; what was mapped of it, before: where its lender cannot be told it stays, until its owner has ended. */
void segment_destroy(struct cluster *cluster, struct segment *segment);
/*
 * For the device, by a message to its lender, whose `adapter` leads to the segment; -EACCES: no such segment, or not the
 * caller's. Once mapped it is returned again, but for one whose adapter has lost its tables since.
 */
int segment_map_device(struct cluster *cluster, __u32 segment, __u32 function, __u32 adapter,
		       __u64 *device_address);
int segment_unmap_device(struct cluster *cluster, __u32 segment, __u32 function, __u32 adapter);
/* For the CPU of this process's host. `memory`: NULL where it is not in this host's RAM. */
int segment_map_cpu(struct cluster *cluster, const struct segment *segment, __u32 adapter,
		    __u64 *bus_address, void **memory);
/* Of a dead agent: its segments, windows and pages. Returns segments. */
__u32 segments_release(struct cluster *cluster, __u32 agent);
/* That nobody has destroyed: of an agent, or CLUSTER_NONE: of all. */
__u32 segments_left(const struct cluster *cluster, __u32 agent);

/* Of a client's or a manager's life, for results; in shared memory, one writer. */
struct share_counts {
	__u32 failovers, resubmitted, known_done; /* commands, of all failovers */
	__u32 unknown;	      /* commands whose fate nobody could tell: given up, an error each */
	__u32 admin_refused;  /* calls that no manager took */
	__u32 pairs_created;  /* anew, after a failover or a reset, included */
	__u32 windows_mapped; /* for its device; a pair that goes on in its old windows adds none */
	__u32 longest_turns;  /* most I/Os of others that ended while one of its own waited */
	__u32 deliveries;     /* of its multicast Identify, with equal checksums */
	__u32 rogue;	      /* commands that named another's address */
	__u64 longest_failover_ns;
};
const struct share_counts *share_counts_of(const struct cluster *cluster, __u32 agent);
/* How often a shared controller was reset by a manager, and pairs that exist now. */
__u32 share_epoch(const struct cluster *cluster, __u32 device);
__u32 share_pairs(const struct cluster *cluster, __u32 device);

/* Of a host's process: its [manager] sections. */
int managers_start(struct cluster *cluster);
void managers_stop(struct cluster *cluster);
/* As lend_look(). */
void share_look(struct cluster *cluster);
/* Of a host that ends, when all managers have: what clients have left is given back, without waiting for a manager. */
void share_end(struct cluster *cluster);

#endif
