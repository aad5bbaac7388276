// SPDX-License-Identifier: GPL-2.0
/* A function of the driver's own host: the same driver, registers without a window, interrupts as they are. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/bus_dma.h"
#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* I/O addresses of a local driver: above what BIOSes keep, below MSI_ADDRESS, in reach of devices of 32 bits. */
#define LOCAL_IOVA	 (16ull << 20)
#define LOCAL_IOVA_BYTES (1ull << 30)

struct local_bus {
	struct dma_space space;
	struct initiator cpu;
	__u32 requester;
};

static struct local_bus *local_of(struct bus *bus)
{
	return bus->private;
}

static __u32 local_config_read(struct bus *bus, __u32 offset, __u32 bytes)
{
	return function_config_read(bus->cluster, bus->function, offset, bytes);
}

static void local_config_write(struct bus *bus, __u32 offset, __u32 bytes, __u32 value)
{
	function_config_write(bus->cluster, bus->function, offset, bytes, value);
}

static bool local_register(const struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	__u64 size = bar < FUNCTION_BARS ? function_bar_bytes(bus->cluster, bus->function, bar) : 0;

	return offset < size && bytes <= size - offset;
}

static __u64 local_read(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	if (!local_register(bus, bar, offset, bytes))
		return ~0ull;
	return access_read_register(bus->cluster, &local_of(bus)->cpu,
				    function_bar_address(bus->cluster, bus->function, bar) + offset,
				    bytes);
}

static void local_write(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes, __u64 value)
{
	struct access_result result = {0};

	if (!local_register(bus, bar, offset, bytes))
		return;
	access_write(bus->cluster, &local_of(bus)->cpu, PURPOSE_MMIO,
		     function_bar_address(bus->cluster, bus->function, bar) + offset, &value, bytes,
		     &result);
	bus->register_ns = result.model_ns;
}

static int local_dma_map(struct bus *bus, void *memory, __u64 bytes, enum dma_direction direction,
			 __u64 *address)
{
	return dma_space_map(&local_of(bus)->space, memory, bytes, direction, address);
}

static void local_dma_unmap(struct bus *bus, __u64 address, __u64 bytes,
			    enum dma_direction direction)
{
	(void)direction;
	dma_space_unmap(&local_of(bus)->space, address, bytes);
}

static int local_dma_alloc(struct bus *bus, __u64 bytes, void **memory, __u64 *address)
{
	return dma_space_alloc(&local_of(bus)->space, bytes, memory, address);
}

static void local_dma_free(struct bus *bus, __u64 bytes, void *memory, __u64 address)
{
	dma_space_free(&local_of(bus)->space, bytes, memory, address);
}

static void *local_memory(struct bus *bus, __u64 bytes)
{
	return dma_memory(&local_of(bus)->space, bytes);
}

static void local_memory_free(struct bus *bus, void *memory, __u64 bytes)
{
	dma_memory_free(&local_of(bus)->space, memory, bytes);
}

static int local_state(struct bus *bus)
{
	return lend_state(bus->cluster, bus->function) == LEND_LOST ? -ENODEV : 0;
}

static int local_interrupt_wait(struct bus *bus, __u32 vector, __u32 *seen, __u64 timeout_ns)
{
	int err = interrupt_wait(bus->cluster, bus->host, bus->function, vector, *seen, timeout_ns);

	if (!err)
		*seen = interrupt_count(bus->cluster, bus->host, bus->function, vector);
	return err;
}

static const struct bus_ops local_ops = {
	.config_read = local_config_read,
	.config_write = local_config_write,
	.read = local_read,
	.write = local_write,
	.dma_alloc = local_dma_alloc,
	.dma_free = local_dma_free,
	.dma_map = local_dma_map,
	.dma_unmap = local_dma_unmap,
	.memory = local_memory,
	.memory_free = local_memory_free,
	.interrupt_wait = local_interrupt_wait,
	.state = local_state,
};

/* Its IOMMU domain, which the kernel's DMA API makes for every device. */
static int local_domain(struct bus *bus, struct local_bus *local)
{
	struct cluster *cluster = bus->cluster;
	__u64 end = LOCAL_IOVA + LOCAL_IOVA_BYTES;
	__u32 domain;
	int err;

	if (!cluster->config->hosts[bus->host].iommu) {
		local->space.bytes = cluster->config->hosts[bus->host].memory;
		return 0;
	}
	if (end - 1 > bus->mask)
		end = bus->mask + 1;
	if (end <= LOCAL_IOVA)
		return failed(-ERANGE, "%s can make addresses up to %#llx; accepted: above %#llx",
			      lend_name(cluster, bus->function), (unsigned long long)bus->mask,
			      LOCAL_IOVA);
	err = host_iommu_domain_create(cluster, bus->host, &domain);
	if (err)
		return err;
	__atomic_store_n(&cluster->lends->functions[bus->function].local_domain, domain,
			 __ATOMIC_RELEASE);
	local->space.domain = domain;
	local->space.base = local->space.device_base = LOCAL_IOVA;
	local->space.bytes = end - LOCAL_IOVA;
	return host_iommu_attach(cluster, bus->host, local->requester, domain);
}

static void local_domain_drop(struct bus *bus, struct local_bus *local)
{
	struct cluster *cluster = bus->cluster;
	__u32 domain = __atomic_exchange_n(&cluster->lends->functions[bus->function].local_domain,
					   0, __ATOMIC_ACQ_REL);

	if (!domain)
		return;
	host_iommu_domain_destroy(cluster, bus->host, domain);
	lend_unblock(cluster, bus->host, local->requester);
}

int bus_local_open(struct bus *bus, struct cluster *cluster, __u32 function)
{
	__u32 device = function_device(cluster, function),
	      bits = cluster->config->devices[device].address_bits;
	struct local_bus *local = calloc(1, sizeof(*local));
	int err;

	if (!local)
		return failed(-ENOMEM, "no memory for a bus");
	*bus = (struct bus){.ops = &local_ops,
			    .cluster = cluster,
			    .function = function,
			    .device = device,
			    .host = function_host(cluster, function),
			    .borrow = CLUSTER_NONE,
			    .mask = bits && bits < 64 ? (1ull << bits) - 1 : ~0ull,
			    .private = local};
	local->cpu = cpu_of(cluster, bus->host);
	local->requester = REQUESTER_FUNCTION(function);
	local->space = (struct dma_space){
		.cluster = cluster, .host = bus->host, .device = device, .borrow = CLUSTER_NONE};
	err = local_domain(bus, local);
	err = err ?: dma_space_open(&local->space);
	if (err)
		bus_local_close(bus);
	return err;
}

void bus_local_close(struct bus *bus)
{
	struct local_bus *local = local_of(bus);

	if (!local)
		return;
	dma_space_close(&local->space);
	local_domain_drop(bus, local);
	free(local);
	bus->private = NULL;
}
