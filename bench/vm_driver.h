/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver of a virtio disk without a virtual machine around it: the front-end of vhost-user and one virtqueue, for whatever back-end
 * listens at a socket. The memory is a file named as QEMU's, so that libfaultline-vm.so, if it is preloaded, has it served by its host.
 *
 * Guest physical addresses are offsets in the memory. Its first VM_DRIVER_OWN bytes are the driver's: ring, headers, statuses.
 * All functions end the program with a sentence if they fail.
 */
#ifndef FAULTLINE_BENCH_VM_DRIVER_H
#define FAULTLINE_BENCH_VM_DRIVER_H

#include <linux/types.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define VM_DRIVER_OWN  (1u << 20)
#define VM_DRIVER_SIZE 256u /* of the queue, in descriptors: three a request */
#define VM_DRIVER_MOST (VM_DRIVER_SIZE / 3)

struct vm_driver {
	unsigned char *memory;
	size_t bytes;
	int file; /* of the memory */
	int socket, kick, call;
	pid_t peer; /* whoever listens at the socket */
	bool event_index;
	struct vring ring;
	__u16 published, reaped;
};

/* Memory, then the handshake of a device with one queue. */
void vm_driver_open(struct vm_driver *driver, const char *path, size_t bytes);

/* One request of `bytes` at `sector`, to or from `address`; its slot is below VM_DRIVER_MOST and free. Not told to the device. */
void vm_driver_submit(struct vm_driver *driver, unsigned int slot, bool write, __u64 sector,
		      __u64 address, __u32 bytes);
/* Tells the device of all that was submitted, unless it has said that it looks by itself. */
void vm_driver_kick(struct vm_driver *driver);
/* The slot of the next request that is done; waits for it to be. */
unsigned int vm_driver_reap(struct vm_driver *driver);

#endif
