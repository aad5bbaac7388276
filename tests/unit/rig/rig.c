// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rig/rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/port_private.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

static struct {
	pthread_mutex_t lock;
	struct truth_record *records;
	size_t count, capacity;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct machine *rig;

/* Stands in for truth.c, which the linker leaves out as nothing of it is missing. */
bool truth_enabled(void)
{
	return true;
}

void truth_log(struct truth_record record)
{
	pthread_mutex_lock(&recorder.lock);
	if (!record.time_ns)
		record.time_ns = monotonic_ns();
	if (recorder.count == recorder.capacity) {
		recorder.capacity = recorder.capacity ? recorder.capacity * 2 : 4096;
		recorder.records =
			realloc(recorder.records, recorder.capacity * sizeof(*recorder.records));
		if (!recorder.records)
			abort();
	}
	recorder.records[recorder.count++] = record;
	pthread_mutex_unlock(&recorder.lock);
}

static int by_time(const void *left, const void *right)
{
	const struct truth_record *a = left, *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

const struct truth_record *rig_truth(size_t *count)
{
	qsort(recorder.records, recorder.count, sizeof(*recorder.records), by_time);
	*count = recorder.count;
	return recorder.records;
}

size_t rig_truth_count(__u8 what)
{
	size_t count = 0;

	pthread_mutex_lock(&recorder.lock);
	for (size_t i = 0; i < recorder.count; i++)
		count += recorder.records[i].what == what;
	pthread_mutex_unlock(&recorder.lock);
	return count;
}

const struct truth_record *rig_truth_find(__u8 what, __u64 fault, __u64 address)
{
	for (size_t i = 0; i < recorder.count; i++) {
		const struct truth_record *record = &recorder.records[i];

		if (record->what == what && record->fault == fault &&
		    (!address || record->address == address))
			return record;
	}
	return NULL;
}

void rig_truth_clear(void)
{
	pthread_mutex_lock(&recorder.lock);
	free(recorder.records);
	recorder.records = NULL;
	recorder.count = recorder.capacity = 0;
	pthread_mutex_unlock(&recorder.lock);
}

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "rig: %s: %s (%d)\n", what, failure_text(), error);
	abort();
}

static void build_tenant(struct machine *rig, __u32 index, const struct rig_config *config)
{
	struct tenant *tenant = &rig->tenants[index];
	struct guest_memory_config memory = {
		.bytes = config->memory,
		.physical = (index + 1ull) << 40,
		.tenant = index,
		.injections = rig->injections,
		.wait_room = rig->limit ? memory_limit_wait_room : NULL,
		.room = rig->limit,
	};

	tenant->touched = calloc(config->memory >> PAGE_BITS, 1);
	snprintf(tenant->config.name, sizeof(tenant->config.name), "tenant%u", index);
	tenant->config.memory = config->memory;
	tenant->config.memlock = config->memlock;
	tenant->physical = memory.physical;
	must(guest_memory_create(&tenant->memory, &memory), "memory");
	must(page_locks_create(&tenant->locks, config->memory >> PAGE_BITS), "page locks");
	must(page_locks_create(&tenant->evictions, config->memory >> PAGE_BITS), "page locks");
	must(pins_create(&tenant->pins, config->memory >> PAGE_BITS, tenant->config.memlock),
	     "pins");
	tenant->devices = calloc(config->devices, sizeof(*tenant->devices));
}

static void build_device(struct machine *rig, __u32 index, const struct rig_config *config)
{
	struct machine_device *device = &rig->devices[index];
	struct tenant *tenant = &rig->tenants[index / config->devices];
	struct lookup_config lookup = {
		.kind = config->lookup, .iova_bytes = 2 * config->memory, .emq = rig->emq};
	struct port_config port = {
		.device = index,
		.queues = config->queues,
		.pasid = PASID_NONE,
		.group_pages = config->group_pages,
		.queue_entries = config->queue_entries,
		.page_requests = config->page_requests,
		.response_timeout_ns = config->response_timeout_ns,
		.reenable_ns = config->reenable_ns,
		.physical = tenant->physical,
		.memory = tenant->memory,
		.touched = tenant->touched,
		.bytes = config->memory,
		.service = rig->service,
		.injections = rig->injections,
	};

	device->config.tenant = index / config->devices;
	device->pasid = PASID_NONE;
	must(iommu_domain_create(&device->domain), "domain");
	must(lookup_create(&device->lookup, &lookup, device->domain), "lookup");
	port.lookup = device->lookup;
	must(port_create(&device->port, &port), "port");
	tenant->devices[tenant->device_count++] = index;
}

