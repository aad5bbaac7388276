// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/event_ring.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "injectors/emu/inject.h"
#include "lib/base/clock.h"

#define RETRY_NS NSEC_PER_MSEC /* of what found the ring full */

void event_ring_init(struct event_sender *ring, int timer, struct inject_table *table, __u32 device)
{
	*ring = (struct event_sender){
		.interrupt = -1, .alarm = -1, .timer = timer, .table = table, .device = device};
	pthread_mutex_init(&ring->lock, NULL);
}

void event_ring_destroy(struct event_sender *ring)
{
	pthread_mutex_destroy(&ring->lock);
}

void event_ring_open(struct event_sender *ring, struct hyv_shared *shared, int interrupt, int alarm)
{
	pthread_mutex_lock(&ring->lock);
	ring->shared = &shared->events;
	ring->registers = &shared->registers;
	ring->injections = &shared->event_injections;
	ring->interrupt = interrupt;
	ring->alarm = alarm;
	ring->produced = ring->consumed = 0;
	ring->pending = 0;
	memset(ring->last, 0, sizeof(ring->last));
	memset(ring->due_ns, 0, sizeof(ring->due_ns));
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_close(struct event_sender *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->shared = NULL;
	ring->registers = NULL;
	ring->injections = NULL;
	ring->interrupt = ring->alarm = -1;
	ring->pending = 0;
	memset(ring->due_ns, 0, sizeof(ring->due_ns));
	pthread_mutex_unlock(&ring->lock);
}

static void look_at_guest(struct event_sender *ring)
{
	__u64 consumed = atomic_load(&ring->shared->consumed);

	if (consumed > ring->consumed && consumed <= ring->produced)
		ring->consumed = consumed;
}

static void set_timer(const struct event_sender *ring)
{
	struct itimerspec when = {};
	__u64 first = 0;

	for (__u32 i = 0; i < VERBS_QUEUES_MAX; i++)
		if (ring->due_ns[i] && (!first || ring->due_ns[i] < first))
			first = ring->due_ns[i];
	when.it_value = timespec_of_ns(first);
	(void)timerfd_settime(ring->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void keep(struct event_sender *ring, __u32 number, __u64 due_ns)
{
	__u32 place = number % VERBS_QUEUES_MAX;

	ring->pending += !ring->due_ns[place];
	ring->number[place] = number;
	ring->due_ns[place] = due_ns;
	set_timer(ring);
}

/* False: it is full. */
static bool event_put(struct event_sender *ring, enum hyv_event_kind kind, __u32 number)
{
	look_at_guest(ring);
	if (ring->produced - ring->consumed >= HYV_EVENTS)
		return false;
	ring->shared->event[ring->produced % HYV_EVENTS] =
		(struct hyv_event){.number = number, .kind = (__u16)kind};
	atomic_store(&ring->shared->produced, ++ring->produced);
	return true;
}

static void event_interrupt(struct event_sender *ring)
{
	/* The event is there all the same: who looks finds it. */
	if (inject_fire(ring->table, INJECT_EVENT_LOST, ring->device))
		return;
	ring->stats.injections++;
	atomic_fetch_add(ring->injections, 1);
	(void)eventfd_write(ring->interrupt, 1);
}

static void event_deliver(struct event_sender *ring, __u32 number)
{
	__u32 place = number % VERBS_QUEUES_MAX;

	look_at_guest(ring);
	if (ring->last[place] > ring->consumed && ring->number[place] == number) {
		ring->stats.merged++;
		return;
	}
	if (!event_put(ring, HYV_EVENT_COMPLETION, number)) {
		ring->stats.kept++;
		keep(ring, number, monotonic_ns() + RETRY_NS);
		return;
	}
	ring->number[place] = number;
	ring->last[place] = ring->produced;
	event_interrupt(ring);
}

void event_ring_raise(struct event_sender *ring, __u32 number)
{
	__u64 delay_ns;

	pthread_mutex_lock(&ring->lock);
	if (!ring->shared)
		goto unlock;
	ring->stats.raised++;
	if (ring->due_ns[number % VERBS_QUEUES_MAX]) {
		ring->stats.merged++;
		goto unlock;
	}
	delay_ns = inject_delay(ring->table, INJECT_EVENT_LATE, ring->device);
	if (delay_ns)
		keep(ring, number, monotonic_ns() + delay_ns);
	else
		event_deliver(ring, number);
unlock:
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_forget(struct event_sender *ring, __u32 number)
{
	__u32 place = number % VERBS_QUEUES_MAX;

	pthread_mutex_lock(&ring->lock);
	ring->pending -= ring->due_ns[place] != 0;
	ring->due_ns[place] = 0;
	ring->last[place] = 0;
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_tell(struct event_sender *ring, enum hyv_event_kind kind, __u32 number)
{
	pthread_mutex_lock(&ring->lock);
	if (ring->shared && event_put(ring, kind, number)) {
		ring->stats.injections++;
		atomic_fetch_add(ring->injections, 1);
		(void)eventfd_write(ring->interrupt, 1);
	}
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_alarm(struct event_sender *ring, enum verbs_failing what, __u32 number)
{
	pthread_mutex_lock(&ring->lock);
	if (ring->shared) {
		verbs_registers_fail(ring->registers, what, number);
		ring->stats.injections++;
		atomic_fetch_add(ring->injections, 1);
		(void)eventfd_write(ring->alarm, 1);
	}
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_run(struct event_sender *ring)
{
	__u64 now_ns = monotonic_ns();

	pthread_mutex_lock(&ring->lock);
	for (__u32 i = 0; ring->pending && i < VERBS_QUEUES_MAX; i++) {
		if (!ring->due_ns[i] || ring->due_ns[i] > now_ns)
			continue;
		ring->due_ns[i] = 0;
		ring->pending--;
		event_deliver(ring, ring->number[i]);
	}
	set_timer(ring);
	pthread_mutex_unlock(&ring->lock);
}

void event_ring_stats(struct event_sender *ring, struct event_ring_stats *stats)
{
	pthread_mutex_lock(&ring->lock);
	*stats = ring->stats;
	pthread_mutex_unlock(&ring->lock);
}
