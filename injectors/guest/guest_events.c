// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events in the guest: of the threads that wait one sleeps on the eventfd, for all; who wakes takes what is in the
 * ring and gives it to the queues and channels that it is of. The lock is the guest's own: the host has another for its half.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/guest/guest_private.h"
#include "lib/base/clock.h"

void guest_events_init(struct guest_events *events)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&events->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&events->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void guest_events_destroy(struct guest_events *events)
{
	pthread_cond_destroy(&events->changed);
	pthread_mutex_destroy(&events->lock);
}

void guest_events_end(struct guest_device *guest)
{
	pthread_mutex_lock(&guest->events.lock);
	pthread_cond_broadcast(&guest->events.changed);
	pthread_mutex_unlock(&guest->events.lock);
	(void)eventfd_write(guest->descriptor[HYV_EVENT], 1);
}

/* A channel that is polled shows by a descriptor of its own what was taken out of the ring for it. Under the lock. */
static void channel_show(struct verbs_channel *channel)
{
	bool any = channel->first != NULL;
	eventfd_t told;

	if (channel->own < 0 || any == channel->own_told)
		return;
	if (any)
		(void)eventfd_write(channel->own, 1);
	else
		(void)eventfd_read(channel->own, &told);
	channel->own_told = any;
}

static void channel_put(struct verbs_channel *channel, struct verbs_queue *queue)
{
	if (queue->pending)
		return;
	queue->pending = true;
	queue->next_pending = NULL;
	*channel->last = queue;
	channel->last = &queue->next_pending;
}

static struct verbs_queue *channel_take(struct verbs_channel *channel)
{
	struct verbs_queue *queue = channel->first;

	if (!queue)
		return NULL;
	channel->first = queue->next_pending;
	if (!channel->first)
		channel->last = &channel->first;
	queue->pending = false;
	return queue;
}

static void event_give(struct guest_device *guest, const struct hyv_event *event,
		       const struct verbs_channel *mine)
{
	struct verbs_queue *queue = guest->events.queues[event->number % VERBS_QUEUES_MAX];

	if (event->kind == HYV_EVENT_DEVICE_GONE)
		atomic_store(&guest->gone, true);
	/* Of one that is gone by now there is nobody to tell. */
	if (event->kind != HYV_EVENT_COMPLETION || !queue || queue->number != event->number)
		return;
	queue->told++;
	if (!queue->channel)
		return;
	channel_put(queue->channel, queue);
	if (queue->channel != mine)
		channel_show(queue->channel);
}

/* Takes what is in the ring; what is of `mine` its caller sees to. Under the lock. */
static void events_take(struct guest_device *guest, const struct verbs_channel *mine)
{
	struct hyv_event_ring *ring = &guest->shared->events;
	__u64 consumed = atomic_load_explicit(&ring->consumed, memory_order_relaxed),
	      before = consumed;

	while (consumed != atomic_load_explicit(&ring->produced, memory_order_acquire)) {
		struct hyv_event event = ring->event[consumed % HYV_EVENTS];

		/* Before anybody looks at what it is of: what comes after that is an event of its own. */
		atomic_store(&ring->consumed, ++consumed);
		event_give(guest, &event, mine);
	}
	if (before != consumed)
		pthread_cond_broadcast(&guest->events.changed);
}

