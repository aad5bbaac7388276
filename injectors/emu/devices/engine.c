// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/devices/engine_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Takes note of what the queue's DMA waited for since the last call: whether it met a fault. */
static bool queue_waited(struct engine_queue *q, __u64 *blocked_ns)
{
	struct channel_queue *channel = &q->engine->channel->queue[q->index];
	__u64 blocked = port_blocked_ns(q->engine->port, q->index), end_ns;

	if (blocked == *blocked_ns)
		return false;
	__atomic_store_n(&channel->blocked_ns, blocked, __ATOMIC_RELAXED);
	*blocked_ns = blocked;
	end_ns = port_fault_end_ns(q->engine->port, q->index);
	if (end_ns == q->fault_end_ns)
		return false;
	q->fault_end_ns = end_ns;
	q->behind = true;
	return true;
}

/*
 * Whether a fault of the queue was open after the request had been submitted: its own, or one that
 * it queued behind. Requests are taken in the order of submission: behind the first that has met no
 * fault there is none that has. Before its completion: then its id may be used again.
 */
static bool queue_faulted(struct engine_queue *q)
{
	const struct channel_queue *channel = &q->engine->channel->queue[q->index];

	if (q->behind)
		q->behind = channel->submitted_ns[q->request.id] <= q->fault_end_ns;
	return q->behind;
}

/* One request from its descriptor to its completion. */
static int queue_serve(struct engine_queue *q, __u16 id, __u64 *blocked_ns)
{
	const struct engine_model *operations = q->engine->operations;
	struct engine *engine = q->engine;
	__u64 start = monotonic_ns();
	enum ring_status status;
	bool faulted;
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
	queue_waited(q, blocked_ns);
	faulted = status != RING_INVALID && queue_faulted(q);
	err = ring_complete(q, status);
	if (err)
		return err;
	faulted |= queue_waited(q, blocked_ns);
	doorbell_ring(&engine->channel->interrupt);
	code = (status == RING_OK ? IO_OK : IO_ERROR) | (faulted ? IO_FAULTED : 0);
	if (status != RING_INVALID)
		operations->report(engine->model, engine->port, q->index, &q->request, code, start,
				   monotonic_ns());
	return 0;
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
	q->request.segment =
		calloc(engine->channel->config.queue_depth, sizeof(*q->request.segment));
	if (!q->request.segment)
		return failed(-ENOMEM, "no memory for queue %u of a %s device", index,
			      engine->operations->class->name);
	if (engine->operations->scratch_bytes) {
		q->scratch = aligned_alloc(PAGE_BYTES, engine->operations->scratch_bytes);
		if (!q->scratch)
			return failed(-ENOMEM, "no memory for queue %u of a %s device", index,
				      engine->operations->class->name);
	}
	err = thread_start(&q->thread, NULL, queue_thread, q, "%s-q%u",
			   engine->operations->class->name, index);
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
		return failed(-ENOMEM, "no memory for a %s device of %u queues",
			      operations->class->name, queues);
	new->operations = operations;
	new->model = model;
	new->port = port;
	new->channel = channel;
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
		free(engine->queue[q].request.segment);
	}
	free(engine);
}
