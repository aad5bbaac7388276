// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vhost/vhost_driver.h"

#include "injectors/emu/machine.h"
#include "injectors/emu/vhost/vhost.h"

/* The device's own part, which ends with it. */
static int vhost_driver_create(void **driver, const struct driver_setup *setup)
{
	*driver = setup->device->class->vhost_device(setup->model);
	return 0;
}

static int vhost_driver_start(void *driver)
{
	(void)driver;
	return 0;
}

static void vhost_driver_end(void *driver)
{
	(void)driver;
}

static long vhost_driver_next_pages(void *driver, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	long count = vhost_next_pages(driver, pages, limit, wait_ns);

	/* Who is told of none does not let go what there may be without pages, or has come since. */
	if (count <= 0)
		vhost_send_next(driver);
	return count;
}

static void vhost_driver_send_next(void *driver)
{
	vhost_send_next(driver);
}

const struct device_driver vhost_driver = {
	.create = vhost_driver_create,
	.start = vhost_driver_start,
	.stop = vhost_driver_end,
	.destroy = vhost_driver_end,
	.next_pages = vhost_driver_next_pages,
	.send_next = vhost_driver_send_next,
};
