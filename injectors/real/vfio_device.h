/* SPDX-License-Identifier: GPL-2.0 */
/* A PCI device behind VFIO: its registers, its interrupts, its reset. */
#ifndef FAULTLINE_REAL_VFIO_DEVICE_H
#define FAULTLINE_REAL_VFIO_DEVICE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct vfio_device {
	const char *address; /* "0000:00:02.0" */
	int fd;
	volatile void *registers; /* BAR 0 */
	size_t register_bytes;
	int irq;	    /* eventfd of its vector 0, -1: not wired */
	unsigned int index; /* MSI or MSI-X: which of them is wired */
	__u64 resets, vectors, interrupts;
};

/* Takes over the descriptor. Maps BAR 0 and lets the device master the bus. */
int vfio_device_open(struct vfio_device *device, const char *address, int fd);
void vfio_device_close(struct vfio_device *device);
/* Wires vector 0 of MSI-X, or else MSI. */
int vfio_device_wire(struct vfio_device *device);
int vfio_device_unwire(struct vfio_device *device);
/* How often the device has interrupted since the last call; waits up to timeout_ms for the first. */
int vfio_device_interrupts(struct vfio_device *device, int timeout_ms, __u64 *count);
/* -EOPNOTSUPP with a sentence: the device cannot be reset alone. */
int vfio_device_reset(struct vfio_device *device);

static inline __u32 device_read32(const struct vfio_device *device, size_t offset)
{
	return *(const volatile __u32 *)((const volatile char *)device->registers + offset);
}

static inline __u64 device_read64(const struct vfio_device *device, size_t offset)
{
	return *(const volatile __u64 *)((const volatile char *)device->registers + offset);
}

static inline void device_write32(const struct vfio_device *device, size_t offset, __u32 value)
{
	*(volatile __u32 *)((volatile char *)device->registers + offset) = value;
}

static inline void device_write64(const struct vfio_device *device, size_t offset, __u64 value)
{
	*(volatile __u64 *)((volatile char *)device->registers + offset) = value;
}

#endif
