// SPDX-License-Identifier: GPL-2.0
/* Life of a machine: start, wait, stop, and what it counted. */
#include "injectors/emu/machine_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/ranks/ranks_driver.h"
#include "injectors/emu/verbs_load/verbs_load_driver.h"
#include "injectors/emu/kvstores.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WAIT_PIECE_NS (20 * NSEC_PER_MSEC) /* how late a signal to stop is seen at most */

int machine_create(struct machine **machine, const struct machine_config *config)
{
	struct machine *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for a machine");
	histogram_init(&new->latencies);
	error = machine_build(new, config);
	if (error) {
		machine_dismantle(new);
		return error;
	}
	*machine = new;
	return 0;
}

static const void *peer_settings(struct machine *machine, struct device_config *device)
{
	__u32 peer;

	if (!device->class->peer)
		return NULL;
	peer = *device->class->peer(&device->settings).index;
	return machine->devices[peer].config.settings.bytes;
}

static int start_device(struct machine *machine, __u32 index)
{
	struct machine_device *device = &machine->devices[index];
	struct device_setup setup = {
		.channel = device->channel,
		.settings = device->config.settings.bytes,
		.peer_settings = peer_settings(machine, &device->config),
		.directory = machine->config.directory,
		.machine = machine,
		.index = index,
		.memory = machine->tenants[device->config.tenant].memory,
		.iommu = machine->tenants[device->config.tenant].config.vm.iommu,
		.direct = device->config.lookup == LOOKUP_UFFD,
		.tenant = machine->tenants[device->config.tenant].config.name,
		.name = device->config.name,
		.traffic = machine_traffic(machine, index),
		.frames = &device->frames,
		.latencies = &machine->latencies,
		.rdma = &device->rdma,
	};
	int error = device->config.class->start(&device->model, device->port, &setup);

	return error ? failed_in(error, "device %s", device->config.name) : 0;
}

static __u64 mapped_at(struct guest_memory *memory, __u64 iova_offset)
{
	__u64 start = (__u64)guest_memory_cpu(memory, 0);

	return start > iova_offset ? start - iova_offset : 0;
}

/* Observers find the machine once all its devices are there. */
static int machine_announce(struct machine *machine)
{
	__u32 count = machine->config.device_count;
	struct registry_device *entries = calloc(count, sizeof(*entries));
	int error;

	if (!entries)
		return failed(-ENOMEM, "no memory to announce %u devices", count);
	for (__u32 i = 0; i < count; i++) {
		const struct machine_device *device = &machine->devices[i];
		const struct device_class *class = device->config.class;
		const struct tenant *tenant = &machine->tenants[device->config.tenant];

		snprintf(entries[i].name, sizeof(entries[i].name), "%s/%s", tenant->config.name,
			 device->config.name);
		machine_tenant_text(tenant, entries[i].tenant, sizeof(entries[i].tenant));
		snprintf(entries[i].model, sizeof(entries[i].model), "%s%s%s", class->name,
			 class->variant ? "/" : "",
			 class->variant ? class->variant(&device->config.settings) : "");
		entries[i].queues = device->config.queues;
		entries[i].pasid = device->pasid;
		entries[i].memory = tenant->config.memory;
		entries[i].mapped_at = mapped_at(tenant->memory, device->iova_offset);
		if (class->namespaces)
			class->namespaces(device->model, &entries[i].network_guest,
					  &entries[i].network_wire);
	}
	error = registry_open(&machine->registry, entries, count,
			      access_log_descriptor(machine->access_log));
	free(entries);
	return error;
}

int machine_listen(struct machine *machine)
{
	int error = 0;

	if (machine->listening || machine->stopped)
		return failed(-EALREADY, "a machine starts once");
	machine->listening = true;
	for (__u32 i = 0; i < machine->config.tenant_count && !error; i++)
		error = machine_build_vm(machine, i);
	for (__u32 i = 0; i < machine->config.device_count && !error; i++)
		error = machine_build_vm_socket(machine, i) ?: start_device(machine, i);
	return error;
}

