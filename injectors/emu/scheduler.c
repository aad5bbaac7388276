// SPDX-License-Identifier: GPL-2.0
/*
 * Which thread runs a group's bottom half: the one of the machine, as a stock host does, or one of
 * the faulting tenant on that tenant's own CPUs (VPRI section 6.1).
 */
#include "injectors/emu/truth.h"
#include "injectors/emu/service_private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

static void *handler_main(void *argument)
{
	struct handler *handler = argument;
	struct page_group *group;

	while (timed_queue_pop(handler->groups, &group, 1)) {
		page_group_truth(group, TRUTH_HANDLER, 0);
		handle_group(handler->service, group);
	}
	return NULL;
}

static int handler_start(struct service *service, __u32 index)
{
	struct handler *handler = &service->handlers[index];
	bool affined = service->config.scheduler == SCHEDULER_AFFINED;
	int error;

	handler->service = service;
	error = timed_queue_create(&handler->groups, sizeof(struct page_group *), 16);
	if (error)
		return error;
	if (affined)
		error = thread_start(&handler->thread, &service->tenant_cpus[index], handler_main,
				     handler, "iopf-%u", index);
	else
		error = thread_start(&handler->thread, NULL, handler_main, handler, "iopf-serial");
	handler->running = !error;
	return error ? failed_in(error, "fault handler of tenant %u", index) : 0;
}

int scheduler_start(struct service *service)
{
	__u32 count = service->config.scheduler == SCHEDULER_AFFINED ? service->config.tenants : 1;
	int error = 0;

	service->handlers = calloc(count, sizeof(*service->handlers));
	if (!service->handlers)
		return failed(-ENOMEM, "no memory for %u fault handlers", count);
	service->handler_count = count;
	for (__u32 i = 0; i < count && !error; i++)
		error = handler_start(service, i);
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
	service->handlers = NULL;
	service->handler_count = 0;
}

void scheduler_dispatch(struct service *service, struct page_group *group)
{
	__u64 delay = inject_delay(service->config.injections, INJECT_DISPATCH, group->key.device);
	__u64 due = delay ? monotonic_ns() + delay : 0;
	struct handler *handler = service->handlers;

	if (service->config.scheduler == SCHEDULER_AFFINED)
		handler += service->ops.tenant_of(service->machine, group->key.device);
	atomic_fetch_add(&service->groups, 1);
	if (!timed_queue_push(handler->groups, due, &group))
		return;
	/* No memory to remember it by: as if the response had been lost, the device will ask again. */
	service_discard(service, group);
	group_table_put(service->table, group);
}
