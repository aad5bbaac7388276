// SPDX-License-Identifier: GPL-2.0
/* Page requests of a device that does not wait: told by a callback, given up by a timer. */
#include "injectors/emu/port_private.h"

#include <errno.h>

#include "lib/base/clock.h"

static void list_append(struct port_request_list *list, struct port_request *request)
{
	request->next = NULL;
	request->previous = list->last;
	if (list->last)
		list->last->next = request;
	else
		list->first = request;
	list->last = request;
}

static void list_remove(struct port_request_list *list, struct port_request *request)
{
	if (request->previous)
		request->previous->next = request->next;
	else
		list->first = request->next;
	if (request->next)
		request->next->previous = request->previous;
	else
		list->last = request->previous;
}

void port_request_take(struct port *port, struct port_request *request)
{
	list_remove(&port->open, request);
	port->finishing++;
}

/* With the lock held. A response that comes from now on is late. */
static void expire_groups(struct port *port, struct port_fault *fault, int error)
{
	for (__u32 i = 0; i < fault->raised; i++) {
		struct port_group *group = &port->groups[fault->groups[i]];

		if (group->state == GROUP_WAITING)
			group->state = GROUP_EXPIRED;
	}
	fault->unanswered = 0;
	if (!fault->error || error == -ESHUTDOWN)
		fault->error = error;
}

/* What done() is told. */
static int request_error(const struct port *port, const struct port_fault *fault)
{
	int error = port_verdict(port, fault);

	if (fault->error == -ESHUTDOWN || !error)
		error = fault->error;
	return error || !fault->overflowed ? error : -EAGAIN;
}

/* Tells of each group what has become of it; then its index is free. */
static void close_groups(struct port *port, struct port_fault *fault)
{
	__u32 answered = 0;

	pthread_mutex_lock(&port->lock);
	for (__u32 i = 0; i < fault->raised; i++)
		if (port->groups[fault->groups[i]].state == GROUP_EXPIRED)
			group_abandon(port, fault, fault->groups[i]);
		else
			fault->groups[answered++] = fault->groups[i];
	pthread_mutex_unlock(&port->lock);
	fault->raised = answered;
	port_resume(port, fault);
}

/* The request may be gone, or another, as soon as it has been told: its faults are closed by a copy. */
void port_request_finish(struct port *port, struct port_request *request)
{
	struct port_request copy;

	if (request->own) {
		request->done(request, request_error(port, &request->fault));
	} else {
		copy = *request;
		copy.fault.pages = copy.pages;
		copy.fault.groups = copy.groups;
		request->done(request, request_error(port, &copy.fault));
		close_groups(port, &copy.fault);
	}
	pthread_mutex_lock(&port->lock);
	if (!--port->finishing)
		pthread_cond_broadcast(&port->finished);
	pthread_mutex_unlock(&port->lock);
}

void port_request_resume(struct port_request *request)
{
	close_groups(request->port, &request->fault);
}

/* The first of a list that has one whose deadline is up; NULL. */
static struct port_request *take_due(struct port *port, struct port_request_list *list, __u64 now)
{
	struct port_request *request;

	pthread_mutex_lock(&port->lock);
	request = list->first;
	if (request && request->deadline_ns > now)
		request = NULL;
	if (request) {
		list_remove(list, request);
		port->finishing++;
		if (list == &port->open)
			expire_groups(port, &request->fault,
				      port->stopping ? -ESHUTDOWN : -ETIMEDOUT);
	}
	pthread_mutex_unlock(&port->lock);
	return request;
}

static void finish_due(struct port *port, struct port_request_list *list, __u64 now)
{
	struct port_request *request;

	while ((request = take_due(port, list, now)))
		port_request_finish(port, request);
}

/* The timer's thread. */
static void timer_expires(void *argument);

/* With the lock held. */
static void time_open(struct port *port)
{
	if (!port->open.first || port->open_timed)
		return;
	port->open_timed = true;
	service_call_at(port->config.service, port->open.first->deadline_ns, timer_expires, port);
}

static void timer_expires(void *argument)
{
	struct port *port = argument;

	finish_due(port, &port->open, monotonic_ns());
	pthread_mutex_lock(&port->lock);
	port->open_timed = false;
	time_open(port);
	pthread_mutex_unlock(&port->lock);
}

static void timer_tells(void *argument)
{
	struct port *port = argument;

	pthread_mutex_lock(&port->lock);
	port->answered_timed = false;
	pthread_mutex_unlock(&port->lock);
	finish_due(port, &port->answered, ~0ull);
}

/* With the lock held. */
static void tell_soon(struct port *port, struct port_request *request)
{
	list_append(&port->answered, request);
	if (port->answered_timed)
		return;
	port->answered_timed = true;
	service_call_at(port->config.service, 0, timer_tells, port);
}