int machine_prepare(struct machine *machine)
{
	int error = 0;

	if (machine->prepared || machine->stopped)
		return failed(-EALREADY, "a machine starts once");
	if (!machine->listening)
		error = machine_listen(machine);
	if (!error)
		error = machine_announce(machine);
	machine->prepared = true;
	if (!error)
		error = memory_limit_start(machine->limit);
	if (error)
		machine_stop(machine);
	return error;
}

int machine_start(struct machine *machine)
{
	int error = 0;

	if (machine->started || machine->stopped)
		return failed(-EALREADY, "a machine starts once");
	if (!machine->prepared)
		error = machine_prepare(machine);
	if (error)
		return error;
	machine->started = true;
	for (__u32 i = 0; i < machine->config.device_count && !error; i++)
		error = machine_build_driver(machine, i);
	for (__u32 i = 0; i < machine->config.device_count && !error; i++)
		if (machine->devices[i].driver)
			error = driver_of(&machine->devices[i])->start(machine->devices[i].driver);
	if (!error)
		error = kvstores_start(&machine->kvstores, machine);
	if (!error)
		error = reclaimer_start(&machine->reclaimer, machine);
	if (error)
		machine_stop(machine);
	return error;
}

int machine_begin(struct machine *machine)
{
	int error = 0;

	for (__u32 i = 0; !machine->begun && i < machine->config.device_count && !error; i++) {
		struct machine_device *device = &machine->devices[i];

		if (device->driver && driver_of(device)->begin)
			error = driver_of(device)->begin(device->driver);
	}
	machine->begun = true;
	return error;
}

/* Whether the machine waits for the device's driver: there is one, and it ends by itself. */
static bool is_waited_for(const struct machine_device *device)
{
	return device->driver && driver_of(device)->wait;
}

int machine_wait(struct machine *machine, __u64 timeout_ns, const volatile sig_atomic_t *stop)
{
	__u64 start = monotonic_ns();
	__u32 done = 0;
	int error = machine_begin(machine);

	if (error)
		return error;
	while (done < machine->config.device_count) {
		const struct machine_device *device = &machine->devices[done];

		if (!is_waited_for(device)) {
			done++;
			continue;
		}
		if (*stop)
			return -EINTR;
		if (monotonic_ns() - start >= timeout_ns)
			return failed(-ETIMEDOUT,
				      "what drives device %s/%s is not done after %llu ms",
				      machine->tenants[device->config.tenant].config.name,
				      device->config.name, timeout_ns / NSEC_PER_MSEC);
		if (!driver_of(device)->wait(device->driver, WAIT_PIECE_NS))
			done++;
	}
	while (kvstores_wait(machine->kvstores, WAIT_PIECE_NS)) {
		if (*stop)
			return -EINTR;
		if (monotonic_ns() - start >= timeout_ns)
			return failed(-ETIMEDOUT,
				      "the clients of stores are not done after %llu ms",
				      timeout_ns / NSEC_PER_MSEC);
	}
	return 0;
}

/*
 * The order is the point: nothing is delayed any more, nothing asks for memory any more (reclaimer,
 * protector, drivers), then devices that wait for a page give up, then nobody can raise a request, then the
 * service runs dry, and the PA manager, which they all may need to get that far, goes last. Observers know the
 * machine until then: what the service does for faults that devices gave up is still theirs.
 */
