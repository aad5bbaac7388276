// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/devices/engine_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Whether the queue was paused since the last call. */
static bool queue_paused(struct engine_queue *q, __u64 *blocked_ns)
{
	struct channel_queue *channel = &q->engine->channel->queue[q->index];
	__u64 blocked = port_blocked_ns(q->engine->port, q->index);

	if (blocked == *blocked_ns)
		return false;
	__atomic_store_n(&channel->blocked_ns, blocked, __ATOMIC_RELAXED);
	*blocked_ns = blocked;
	return true;
}

/*
 * One request from its descriptor to its completion. I/O that became available while it was
 * paused has queued behind the fault and is marked like it.
 */
static int queue_serve(struct engine_queue *q, __u16 id, __u64 *blocked_ns)
{
	const struct engine_model *operations = q->engine->operations;
	struct engine *engine = q->engine;
	__u64 start = monotonic_ns();
	enum ring_status status;
	bool paused;
	__u8 code;
	int err;

	err = ring_read_request(q, id, &status);
	if (!err && status == RING_OK)
		status = operations->check(engine->model, &q->request);
	if (!err && status == RING_OK)
		err = operations->execute(engine->model, engine->port, q->index, &q->request,
					  q->scratch, &status);
	if (err)
		return err;
	paused = queue_paused(q, blocked_ns);
	err = ring_complete(q, status);
	if (err)
		return err;
	paused |= queue_paused(q, blocked_ns);
	doorbell_ring(&engine->channel->interrupt);
	code = (status == RING_OK ? IO_OK : IO_ERROR) | (paused || q->behind ? IO_FAULTED : 0);
	if (status != RING_INVALID)
		operations->report(engine->port, q->index, &q->request, code, start,
				   monotonic_ns());
	if (q->behind)
		q->behind--;
	if (!paused)
		return 0;
	err = ring_poll(q);
	q->behind = (__u16)(q->available - q->next);
	return err < 0 ? err : 0;
}

/* Adds the pages of one range to the holder's list. Called with the lock held. */
static void list_range(struct engine *engine, __u64 iova, __u32 length)
{
	for (__u64 page = iova & ~(PAGE_BYTES - 1);
	     page < iova + length && engine->page_count < engine->page_limit; page += PAGE_BYTES) {
		unsigned int i = 0;

		while (i < engine->page_count && engine->pages[i] != page)
			i++;
		if (i == engine->page_count)
			engine->pages[engine->page_count++] = page;
	}
}

static void list_request(struct engine_queue *q)
{
	const struct engine_request *request = &q->request;
	struct engine *engine = q->engine;

	pthread_mutex_lock(&engine->lock);
	for (unsigned int i = 0; engine->held && i < request->segments; i++)
		list_range(engine, request->segment[i].iova, request->segment[i].length);
	if (engine->held && engine->operations->target_is_memory)
		list_range(engine, request->target, request->bytes);
	pthread_cond_signal(&engine->listed);
	pthread_mutex_unlock(&engine->lock);
}

/* Tells the holder what this queue would do next, without doing it. */
static int queue_list(struct engine_queue *q)
{
	unsigned int depth = q->engine->channel->config.queue_depth;
	enum ring_status status;
	int err;

	err = ring_poll(q);
	if (err < 0)
		return err;
	for (__u16 i = q->next; i != q->available; i++) {
		__u16 id;

		err = ring_access(q, ring_avail_offset(depth, i), &id, sizeof(id), false);
		if (!err)
			err = ring_read_request(q, id, &status);
		if (err)
			return err;
		if (status == RING_OK &&
		    q->engine->operations->check(q->engine->model, &q->request) == RING_OK)
			list_request(q);
	}
	return 0;
}

/* Where queues wait while an injection holds the device. */
static int queue_park(struct engine_queue *q)
{
	struct doorbell *bell = &q->engine->channel->queue[q->index].doorbell;
	int err = 0;

	/* Ids read in advance are read again: the list is made from the ring. */
	q->fetched = q->returned = 0;
	while (!err && __atomic_load_n(&q->engine->held, __ATOMIC_ACQUIRE)) {
		__u32 seen = doorbell_count(bell);

		if (engine_stopping(q->engine))
			return -ESHUTDOWN;
		err = queue_list(q);
		if (!err)
			doorbell_wait(bell, seen, monotonic_ns() + 100 * NSEC_PER_MSEC);
	}
	return err;
}