/* Nobody is told by done(), so that the caller is told now: what it raised is closed here. */
static bool nothing_came(const struct port *port, const struct port_fault *fault)
{
	for (__u32 i = 0; i < fault->raised; i++)
		if (!port->groups[fault->groups[i]].automatic)
			return false;
	return true;
}

/* All of it has been raised; `error`: of what was not. From its being listed it is others' as well. */
static int request_raised(struct port *port, struct port_request *request, int error)
{
	struct port_fault *fault = &request->fault;

	pthread_mutex_lock(&port->lock);
	fault->error = error;
	fault->unanswered--;
	request->deadline_ns = monotonic_ns() + port->config.response_timeout_ns;
	error = 0;
	if (port->stopping) {
		error = -ESHUTDOWN;
		expire_groups(port, fault, error);
	} else if (nothing_came(port, fault)) {
		error = fault->error ? fault->error : -EAGAIN;
	} else if (!fault->unanswered) {
		tell_soon(port, request);
	} else {
		list_append(&port->open, request);
		time_open(port);
	}
	pthread_mutex_unlock(&port->lock);
	if (error)
		close_groups(port, fault);
	return error;
}

static bool request_valid(const struct port *port, const struct port_request *request)
{
	const __u64 *pages = request->own ? request->own->pages : request->pages;

	if (request->queue >= port->config.queues || !request->count ||
	    request->count > (request->own ? PORT_REQUEST_OWN_PAGES : PORT_REQUEST_PAGES) ||
	    (request->access != EVENT_READ && request->access != EVENT_WRITE))
		return false;
	for (__u32 i = 0; i < request->count; i++)
		if (pages[i] & (PAGE_BYTES - 1))
			return false;
	return true;
}

static void request_prepare(struct port *port, struct port_request *request)
{
	struct port_fault *fault = &request->fault;

	request->port = port;
	*fault = (struct port_fault){
		.request = request,
		.pages = request->pages,
		.groups = request->groups,
		.count = request->count,
		.unanswered = 1,
		.group_pages = port->config.group_pages,
		.group_limit = GROUP_INDEX_MAX,
		.found_ns = monotonic_ns(),
		.queue = request->queue,
		.access = request->access,
	};
	if (request->own) {
		fault->pages = request->own->pages;
		fault->groups = request->own->groups;
	}
	if (request->own && request->own->found_ns) {
		fault->found_ns = request->own->found_ns;
		fault->held_ns = fault->found_ns;
		fault->logged_held_ns = fault->found_ns;
	}
}

int port_request(struct port *port, struct port_request *request)
{
	int error;

	if (!request_valid(port, request))
		return -EINVAL;
	request_prepare(port, request);
	error = port_raise(port, &request->fault);
	return request->fault.raised ? request_raised(port, request, error) : error;
}

int port_request_claim(struct port *port, struct port_request *request)
{
	struct port_fault *fault = &request->fault;

	if (!request_valid(port, request))
		return -EINVAL;
	request_prepare(port, request);
	fault->claim = true;
	fault->error = port_raise(port, fault);
	return fault->raised ? 0 : fault->error;
}

static void claim_ends(struct port_request *request, int error)
{
	struct port *port = request->port;

	pthread_mutex_lock(&port->lock);
	expire_groups(port, &request->fault, error);
	pthread_mutex_unlock(&port->lock);
	close_groups(port, &request->fault);
}

int port_request_send(struct port_request *request)
{
	int error = port_send(request->port, &request->fault);

	if (!error)
		return request_raised(request->port, request, request->fault.error);
	claim_ends(request, error);
	return error;
}

void port_request_drop(struct port_request *request)
{
	claim_ends(request, -ESHUTDOWN);
}

int port_request_group(struct port_request *request, __u32 page, __u16 *group, __u64 *truth_fault)
{
	const struct port_fault *fault = &request->fault;
	struct port *port = request->port;
	int error = -ENOENT;

	pthread_mutex_lock(&port->lock);
	for (__u32 i = 0; i < fault->raised && error; i++) {
		const struct port_group *raised = &port->groups[fault->groups[i]];

		if (raised->fault != fault || page - raised->first >= raised->count)
			continue;
		*group = fault->groups[i];
		*truth_fault = raised->id + (page - raised->first);
		error = 0;
	}
	pthread_mutex_unlock(&port->lock);
	return error;
}

void port_request_stop(struct port *port)
{
	finish_due(port, &port->answered, ~0ull);
	finish_due(port, &port->open, ~0ull);
	pthread_mutex_lock(&port->lock);
	while (port->finishing)
		pthread_cond_wait(&port->finished, &port->lock);
	pthread_mutex_unlock(&port->lock);
}
