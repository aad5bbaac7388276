// SPDX-License-Identifier: GPL-2.0
/* Life of the service, the device's side of its queue, and the ISR thread. */
#include "injectors/emu/request_record.h"
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

static _Atomic __u32 *pending_of(const struct service *service, __u32 device, __u32 group)
{
	return &service->pending[(size_t)device * GROUP_INDEX_MAX + group];
}

bool service_pending(const struct service *service, __u32 device, __u16 group)
{
	return key_in_range(service, device, group) &&
	       atomic_load(pending_of(service, device, group));
}

void service_done(struct service *service, const struct group_key *key, __u32 count)
{
	if (key_in_range(service, key->device, key->group))
		atomic_fetch_sub(pending_of(service, key->device, key->group), count);
}

static void discard(struct service *service, const struct page_request *request, __u32 count)
{
	struct group_key key = {request->device, request->pasid, request->group};

	atomic_fetch_add(&service->discarded, count);
	service_done(service, &key, count);
}

int service_reserve(struct service *service, const struct page_request *request, __u32 *depth)
{
	bool forced = inject_fire(service->config.injections, INJECT_OVERFLOW, request->device);

	if (!forced && request_queue_reserve(service->queue, depth)) {
		if (key_in_range(service, request->device, request->group))
			atomic_fetch_add(pending_of(service, request->device, request->group), 1);
		return 0;
	}
	atomic_fetch_add(&service->overflows, 1);
	if (request->flags & EVENT_LAST)
		request_queue_answered(service->queue, request);
	return -EOVERFLOW;
}

void service_post(struct service *service, const struct page_request *request)
{
	atomic_fetch_add(&service->requests, 1);
	if (request_queue_post(service->queue, request))
		discard(service, request, 1);
}

/* What no well-behaved device sends. The host cannot answer it: the group may not even exist. */
static bool malformed(const struct service *service, const struct page_request *request)
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
	__u64 now;

	if (malformed(service, request)) {
		discard(service, request, 1);
		return;
	}
	probe.value = drained;
	now = monotonic_ns();
	FAULT_PROBE(isr, &probe);
	truth_log(request_truth(TRUTH_SERVICE, TRUTH_ISR, now, request));

	if (group_table_add(service->table, request, &group))
		discard(service, request, 1 + group_table_forget(service->table, request));
	else if (group)
		scheduler_dispatch(service, group);
}

static void *isr_main(void *argument)
{
	struct service *service = argument;
	struct queue_entry entries[ISR_BATCH];
	size_t count;

	while ((count = request_queue_take(service->queue, entries, ISR_BATCH))) {
		atomic_fetch_add(&service->interrupts, 1);
		for (size_t i = 0; i < count; i++) {
			const struct page_request *request = &entries[i].request;

			if (entries[i].answered)
				discard(service, request,
					group_table_forget(service->table, request));
			else
				isr_request(service, request, count);
		}
	}
	return NULL;
}

static int prepare(struct service *service)
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
	error = request_queue_create(&service->queue, config->queue_entries);
	if (!error)
		error = group_table_create(&service->table);
	if (!error)
		error = scheduler_start(service);
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
	error = prepare(new);
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
}

void service_destroy(struct service *service)
{
	if (!service)
		return;
	service_drain(service);
	group_table_destroy(service->table);
	request_queue_destroy(service->queue);
	free(service->tenant_cpus);
	free(service->pending);
	free(service);
}

void service_stats(const struct service *service, struct service_stats *stats)
{
	*stats = (struct service_stats){
		.requests = atomic_load(&service->requests),
		.overflows = atomic_load(&service->overflows),
		.interrupts = atomic_load(&service->interrupts),
		.groups = atomic_load(&service->groups),
		.discarded = atomic_load(&service->discarded),
		.off_tenant = atomic_load(&service->off_tenant),
		.depth_max = request_queue_depth_max(service->queue),
	};
	for (size_t code = 0; code < 16; code++)
		stats->responses[code] = atomic_load(&service->responses[code]);
}