static void *queue_thread(void *argument)
{
	struct engine_queue *q = argument;
	struct engine *engine = q->engine;
	struct doorbell *bell = &engine->channel->queue[q->index].doorbell;
	__u64 blocked_ns = 0;
	__u32 seen = 0;
	__u16 id = 0;
	int err = 0;

	while (err != -ESHUTDOWN && !engine_stopping(engine)) {
		if (__atomic_load_n(&engine->held, __ATOMIC_RELAXED)) {
			err = queue_park(q);
			continue;
		}
		err = 0;
		/* Only what is read after the doorbell covers what the doorbell announced. */
		if (q->next == q->available) {
			if (doorbell_wait(bell, seen, 0) == seen)
				continue;
			seen = doorbell_count(bell);
		}
		err = ring_next(q, &id);
		if (err > 0)
			err = queue_serve(q, id, &blocked_ns);
	}
	return NULL;
}

static void ring_all(struct engine *engine)
{
	for (unsigned int q = 0; q < engine->channel->config.queues; q++)
		doorbell_ring(&engine->channel->queue[q].doorbell);
}

static int queue_start(struct engine *engine, __u16 index)
{
	struct engine_queue *q = &engine->queue[index];
	int err;

	q->engine = engine;
	q->index = index;
	if (engine->operations->scratch_bytes) {
		q->scratch = aligned_alloc(PAGE_BYTES, engine->operations->scratch_bytes);
		if (!q->scratch)
			return failed(-ENOMEM, "no memory for queue %u of a %s device", index,
				      engine->operations->name);
	}
	err = thread_start(&q->thread, NULL, queue_thread, q, "%s-q%u", engine->operations->name,
			   index);
	if (err)
		return err;
	q->running = true;
	return 0;
}

int engine_start(struct engine **engine, const struct engine_model *operations, void *model,
		 struct port *port, struct channel *channel)
{
	__u16 queues = channel->config.queues;
	struct engine *new;
	int err = 0;

	new = calloc(1, sizeof(*new) + queues * sizeof(new->queue[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for a %s device of %u queues", operations->name,
			      queues);
	new->operations = operations;
	new->model = model;
	new->port = port;
	new->channel = channel;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->listed);
	for (__u16 q = 0; !err && q < queues; q++)
		err = queue_start(new, q);
	if (err) {
		engine_stop(new);
		return err;
	}
	*engine = new;
	return 0;
}

void engine_stop(struct engine *engine)
{
	__atomic_store_n(&engine->stopping, true, __ATOMIC_RELEASE);
	ring_all(engine);
	for (unsigned int q = 0; q < engine->channel->config.queues; q++) {
		if (engine->queue[q].running)
			pthread_join(engine->queue[q].thread, NULL);
		free(engine->queue[q].scratch);
	}
	pthread_cond_destroy(&engine->listed);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
}

long engine_hold(struct engine *engine, __u64 *pages, unsigned int limit, __u64 wait_ns)
{
	__u64 deadline = monotonic_ns() + wait_ns;
	long count;

	pthread_mutex_lock(&engine->lock);
	if (engine->held) {
		pthread_mutex_unlock(&engine->lock);
		return failed(-EBUSY, "another injection holds this device");
	}
	engine->pages = pages;
	engine->page_count = 0;
	engine->page_limit = limit;
	__atomic_store_n(&engine->held, true, __ATOMIC_RELEASE);
	ring_all(engine);
	while (engine->page_count < limit &&
	       monotonic_cond_wait_until(&engine->listed, &engine->lock, deadline))
		;
	/* The list is the caller's again: nothing is added from now on. */
	count = engine->page_limit = engine->page_count;
	pthread_mutex_unlock(&engine->lock);
	return count;
}

void engine_release(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	__atomic_store_n(&engine->held, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&engine->lock);
	ring_all(engine);
}