/* Until there may be more, or the deadline. Under the lock, but not while it sleeps. */
static void events_sleep(struct guest_device *guest, __u64 deadline_ns)
{
	struct pollfd polled[] = {{.fd = guest->descriptor[HYV_EVENT], .events = POLLIN},
				  {.fd = guest->socket, .events = POLLRDHUP}};
	__u64 now_ns = deadline_ns ? monotonic_ns() : 0;
	struct timespec most = timespec_of_ns(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
	struct guest_events *events = &guest->events;
	eventfd_t told;
	int found;

	if (events->sleeping) {
		const struct timespec until = timespec_of_ns(deadline_ns);

		if (deadline_ns)
			pthread_cond_timedwait(&events->changed, &events->lock, &until);
		else
			pthread_cond_wait(&events->changed, &events->lock);
		return;
	}
	events->sleeping = true;
	pthread_mutex_unlock(&events->lock);
	found = ppoll(polled, 2, deadline_ns ? &most : NULL, NULL);
	if (found > 0 && polled[0].revents)
		(void)eventfd_read(guest->descriptor[HYV_EVENT], &told);
	if (found > 0 && polled[1].revents)
		atomic_store(&guest->gone, true);
	pthread_mutex_lock(&events->lock);
	events->sleeping = false;
	pthread_cond_broadcast(&events->changed);
}

int guest_queue_begin(struct verbs_queue *queue)
{
	struct guest_device *guest = guest_device_of(queue->device);

	pthread_mutex_lock(&guest->events.lock);
	guest->events.queues[queue->number % VERBS_QUEUES_MAX] = queue;
	pthread_mutex_unlock(&guest->events.lock);
	return 0;
}

void guest_queue_end(struct verbs_queue *queue)
{
	struct guest_device *guest = guest_device_of(queue->device);
	struct verbs_queue **place = &guest->events.queues[queue->number % VERBS_QUEUES_MAX];

	pthread_mutex_lock(&guest->events.lock);
	if (*place == queue)
		*place = NULL;
	if (queue->pending) {
		struct verbs_channel *channel = queue->channel;
		struct verbs_queue *first = channel_take(channel), *other;

		for (other = first; other != queue; other = channel_take(channel))
			channel_put(channel, other);
		channel_show(channel);
	}
	pthread_mutex_unlock(&guest->events.lock);
}

bool guest_queue_wait(struct verbs_queue *queue, __u64 *seen, __u64 deadline_ns)
{
	struct guest_device *guest = guest_device_of(queue->device);
	bool in_time = true;

	pthread_mutex_lock(&guest->events.lock);
	events_take(guest, NULL);
	/* What it was told before it slept is nothing new, but who calls has looked only now. */
	if (queue->told == *seen && !atomic_load(&guest->gone)) {
		in_time = !deadline_ns || monotonic_ns() < deadline_ns;
		if (in_time)
			events_sleep(guest, deadline_ns);
		events_take(guest, NULL);
	}
	*seen = queue->told;
	pthread_mutex_unlock(&guest->events.lock);
	return in_time;
}

int guest_channel_begin(struct verbs_channel *channel)
{
	(void)channel;
	return 0;
}

void guest_channel_end(struct verbs_channel *channel)
{
	if (channel->descriptor >= 0)
		close(channel->descriptor);
	if (channel->own >= 0)
		close(channel->own);
}

void guest_channel_add(struct verbs_channel *channel, struct verbs_queue *queue)
{
	struct guest_events *events = &guest_device_of(channel->device)->events;

	pthread_mutex_lock(&events->lock);
	queue->channel = channel;
	pthread_mutex_unlock(&events->lock);
}

/* The host's interrupt, what has been taken for this channel alone, and the host's end. */
int guest_channel_descriptor(struct verbs_channel *channel)
{
	struct guest_device *guest = guest_device_of(channel->device);
	struct epoll_event of_host = {.events = EPOLLIN}, of_end = {.events = EPOLLRDHUP};

	pthread_mutex_lock(&guest->events.lock);
	if (channel->descriptor < 0) {
		channel->own = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		channel->descriptor = epoll_create1(EPOLL_CLOEXEC);
		(void)epoll_ctl(channel->descriptor, EPOLL_CTL_ADD, channel->own, &of_host);
		(void)epoll_ctl(channel->descriptor, EPOLL_CTL_ADD, guest->descriptor[HYV_EVENT],
				&of_host);
		(void)epoll_ctl(channel->descriptor, EPOLL_CTL_ADD, guest->socket, &of_end);
		channel_show(channel);
	}
	pthread_mutex_unlock(&guest->events.lock);
	return channel->descriptor;
}

int guest_channel_wait(struct verbs_channel *channel, struct verbs_queue **queue, __u64 deadline_ns)
{
	struct guest_device *guest = guest_device_of(channel->device);
	int error = -EAGAIN;
	eventfd_t told;

	pthread_mutex_lock(&guest->events.lock);
	while (error == -EAGAIN) {
		events_take(guest, channel);
		*queue = channel_take(channel);
		if (*queue) {
			error = 0;
		} else if (guest_gone(channel->device)) {
			error = -EPIPE;
		} else if (deadline_ns && monotonic_ns() >= deadline_ns) {
			/* Who polls must not be told again of what somebody else has taken. */
			if (!guest->events.sleeping)
				(void)eventfd_read(guest->descriptor[HYV_EVENT], &told);
			events_take(guest, channel);
			*queue = channel_take(channel);
			error = *queue ? 0 : -ETIMEDOUT;
		} else {
			events_sleep(guest, deadline_ns);
		}
	}
	channel_show(channel);
	pthread_mutex_unlock(&guest->events.lock);
	return error;
}