static void defaults(struct rig_config *config)
{
	config->tenants = config->tenants ? config->tenants : 1;
	config->devices = config->devices ? config->devices : 1;
	config->memory = config->memory ? config->memory : HUGE_BYTES;
	config->queues = config->queues ? config->queues : 4;
	config->group_pages = config->group_pages ? config->group_pages : GROUP_PAGES_MAX;
	config->queue_entries = config->queue_entries ? config->queue_entries : 256;
	if (!config->response_timeout_ns)
		config->response_timeout_ns = 10 * NSEC_PER_SEC;
}

/* Aborts the test program with a sentence if the machine cannot be built. */
static struct machine *rig_create(struct rig_config config)
{
	struct machine *rig = calloc(1, sizeof(*rig));
	struct service_config service;
	cpu_set_t *cpus;

	defaults(&config);
	rig->config.tenant_count = config.tenants;
	rig->config.device_count = config.tenants * config.devices;
	rig->config.seed = 11;
	rig->config.memory_limit = config.memory_limit;
	rig->tenants = calloc(rig->config.tenant_count, sizeof(*rig->tenants));
	rig->devices = calloc(rig->config.device_count, sizeof(*rig->devices));
	cpus = calloc(config.tenants, sizeof(*cpus));
	must(inject_table_create(&rig->injections), "injections");
	must(memory_limit_create(&rig->limit, rig), "limit");
	must(emq_create(&rig->emq, 0), "event message queue");
	for (__u32 i = 0; i < config.tenants; i++) {
		build_tenant(rig, i, &config);
		if (config.cpus)
			cpus[i] = *config.cpus;
	}
	service = (struct service_config){
		.scheduler = config.scheduler,
		.queue_entries = config.queue_entries,
		.devices = rig->config.device_count,
		.tenants = config.tenants,
		.tenant_cpus = cpus,
		.injections = rig->injections,
	};
	must(service_create(&rig->service, &service, &machine_service_ops, rig), "service");
	free(cpus);
	for (__u32 i = 0; i < rig->config.device_count; i++)
		build_device(rig, i, &config);
	rig_truth_clear();
	return rig;
}

void rig_build(struct rig_config config)
{
	rig = rig_create(config);
}

void rig_be_patient(void)
{
	rig->devices[0].port->config.response_timeout_ns = 3600 * NSEC_PER_SEC;
}

int rig_teardown(void **state)
{
	rig_destroy(rig);
	return 0;
}

void rig_stop(struct machine *rig)
{
	inject_stop(rig->injections);
	for (__u32 i = 0; i < rig->config.device_count; i++)
		port_stop(rig->devices[i].port);
}

void rig_destroy(struct machine *rig)
{
	rig_stop(rig);
	service_destroy(rig->service);
	emq_destroy(rig->emq);
	for (__u32 i = 0; i < rig->config.device_count; i++) {
		port_destroy(rig->devices[i].port);
		lookup_destroy(rig->devices[i].lookup);
		iommu_domain_destroy(rig->devices[i].domain);
	}
	for (__u32 i = 0; i < rig->config.tenant_count; i++) {
		page_locks_destroy(rig->tenants[i].locks);
		page_locks_destroy(rig->tenants[i].evictions);
		pins_destroy(rig->tenants[i].pins);
		guest_memory_destroy(rig->tenants[i].memory);
		free(rig->tenants[i].devices);
		free((void *)rig->tenants[i].touched);
	}
	memory_limit_stop(rig->limit);
	memory_limit_destroy(rig->limit);
	inject_table_destroy(rig->injections);
	free(rig->devices);
	free(rig->tenants);
	free(rig);
	rig_truth_clear();
}

__u64 rig_violations(const struct machine *rig)
{
	__u64 violations = 0;

	for (__u32 i = 0; i < rig->config.device_count; i++) {
		struct port_stats port;
		struct lookup_stats lookup;

		port_stats(rig->devices[i].port, &port);
		lookup_stats(rig->devices[i].lookup, &lookup);
		violations += port.violations + lookup.order_violations;
	}
	return violations;
}

void rig_arm(struct machine *rig, enum inject_point point, __u64 delay_ns, __s64 times)
{
	struct injection injection = {
		.point = point,
		.device = DEVICE_ALL,
		.id = 1,
		.probability = 100,
		.interval = 1,
		.times = times,
		.delay_ns = delay_ns,
	};

	must(inject_arm(rig->injections, &injection), "arm");
}
