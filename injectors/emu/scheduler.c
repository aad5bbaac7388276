// SPDX-License-Identifier: GPL-2.0
/*
 * Which thread runs a group's bottom half: the one of the machine, as a stock host does, or one of
 * the faulting tenant's, each bound to one of the tenant's CPUs (VPRI section 6.1):
 *	1. candidates are the CPUs of the faulting tenant;
 *	2. of them the one where the device's MSI is registered comes first, as long as fewer groups
 *	   than the backlog are there;
 *	3. else, and for a device that is polled, the one with the fewest groups; of equals, in turn.
 * A tenant without CPUs of its own has one thread, which the kernel places.
 */
#include "injectors/emu/service_private.h"
#include "injectors/emu/truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/fail.h"

#define BACKLOG 8 /* groups at the CPU of the interrupt before others take over */

/*
 * Also of those that it runs, and of those whose dispatch is delayed. Relaxed: it goes up and down
 * anyway while a handler is chosen.
 */
static __u32 groups_at(const struct handler *handler)
{
	return atomic_load_explicit(&handler->load, memory_order_relaxed);
}

static void *handler_main(void *argument)
{
	struct handler *handler = argument;
	struct service *service = handler->service;
	struct page_group *group;

	while (timed_queue_pop(handler->groups, &group, 1)) {
		__u32 tenant = service->ops.tenant_of(service->machine, group->key.device);

		page_group_truth(group, TRUTH_HANDLER, 0);
		handle_group(service, group);
		atomic_fetch_sub(&handler->load, 1);
		atomic_fetch_sub(&service->tenants[tenant].load, 1);
	}
	return NULL;
}

static int handler_start(struct service *service, struct handler *handler, const char *name)
{
	cpu_set_t cpus;
	int error;

	CPU_ZERO(&cpus);
	if (handler->cpu >= 0)
		CPU_SET((size_t)handler->cpu, &cpus);
	handler->service = service;
	error = timed_queue_create(&handler->groups, sizeof(struct page_group *), 16);
	if (!error)
		error = thread_start(&handler->thread, &cpus, handler_main, handler, "%s", name);
	handler->running = !error;
	return error ? failed_in(error, "fault handler %s", name) : 0;
}

/* The CPUs from `cpu` on that are the tenant's; -1: no more. */
static int next_cpu(const cpu_set_t *cpus, int cpu)
{
	while (cpu < CPU_SETSIZE && !CPU_ISSET((size_t)cpu, cpus))
		cpu++;
	return cpu < CPU_SETSIZE ? cpu : -1;
}

static int tenant_start(struct service *service, __u32 index)
{
	struct service_tenant *tenant = &service->tenants[index];
	const cpu_set_t *cpus = &service->tenant_cpus[index];
	int cpu = next_cpu(cpus, 0), error = 0;
	char name[32];

	tenant->first = service->handler_count;
	do {
		struct handler *handler = &service->handlers[service->handler_count++];

		handler->cpu = cpu;
		if (cpu < 0)
			snprintf(name, sizeof(name), "iopf-%u", index);
		else
			snprintf(name, sizeof(name), "iopf-%u.%d", index, cpu);
		error = handler_start(service, handler, name);
		tenant->count++;
		cpu = cpu < 0 ? cpu : next_cpu(cpus, cpu + 1);
	} while (!error && cpu >= 0);
	return error;
}

static __u32 handlers_needed(const struct service *service)
{
	__u32 count = 0;

	for (__u32 i = 0; i < service->config.tenants; i++) {
		__u32 own = (__u32)CPU_COUNT(&service->tenant_cpus[i]);

		count += own ? own : 1;
	}
	return service->config.scheduler == SCHEDULER_AFFINED ? count : 1;
}

int scheduler_start(struct service *service)
{
	__u32 count = handlers_needed(service);
	int error = 0;

	service->tenants = calloc(service->config.tenants, sizeof(*service->tenants));
	service->handlers = calloc(count, sizeof(*service->handlers));
	if (!service->tenants || !service->handlers)
		return failed(-ENOMEM, "no memory for %u fault handlers", count);
	if (service->config.scheduler == SCHEDULER_SERIAL) {
		service->handler_count = 1;
		service->handlers->cpu = -1;
		return handler_start(service, service->handlers, "iopf-serial");
	}
	for (__u32 i = 0; i < service->config.tenants && !error; i++)
		error = tenant_start(service, i);
	return error;
}

void scheduler_stop(struct service *service)
{
	for (__u32 i = 0; i < service->handler_count; i++)
		if (service->handlers[i].running)
			timed_queue_stop(service->handlers[i].groups);
	for (__u32 i = 0; i < service->handler_count; i++) {
		if (service->handlers[i].running)
			pthread_join(service->handlers[i].thread, NULL);
		timed_queue_destroy(service->handlers[i].groups);
	}
	free(service->handlers);
	free(service->tenants);
	service->handlers = NULL;
	service->tenants = NULL;
	service->handler_count = 0;
}

/* From the one after the last choice on, so that equals take turns. */
static struct handler *least_loaded(struct service *service, struct service_tenant *tenant)
{
	struct handler *handlers = &service->handlers[tenant->first], *best = NULL;

	for (__u32 i = 0; i < tenant->count; i++) {
		struct handler *handler = &handlers[(tenant->turn + i) % tenant->count];

		if (!best || groups_at(handler) < groups_at(best))
			best = handler;
	}
	tenant->turn = (__u32)(best - handlers) + 1;
	return best;
}

static struct handler *choose_handler(struct service *service, struct service_tenant *tenant,
				      __u32 device)
{
	__u32 backlog = service->config.handler_backlog ? service->config.handler_backlog : BACKLOG;
	int msi = service->device_msi ? service->device_msi[device] : -1;

	if (service->config.scheduler == SCHEDULER_SERIAL)
		return service->handlers;
	for (__u32 i = 0; msi >= 0 && i < tenant->count; i++) {
		struct handler *handler = &service->handlers[tenant->first + i];

		if (handler->cpu != msi)
			continue;
		if (groups_at(handler) < backlog) {
			atomic_fetch_add(&service->at_msi, 1);
			return handler;
		}
		atomic_fetch_add(&service->off_msi, 1);
	}
	return least_loaded(service, tenant);
}

void scheduler_dispatch(struct service *service, struct page_group *group)
{
	__u32 device = group->key.device;
	__u64 delay = inject_delay(service->config.injections, INJECT_DISPATCH, device);
	struct service_tenant *tenant =
		&service->tenants[service->ops.tenant_of(service->machine, device)];
	struct handler *handler = choose_handler(service, tenant, device);

	/* What is there and not this tenant's own. */
	if (atomic_fetch_add(&handler->load, 1) > atomic_fetch_add(&tenant->load, 1))
		atomic_fetch_add(&service->behind_others, 1);
	atomic_fetch_add(&service->groups, 1);
	if (!timed_queue_push(handler->groups, delay ? monotonic_ns() + delay : 0, &group))
		return;
	/* No memory to remember it by: as if the response had been lost, the device will ask again. */
	atomic_fetch_sub(&handler->load, 1);
	atomic_fetch_sub(&tenant->load, 1);
	service_discard(service, group);
	group_table_put(service->table, group);
}
