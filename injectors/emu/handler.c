// SPDX-License-Identifier: GPL-2.0
/* The bottom half: makes a group's pages present and mapped, and answers the device. */
#include "injectors/emu/request_record.h"
#include "injectors/emu/service_private.h"

#include <errno.h>

static void resolved(void *argument, bool major)
{
	const struct page_request *request = argument;
	struct fault_probe probe = request_probe(request);
	__u8 flags = (__u8)(request->flags | (major ? EVENT_MAJOR : 0));
	struct truth_record truth;
	__u64 now;

	probe.flags_code = flags;
	now = monotonic_ns();
	FAULT_PROBE(resolved, &probe);
	truth = request_truth(TRUTH_SERVICE, TRUTH_RESOLVED, now, request);
	truth.flags = flags;
	truth_log(truth);
}

static enum response_code resolve_request(struct service *service, struct page_request *request)
{
	struct fault_probe probe = request_probe(request);
	struct truth_record truth;
	bool major = false;
	__u64 physical = 0, now;
	int error;

	error = service->ops.resolve(service->machine, request, &major, &physical, resolved,
				     request);
	if (error)
		return error == -EFAULT ? RESPONSE_INVALID : RESPONSE_FAILURE;
	probe.value = physical;
	now = monotonic_ns();
	FAULT_PROBE(mapped, &probe);
	truth = request_truth(TRUTH_SERVICE, TRUTH_MAPPED, now, request);
	truth.value = physical;
	truth_log(truth);
	return RESPONSE_SUCCESS;
}

/* The probe tells of the group at once; the truth log has each of its faults on its own. */
static void log_group(const struct page_group *group, __u8 what, __u64 now, enum response_code code)
{
	struct truth_record truth;

	if (!truth_enabled())
		return;
	for (__u32 i = 0; i < group->count; i++) {
		truth = request_truth(TRUTH_SERVICE, what, now, &group->requests[i]);
		truth.flags = EVENT_GROUP;
		truth.code = (__u8)code;
		truth_log(truth);
	}
}

static struct fault_probe group_probe(const struct page_group *group, enum response_code code)
{
	struct fault_probe probe = request_probe(&group->requests[0]);

	probe.length = group->count * PAGE_BYTES;
	probe.flags_code = EVENT_GROUP | ((__u64)code << 8);
	return probe;
}

static void probe_handler(const struct page_group *group)
{
	struct fault_probe probe = group_probe(group, RESPONSE_SUCCESS);
	__u64 now = monotonic_ns();

	FAULT_PROBE(handler, &probe);
	log_group(group, TRUTH_HANDLER, now, RESPONSE_SUCCESS);
}

static void probe_response(const struct page_group *group, enum response_code code)
{
	struct fault_probe probe = group_probe(group, code);
	__u64 now = monotonic_ns();

	FAULT_PROBE(response, &probe);
	log_group(group, TRUTH_RESPONSE, now, code);
}

static void respond(struct service *service, const struct page_group *group,
		    enum response_code code)
{
	struct inject_table *injections = service->config.injections;
	__u32 device = group->key.device;

	inject_sleep(injections, inject_delay(injections, INJECT_RESPOND, device));
	if (inject_fire(injections, INJECT_RESPONSE_FAILURE, device))
		code = RESPONSE_FAILURE;
	atomic_fetch_add(&service->responses[code], 1);
	probe_response(group, code);
	if (!inject_fire(injections, INJECT_RESPONSE_LOST, device))
		service->ops.respond(service->machine, device, group->key.pasid,
				     (__u16)group->key.group, code);
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
	struct group_key key = group->key;
	__u32 count = group->count;

	count_off_tenant(service, key.device);
	probe_handler(group);
	/* One code for all: the worst. FAILURE is the largest and says the least about the others. */
	for (__u32 i = 0; i < count; i++) {
		enum response_code one = resolve_request(service, &group->requests[i]);

		if (one > code)
			code = one;
	}
	respond(service, group, code);
	group_table_put(service->table, group);
	service_done(service, &key, count);
}
