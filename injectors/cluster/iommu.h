/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host's IOMMU: domains, each an I/O page table in shared memory, walked without a lock by whoever's transaction passes.
 *
 * Domain 0 is the identity over the host's bus, unchecked. A requester is what the host's root sees: a local function, or an
 * adapter (and behind it the requester entry, ntb.h) for what comes in from afar; it is in domain 0 until it is attached. With
 * [host] iommu=off everything is as domain 0. MSI addresses are never translated. Any process may write a domain, several may at a
 * time. (The names begin with host_, because an emulated device has an iommu_map() of its own: injectors/emu/iommu.h.)
 */
#ifndef FAULTLINE_CLUSTER_IOMMU_H
#define FAULTLINE_CLUSTER_IOMMU_H

#include "injectors/cluster/cluster.h"

/* A requester: function index, or entry of an adapter's requester table and the function's number within its device, which is
 * what ntb_requester_seen() gives. */
#define REQUESTER_FUNCTION(function) (function)
#define REQUESTER_ENTRY(adapter_node, slot, number) \
	(0x10000000u | (adapter_node) << 16 | (number) << 8 | (slot))
#define REQUESTER_OF_ENTRY(requester) ((requester) & ~0xff00u) /* whichever of its functions */
#define REQUESTER_CPU		      0xfffffu

#define HOST_IOMMU_READ	 1
#define HOST_IOMMU_WRITE 2

/* -ENOSPC: no domain is left. The number is never 0. */
int host_iommu_domain_create(struct cluster *cluster, __u32 host, __u32 *domain);
/* With everything in it; requesters in it are in none then: blocked. */
void host_iommu_domain_destroy(struct cluster *cluster, __u32 host, __u32 domain);
int host_iommu_attach(struct cluster *cluster, __u32 host, __u32 requester, __u32 domain);
void host_iommu_detach(struct cluster *cluster, __u32 host, __u32 requester); /* to domain 0 */
/* Of an entry of an adapter's requester table that is a new device's: on no host it is in a former one's domain, or blocked. */
void host_iommu_forget_entry(struct cluster *cluster, __u32 entry);
/* 0: none; HOST_IOMMU_BLOCKED: its domain was destroyed. */
#define HOST_IOMMU_BLOCKED 0xffffu
__u32 host_iommu_domain_of(const struct cluster *cluster, __u32 host, __u32 requester);
/* Destroys what a killed process has created, on every host. Returns domains. */
__u32 host_iommu_release(struct cluster *cluster, __u32 agent);

/*
 * Page-rounded; -EEXIST where something is mapped (nothing is changed then), -ENOMEM, -ENODEV: the domain is gone, for instance
 * with the borrow that it was made for. `device` is told with it (seen.h).
 */
int host_iommu_map(struct cluster *cluster, __u32 host, __u32 domain, __u64 address, __u64 physical,
		   __u64 bytes, int access, __u32 device);
/* Returns bytes that were unmapped. No transaction that began later sees them. */
__u64 host_iommu_unmap(struct cluster *cluster, __u32 host, __u32 domain, __u64 address,
		       __u64 bytes, __u32 device);

/* `run`: bytes from there on that are contiguous, at most to the page's end. -EFAULT: not mapped; -EACCES: not for this. */
/* Counts a fault; access.c tells of it. */
int host_iommu_translate(const struct cluster *cluster, __u32 host, __u32 requester, __u64 address,
			 bool write, __u64 *physical, __u64 *run);

struct host_iommu_stats {
	__u64 maps, unmaps, mapped_bytes, faults; /* maps and unmaps: calls; mapped now */
};
void host_iommu_stats(const struct cluster *cluster, __u32 host, struct host_iommu_stats *stats);
/* Of one domain: bytes that are mapped now, and calls of host_iommu_map() so far. */
void host_iommu_domain_stats(const struct cluster *cluster, __u32 host, __u32 domain,
			     struct host_iommu_stats *stats);

#endif
