// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU's edu device: a page of memory of its own and one DMA at a time, which takes 100 ms. It never
 * learns that a DMA failed.
 */
#include <errno.h>

#include "injectors/real/master.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

enum {
	EDU_IDENTITY = 0x00,
	EDU_IRQ_STATUS = 0x24,
	EDU_IRQ_ACKNOWLEDGE = 0x64,
	EDU_SOURCE = 0x80,
	EDU_DESTINATION = 0x88,
	EDU_COUNT = 0x90,
	EDU_COMMAND = 0x98,
};

enum { COMMAND_RUN = 1, COMMAND_TO_MEMORY = 2, COMMAND_INTERRUPT = 4 };

#define EDU_MAGIC      0xed
#define EDU_BUFFER     0x40000u
#define EDU_BYTES      2048u /* all 4096 of its buffer are out of bounds to QEMU, which aborts */
#define EDU_IOVA_BYTES (1ull << 28) /* of its default dma_mask; beyond it silently cuts bits off */
#define PATIENCE_NS    (10 * NSEC_PER_SEC)

int edu_start(struct master *master)
{
	__u32 identity = device_read32(&master->device, EDU_IDENTITY);

	master->depth = 1;
	master->bytes = EDU_BYTES;
	if ((identity & 0xff) != EDU_MAGIC)
		return failed(-ENODEV, "%s: its identity is 0x%08x, not that of an edu",
			      master->device.address, identity);
	return 0;
}

int edu_begin(struct master *master, const struct master_dma *dma)
{
	struct vfio_device *device = &master->device;
	__u64 command = COMMAND_RUN;

	if (dma->iova + EDU_BYTES > EDU_IOVA_BYTES)
		return failed(-ERANGE, "%s: IOVA 0x%llx: edu reaches the first 256 MiB only",
			      device->address, dma->iova);
	if (master->interrupts)
		command |= COMMAND_INTERRUPT;
	if (dma->direction == MASTER_WRITES_MEMORY) {
		command |= COMMAND_TO_MEMORY;
		device_write64(device, EDU_SOURCE, EDU_BUFFER);
		device_write64(device, EDU_DESTINATION, dma->iova);
	} else {
		device_write64(device, EDU_SOURCE, dma->iova);
		device_write64(device, EDU_DESTINATION, EDU_BUFFER);
	}
	device_write64(device, EDU_COUNT, EDU_BYTES);
	device_write64(device, EDU_COMMAND, command);
	return 0;
}

int edu_wait(struct master *master, bool *refused)
{
	struct vfio_device *device = &master->device;
	__u64 began = monotonic_ns();
	__u32 status;

	*refused = false;
	while (device_read64(device, EDU_COMMAND) & COMMAND_RUN)
		if (!master_patience(began, PATIENCE_NS))
			return failed(-ETIMEDOUT, "%s: a DMA has not ended within 10 s",
				      device->address);
	if (master->interrupts) {
		status = device_read32(device, EDU_IRQ_STATUS);
		device_write32(device, EDU_IRQ_ACKNOWLEDGE, status);
	}
	return 0;
}
