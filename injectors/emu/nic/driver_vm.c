// SPDX-License-Identifier: GPL-2.0
/* Of a NIC that a virtual machine drives: its guest's driver is not ours, but what that has posted is known. */
#include "injectors/emu/nic/nic_private.h"

static int vm_driver_create(void **driver, const struct driver_setup *setup)
{
	*driver = setup->model;
	return 0;
}

static int vm_driver_start(void *driver)
{
	(void)driver;
	return 0;
}

static void vm_driver_end(void *driver)
{
	(void)driver;
}

/* What is to be sent is taken at once: only what waits to be received is posted. */
static long vm_driver_ring_pages(void *driver, unsigned int sides, __u64 *pages, __u32 limit)
{
	struct nic *nic = driver;
	long count = 0;

	pthread_mutex_lock(&nic->lock);
	for (__u32 r = 0; r < nic->queues && sides & RING_SIDE(RING_RX); r++) {
		__u32 written = count < limit ? (__u32)count : limit;

		count += ring_virtqueue_pages(&nic->ring[r], pages + written, limit - written);
	}
	pthread_mutex_unlock(&nic->lock);
	return count;
}

const struct device_driver nic_vm_driver = {
	.create = vm_driver_create,
	.start = vm_driver_start,
	.stop = vm_driver_end,
	.destroy = vm_driver_end,
	.ring_pages = vm_driver_ring_pages,
};
