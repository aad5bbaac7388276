// SPDX-License-Identifier: GPL-2.0
/* Life of the service, the device's side of its queue, and the ISR thread. */
#include "injectors/emu/request_probe.h"
#include "injectors/emu/service_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define ISR_BATCH 64

static bool key_in_range(const struct service *service, __u32 device, __u32 group)
{
	return device < service->config.devices && group < GROUP_INDEX_MAX;
}

static _Atomic __u32 *service_pending_of(const struct service *service, __u32 device, __u32 group)
{
	return &service->pending[(size_t)device * GROUP_INDEX_MAX + group];
}

bool service_pending(const struct service *service, __u32 device, __u16 group)
{
	return key_in_range(service, device, group) &&
	       atomic_load(service_pending_of(service, device, group));
}

void service_done(struct service *service, const struct page_group_key *key, __u32 count)
{
	if (key_in_range(service, key->device, key->group))
		atomic_fetch_sub(service_pending_of(service, key->device, key->group), count);
}

static void service_drop(struct service *service, const struct page_request *request)
{
	struct page_group_key key = {request->device, request->pasid, request->group};
	struct fault_probe probe = request_probe(request);

	FAULT_PROBE(void, &probe);
	atomic_fetch_add(&service->discarded, 1);
	service_done(service, &key, 1);
}

void service_discard(struct service *service, const struct page_group *group)
{
	for (__u32 i = 0; i < group->count; i++)
		service_drop(service, &group->requests[i]);
}

static void group_discarded_here(void *argument, const struct page_group *group)
{
	service_discard(argument, group);
}

int service_reserve(struct service *service, const struct page_request *request,
		    struct request_slot *slot)
{
	bool forced = inject_fire(service->config.injections, INJECT_OVERFLOW, request->device);

	if (!request_queue_reserve(service->queue, request, forced, slot))
		return -EOVERFLOW;
	if (key_in_range(service, request->device, request->group))
		atomic_fetch_add(service_pending_of(service, request->device, request->group), 1);
	return 0;
}

void service_post(struct service *service, const struct page_request *request,
		  const struct request_slot *slot)
{
	request_queue_post(service->queue, slot, request);
}

/* What no well-behaved device sends. The host cannot answer it: the group may not even exist. */
static bool request_malformed(const struct service *service, const struct page_request *request)
{
	return !key_in_range(service, request->device, request->group) ||
	       (request->pasid != PASID_NONE && request->pasid >> PASID_BITS) ||
	       (request->address & (PAGE_BYTES - 1)) ||
	       !(request->flags & (EVENT_READ | EVENT_WRITE | EVENT_EXEC));
}

static void isr_request(struct service *service, const struct page_request *request, size_t drained)
{
	struct fault_probe probe = request_probe(request);
	struct page_group *group = NULL;

	if (request_malformed(service, request)) {
		service_drop(service, request);
		return;
	}
	probe.value = drained;
	FAULT_PROBE(isr, &probe);
	if (group_table_add(service->table, request, &group)) {
		group_table_discard(service->table, request, group_discarded_here, service);
		service_drop(service, request);
	} else if (group) {
		scheduler_dispatch(service, group);
	}
}

/*
 * After an overflow nobody knows which requests of the unfinished groups are missing: all of them go,
 * before the queue takes another request (Linux: iopf_queue_discard_partial()).
 */
static void *isr_main(void *argument)
{
	struct service *service = argument;
	struct page_request requests[ISR_BATCH];
	bool overflowed;
	size_t count;

	while ((count = request_queue_take(service->queue, requests, ISR_BATCH, &overflowed)) ||
	       overflowed) {
		atomic_fetch_add(&service->interrupts, 1);
		for (size_t i = 0; i < count; i++)
			isr_request(service, &requests[i], count);
		if (overflowed) {
			group_table_discard_all(service->table, group_discarded_here, service);
			request_queue_clear_overflow(service->queue);
		}
	}
	return NULL;
}

static int service_prepare(struct service *service)
{
	const struct service_config *config = &service->config;
	int error;

	service->pending =
		calloc((size_t)config->devices * GROUP_INDEX_MAX, sizeof(*service->pending));
	service->tenant_cpus = calloc(config->tenants, sizeof(*service->tenant_cpus));
	if (!service->pending || !service->tenant_cpus)
		return failed(-ENOMEM, "no memory for the fault service of %u devices",
			      config->devices);
	if (config->tenant_cpus)
		memcpy(service->tenant_cpus, config->tenant_cpus,
		       config->tenants * sizeof(*service->tenant_cpus));
	if (config->device_msi) {
		service->device_msi = calloc(config->devices, sizeof(*service->device_msi));
		if (!service->device_msi)
			return failed(-ENOMEM, "no memory for the MSIs of %u devices",
				      config->devices);
		memcpy(service->device_msi, config->device_msi,
		       config->devices * sizeof(*service->device_msi));
	}
	error = request_queue_create(&service->queue, config->queue_entries);
	if (!error)
		error = group_table_create(&service->table);
	if (!error)
		error = scheduler_start(service);
	if (!error)
		error = timer_start(service);
	if (!error)
		error = thread_start(&service->isr, NULL, isr_main, service, "iopf-isr");
	service->isr_running = !error;
	return error;
}

int service_create(struct service **service, const struct service_config *config,
		   const struct service_ops *ops, void *machine)
{
	struct service *new;
	int error;

	if (!config->devices || !config->tenants)
		return failed(-EINVAL, "a fault service needs at least one tenant and one device");
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for the fault service");
	new->config = *config;
	new->ops = *ops;
	new->machine = machine;
	error = service_prepare(new);
	if (error) {
		service_destroy(new);
		return error;
	}
	*service = new;
	return 0;
}

void service_drain(struct service *service)
{
	if (service->isr_running) {
		request_queue_stop(service->queue);
		pthread_join(service->isr, NULL);
		service->isr_running = false;
	}
	scheduler_stop(service);
	timer_stop(service);
}

void service_destroy(struct service *service)
{
	if (!service)
		return;
	service_drain(service);
	group_table_destroy(service->table);
	request_queue_destroy(service->queue);
	timed_queue_destroy(service->calls);
	free(service->tenant_cpus);
	free(service->device_msi);
	free(service->pending);
	free(service);
}

void service_stats(const struct service *service, struct service_stats *stats)
{
	struct request_queue_stats queue;

	request_queue_stats(service->queue, &queue);
	*stats = (struct service_stats){
		.requests = queue.requests,
		.overflows = queue.overflows,
		.overflow_epochs = queue.epochs,
		.depth_max = queue.depth_max,
		.interrupts = atomic_load(&service->interrupts),
		.groups = atomic_load(&service->groups),
		.discarded = atomic_load(&service->discarded),
		.off_tenant = atomic_load(&service->off_tenant),
		.at_msi = atomic_load(&service->at_msi),
		.off_msi = atomic_load(&service->off_msi),
		.behind_others = atomic_load(&service->behind_others),
	};
	for (size_t code = 0; code < 16; code++)
		stats->responses[code] = atomic_load(&service->responses[code]);
}
