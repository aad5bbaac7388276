/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transactions: a read or a write of a CPU or a device, as the fabric carries it.
 *
 * An address is one on its initiator's host's bus (or of its IOMMU, for a device of a host that has one). It is RAM, a BAR of a
 * function, MSI_ADDRESS, or an adapter's window, which puts it on another host's bus, where everything is asked again.
 * The thread that calls does all of it; nothing of another process runs. What is in flight when a link drops is lost whole or not
 * at all for each page. Posted writes of one initiator arrive in their order.
 */
#ifndef FAULTLINE_CLUSTER_ACCESS_H
#define FAULTLINE_CLUSTER_ACCESS_H

#include "bpf/event.h"
#include "injectors/cluster/cluster.h"

struct initiator {
	__u32 host;
	__u32 node;	 /* in the fabric: its root, or a device's */
	__u32 requester; /* as in iommu.h */
	__u32 device;	 /* for counting; CLUSTER_NONE: that whose BAR is reached */
	__u32 borrow;	 /* on whose behalf (lend.h), for counting; CLUSTER_NONE: of none */
};
struct initiator cpu_of(const struct cluster *cluster, __u32 host);
struct initiator function_initiator(const struct cluster *cluster, __u32 function);

enum access_status {
	ACCESS_DONE,
	ACCESS_LOST,	 /* posted, and vanished: nobody is told but the counters */
	ACCESS_ALL_ONES, /* a read: that is what the buffer has */
	ACCESS_REFUSED,	 /* an IOMMU had no translation: as the two above, and an event */
};
struct access_result {
	enum access_status status; /* the worst of its pages */
	__u32 far_host;		   /* where it ended */
	__u16 hops, roots, crossings;
	__u64 pieces;	/* read requests behind the last root */
	__u64 model_ns; /* by lib/fabric */
	/* Of a write: what of it does not pass while it follows another of its initiator, which it does not wait for. */
	__u64 follow_ns;
};

/* `result` may be NULL. */
void access_write(struct cluster *cluster, const struct initiator *from, enum path_purpose purpose,
		  __u64 address, const void *data, __u64 bytes, struct access_result *result);
void access_read(struct cluster *cluster, const struct initiator *from, enum path_purpose purpose,
		 __u64 address, void *data, __u64 bytes, struct access_result *result);
/* 32 and 64 bit registers, single copies. */
__u64 access_read_register(struct cluster *cluster, const struct initiator *from, __u64 address,
			   __u32 bytes);
void access_write_register(struct cluster *cluster, const struct initiator *from, __u64 address,
			   __u32 bytes, __u64 value);

/* Whose memory a device may touch: an agent's. What it touches of others', or of nobody's, is stray (seen.h). While nobody was named
 * for a device, all memory that anybody has allocated is in order. */
void access_user_set(struct cluster *cluster, __u32 device, __u32 agent, bool may);

/* Counters by device and purpose. */
struct path_stats {
	__u64 transactions, bytes, pieces, lost_writes, all_ones, refused;
	__u16 hops, roots, crossings; /* of the longest way */
};
void path_stats(const struct cluster *cluster, __u32 device, enum path_purpose purpose,
		struct path_stats *stats);
/* Of one way of them, `way` < PATH_WAYS: ways differ in hops, roots or crossings. What was lost whole, or stayed at its root, has 0
 * of each. From the PATH_WAYS-th on, ways are counted as one. False: there are no more. */
#define PATH_WAYS 16u
bool path_way_stats(const struct cluster *cluster, __u32 device, enum path_purpose purpose,
		    __u32 way, struct path_stats *stats);
/* Of a device: bytes that went to memory which is not its users'. */
__u64 access_stray_bytes(const struct cluster *cluster, __u32 device);

/* Addresses for `source` to reach BAR `bar` of `target` (docs/smartio-bridge.md): the same lender's, the borrower's own, another
 * lender's, inside a VM. Maps a peer window where one is needed. -EPERM: the source is local and not registered. */
int peer_resolve(struct cluster *cluster, __u32 source_function, __u32 target_function, __u32 bar,
		 __u32 borrow, __u64 *address);
/* In a VM: at `wanted`, the guest's own address of that BAR, in the lender's IOMMU. */
int peer_resolve_at(struct cluster *cluster, __u32 source_function, __u32 target_function,
		    __u32 bar, __u32 borrow, __u64 wanted, __u64 *address);
void peer_release(struct cluster *cluster, __u32 source_function, __u32 borrow);
/* Of a killed process; ntb_release() calls it. */
void peers_release(struct cluster *cluster, __u32 agent);

#endif
