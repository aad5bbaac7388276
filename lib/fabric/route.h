/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way of a packet: the shortest path by address, through the root where an IOMMU has to translate it.
 *
 * Counting (PIV Tables 1 and 2): a hop is a switch, an adapter or a root that is passed through. Where a path ends in RAM, that
 * root does not count; one that it begins at (a CPU's) does not, either. A transfer through RAM is two paths, whose common root
 * counts once (route_bounce()).
 */
#ifndef FAULTLINE_FABRIC_ROUTE_H
#define FAULTLINE_FABRIC_ROUTE_H

#include "lib/fabric/topology.h"

#define ROUTE_NODES_MAX	  64
#define ROUTE_THROUGH_MAX 6

struct route {
	__u32 count;
	__u32 nodes[ROUTE_NODES_MAX]; /* from the source to the target, both included */
	__u16 hops, roots;	      /* passed through */
	__u16 crossings;	      /* from one host to another: NTBs */
	__u16 translations;	      /* by IOMMUs */
	/* What a cost needs of it (cost.h). */
	__u64 delay_ns;	 /* one way: of nodes that are passed, cables, half of a root at an end */
	__u64 behind_ns; /* of that, what comes after the first root that is passed */
	__u16 behind_translations; /* likewise */
	__u64 crossing_ns; /* of that, what the crossings take: adapters, cables, switches between hosts */
	__u64 bytes_per_s; /* of its slowest cable; 0: there is none */
};

/*
 * From node to node, where a root stands for its host's RAM and CPUs. With `translated` each host whose IOMMU is on translates
 * what its own devices send: it goes through its root, and what comes in by an adapter does where that host's IOMMU is on.
 * `down`: links (by index, bits) that cannot be used; NULL: none. -ENETUNREACH: there is no way; -E2BIG: too long. Of paths that
 * are equally long the one whose nodes come first in the job. Allocates nothing.
 */
int route_find(const struct fabric *fabric, __u32 from, __u32 to, bool translated,
	       const __u64 *down, struct route *route);
/* The same by way of given nodes (an adapter that was chosen), each once, in this order. */
int route_through(const struct fabric *fabric, __u32 from, __u32 to, bool translated,
		  const __u32 *through, __u32 through_count, struct route *route);
/* Adds a second path that begins where the first ends. -EINVAL: it does not. */
int route_bounce(const struct route *first, const struct route *second, const struct fabric *fabric,
		 struct route *sum);

#endif
