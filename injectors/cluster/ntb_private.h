/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the adapters have in shared memory. Tables are changed by compare and exchange, so that a process that is killed
 * leaves entries that name it, which ntb_release() takes away, and nothing half done. */
#ifndef FAULTLINE_CLUSTER_NTB_PRIVATE_H
#define FAULTLINE_CLUSTER_NTB_PRIVATE_H

#include "injectors/cluster/ntb.h"

#define NTB_REQUESTERS_MAX 256u /* of an adapter; 8 bits of REQUESTER_ENTRY() */
#define NTB_CPU_ENTRIES	   2u
#define NTB_GRANTS	   4096u
#define NTB_WAY_LINKS	   8u

/* A slot of the look-up table: the far base above these bits. */
#define LUT_VALID	     1u
#define LUT_ADAPTER(word)    ((__u32)((word) >> 1 & 0x7ff)) /* index of the far adapter */
#define LUT_WORD(far, index) ((far) | (__u64)(index) << 1 | LUT_VALID)
#define LUT_FAR(word)	     ((word) & ~0xfffull)

struct ntb_slot {
	__u64 claim;	  /* owner + 1 << 32 | id of the window; 0: free */
	__u64 far, bytes; /* as asked for; bytes 0: not its window's first slot */
	__u32 kind, far_host, borrow, slots;
};

struct ntb_adapter {
	__u32 node, host;
	__u32 network; /* of switches; 0: a cable from adapter to adapter */
	__u64 bar, bar_bytes, window_bytes;
	__u32 windows, requesters;
	__u64 *lut;
	struct ntb_slot *slots;
	__u32 entries[NTB_REQUESTERS_MAX]; /* device + 1; 0: free; the first are CPUs' */
	__u32 generation, windows_most;
	bool windows_full, requesters_full; /* pretended */
	__u64 bytes, lost_writes, all_ones;
};

/* Cables from one adapter to another; none: there is no way. */
struct ntb_way {
	__u16 count;
	__u16 links[NTB_WAY_LINKS];
};

struct ntb_member {
	__u32 far_adapter; /* index + 1; 0: no member */
	__u64 overlay;
};
struct ntb_group {
	__u64 claim;
	__u32 adapter; /* index */
	__u64 bytes;
	struct ntb_member members[CLUSTER_HOSTS_MAX];
};

struct ntbs {
	__u32 count;
	struct ntb_adapter *adapters; /* in the order of nodes, so those of a host are found by */
	__u32 host_first[CLUSTER_HOSTS_MAX + 1];
	__u32 *host_adapters; /* indices, host by host */
	__u32 *index;	      /* by node; CLUSTER_NONE: no adapter */
	__u32 next_id;
	/* A device may send by an adapter on behalf of an agent, once for each: see grant_word(). */
	__u64 grants[NTB_GRANTS];
	__u32 *down; /* by link */
	__u32 events;
	struct ntb_way *ways; /* by two indices */
	__u64 ends[CLUSTER_HOSTS_MAX][2];
	struct ntb_group groups[NTB_MULTICAST_GROUPS];
};

/* NULL: no adapter. */
struct ntb_adapter *ntb_adapter(const struct cluster *cluster, __u32 node);
/* Names an adapter for a sentence. */
const char *ntb_name(const struct cluster *cluster, const struct ntb_adapter *adapter);
__u64 ntb_claim(struct cluster *cluster, __u32 owner, __u32 *id);

/* ntb_link.c */
int ntb_ways_create(struct cluster *cluster);
/* Index of the far host's adapter that is nearest by cables that are up; CLUSTER_NONE: none. */
__u32 ntb_far_adapter(const struct cluster *cluster, const struct ntb_adapter *adapter,
		      __u32 far_host);
bool ntb_way_is_up(const struct cluster *cluster, __u32 near_index, __u32 far_index);

/* ntb_window.c */
void ntb_windows_wipe(struct cluster *cluster, struct ntb_adapter *adapter);
__u32 ntb_windows_release(struct cluster *cluster, __u32 agent);
__u32 ntb_windows_used(const struct ntb_adapter *adapter);

/* ntb_requester.c: the slot of a requester's device; CLUSTER_NONE: none. */
__u32 ntb_entry_of(const struct cluster *cluster, const struct ntb_adapter *adapter,
		   __u32 requester);
__u32 ntb_entries_used(const struct ntb_adapter *adapter);
void ntb_entries_wipe(struct cluster *cluster, struct ntb_adapter *adapter);
void ntb_entries_release(struct cluster *cluster, __u32 agent);

/* ntb_multicast.c */
void ntb_groups_release(struct cluster *cluster, __u32 agent);

#endif
