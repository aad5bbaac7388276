// SPDX-License-Identifier: GPL-2.0
/* A workload as the driver of a device. */
#include "injectors/emu/workload_device.h"

#include "lib/base/fail.h"

static int drive_create(void **driver, const struct driver_setup *setup)
{
	struct workload *workload = NULL;
	int err = 0;

	if (setup->workload)
		err = workload_create(&workload, setup->workload, setup->memory, setup->channel);
	*driver = workload;
	return err ? failed_in(err, "workload %s", setup->workload->name) : 0;
}

static int drive_start(void *driver)
{
	return workload_start(driver);
}

static int drive_wait(void *driver, __u64 timeout_ns)
{
	return workload_wait(driver, timeout_ns);
}

static void drive_stop(void *driver)
{
	workload_stop(driver);
}

static void drive_destroy(void *driver)
{
	workload_destroy(driver);
}

static long drive_next_pages(void *driver, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	return workload_next_pages(driver, pages, limit, wait_ns);
}

static void drive_send_next(void *driver)
{
	workload_send_next(driver);
}

static __u64 drive_buffer_bytes(void *driver)
{
	return workload_buffer_bytes(driver);
}

const struct device_driver workload_driver = {
	.create = drive_create,
	.start = drive_start,
	.wait = drive_wait,
	.stop = drive_stop,
	.destroy = drive_destroy,
	.next_pages = drive_next_pages,
	.send_next = drive_send_next,
	.buffer_bytes = drive_buffer_bytes,
};
