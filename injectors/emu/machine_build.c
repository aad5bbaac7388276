// SPDX-License-Identifier: GPL-2.0
/* Puts a machine together from its description, and takes it apart. */
#include "injectors/emu/machine_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/kvstores.h"
#include "lib/base/fail.h"

#define PHYSICAL_STRIDE_BITS 40 /* of host physical space for each tenant */
#define SVA_BASE	     0x7f0000000000ull
#define WINDOW_FACTOR	     2 /* IOVA window in tenant memories: stray addresses do fault */

static void *machine_copy_array(const void *from, size_t count, size_t size)
{
	void *to = calloc(count ? count : 1, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

static int copy_config(struct machine *machine, const struct machine_config *config)
{
	struct machine_config *copy = &machine->config;

	*copy = *config;
	/* Guests that are more than the limit begin with memory that they have not touched yet. */
	copy->premap &= !config->memory_limit;
	copy->tenants =
		machine_copy_array(config->tenants, config->tenant_count, sizeof(*copy->tenants));
	copy->devices =
		machine_copy_array(config->devices, config->device_count, sizeof(*copy->devices));
	copy->workloads = machine_copy_array(config->workloads, config->workload_count,
					     sizeof(*copy->workloads));
	copy->traffics = machine_copy_array(config->traffics, config->traffic_count,
					    sizeof(*copy->traffics));
	copy->ranks = machine_copy_array(config->ranks, config->ranks_count, sizeof(*copy->ranks));
	copy->kvstores = machine_copy_array(config->kvstores, config->kvstore_count,
					    sizeof(*copy->kvstores));
	copy->verbs = machine_copy_array(config->verbs, config->verbs_count, sizeof(*copy->verbs));
	machine->tenants = calloc(config->tenant_count, sizeof(*machine->tenants));
	machine->devices = calloc(config->device_count, sizeof(*machine->devices));
	if (!copy->tenants || !copy->devices || !copy->workloads || !copy->traffics ||
	    !copy->ranks || !copy->kvstores || !copy->verbs || !machine->tenants ||
	    !machine->devices)
		return failed(-ENOMEM, "no memory for a machine of %u devices",
			      config->device_count);
	return 0;
}

/* A virtual machine begins with memory that it has not touched yet, and fills it itself. */
static bool premapped(const struct machine *machine, const struct tenant *tenant)
{
	return machine->config.premap && tenant->config.backend != MEMORY_VM;
}

static int build_tenant(struct machine *machine, __u32 index)
{
	struct tenant *tenant = &machine->tenants[index];
	struct guest_memory_config memory;
	int error;

	tenant->machine = machine;
	tenant->config = machine->config.tenants[index];
	tenant->physical = (index + 1ull) << PHYSICAL_STRIDE_BITS;
	memory = (struct guest_memory_config){
		.bytes = tenant->config.memory,
		.physical = tenant->physical,
		.backend = tenant->config.backend,
		.unprotected = tenant->config.unprotected,
		.directory = machine->config.directory[0] ? machine->config.directory : NULL,
		.tenant = index,
		.watch = machine_watch(tenant),
		.injections = machine->injections,
		.wait_room = machine->limit ? memory_limit_wait_room : NULL,
		.room = machine->limit,
	};
	error = guest_memory_create(&tenant->memory, &memory);
	if (!error)
		error = page_locks_create(&tenant->locks, tenant->config.memory >> PAGE_BITS);
	if (!error)
		error = page_locks_create(&tenant->evictions, tenant->config.memory >> PAGE_BITS);
	if (!error)
		error = pins_create(&tenant->pins, tenant->config.memory >> PAGE_BITS,
				    tenant->config.memlock);
	if (!error && machine->limit) {
		tenant->touched = calloc(tenant->config.memory >> PAGE_BITS, 1);
		error = tenant->touched ? 0 : failed(-ENOMEM, "no memory for the marks of DMA");
	}
	if (!error && premapped(machine, tenant))
		error = guest_memory_populate(tenant->memory, 0, tenant->config.memory);
	return error ? failed_in(error, "tenant %s", tenant->config.name) : 0;
}

/* Which devices each tenant has. */
static int assign_devices(struct machine *machine)
{
	for (__u32 i = 0; i < machine->config.device_count; i++)
		machine->tenants[machine->config.devices[i].tenant].device_count++;
	for (__u32 i = 0; i < machine->config.tenant_count; i++) {
		struct tenant *tenant = &machine->tenants[i];

		tenant->devices = calloc(tenant->device_count + 1, sizeof(*tenant->devices));
		if (!tenant->devices)
			return failed(-ENOMEM, "no memory for %u devices", tenant->device_count);
		tenant->device_count = 0;
	}
	for (__u32 i = 0; i < machine->config.device_count; i++) {
		struct tenant *tenant = &machine->tenants[machine->config.devices[i].tenant];

		tenant->devices[tenant->device_count++] = i;
	}
	return 0;
}

static int build_translation(struct machine *machine, __u32 index)
{
	struct machine_device *device = &machine->devices[index];
	const struct tenant *tenant = &machine->tenants[device->config.tenant];
	struct lookup_config lookup = {
		.kind = device->config.lookup,
		.iova_base = device->iova_offset,
		.iova_bytes = WINDOW_FACTOR * tenant->config.memory,
		.devtlb = device->config.devtlb,
		.emq = machine->emq,
		.lookup_delay_ns = device->config.lookup_delay_ns,
	};
	int error = iommu_domain_create(&device->domain);

	if (!error && machine->iotlb)
		error = iotlb_attach(machine->iotlb, device->domain);
	lookup.devtlb.seed = machine->config.seed * 3000017 + index + 1;
	return error ? error : lookup_create(&device->lookup, &lookup, device->domain);
}

/* A port's queues are those that requests come from: of a virtual machine's device, its virtqueues. */
static __u16 port_queues(struct device_config *device, const struct tenant *tenant)
{
	const struct device_class *class = device->class;
	bool vm = tenant->config.backend == MEMORY_VM ||
		  (class->vhost && *class->vhost(&device->settings)->socket);

	return (__u16)(device->queues * (vm && class->virtqueues ? class->virtqueues : 1));
}

static int build_port(struct machine *machine, __u32 index)
{
	struct machine_device *device = &machine->devices[index];
	const struct tenant *tenant = &machine->tenants[device->config.tenant];
	struct port_config config = {
		.device = index,
		.queues = port_queues(&device->config, tenant),
		.pasid = device->pasid,
		.group_pages = device->config.group_pages,
		.queue_entries = machine->config.request_queue_entries,
		.page_requests = device->config.page_requests,
		.response_timeout_ns = device->config.response_timeout_ns,
		.reenable_ns = device->config.reenable_ns,
		.physical = tenant->physical,
		.memory = tenant->memory,
		.direct = device->config.lookup == LOOKUP_UFFD,
		.iova_offset = device->iova_offset,
		.lookup = device->lookup,
		.service = machine->service,
		.injections = machine->injections,
		.access_log = machine->access_log,
		.touched = tenant->touched,
		.bytes = tenant->config.memory,
	};

	return port_create(&device->port, &config);
}

/* The devices of a tenant share its memory in equal parts, in their order. */
static int build_channel(struct machine_device *device, const struct tenant *tenant, __u32 place)
{
	/* A virtual machine's guest has its rings where it likes, and each device sees all of the memory. */
	bool vm = tenant->config.backend == MEMORY_VM;
	__u64 share = tenant->config.memory / (vm ? 1 : tenant->device_count) & ~(PAGE_BYTES - 1);
	struct channel_config config = {
		.queues = device->config.queues,
		.queue_depth = device->config.queue_depth,
		.depth_max = (__u16)device->config.class->depth_max,
		.io = device->config.class->io,
		.pasid = device->pasid,
		.guest_address = vm ? 0 : place * share,
		.bytes = share,
		.without_rings = vm,
		.iova_offset = device->iova_offset,
	};

	int error = channel_create(&device->channel, &config);

	if (error)
		return error;
	device->read_only_start =
		(device->channel->data_address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	device->read_only_end =
		device->read_only_start +
		((device->channel->data_bytes >> PAGE_BITS) * device->config.read_only_percent / 100
		 << PAGE_BITS);
	return 0;
}

/* Guest addresses from `start` to `end`. */
static int premap_range(struct machine_device *device, const struct tenant *tenant, __u64 start,
			__u64 end, __u64 permissions)
{
	return start == end ? 0
			    : iommu_map(device->domain, device->iova_offset + start,
					tenant->physical + start, end - start, permissions,
					device->config.huge);
}

static int machine_premap(struct machine_device *device, const struct tenant *tenant)
{
	const __u64 both = IOMMU_READ | IOMMU_WRITE;
	int error = premap_range(device, tenant, 0, device->read_only_start, both);

	if (!error)
		error = premap_range(device, tenant, device->read_only_start, device->read_only_end,
				     IOMMU_READ);
	if (!error)
		error = premap_range(device, tenant, device->read_only_end, tenant->config.memory,
				     both);
	if (!error)
		lookup_map_ahead(device->lookup, device->iova_offset, tenant->config.memory);
	return error;
}

static int build_device(struct machine *machine, __u32 index, __u32 place)
{
	struct machine_device *device = &machine->devices[index];
	const struct tenant *tenant;
	int error;

	device->config = machine->config.devices[index];
	tenant = &machine->tenants[device->config.tenant];
	pthread_mutex_init(&device->next_lock, NULL);
	device->pasid = device->config.pasid ? 1 + device->config.tenant : PASID_NONE;
	device->iova_offset = device->config.pasid ? SVA_BASE : 0;
	error = build_translation(machine, index);
	if (!error)
		error = build_port(machine, index);
	if (!error)
		error = build_channel(device, tenant, place);
	if (!error && premapped(machine, tenant))
		error = machine_premap(device, tenant);
	return error ? failed_in(error, "device %s/%s", tenant->config.name, device->config.name)
		     : 0;
}

static int build_service(struct machine *machine)
{
	const struct machine_config *config = &machine->config;
	cpu_set_t *cpus = calloc(config->tenant_count, sizeof(*cpus));
	__s32 *msi = calloc(config->device_count, sizeof(*msi));
	struct service_config service = {
		.scheduler = config->scheduler,
		.queue_entries = config->request_queue_entries,
		.devices = config->device_count,
		.tenants = config->tenant_count,
		.tenant_cpus = cpus,
		.device_msi = msi,
		.handler_backlog = config->handler_backlog,
		.injections = machine->injections,
	};
	int error =
		cpus && msi ? 0 : failed(-ENOMEM, "no memory for %u tenants", config->tenant_count);

	for (__u32 i = 0; i < config->tenant_count && !error; i++)
		cpus[i] = config->tenants[i].cpus;
	for (__u32 i = 0; i < config->device_count && !error; i++)
		msi[i] = (__s32)config->devices[i].msi_cpu;
	if (!error)
		error = service_create(&machine->service, &service, &machine_service_ops, machine);
	free(cpus);
	free(msi);
	return error;
}

static int build_iotlb(struct machine *machine)
{
	struct cache_config config = machine->config.iotlb;

	config.seed = machine->config.seed * 3000017;
	return config.entries ? iotlb_create(&machine->iotlb, &config) : 0;
}

static int build_devices(struct machine *machine)
{
	struct access_log_config log = {
		.devices = machine->config.device_count,
		.buffers = machine->config.access_log_buffers,
		.buffer_records = machine->config.access_log_records,
		.interval_ns = machine->config.access_log_interval_ns,
		.punctual = machine->config.access_log_punctual,
	};
	int error = protector_create(&machine->protector, machine);

	if (machine->protector) {
		log.taken = protector_take;
		log.argument = machine->protector;
	}
	if (!error)
		error = access_log_create(&machine->access_log, &log);
	if (!error)
		error = emq_create(&machine->emq, machine->config.event_queue_entries);
	if (!error)
		error = build_iotlb(machine);
	for (__u32 i = 0; i < machine->config.tenant_count && !error; i++) {
		const struct tenant *tenant = &machine->tenants[i];

		for (__u32 n = 0; n < tenant->device_count && !error; n++)
			error = build_device(machine, tenant->devices[n], n);
	}
	return error;
}

int machine_build(struct machine *machine, const struct machine_config *config)
{
	int error = machine_check(config);

	if (!error)
		error = copy_config(machine, config);
	if (!error)
		error = inject_table_create(&machine->injections);
	if (!error)
		error = memory_limit_create(&machine->limit, machine);
	for (__u32 i = 0; i < config->tenant_count && !error; i++)
		error = build_tenant(machine, i);
	if (!error)
		error = assign_devices(machine);
	if (!error && machine->config.reclaim_order == RECLAIM_IDLE)
		error = idle_pages_create(&machine->idle, machine);
	if (!error)
		error = build_service(machine);
	if (!error)
		error = build_devices(machine);
	return error;
}

static void dismantle_device(struct machine_device *device)
{
	if (device->driver)
		driver_of(device)->destroy(device->driver);
	channel_destroy(device->channel);
	port_destroy(device->port);
	lookup_destroy(device->lookup);
	iommu_domain_destroy(device->domain);
	pthread_mutex_destroy(&device->next_lock);
}

void machine_dismantle(struct machine *machine)
{
	access_log_stop(machine->access_log);
	protector_destroy(machine->protector);
	service_destroy(machine->service);
	emq_destroy(machine->emq);
	for (__u32 i = 0; machine->devices && i < machine->config.device_count; i++)
		dismantle_device(&machine->devices[i]);
	iotlb_destroy(machine->iotlb);
	access_log_destroy(machine->access_log);
	machine_close_vms(machine);
	for (__u32 i = 0; machine->tenants && i < machine->config.tenant_count; i++) {
		page_locks_destroy(machine->tenants[i].locks);
		page_locks_destroy(machine->tenants[i].evictions);
		pins_destroy(machine->tenants[i].pins);
		guest_memory_destroy(machine->tenants[i].memory);
		free(machine->tenants[i].devices);
		free((void *)machine->tenants[i].touched);
	}
	idle_pages_destroy(machine->idle);
	memory_limit_destroy(machine->limit);
	kvstores_destroy(machine->kvstores);
	inject_table_destroy(machine->injections);
	free(machine->devices);
	free(machine->tenants);
	free(machine->config.ranks);
	free(machine->config.verbs);
	free(machine->config.traffics);
	free(machine->config.kvstores);
	free(machine->config.workloads);
	free(machine->config.devices);
	free(machine->config.tenants);
	free(machine);
}
