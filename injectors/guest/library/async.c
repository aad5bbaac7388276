// SPDX-License-Identifier: GPL-2.0
/* Asynchronous events: what has gone into error by itself, and the host's end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/guest/library/library.h"

int async_descriptor(const struct library_device *device)
{
	struct epoll_event event = {.events = EPOLLIN};
	int descriptor = host_end_descriptor(device);

	if (descriptor >= 0 &&
	    epoll_ctl(descriptor, EPOLL_CTL_ADD, guest_alarm_descriptor(device->verbs), &event)) {
		int error = -errno;

		close(descriptor);
		return error;
	}
	return descriptor;
}

/* False: of one that is being destroyed, which nobody is told of. */
static bool event_fill(const struct verbs_failure *failure, struct ibv_async_event *event)
{
	if (failure->what == VERBS_QUEUE_FAILED) {
		struct library_cq *cq = library_cq_failed(failure->queue);

		*event = (struct ibv_async_event){.event_type = IBV_EVENT_CQ_ERR,
						  .element.cq = &cq->cq};
		return cq;
	} else {
		struct library_qp *qp = library_qp_failed(failure->pair);

		*event = (struct ibv_async_event){.event_type = IBV_EVENT_QP_FATAL,
						  .element.qp = &qp->ex.qp_base};
		return qp;
	}
}

/* Whichever of the device's contexts asks first is told. */
static bool failure_next(const struct library_device *device, struct ibv_async_event *event)
{
	int alarm = guest_alarm_descriptor(device->verbs);
	struct verbs_failure failure;
	eventfd_t told;

	(void)eventfd_read(alarm, &told);
	while (!verbs_get_failure(device->verbs, &failure)) {
		/* There may be more. */
		(void)eventfd_write(alarm, 1);
		if (event_fill(&failure, event))
			return true;
	}
	return false;
}

static bool end_told(struct library_context *context)
{
	bool told;

	pthread_mutex_lock(&context->device->lock);
	told = context->fatal_told;
	context->fatal_told = true;
	pthread_mutex_unlock(&context->device->lock);
	return told;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct library_context *own = context_of(context);
	struct pollfd wait = {.fd = context->async_fd, .events = POLLIN};
	bool waits = !(fcntl(context->async_fd, F_GETFL) & O_NONBLOCK);

	while (!failure_next(own->device, event)) {
		if (library_host_gone(own->device)) {
			if (end_told(own)) {
				errno = EIO;
				return -1;
			}
			*event = (struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL};
			return 0;
		}
		if (!waits)
			errno = EAGAIN;
		if (!waits || poll(&wait, 1, -1) < 0)
			return -1;
	}
	return 0;
}

/* Who destroys what it was of waits for that. */
void ibv_ack_async_event(struct ibv_async_event *event)
{
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	uint32_t *completed;

	if (event->event_type == IBV_EVENT_CQ_ERR) {
		struct ibv_cq *cq = event->element.cq;

		mutex = &cq->mutex, cond = &cq->cond, completed = &cq->async_events_completed;
	} else if (event->event_type == IBV_EVENT_QP_FATAL) {
		struct ibv_qp *qp = event->element.qp;

		mutex = &qp->mutex, cond = &qp->cond, completed = &qp->events_completed;
	} else {
		return;
	}
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}
