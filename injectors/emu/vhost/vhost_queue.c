// SPDX-License-Identifier: GPL-2.0
/* A queue's thread: takes chains, has the model serve them, parks what waits, and rests when it is told to. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

#define QUEUE_POLL_NS NSEC_PER_MSEC /* of a driver that does not kick */

void queue_wake(struct vhost_queue *q)
{
	const __u64 one = 1;

	if (write(q->wake, &one, sizeof(one)) < 0)
		return; /* it is as awake as can be */
}

void queue_order(struct vhost_queue *q, enum queue_order order)
{
	pthread_mutex_lock(&q->lock);
	__atomic_store_n(&q->order, order, __ATOMIC_RELEASE);
	if (order != QUEUE_REST)
		q->resting = false;
	pthread_cond_broadcast(&q->changed);
	queue_wake(q);
	while (order != QUEUE_RUN && order != QUEUE_END && !q->resting)
		pthread_cond_wait(&q->changed, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

static int slot_serve(struct vhost_queue *q, struct vhost_slot *slot)
{
	const struct vhost_config *config = &q->vhost->config;
	int result = config->model->serve(config->argument, &slot->request, q->scratch);

	if (!result)
		return slot_done(slot);
	if (result == VHOST_KEPT && slot->state != SLOT_KEPT) {
		slot->state = SLOT_KEPT;
		q->kept++;
	}
	return result > 0 ? 0 : result;
}

/* What has come back, or is to be tried again. Returns how many, or negative errno. */
static int serve_returned(struct vhost_queue *q)
{
	struct vhost_slot *slot;
	__u64 now = monotonic_ns();
	int served = 0, error = slots_use_done(q);

	while (!error && ((slot = slots_told(q)) || (slot = slots_due(q, now)) ||
			  (slot = slots_answered(q)) ||
			  (queue_ordered(q) == QUEUE_DRAIN && q->staged.first &&
			   (slot = queue_unstage(q))))) {
		served++;
		if (slot->state == SLOT_SERVED)
			error = slot_serve(q, slot);
	}
	return error ? error : served;
}

/* Whether the policy lets the queue begin a request. */
static bool queue_may_begin(struct vhost_queue *q)
{
	return queue_ordered(q) == QUEUE_RUN && !(q->vhost->config.on_fault == VHOST_PAUSE &&
						  (q->asked || q->late.first || q->missed.first));
}

static int serve_next(struct vhost_queue *q)
{
	struct vhost_slot *slot = NULL;
	int found = 1, error;

	if (q->staged.first && !atomic_load(&q->vhost->staging)) {
		slot = queue_unstage(q);
	} else {
		found = queue_fetch(q, &slot);
		if (found <= 0 || queue_stage(q, slot))
			return found;
	}
	error = slot_serve(q, slot);
	return error ? error : 1;
}

/* As many as are there, but for what comes back meanwhile. */
static int serve_new(struct vhost_queue *q)
{
	int served = 0, result = 1;

	while (result > 0 && served < RING_BATCH && queue_may_begin(q)) {
		result = serve_next(q);
		served += result > 0;
	}
	return result < 0 ? result : served;
}

static int serve_events(struct vhost_queue *q, short happened)
{
	const struct vhost_config *config = &q->vhost->config;

	if (!happened || !config->model->event)
		return 0;
	return config->model->event(config->argument, q->index, q->scratch);
}

static int event_descriptor(struct vhost_queue *q)
{
	const struct vhost_config *config = &q->vhost->config;

	return config->model->event_descriptor
		       ? config->model->event_descriptor(config->argument, q->index)
		       : -1;
}

/* Empties an eventfd, whoever else has it and however it was opened. */
static void event_clear(int descriptor)
{
	__u64 count;
	struct iovec iov = {&count, sizeof(count)};

	if (preadv2(descriptor, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP &&
	    read(descriptor, &count, sizeof(count)) < 0)
		return;
}

static __u64 queue_wait_until(const struct vhost_queue *q)
{
	__u64 until = slots_next_ns(q), soon = monotonic_ns() + QUEUE_POLL_NS;
	bool unasked = atomic_load(&q->iotlb.waits) && q->iotlb.unasked;

	if ((q->polled || unasked) && soon < until)
		until = soon;
	if (q->drain_ns && q->drain_ns < until)
		until = q->drain_ns;
	return until;
}

static int queue_wait(struct vhost_queue *q)
{
	bool running = queue_ordered(q) == QUEUE_RUN;
	struct pollfd polled[] = {
		{.fd = q->wake, .events = POLLIN},
		{.fd = running ? q->kick : -1, .events = POLLIN},
		{.fd = running ? event_descriptor(q) : -1, .events = POLLIN},
	};
	__u64 until = queue_wait_until(q), now = monotonic_ns();
	struct timespec time = timespec_of_ns(until > now ? until - now : 0);

	if (ppoll(polled, 3, until == ~0ull ? NULL : &time, NULL) < 0)
		return 0;
	if (polled[0].revents)
		event_clear(q->wake);
	if (polled[1].revents)
		event_clear(q->kick);
	return serve_events(q, polled[2].revents);
}

/* What is not done in time ends with an error, or stays in the in-flight region. */
static void drain_check(struct vhost_queue *q)
{
	__u64 now = monotonic_ns();

	if (queue_ordered(q) != QUEUE_DRAIN) {
		q->drain_ns = 0;
		return;
	}
	if (!q->drain_ns)
		q->drain_ns = now + VHOST_DRAIN_NS;
	if (now < q->drain_ns)
		return;
	if (q->inflight || q->canceled) {
		__atomic_store_n(&q->order, QUEUE_ABANDON, __ATOMIC_RELEASE);
		return;
	}
	q->canceled = true;
	q->drain_ns = now + VHOST_DRAIN_NS;
	for (__u32 head = 0; head < q->slot_count; head++)
		if (queue_slot(q, (__u16)head)->state != SLOT_FREE)
			queue_slot(q, (__u16)head)->error = -ECANCELED;
}

/*
 * Nothing goes on before a translation has come. The front-end, which waits for the queue to stop, will not tell of one: what has begun
 * stays in the in-flight region.
 */
static void queue_miss(struct vhost_queue *q)
{
	if (queue_ordered(q) != QUEUE_DRAIN)
		return;
	if (!q->inflight)
		vhost_say(q->vhost, "a queue that stops has requests without translations, and no "
				    "in-flight region to keep them in: they are lost");
	__atomic_store_n(&q->order, QUEUE_ABANDON, __ATOMIC_RELEASE);
}

/* Whether all that a queue which drains still has waits for translations. */
static bool drain_misses(const struct vhost_queue *q)
{
	return q->missed.first && !q->asked && !q->late.first && !q->staged.first;
}

/* Whether what was ordered has been done. What is asked for is the port's until it tells. */
static bool queue_obeyed(struct vhost_queue *q)
{
	switch (queue_ordered(q)) {
	case QUEUE_RUN:
		return false;
	case QUEUE_DRAIN:
		return q->broken ? !q->asked : q->open == q->kept;
	case QUEUE_ABANDON:
		return !q->asked;
	case QUEUE_REST:
	case QUEUE_HOLD:
	case QUEUE_END:
		break;
	}
	return true;
}

static void queue_begins(struct vhost_queue *q)
{
	const struct vhost_config *config = &q->vhost->config;
	enum queue_order order = queue_ordered(q);

	if (config->model->begins && !q->broken && (order == QUEUE_RUN || order == QUEUE_DRAIN))
		config->model->begins(config->argument, q->index);
}

static void queue_rests(struct vhost_queue *q)
{
	const struct vhost_config *config = &q->vhost->config;
	bool finishes = queue_ordered(q) == QUEUE_DRAIN && !q->broken;

	if (config->model->rests && config->model->rests(config->argument, q->index, finishes))
		q->broken = true;
}

/* Nothing of the driver's is touched any more until the front-end sets the queue up again. */
static void queue_break(struct vhost_queue *q)
{
	const __u64 one = 1;

	atomic_fetch_add(&q->vhost->broken, 1);
	failed_in(-EPROTO, "queue %u is stopped until its driver resets the device", q->index);
	vhost_say(q->vhost, failure_text());
	__atomic_store_n(&q->broken, true, __ATOMIC_RELEASE);
	queue_rests(q);
	if (q->error >= 0 && write(q->error, &one, sizeof(one)) < 0)
		return;
}

static int queue_step(struct vhost_queue *q)
{
	int returned, begun, more = 0;

	if (!q->recovered)
		returned = queue_recover(q);
	else
		returned = serve_returned(q);
	if (returned < 0)
		return returned;
	drain_check(q);
	begun = serve_new(q);
	if (begun)
		return begun < 0 ? begun : 0;
	if (queue_may_begin(q))
		more = virtqueue_ask_kick(q);
	if (more || queue_obeyed(q))
		return more < 0 ? more : 0;
	if (drain_misses(q))
		queue_miss(q);
	else if (!q->missed.first)
		atomic_store(&q->iotlb.waits, false);
	return queue_ordered(q) == QUEUE_ABANDON ? 0 : queue_wait(q);
}

/* Of a queue that is broken or abandoned: until what was asked for has been told, or another order comes. */
static void queue_idle(struct vhost_queue *q)
{
	struct pollfd polled = {.fd = q->wake, .events = POLLIN};

	while (slots_told(q))
		;
	if (queue_obeyed(q))
		return;
	poll(&polled, 1, -1);
	event_clear(q->wake);
}

static void queue_run(struct vhost_queue *q)
{
	int error;

	while (!queue_obeyed(q)) {
		if (q->broken || queue_ordered(q) == QUEUE_ABANDON) {
			queue_idle(q);
			continue;
		}
		error = queue_step(q);
		if (error == -EAGAIN) {
			queue_miss(q);
			error = queue_obeyed(q) || queue_ordered(q) == QUEUE_ABANDON
					? 0
					: queue_wait(q);
		}
		if (error == -ESHUTDOWN)
			q->broken = true;
		else if (error && error != -ECANCELED)
			queue_break(q);
	}
}

/* It stops: what is open is nobody's any more. Kept chains have not been used and are taken again. */
static void queue_settle(struct vhost_queue *q)
{
	const struct vhost_config *config = &q->vhost->config;

	if (queue_ordered(q) == QUEUE_HOLD || queue_ordered(q) == QUEUE_END)
		return;
	if (config->model->forget)
		config->model->forget(config->argument, q->index);
	if (queue_ordered(q) == QUEUE_DRAIN)
		q->next = (__u16)(q->next - q->kept);
	q->base = q->next;
	q->open = q->kept = 0;
	q->drain_ns = 0;
	q->canceled = false;
	q->late = q->missed = q->done = (struct slot_list){0};
	queue_stage_forget(q);
	for (__u32 head = 0; head < q->slot_count; head++)
		queue_slot(q, (__u16)head)->state = SLOT_FREE;
}

static bool queue_await(struct vhost_queue *q)
{
	bool goes_on;

	pthread_mutex_lock(&q->lock);
	while (q->resting && q->order != QUEUE_END)
		pthread_cond_wait(&q->changed, &q->lock);
	goes_on = q->order != QUEUE_END;
	pthread_mutex_unlock(&q->lock);
	return goes_on;
}

static void *vhost_queue_thread(void *argument)
{
	struct vhost_queue *q = argument;

	port_direct_thread(q->vhost->config.port, q->index);
	while (queue_await(q)) {
		queue_begins(q);
		queue_run(q);
		queue_rests(q);
		queue_settle(q);
		pthread_mutex_lock(&q->lock);
		q->resting = true;
		pthread_cond_broadcast(&q->changed);
		pthread_mutex_unlock(&q->lock);
	}
	return NULL;
}

static int queue_memory(struct vhost_queue *q)
{
	const struct vhost_model *model = q->vhost->config.model;

	q->table = calloc(VHOST_SEGMENTS_MAX, sizeof(*q->table));
	if (model->scratch_bytes)
		q->scratch = aligned_alloc(PAGE_BYTES, (model->scratch_bytes + PAGE_BYTES - 1) &
							       ~(PAGE_BYTES - 1));
	if (!q->table || (model->scratch_bytes && !q->scratch))
		return failed(-ENOMEM, "no memory for queue %u", q->index);
	q->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return q->wake < 0 ? failed(-errno, "cannot make an eventfd: %s", strerror(errno)) : 0;
}

int queue_create(struct vhost_queue *q)
{
	int error;

	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->told_lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	q->resting = true;
	error = queue_memory(q);
	if (!error)
		error = thread_start(&q->thread, NULL, vhost_queue_thread, q, "vhost-q%u",
				     q->index);
	q->running = !error;
	return error;
}

void queue_destroy(struct vhost_queue *q)
{
	if (q->running) {
		queue_order(q, QUEUE_END);
		pthread_join(q->thread, NULL);
	}
	if (q->wake >= 0)
		close(q->wake);
	queue_slots_free(q);
	free(q->scratch);
	free(q->table);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->told_lock);
	pthread_mutex_destroy(&q->lock);
}
