// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define FETCH_BATCH   16	    /* available entries read by one DMA */
#define RING_RETRY_NS NSEC_PER_MSEC /* pause before a failed ring access is tried again */
#define IOVA_LIMIT    (1ull << 48)

struct engine_queue {
	struct engine *engine;
	struct engine_request request;
	void *scratch;
	pthread_t thread;
	bool running;
	__u16 index;
	__u16 next;		 /* available entries taken so far */
	__u16 available;	 /* index that the driver had published when last read */
	__u16 used;		 /* completions published */
	__u16 behind;		 /* of the next entries, so many queued behind a fault */
	__u16 fetched, returned; /* of the batch */
	__u16 batch[FETCH_BATCH];
};

struct engine {
	const struct engine_model *operations;
	void *model;
	struct port *port;
	struct channel *channel;
	bool stopping;
	bool held;
	__u64 malformed;
	/* hold(): the list that parked queues fill */
	pthread_mutex_t lock;
	pthread_cond_t listed;
	__u64 *pages;
	unsigned int page_count, page_limit;
	struct engine_queue queue[];
};

static bool engine_stopping(const struct engine *engine)
{
	return __atomic_load_n(&engine->stopping, __ATOMIC_ACQUIRE);
}

static void engine_count_malformed(struct engine *engine)
{
	__atomic_add_fetch(&engine->malformed, 1, __ATOMIC_RELAXED);
}

/*
 * One access to the queue's own rings. A device cannot go on without them, and a failed page
 * response may be followed by a good one: it tries until it works or the machine stops.
 */
static int ring_access(struct engine_queue *q, __u64 offset, void *buffer, size_t bytes, bool write)
{
	struct engine *engine = q->engine;
	const struct channel_config *config = &engine->channel->config;
	__u64 iova = engine->channel->queue[q->index].ring + config->iova_offset + offset;
	struct timespec pause = timespec_of_ns(RING_RETRY_NS);
	int err;

	for (;;) {
		if (write)
			err = port_dma_write(engine->port, q->index, config->pasid, iova, buffer,
					     bytes);
		else
			err = port_dma_read(engine->port, q->index, config->pasid, iova, buffer,
					    bytes);
		if (!err || err == -ESHUTDOWN)
			return err;
		if (engine_stopping(engine))
			return -ESHUTDOWN;
		nanosleep(&pause, NULL);
	}
}

/* Reads what the driver has published. 1: there is more, 0: nothing new. */
static int queue_poll(struct engine_queue *q)
{
	unsigned int depth = q->engine->channel->config.queue_depth;
	__u16 index;
	int err;

	err = ring_access(q, ring_avail_index_offset(depth), &index, sizeof(index), false);
	if (err)
		return err;
	/* Entries must not be read before the index that covers them. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if ((__u16)(index - q->next) > depth) {
		engine_count_malformed(q->engine);
		q->next = index;
	}
	q->available = index;
	return q->next != q->available;
}

/* Takes the next available id. 1: *id is valid, 0: queue empty. */
static int queue_next(struct engine_queue *q, __u16 *id)
{
	unsigned int depth = q->engine->channel->config.queue_depth, count;
	int err;

	if (q->returned == q->fetched) {
		if (q->next == q->available) {
			err = queue_poll(q);
			if (err <= 0)
				return err;
		}
		count = (__u16)(q->available - q->next);
		if (count > FETCH_BATCH)
			count = FETCH_BATCH;
		if (count > depth - (q->next & (depth - 1)))
			count = depth - (q->next & (depth - 1));
		err = ring_access(q, ring_avail_offset(depth, q->next), q->batch,
				  count * sizeof(__u16), false);
		if (err)
			return err;
		q->fetched = (__u16)count;
		q->returned = 0;
	}
	*id = q->batch[q->returned++];
	q->next++;
	return 1;
}

/* Whether the segment may be part of the request; adds it. */
static bool request_add(struct engine_request *request, const struct ring_descriptor *descriptor)
{
	if (descriptor->address % RING_DATA_ALIGN || descriptor->length % RING_DATA_ALIGN ||
	    !descriptor->length || descriptor->length > RING_BYTES_MAX - request->bytes ||
	    descriptor->address >= IOVA_LIMIT - descriptor->length)
		return false;
	request->segment[request->segments++] =
		(struct engine_segment){descriptor->address, descriptor->length};
	request->bytes += descriptor->length;
	return true;
}

/*
 * Copies the chain that starts at `id` into q->request. 0 with *status, or -ESHUTDOWN. A chain
 * longer than the table has a loop.
 */
static int request_read(struct engine_queue *q, __u16 id, enum ring_status *status)
{
	unsigned int depth = q->engine->channel->config.queue_depth;
	struct engine_request *request = &q->request;
	struct ring_descriptor descriptor;
	__u16 current = id;
	int err;

	request->id = id;
	request->segments = 0;
	request->bytes = 0;
	*status = RING_INVALID;
	for (unsigned int count = 0; count < depth; count++) {
		if (current >= depth)
			return 0;
		err = ring_access(q, ring_descriptor_offset(current), &descriptor,
				  sizeof(descriptor), false);
		if (err)
			return err;
		if (!count) {
			request->opcode = descriptor.opcode;
			request->pasid = descriptor.pasid;
			request->target = descriptor.target;
			if (descriptor.opcode == RING_FLUSH) {
				*status = RING_OK;
				return 0;
			}
		}
		if (!request_add(request, &descriptor))
			return 0;
		if (!(descriptor.flags & RING_NEXT)) {
			*status = RING_OK;
			return 0;
		}
		current = descriptor.next;
	}
	return 0;
}

static int queue_complete(struct engine_queue *q, enum ring_status status)
{
	struct ring_used entry = {.id = q->request.id, .status = (__u16)status};
	unsigned int depth = q->engine->channel->config.queue_depth;
	__u16 index = q->used + 1;
	int err;

	if (status == RING_OK)
		entry.length = q->request.bytes;
	err = ring_access(q, ring_used_offset(depth, q->used), &entry, sizeof(entry), true);
	if (err)
		return err;
	/* The entry must be visible before the index that covers it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	err = ring_access(q, ring_used_index_offset(depth), &index, sizeof(index), true);
	if (!err)
		q->used = index;
	return err;
}

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

	err = request_read(q, id, &status);
	if (!err && status == RING_OK)
		status = operations->check(engine->model, &q->request);
	if (!err && status == RING_OK)
		err = operations->execute(engine->model, engine->port, q->index, &q->request,
					  q->scratch, &status);
	if (err)
		return err;
	if (status == RING_INVALID)
		engine_count_malformed(engine);
	paused = queue_paused(q, blocked_ns);
	err = queue_complete(q, status);
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
	err = queue_poll(q);
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

	err = queue_poll(q);
	if (err < 0)
		return err;
	for (__u16 i = q->next; i != q->available; i++) {
		__u16 id;

		err = ring_access(q, ring_avail_offset(depth, i), &id, sizeof(id), false);
		if (!err)
			err = request_read(q, id, &status);
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
		err = queue_next(q, &id);
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

__u64 engine_malformed(const struct engine *engine)
{
	return __atomic_load_n(&engine->malformed, __ATOMIC_RELAXED);
}
