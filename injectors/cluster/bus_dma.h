/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DMA API of a host's kernel, for a device of its own and for one that it has borrowed: addresses for the device of pages of
 * the driver's memory.
 *
 * With an IOMMU each map takes a place in a space of I/O addresses and puts pages behind it, which costs the own host's IOMMU alone:
 * whoever lent the device is not asked. Places are taken next-fit: what was unmapped last is used again last, so that a late DMA
 * meets no new mapping and the IOMMU's cache is not made to forget the same lines over and over (PV 7.1.2). Without an IOMMU
 * addresses are physical. One thread at a time.
 */
#ifndef FAULTLINE_CLUSTER_BUS_DMA_H
#define FAULTLINE_CLUSTER_BUS_DMA_H

#include "injectors/cluster/bus.h"

struct lend_counts;
struct dma_space {
	struct cluster *cluster;
	__u32 host, device, borrow;
	__u32 domain;		    /* 0: no IOMMU */
	__u64 base, bytes;	    /* I/O addresses; without an IOMMU: of the host's RAM */
	__u64 device_base;	    /* what the device says for `base` */
	struct lend_counts *counts; /* one writer: this */
	/* private */
	__u64 pages, next;
	__u64 *used;   /* bits by page */
	__u32 *behind; /* by page: physical page */
};
int dma_space_open(struct dma_space *space);
/* Unmaps what its driver has left. */
void dma_space_close(struct dma_space *space);

/* -EFAULT: not memory of this host; -ENOSPC: no place is left. */
int dma_space_map(struct dma_space *space, void *memory, __u64 bytes, enum dma_direction direction,
		  __u64 *address);
void dma_space_unmap(struct dma_space *space, __u64 address, __u64 bytes);

void *dma_memory(struct dma_space *space, __u64 bytes);
void dma_memory_free(struct dma_space *space, void *memory, __u64 bytes);
int dma_space_alloc(struct dma_space *space, __u64 bytes, void **memory, __u64 *address);
void dma_space_free(struct dma_space *space, __u64 bytes, void *memory, __u64 address);

#endif
