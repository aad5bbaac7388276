// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/vfio_device.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"

static int vfio_region(const struct vfio_device *device, unsigned int index,
		       struct vfio_region_info *info)
{
	*info = (struct vfio_region_info){.argsz = sizeof(*info), .index = index};
	if (ioctl(device->fd, VFIO_DEVICE_GET_REGION_INFO, info))
		return failed(-errno, "%s: region %u: %s", device->address, index, strerror(errno));
	return 0;
}

/* Lets the device master the bus: after a reset it does not. */
static int vfio_device_enable(struct vfio_device *device)
{
	struct vfio_region_info config;
	__u16 command;
	int error = vfio_region(device, VFIO_PCI_CONFIG_REGION_INDEX, &config);

	if (error)
		return error;
	if (pread(device->fd, &command, sizeof(command), (off_t)(config.offset + PCI_COMMAND)) !=
	    sizeof(command))
		return failed(-EIO, "%s: its configuration cannot be read", device->address);
	command |= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	if (pwrite(device->fd, &command, sizeof(command), (off_t)(config.offset + PCI_COMMAND)) !=
	    sizeof(command))
		return failed(-EIO, "%s: bus mastering cannot be switched on", device->address);
	return 0;
}

int vfio_device_open(struct vfio_device *device, const char *address, int fd)
{
	struct vfio_region_info bar;
	void *memory;
	int error;

	*device = (struct vfio_device){.address = address, .fd = fd, .irq = -1};
	error = vfio_device_enable(device);
	if (!error)
		error = vfio_region(device, VFIO_PCI_BAR0_REGION_INDEX, &bar);
	if (error)
		return error;
	memory = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)bar.offset);
	if (memory == MAP_FAILED)
		return failed(-errno, "%s: its registers cannot be mapped: %s", address,
			      strerror(errno));
	device->registers = memory;
	device->register_bytes = bar.size;
	return 0;
}

void vfio_device_close(struct vfio_device *device)
{
	if (device->irq >= 0)
		close(device->irq);
	if (device->registers)
		munmap((void *)device->registers, device->register_bytes);
	if (device->fd >= 0)
		close(device->fd);
	device->registers = NULL;
	device->fd = device->irq = -1;
}

/* One descriptor for vector 0, or none: then all vectors are off. */
static int set_irqs(struct vfio_device *device, unsigned int count)
{
	struct {
		struct vfio_irq_set set;
		__s32 fd;
	} request = {
		.set = {.argsz = sizeof(request),
			.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
				 (count ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE),
			.index = device->index,
			.count = count},
		.fd = device->irq,
	};

	if (!count)
		request.set.argsz = sizeof(request.set);
	if (ioctl(device->fd, VFIO_DEVICE_SET_IRQS, &request))
		return failed(-errno, "%s: its interrupt vectors cannot be set: %s",
			      device->address, strerror(errno));
	device->vectors += count;
	return 0;
}

int vfio_device_wire(struct vfio_device *device)
{
	static const unsigned int indexes[] = {VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_MSI_IRQ_INDEX};

	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		struct vfio_irq_info info = {.argsz = sizeof(info), .index = indexes[i]};

		if (ioctl(device->fd, VFIO_DEVICE_GET_IRQ_INFO, &info) || !info.count)
			continue;
		device->index = indexes[i];
		if (device->irq < 0)
			device->irq = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (device->irq < 0)
			return failed(-errno, "no eventfd: %s", strerror(errno));
		return set_irqs(device, 1);
	}
	return failed(-EOPNOTSUPP, "%s has neither MSI-X nor MSI", device->address);
}

int vfio_device_unwire(struct vfio_device *device)
{
	return device->irq < 0 ? 0 : set_irqs(device, 0);
}

int vfio_device_interrupts(struct vfio_device *device, int timeout_ms, __u64 *count)
{
	struct pollfd poll_fd = {.fd = device->irq, .events = POLLIN};

	*count = 0;
	if (poll(&poll_fd, 1, timeout_ms) < 0 && errno != EINTR)
		return failed(-errno, "waiting for an interrupt of %s: %s", device->address,
			      strerror(errno));
	if (read(device->irq, count, sizeof(*count)) != sizeof(*count))
		*count = 0;
	device->interrupts += *count;
	return 0;
}

int vfio_device_reset(struct vfio_device *device)
{
	if (ioctl(device->fd, VFIO_DEVICE_RESET))
		return failed(errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno,
			      "%s cannot be reset alone: %s", device->address, strerror(errno));
	device->resets++;
	return vfio_device_enable(device);
}