void machine_stop(struct machine *machine)
{
	struct access_log_stats stats;

	if (!machine->listening)
		return;
	inject_stop(machine->injections);
	reclaimer_stop(machine->reclaimer);
	protector_halt(machine->protector);
	kvstores_stop(machine->kvstores);
	memory_limit_stop(machine->limit);
	for (__u32 i = 0; i < machine->config.device_count; i++)
		if (machine->devices[i].driver)
			driver_of(&machine->devices[i])->stop(machine->devices[i].driver);
	for (__u32 i = 0; i < machine->config.device_count; i++)
		port_stop(machine->devices[i].port);
	for (__u32 i = 0; i < machine->config.device_count; i++) {
		struct machine_device *device = &machine->devices[i];

		machine_keep_vhost(device);
		if (device->model)
			device->config.class->stop(device->model);
		device->model = NULL;
	}
	service_drain(machine->service);
	/* What nobody has come upon is counted, too. */
	for (__u32 i = 0; i < machine->config.tenant_count; i++)
		(void)guest_memory_find_bypassed(machine->tenants[i].memory);
	emq_stop(machine->emq);
	access_log_stop(machine->access_log);
	protector_stop(machine->protector);
	access_log_stats(machine->access_log, &stats);
	registry_close(machine->registry, stats.produced);
	machine->reclaimer = NULL;
	machine->registry = NULL;
	machine->listening = machine->prepared = machine->started = false;
	machine->stopped = true;
}

void machine_destroy(struct machine *machine)
{
	if (!machine)
		return;
	machine_stop(machine);
	machine_dismantle(machine);
}

struct inject_table *machine_injections(struct machine *machine)
{
	return machine->injections;
}

static void machine_add_device(struct machine_totals *totals, const struct machine_device *device)
{
	struct iommu_domain_stats pages;
	struct lookup_stats lookup;
	struct port_stats port;

	lookup_stats(device->lookup, &lookup);
	port_stats(device->port, &port);
	iommu_domain_stats(device->domain, &pages);
	port_round_trips(device->port, &totals->round_trip, &totals->parts);
	port_lookup_times(device->port, &totals->lookup_time);
	totals->huge += pages.huge;
	totals->splits += pages.splits;
	totals->lookup.lookups += lookup.lookups;
	totals->lookup.faults += lookup.faults;
	totals->lookup.read_only_faults += lookup.read_only_faults;
	totals->lookup.invalidations += lookup.invalidations;
	totals->lookup.order_violations += lookup.order_violations;
	totals->lookup.devtlb_hits += lookup.devtlb_hits;
	totals->lookup.devtlb_misses += lookup.devtlb_misses;
	totals->lookup.iotlb_hits += lookup.iotlb_hits;
	totals->lookup.iotlb_misses += lookup.iotlb_misses;
	totals->ios += port.ios;
	totals->io_errors += port.io_errors;
	totals->io_bytes += port.io_bytes;
	totals->faults += port.requests;
	totals->groups += port.groups;
	totals->automatic += port.automatic;
	totals->disabled += port.disabled;
	totals->refused += port.refused;
	totals->held_back += port.held_back;
	totals->violations += port.violations + lookup.order_violations;
	machine_add_vm_device(totals, device, &port);
}

static void machine_add_pins(struct machine_totals *totals, const struct pins *pins)
{
	struct pins_stats stats;

	pins_stats(pins, &stats);
	totals->pinned += stats.pinned;
	totals->pinned_most += stats.most;
	totals->pinned_skipped += stats.skipped;
	totals->pins_refused += stats.refused;
}

static void add_memory(struct guest_memory_stats *sum, const struct guest_memory *memory)
{
	struct guest_memory_stats stats;

	guest_memory_stats(memory, &stats);
	sum->page_in_zero += stats.page_in_zero;
	sum->page_in_file += stats.page_in_file;
	sum->page_in_swap += stats.page_in_swap;
	sum->minor += stats.minor;
	sum->evicted_minor += stats.evicted_minor;
	sum->evicted_major += stats.evicted_major;
	sum->evict_failed += stats.evict_failed;
	sum->dma_violations += stats.dma_violations;
	sum->view_faults += stats.view_faults;
	sum->discarded += stats.discarded;
	sum->bypassed += stats.bypassed;
	sum->out += stats.out;
}

