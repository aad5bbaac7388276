// SPDX-License-Identifier: GPL-2.0
/* The timer of a machine's devices: one thread that calls at a time. */
#include "injectors/emu/service_private.h"

struct timer_call {
	void (*call)(void *argument);
	void *argument;
};

static void *timer_main(void *argument)
{
	struct service *service = argument;
	struct timer_call call;

	while (timed_queue_pop(service->calls, &call, 1))
		call.call(call.argument);
	return NULL;
}

int timer_start(struct service *service)
{
	size_t room = SERVICE_CALLS * (size_t)service->config.devices;
	int error = timed_queue_create(&service->calls, sizeof(struct timer_call), room);

	if (!error)
		error = thread_start(&service->timer, NULL, timer_main, service, "port-timer");
	service->timer_running = !error;
	return error;
}

void timer_stop(struct service *service)
{
	if (!service->timer_running)
		return;
	timed_queue_stop(service->calls);
	pthread_join(service->timer, NULL);
	service->timer_running = false;
}

void service_call_at(struct service *service, __u64 time_ns, void (*call)(void *argument),
		     void *argument)
{
	/* There is room: see SERVICE_CALLS. */
	timed_queue_push(service->calls, time_ns, &(struct timer_call){call, argument});
}
