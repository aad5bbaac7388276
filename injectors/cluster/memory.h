/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RAM of hosts, each a memfd of its own that every process has mapped, and who has which pages of it.
 *
 * A physical address is an offset into it. Whoever computes with another host's pointer cheats: data of another host is
 * reached by access.h alone. Pages of a killed process are given back by host_memory_release().
 */
#ifndef FAULTLINE_CLUSTER_MEMORY_H
#define FAULTLINE_CLUSTER_MEMORY_H

#include "injectors/cluster/cluster.h"

#define HOST_PAGE 4096u

/* NULL: the range is not in its RAM. */
void *host_memory(const struct cluster *cluster, __u32 host, __u64 address, __u64 bytes);
/* Contiguous pages for this process (cluster->self) in a host's RAM, zeroed; lock-free. -ENOMEM. */
int host_memory_alloc(struct cluster *cluster, __u32 host, __u64 bytes, __u64 *address);
/* Wiped, and any pins of them are forgotten. */
void host_memory_free(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes);
/* Of that agent, on every host. Returns pages. */
__u64 host_memory_release(struct cluster *cluster, __u32 agent);
/* Agent that has the page; CLUSTER_NONE: nobody. */
__u32 host_memory_owner(const struct cluster *cluster, __u32 host, __u64 address);
/* Pinned pages of a host: counts by page, so that two pins need two unpins. -EFAULT: not its RAM. */
int host_memory_pin(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes);
void host_memory_unpin(struct cluster *cluster, __u32 host, __u64 address, __u64 bytes);
__u64 host_memory_pinned(const struct cluster *cluster, __u32 host); /* bytes */
/* xxHash of the pages that nobody has allocated (what rogue DMA would change), or of all. */
__u64 host_memory_checksum(const struct cluster *cluster, __u32 host, bool all);

#endif
