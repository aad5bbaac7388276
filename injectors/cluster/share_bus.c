// SPDX-License-Identifier: GPL-2.0
/*
 * What a manager sees of a controller of its own host: no window and no adapter, and memory that the device knows by its bus
 * address, in the domain that lend.c has put it into. As much of a bus as an admin queue takes.
 */
#include <errno.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/share_manager.h"

static struct manager *bus_manager(const struct bus *bus)
{
	return bus->private;
}

static __u32 shared_config_read(struct bus *bus, __u32 offset, __u32 bytes)
{
	return function_config_read(bus->cluster, bus->function, offset, bytes);
}

static void shared_config_write(struct bus *bus, __u32 offset, __u32 bytes, __u32 value)
{
	function_config_write(bus->cluster, bus->function, offset, bytes, value);
}

static __u64 shared_read(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	struct initiator cpu = cpu_of(bus->cluster, bus->host);

	return access_read_register(bus->cluster, &cpu,
				    function_bar_address(bus->cluster, bus->function, bar) + offset,
				    bytes);
}

static void shared_write(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes, __u64 value)
{
	struct initiator cpu = cpu_of(bus->cluster, bus->host);

	access_write_register(bus->cluster, &cpu,
			      function_bar_address(bus->cluster, bus->function, bar) + offset,
			      bytes, value);
}

static int shared_dma_alloc(struct bus *bus, __u64 bytes, void **memory, __u64 *address)
{
	__u32 domain = bus_manager(bus)->borrow.lender_domain;
	int err = host_memory_alloc(bus->cluster, bus->host, bytes, address);

	if (err)
		return err;
	*memory = host_memory(bus->cluster, bus->host, *address, bytes);
	if (domain)
		err = host_iommu_map(bus->cluster, bus->host, domain, *address, *address, bytes,
				     HOST_IOMMU_READ | HOST_IOMMU_WRITE, bus->device);
	if (err)
		host_memory_free(bus->cluster, bus->host, *address, bytes);
	return err;
}

static void shared_dma_free(struct bus *bus, __u64 bytes, void *memory, __u64 address)
{
	__u32 domain = bus_manager(bus)->borrow.lender_domain;

	(void)memory;
	if (domain)
		host_iommu_unmap(bus->cluster, bus->host, domain, address, bytes, bus->device);
	host_memory_free(bus->cluster, bus->host, address, bytes);
}

static int share_bus_state(struct bus *bus)
{
	return lend_check(bus->cluster, &bus_manager(bus)->borrow);
}

static const struct bus_ops shared_ops = {
	.config_read = shared_config_read,
	.config_write = shared_config_write,
	.read = shared_read,
	.write = shared_write,
	.dma_alloc = shared_dma_alloc,
	.dma_free = shared_dma_free,
	.state = share_bus_state,
};

void manager_bus_local(struct manager *manager)
{
	manager->bus = (struct bus){.ops = &shared_ops,
				    .cluster = manager->cluster,
				    .function = manager->function,
				    .device = manager->device,
				    .host = manager->cluster->host,
				    .borrow = manager->borrow.number,
				    .private = manager};
}
