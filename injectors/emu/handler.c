// SPDX-License-Identifier: GPL-2.0
/* The bottom half: makes a group's pages present and mapped, and answers the device. */
#include "injectors/emu/request_probe.h"
#include "injectors/emu/request_truth.h"
#include "injectors/emu/service_private.h"

#include <errno.h>

static void handler_resolved(void *argument, bool major, enum mm_cause cause)
{
	const struct page_request *request = argument;
	struct fault_probe probe = request_probe(request);

	probe.flags_code |= (major ? EVENT_MAJOR : 0) | (__u64)cause << 8;
	FAULT_PROBE(resolved, &probe);
}

static enum response_code handler_resolve(struct service *service, struct page_request *request)
{
	struct fault_probe probe = request_probe(request);
	bool major = false;
	__u64 physical = 0;
	int error;

	error = service->ops.resolve(service->machine, request, &major, &physical, handler_resolved,
				     request);
	if (error)
		return error == -EFAULT ? RESPONSE_INVALID : RESPONSE_FAILURE;
	probe.value = physical;
	FAULT_PROBE(mapped, &probe);
	return RESPONSE_SUCCESS;
}

static struct fault_probe handler_probe(const struct page_group *group, enum response_code code)
{
	struct fault_probe probe = request_probe(&group->requests[0]);

	probe.length = group->count * PAGE_BYTES;
	probe.flags_code = EVENT_GROUP | ((__u64)code << 8);
	return probe;
}

/* The response goes out, arrive or not. */
static void handler_deliver(struct service *service, const struct page_group *group,
			    enum response_code code, bool lost)
{
	page_group_truth(group, TRUTH_RESPONSE, code);
	if (!lost)
		service->ops.respond(service->machine, group->key.device, group->key.pasid,
				     (__u16)group->key.group, code);
}

static void handler_respond(struct service *service, const struct page_group *group,
			    enum response_code code)
{
	struct inject_table *injections = service->config.injections;
	__u32 device = group->key.device;
	struct fault_probe probe;

	inject_sleep(injections, inject_delay(injections, INJECT_RESPOND, device));
	if (inject_fire(injections, INJECT_RESPONSE_FAILURE, device))
		code = RESPONSE_FAILURE;
	atomic_fetch_add(&service->responses[code], 1);
	probe = handler_probe(group, code);
	FAULT_PROBE(response, &probe);
	handler_deliver(service, group, code,
			inject_fire(injections, INJECT_RESPONSE_LOST, device));
}

static void count_off_tenant(struct service *service, __u32 device)
{
	const cpu_set_t *cpus =
		&service->tenant_cpus[service->ops.tenant_of(service->machine, device)];
	int cpu = sched_getcpu();

	if (CPU_COUNT(cpus) && cpu >= 0 && !CPU_ISSET((size_t)cpu, cpus))
		atomic_fetch_add(&service->off_tenant, 1);
}

void handle_group(struct service *service, struct page_group *group)
{
	enum response_code code = RESPONSE_SUCCESS;
	struct page_group_key key = group->key;
	struct fault_probe probe = handler_probe(group, RESPONSE_SUCCESS);
	__u32 count = group->count;

	count_off_tenant(service, key.device);
	FAULT_PROBE(handler, &probe);
	/* One code for all: the worst. FAILURE is the largest and says the least about the others. */
	for (__u32 i = 0; i < count; i++) {
		enum response_code one = handler_resolve(service, &group->requests[i]);

		if (one > code)
			code = one;
	}
	handler_respond(service, group, code);
	group_table_put(service->table, group);
	service_done(service, &key, count);
}
