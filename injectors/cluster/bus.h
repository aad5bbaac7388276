/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a driver sees of its device, wherever that is: config space, registers, the DMA API, interrupts.
 *
 * A driver is written against this alone and is the same for a device of its own host (bus_local.c), a borrowed one beside the
 * adapter (bus_lent.c) and one passed through to a guest (bus_guest.c): nothing in it knows which. Memory is its own machine's:
 * a host's RAM or a guest's.
 */
#ifndef FAULTLINE_CLUSTER_BUS_H
#define FAULTLINE_CLUSTER_BUS_H

#include "injectors/cluster/cluster.h"

enum dma_direction { DMA_TO_DEVICE = 1, DMA_FROM_DEVICE, DMA_BOTH };

struct bus;
struct bus_ops {
	__u32 (*config_read)(struct bus *bus, __u32 offset, __u32 bytes);
	void (*config_write)(struct bus *bus, __u32 offset, __u32 bytes, __u32 value);
	__u64 (*read)(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes);
	void (*write)(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes, __u64 value);
	/* Memory that both use, contiguous: the CPU's pointer and the device's address. -ENOMEM, -ENOSPC: window full. */
	int (*dma_alloc)(struct bus *bus, __u64 bytes, void **memory, __u64 *address);
	void (*dma_free)(struct bus *bus, __u64 bytes, void *memory, __u64 address);
	/* Of memory that dma_memory() has given. */
	int (*dma_map)(struct bus *bus, void *memory, __u64 bytes, enum dma_direction direction,
		       __u64 *address);
	void (*dma_unmap)(struct bus *bus, __u64 address, __u64 bytes,
			  enum dma_direction direction);
	void *(*memory)(
		struct bus *bus,
		__u64 bytes); /* pages of the driver's machine for its buffers; NULL: none left */
	void (*memory_free)(struct bus *bus, void *memory, __u64 bytes);
	/* Vector v; -ETIMEDOUT, -ENODEV: the device is gone. */
	int (*interrupt_wait)(struct bus *bus, __u32 vector, __u32 *seen, __u64 timeout_ns);
	/* 0: fine; -ENODEV: taken back, its host or the way to it is dead. A driver asks it when it reads all ones or waits for long. */
	int (*state)(struct bus *bus);
};
struct bus {
	const struct bus_ops *ops;
	struct cluster *cluster;
	__u32 function, device, host;
	__u32 borrow;	   /* CLUSTER_NONE: not lent */
	__u64 mask;	   /* of DMA addresses that its device can make */
	__u64 register_ns; /* what its last register write took, by lib/fabric; 0: it does not say */
	__u64 notice_ns; /* likewise, an interrupt's way on from where its device's write has ended */
	void *private;
};

/* bus_local.c */
int bus_local_open(struct bus *bus, struct cluster *cluster, __u32 function);
void bus_local_close(struct bus *bus);

#endif
