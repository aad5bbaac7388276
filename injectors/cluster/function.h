/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCIe functions: config space and BARs of devices, in shared memory, as their registers are.
 *
 * Function numbers count over all devices of a cluster, those of one device one after the other. A BAR lies on its host's bus at
 * function_bar_address(). A write to a BAR is seen by whoever runs the device (function_wait()).
 */
#ifndef FAULTLINE_CLUSTER_FUNCTION_H
#define FAULTLINE_CLUSTER_FUNCTION_H

#include "injectors/cluster/cluster.h"

#define FUNCTIONS_MAX	256
#define FUNCTION_BARS	6
#define FUNCTION_CONFIG 4096
#define MSI_ADDRESS \
	0xfee00000ull	 /* on every host's bus; + 4096 x function that interrupts; data: vector */
#define MSI_VECTORS   64 /* of a function */
#define BUS_LOW_MMIO  0xc0000000ull /* BARs below 4 GiB: from here to MSI_ADDRESS */
#define BUS_HIGH_MMIO (1ull << 40)
/* BAR 0 has registers, from 0x1000 on doorbells, and the MSI-X table (entries of 16 bytes) and its pending bits. */
#define FUNCTION_REGISTERS    0x10000u
#define FUNCTION_DOORBELLS    0x1000u
#define FUNCTION_MSIX_TABLE   0x8000u
#define FUNCTION_MSIX_PENDING 0xc000u
#define FUNCTION_MEMORY_BAR   2 /* an accelerator's memory, above 4 GiB */
/* Capabilities in config space. */
#define FUNCTION_CAP_MSIX 0x50
#define FUNCTION_CAP_PCIE 0x70

__u32 function_of(const struct cluster *cluster, __u32 device, __u32 number);
__u32 function_device(const struct cluster *cluster, __u32 function);
__u32 function_host(const struct cluster *cluster, __u32 function);
__u32 function_number(const struct cluster *cluster, __u32 function); /* of its device */

/* Raw, by who runs the device or reads it on its own host. Config space as of PCI: IDs, command, status, BARs, capabilities
 * MSI-X (0x11) and PCI Express; INTx pin in 0x3d. */
__u32 function_config_read(const struct cluster *cluster, __u32 function, __u32 offset,
			   __u32 bytes);
void function_config_write(struct cluster *cluster, __u32 function, __u32 offset, __u32 bytes,
			   __u32 value);
__u64 function_bar_bytes(const struct cluster *cluster, __u32 function,
			 __u32 bar); /* 0: there is none */
__u64 function_bar_address(const struct cluster *cluster, __u32 function, __u32 bar);
/* The memory behind it, for its device's engine. */
void *function_bar(const struct cluster *cluster, __u32 function, __u32 bar);
/* Which BAR of which function a host's bus has at an address; false: none. */
bool function_at(const struct cluster *cluster, __u32 host, __u64 address, __u32 *function,
		 __u32 *bar, __u64 *offset);

/* Writes to any BAR of a device since it was made: a doorbell is one. Waits until there is one more than `seen`. */
__u32 function_writes(const struct cluster *cluster, __u32 device);
int function_wait(const struct cluster *cluster, __u32 device, __u32 seen, __u64 timeout_ns);
void function_written(struct cluster *cluster, __u32 function); /* by access.c */

/* Borrow on whose behalf it moves data from now on: function_initiator() has it. CLUSTER_NONE: none. By its lender. */
void function_borrow_set(struct cluster *cluster, __u32 function, __u32 borrow);
__u32 function_borrow(const struct cluster *cluster, __u32 function);

/* FLR, by its lender: config space and registers as after power on; counts. The engine sees it by function_resets(). */
void function_reset(struct cluster *cluster, __u32 function);
__u32 function_resets(const struct cluster *cluster, __u32 function);

/* Interrupts as they arrive at a host: vector v of a function. By access.c for a write to MSI_ADDRESS. */
void interrupt_post(struct cluster *cluster, __u32 host, __u32 function, __u32 vector);
__u32 interrupt_count(const struct cluster *cluster, __u32 host, __u32 function, __u32 vector);
/* Until there is one more than `seen`. -ETIMEDOUT. */
int interrupt_wait(const struct cluster *cluster, __u32 host, __u32 function, __u32 vector,
		   __u32 seen, __u64 timeout_ns);

#endif
