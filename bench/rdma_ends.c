// SPDX-License-Identifier: GPL-2.0
#include "bench/rdma_ends.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"

static struct rdma_ends ends;

static int note_setup(void **driver, const struct driver_setup *setup)
{
	ends.given[setup->index] = *setup;
	*driver = NULL;
	return 0;
}

static const struct device_driver no_driver = {.create = note_setup};

struct rdma_settings *rdma_ends_settings(struct rdma_ends *of, int end)
{
	return (struct rdma_settings *)of->devices[end].settings.bytes;
}

static void describe_end(int end, __u64 memory)
{
	struct device_config *device = &ends.devices[end];

	snprintf(ends.tenants[end].name, sizeof(ends.tenants[end].name), "vm%d", end);
	ends.tenants[end].memory = memory;
	strcpy(device->name, "hca");
	device->class = &ends.class;
	device->tenant = (__u32)end;
	device->queues = 1;
	device->queue_depth = 2;
	device->group_pages = 512;
	*rdma_ends_settings(&ends, end) = (struct rdma_settings){
		.peer_device = (__u32)!end,
		.mtu = 4096,
		.queue_pairs = 16,
		.timeout_ns = NSEC_PER_SEC,
		.retries = 7,
		.rnr_retries = 7,
		.rnr_timer = 1,
		.fault_limit = 4,
		.prefault = RDMA_PREFAULT_REQUEST,
	};
}

struct rdma_ends *rdma_ends_describe(__u64 memory)
{
	memset(&ends, 0, sizeof(ends));
	ends.class = rdma_class;
	ends.class.driver = &no_driver;
	ends.class.choose_driver = NULL;
	for (int end = 0; end < RDMA_ENDS; end++)
		describe_end(end, memory);
	ends.machine = (struct machine_config){
		.name = "bench",
		.tenant_count = RDMA_ENDS,
		.device_count = RDMA_ENDS,
		.tenants = ends.tenants,
		.devices = ends.devices,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 4096,
		.premap = true,
		.seed = 1,
	};
	return &ends;
}
