// SPDX-License-Identifier: GPL-2.0
/* DMA of a device: check, wait for what is absent, translate, account. */
#include "injectors/emu/port_private.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define RESPONSE_TIMEOUT_NS NSEC_PER_SEC
#define BACKOFF_NS	    (10 * NSEC_PER_USEC)
#define BACKOFF_DOUBLINGS   7 /* 1.28 ms */

int port_create(struct port **port, const struct port_config *config)
{
	struct port *new;

	if (config->page_requests > PAGE_REQUESTS_MAX)
		return failed(-EINVAL, "page_requests=%u: accepted: 0 (no limit) to %d",
			      config->page_requests, PAGE_REQUESTS_MAX);
	if (config->group_pages < 1 || config->group_pages > GROUP_PAGES_MAX)
		return failed(-EINVAL, "group_pages=%u: accepted: 1 to %d", config->group_pages,
			      GROUP_PAGES_MAX);
	new = calloc(1, sizeof(*new) + config->queues * sizeof(new->queues[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for the port of device %u", config->device);
	new->config = *config;
	if (!new->config.response_timeout_ns)
		new->config.response_timeout_ns = RESPONSE_TIMEOUT_NS;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->index_freed);
	histogram_init(&new->round_trip);
	histogram_init(&new->lookup_time);
	*port = new;
	return 0;
}

void port_destroy(struct port *port)
{
	if (!port)
		return;
	pthread_cond_destroy(&port->index_freed);
	pthread_mutex_destroy(&port->lock);
	free(port);
}

void port_stop(struct port *port)
{
	pthread_mutex_lock(&port->lock);
	port->stopping = true;
	for (int i = 0; i < GROUP_INDEX_MAX; i++)
		if (port->groups[i].state == GROUP_WAITING)
			pthread_cond_signal(&port->groups[i].fault->answered);
	pthread_cond_broadcast(&port->index_freed);
	pthread_mutex_unlock(&port->lock);
}

static void queue_block(struct port *port, __u16 queue, __u64 since_ns)
{
	atomic_store(&port->queues[queue].blocked_since, since_ns);
}

static void queue_unblock(struct port *port, __u16 queue)
{
	struct port_queue *q = &port->queues[queue];

	atomic_fetch_add(&q->blocked_ns, monotonic_ns() - atomic_exchange(&q->blocked_since, 0));
}

__u64 port_fault_end_ns(const struct port *port, __u16 queue)
{
	return port->queues[queue].fault_end_ns;
}

/* In this order a pause that ends in between is missed this time, never counted twice. */
__u64 port_blocked_ns(const struct port *port, __u16 queue)
{
	__u64 blocked = atomic_load(&port->queues[queue].blocked_ns);
	__u64 since = atomic_load(&port->queues[queue].blocked_since);

	return blocked + (since ? monotonic_ns() - since : 0);
}

static void *frame_of(struct port *port, __u64 iova)
{
	return guest_memory_dma(port->config.memory,
				lookup_physical(port->config.lookup, iova) - port->config.physical);
}

static void port_translate(struct port *port, struct dma *dma)
{
	__u64 at = dma->iova, end = dma->iova + dma->length;

	dma->segments = 0;
	while (at < end) {
		__u64 piece = PAGE_BYTES - (at & (PAGE_BYTES - 1));
		struct iovec *last = &dma->iov[dma->segments - 1];
		char *frame = frame_of(port, at);

		if (piece > end - at)
			piece = end - at;
		if (dma->segments && (char *)last->iov_base + last->iov_len == frame)
			last->iov_len += piece;
		else
			dma->iov[dma->segments++] = (struct iovec){frame, piece};
		at += piece;
	}
}

/*
 * A group that overflowed was answered without any page being there: asking for as much at once again
 * would overflow again. Halves the groups in flight, then the pages of a group; waits a little.
 */
static void fault_ease(struct dma_fault *fault, unsigned int *overflows)
{
	unsigned int doublings = *overflows < BACKOFF_DOUBLINGS ? *overflows : BACKOFF_DOUBLINGS;

	if (!fault->overflowed)
		return;
	(*overflows)++;
	if (fault->raised > 1)
		fault->group_limit = fault->raised / 2;
	else if (fault->group_pages > 1)
		fault->group_pages /= 2;
	sleep_until(monotonic_ns() + (BACKOFF_NS << doublings));
}

/* Until no page is absent. `absent` is what the first check found. */
static int fault_in(struct port *port, __u16 queue, struct dma *dma, bool write,
		    struct dma_fault *fault, int absent)
{
	unsigned int overflows = 0;
	int error = 0;

	fault->queue = queue;
	fault->access = write ? EVENT_WRITE : EVENT_READ;
	fault->group_pages = port->config.group_pages;
	fault->group_limit = GROUP_INDEX_MAX;
	fault->found_ns = monotonic_ns();
	monotonic_cond_init(&fault->answered);
	while (absent > 0 && !error) {
		fault->count = (__u32)absent;
		/* Blocked is while a fault is open, as analyzers see it: not while it eases off. */
		queue_block(port, queue, fault->found_ns);
		error = port_fault(port, fault);
		queue_unblock(port, queue);
		if (error)
			break;
		fault_ease(fault, &overflows);
		absent = lookup_begin(port->config.lookup, dma->iova, dma->length, write,
				      fault->pages, DMA_SEGMENTS);
		fault->found_ns = monotonic_ns();
	}
	pthread_cond_destroy(&fault->answered);
	return error ? error : absent;
}

/* The clock is read once more than it is needed: what that costs is part of every time. */
static __attribute__((noinline)) int timed_lookup(struct port *port, const struct dma *dma,
						  bool write, __u64 *absent)
{
	__u64 start = monotonic_ns(), time_ns;
	int result = lookup_begin(port->config.lookup, dma->iova, dma->length, write, absent,
				  DMA_SEGMENTS);

	time_ns = monotonic_ns() - start;
	pthread_mutex_lock(&port->lock);
	histogram_add(&port->lookup_time, time_ns);
	pthread_mutex_unlock(&port->lock);
	return result;
}

int port_dma_begin(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length,
		   bool write, struct dma *dma)
{
	struct dma_fault fault;
	int result;

	if (pasid != port->config.pasid || queue >= port->config.queues || !length ||
	    length > HUGE_BYTES)
		return -EINVAL;
	dma->iova = iova;
	dma->length = length;
	dma->pasid = pasid;
	dma->faulted = false;
	if (port->queues[queue].lookups++ % LOOKUP_TIMED)
		result = lookup_begin(port->config.lookup, iova, length, write, fault.pages,
				      DMA_SEGMENTS);
	else
		result = timed_lookup(port, dma, write, fault.pages);
	if (result > 0) {
		dma->faulted = true;
		result = fault_in(port, queue, dma, write, &fault, result);
	}
	if (!result)
		port_translate(port, dma);
	return result;
}

void port_dma_end(struct port *port, struct dma *dma)
{
	lookup_end(port->config.lookup, dma->iova, dma->length);
}

void port_dma_violation(struct port *port, __u64 iova)
{
	(void)iova;
	atomic_fetch_add(&port->violations, 1);
}

static int port_copy(struct port *port, __u16 queue, __u32 pasid, __u64 iova, char *buffer,
		     size_t bytes, bool write)
{
	struct dma dma;
	int error = port_dma_begin(port, queue, pasid, iova, bytes, write, &dma);
	size_t done = 0;

	if (error)
		return error;
	while (done < bytes && !error) {
		__u64 at = iova + done;
		size_t piece = PAGE_BYTES - (at & (PAGE_BYTES - 1));

		if (piece > bytes - done)
			piece = bytes - done;
		error = guest_memory_dma_copy(port->config.memory,
					      lookup_physical(port->config.lookup, at) -
						      port->config.physical,
					      buffer + done, piece, write);
		done += piece;
	}
	if (error)
		port_dma_violation(port, iova);
	port_dma_end(port, &dma);
	return error;
}

int port_dma_read(struct port *port, __u16 queue, __u32 pasid, __u64 iova, void *to, size_t bytes)
{
	return port_copy(port, queue, pasid, iova, to, bytes, false);
}

int port_dma_write(struct port *port, __u16 queue, __u32 pasid, __u64 iova, const void *from,
		   size_t bytes)
{
	return port_copy(port, queue, pasid, iova, (char *)from, bytes, true);
}

void port_stats(struct port *port, struct port_stats *stats)
{
	*stats = (struct port_stats){
		.ios = atomic_load(&port->ios),
		.io_errors = atomic_load(&port->io_errors),
		.io_bytes = atomic_load(&port->io_bytes),
		.requests = atomic_load(&port->requests),
		.groups = atomic_load(&port->groups_raised),
		.timeouts = atomic_load(&port->timeouts),
		.automatic = atomic_load(&port->automatic),
		.disabled = atomic_load(&port->disabled),
		.refused = atomic_load(&port->refused),
		.held_back = atomic_load(&port->held_back),
		.violations = atomic_load(&port->violations),
	};
}

void port_round_trips(struct port *port, struct histogram *into)
{
	pthread_mutex_lock(&port->lock);
	histogram_merge(into, &port->round_trip);
	pthread_mutex_unlock(&port->lock);
}

void port_lookup_times(struct port *port, struct histogram *into)
{
	pthread_mutex_lock(&port->lock);
	histogram_merge(into, &port->lookup_time);
	pthread_mutex_unlock(&port->lock);
}
