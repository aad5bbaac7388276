/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Non-transparent bridges: windows of an adapter's BAR onto another host's bus, its requester table, its link, multicast.
 *
 * The BAR is split into equal windows (windows=, bar=); a look-up table has the far base of each, a multiple of the window's
 * size. A mapping takes as many windows that follow each other as it needs. Who sends through an adapter needs an entry of the
 * requester table, which takes completions back: 32, of which CPUs have 2; a switch between hosts uses one on each other port
 * as well (PV 8.6). Window unmapped, no entry or link down: writes vanish, reads give all ones, both are counted.
 * An adapter's tables are written by its own host's processes, by atomic operations.
 */
#ifndef FAULTLINE_CLUSTER_NTB_H
#define FAULTLINE_CLUSTER_NTB_H

#include "bpf/event.h"
#include "injectors/cluster/cluster.h"

struct ntb_window {
	__u32 adapter; /* node */
	__u32 slot, slots;
	enum window_kind kind;
	__u32 far_host;
	__u64 address; /* on the adapter's own host's bus; what is sent there arrives at `far` */
	__u64 far;     /* as asked for, not its multiple: `address` has the rest added */
	__u64 bytes;   /* as asked for */
	__u32 owner;   /* agent on whose behalf */
	__u32 borrow;  /* its number (lend.h), or CLUSTER_NONE */
	__u32 id;      /* of this mapping, never another's: by ntb_map() */
};

/*
 * Maps `bytes` of far_host's bus from `far` on. -ENOSPC: BAR or table full; -ENETUNREACH: no way from this adapter; -ERANGE: it
 * would end above `mask`, the highest address that its user can make.
 */
int ntb_map(struct cluster *cluster, const struct ntb_window *wanted, __u64 mask,
	    struct ntb_window *window);
void ntb_unmap(struct cluster *cluster, const struct ntb_window *window);
/* It is still what ntb_map() has made: its tables were not wiped. */
bool ntb_mapped(const struct cluster *cluster, const struct ntb_window *window);
/* On behalf of a killed process: its windows, requesters and multicast groups. Returns windows. */
__u32 ntb_release(struct cluster *cluster, __u32 agent);

/* -ENOSPC. `requester` as in iommu.h, on the adapter's own host: a function. The functions of a device share an entry. Counts: two adds need
 * two removes, or ntb_release() of their owner. Adds on every adapter or switch port that the way to far_host takes. */
int ntb_requester_add(struct cluster *cluster, __u32 adapter, __u32 far_host, __u32 requester,
		      __u32 owner);
void ntb_requester_remove(struct cluster *cluster, __u32 adapter, __u32 far_host, __u32 requester);
/* One that was added on behalf of another process. */
void ntb_requester_remove_of(struct cluster *cluster, __u32 adapter, __u32 far_host,
			     __u32 requester, __u32 owner);
/* What the far host's IOMMU sees of it; CLUSTER_NONE: no entry. */
__u32 ntb_requester_seen(const struct cluster *cluster, __u32 adapter, __u32 far_host,
			 __u32 requester);

/* How many of a switch's port in whose network this adapter is; 0: a cable from adapter to adapter. */
#define NTB_PORT_REQUESTERS 512u
__u32 ntb_port_requesters(const struct cluster *cluster, __u32 adapter);

/* Where BARs of functions can begin on a host's bus: behind those of its adapters. */
__u64 ntb_bars_end(const struct cluster *cluster, __u32 host, bool high);

/* What an adapter does with an address of its host's bus. By access.c. */
struct ntb_hit {
	__u32 adapter, far_adapter; /* nodes */
	__u32 far_host, requester;  /* as seen there */
	__u64 far, run;		    /* bytes from there on in the same window */
	bool lost;		    /* no mapping, no entry for the requester, or no link */
};
/* False: no adapter of this host has that address. */
bool ntb_hit(const struct cluster *cluster, __u32 host, __u32 requester, __u64 address,
	     struct ntb_hit *hit);
/* The way of a hit, at this moment. */
bool ntb_way_up(const struct cluster *cluster, __u32 adapter, __u32 far_adapter);
void ntb_count(struct cluster *cluster, __u32 adapter, __u64 bytes, __u64 lost_writes,
	       __u64 all_ones);

/* Both ends of a link see it. `wipe`: tables of the adapters at its ends are emptied (their host lost power). */
void ntb_link_set(struct cluster *cluster, __u32 link, bool up, bool wipe);
bool ntb_link_up(const struct cluster *cluster, __u32 link);
/* Is there a way that is up? By an adapter, or CLUSTER_NONE: by any. */
bool ntb_reaches(const struct cluster *cluster, __u32 host, __u32 far_host, __u32 adapter);
/* Counts changes of any link, for those who wait for a link's event; each has a futex. */
__u32 ntb_link_events(const struct cluster *cluster);
int ntb_link_wait(const struct cluster *cluster, __u32 seen, __u64 timeout_ns); /* -ETIMEDOUT */
/* How often an adapter's tables were wiped: a mapping of an older generation is gone. */
__u32 ntb_generation(const struct cluster *cluster, __u32 adapter);

#define NTB_MULTICAST	     (1ull << 41) /* on every host's bus: groups of NTB_MULTICAST_BYTES */
#define NTB_MULTICAST_BYTES  (1ull << 20)
#define NTB_MULTICAST_GROUPS 16u
#define NTB_NO_GROUP	     CLUSTER_NONE
/* Group of an address, and where in it. NTB_NO_GROUP: none. By access.c. */
__u32 ntb_multicast_at(const struct cluster *cluster, __u32 host, __u64 address, __u64 *offset,
		       __u32 *adapter);
/* Member n of a group; false: there are no more. */
bool ntb_multicast_member(const struct cluster *cluster, __u32 group, __u32 n, __u32 *host,
			  __u64 *overlay, __u32 *far_adapter);
/* Multicast: writes to a group's address leave by all its members' ports, each with its overlay: a linear address there. */
int ntb_multicast_create(struct cluster *cluster, __u32 adapter, __u64 bytes, __u32 *group,
			 __u64 *address);
int ntb_multicast_join(struct cluster *cluster, __u32 group, __u32 host, __u64 overlay);
void ntb_multicast_destroy(struct cluster *cluster, __u32 group);

struct ntb_stats {
	__u32 windows, windows_used, windows_most; /* slots */
	__u32 requesters, requesters_used;
	__u64 bytes_mapped; /* as asked for */
	__u64 bytes, lost_writes,
		all_ones; /* passed; transactions that vanished, and that gave all ones */
};
void ntb_stats(const struct cluster *cluster, __u32 adapter, struct ntb_stats *stats);
/* Injections: from now on its tables behave as full. */
void ntb_pretend_full(struct cluster *cluster, __u32 adapter, bool windows, bool requesters);

#endif