/* The mean round trip of a tenant's groups; 0: it has not faulted. */
static double tenant_round_trip(const struct machine *machine, const struct tenant *tenant,
				struct histogram *scratch)
{
	histogram_init(scratch);
	for (__u32 i = 0; i < tenant->device_count; i++)
		port_round_trips(machine->devices[tenant->devices[i]].port, scratch, NULL);
	return scratch->count ? histogram_mean(scratch) : 0;
}

static void add_best_tenant(struct machine_totals *totals, const struct machine *machine)
{
	for (__u32 i = 0; i < machine->config.tenant_count; i++) {
		double mean = tenant_round_trip(machine, &machine->tenants[i], &totals->round_trip);

		if (mean && (!totals->best_round_trip_ns || mean < totals->best_round_trip_ns))
			totals->best_round_trip_ns = mean;
	}
}

void machine_totals(const struct machine *machine, struct machine_totals *totals)
{
	*totals = (struct machine_totals){0};
	add_best_tenant(totals, machine);
	histogram_init(&totals->round_trip);
	histogram_init(&totals->lookup_time);
	totals->vm_latencies = machine->latencies;
	service_stats(machine->service, &totals->service);
	emq_stats(machine->emq, &totals->emq);
	memory_limit_stats(machine->limit, &totals->limit);
	protector_stats(machine->protector, &totals->protector);
	access_log_stats(machine->access_log, &totals->accesses);
	totals->upgrades = atomic_load(&machine->upgrades);
	for (__u32 i = 0; i < machine->config.device_count; i++)
		machine_add_device(totals, &machine->devices[i]);
	for (__u32 i = 0; i < machine->config.tenant_count; i++) {
		totals->memory_bytes += machine->tenants[i].config.memory;
		add_memory(&totals->memory, machine->tenants[i].memory);
		machine_add_pins(totals, machine->tenants[i].pins);
	}
}

const struct frame_totals *machine_frames(const struct machine *machine, __u32 device)
{
	const struct machine_device *of = &machine->devices[device];

	return of->config.class->has_frames ? &of->frames : NULL;
}

const struct rdma_totals *machine_rdma(const struct machine *machine, __u32 device)
{
	const struct machine_device *of = &machine->devices[device];

	return of->config.class->has_packets ? &of->rdma : NULL;
}

void machine_mapped(const struct machine *machine, __u32 device, __u64 *now, __u64 *most)
{
	struct iommu_domain_stats stats;

	iommu_domain_stats(machine->devices[device].domain, &stats);
	*now = stats.mapped;
	*most = stats.mapped_most;
}

const struct network *machine_network(const struct machine *machine, __u32 device)
{
	const struct machine_device *of = &machine->devices[device];

	return of->model && of->config.class->network ? of->config.class->network(of->model) : NULL;
}

const struct kvstore_result *machine_kvstore(const struct machine *machine, __u32 kvstore)
{
	return kvstores_result(machine->kvstores, kvstore);
}

const struct workload_result *machine_workload(const struct machine *machine, __u32 workload)
{
	return workload_result(machine->devices[machine->config.workloads[workload].device].driver);
}

const char *machine_ranks(const struct machine *machine, __u32 index, struct ranks_result *sum)
{
	const struct ranks_config *ranks = &machine->config.ranks[index];

	ranks_driver_result(machine->devices[ranks->device].driver, sum);
	ranks_driver_result(machine->devices[ranks->peer].driver, sum);
	return ranks_driver_error(machine->devices[ranks->device].driver);
}

const char *machine_verbs(const struct machine *machine, __u32 index, struct verbs_load_result *sum)
{
	const struct verbs_load_config *verbs = &machine->config.verbs[index];

	verbs_load_driver_host(machine->devices[verbs->device].driver, &sum->hosts);
	verbs_load_driver_host(machine->devices[verbs->peer].driver, &sum->hosts);
	return verbs_load_driver_result(machine->devices[verbs->device].driver, sum);
}
