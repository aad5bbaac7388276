// SPDX-License-Identifier: GPL-2.0
/* DMA of a device: check, translate, account. */
#include "injectors/emu/port_private.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define RESPONSE_TIMEOUT_NS NSEC_PER_SEC

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
	pthread_cond_init(&new->finished, NULL);
	histogram_init(&new->round_trip);
	histogram_init(&new->lookup_time);
	*port = new;
	return 0;
}

void port_destroy(struct port *port)
{
	if (!port)
		return;
	pthread_cond_destroy(&port->finished);
	pthread_cond_destroy(&port->index_freed);
	pthread_mutex_destroy(&port->lock);
	free(port);
}

void port_stop(struct port *port)
{
	pthread_mutex_lock(&port->lock);
	port->stopping = true;
	port->stopped_ns = monotonic_ns();
	for (int i = 0; i < GROUP_INDEX_MAX; i++)
		if (port->groups[i].state == GROUP_WAITING && !port->groups[i].fault->request)
			pthread_cond_signal(port->groups[i].fault->answered);
	pthread_cond_broadcast(&port->index_freed);
	pthread_mutex_unlock(&port->lock);
	port_request_stop(port);
}

static void *frame_of(struct port *port, __u64 iova)
{
	__u64 guest_address = lookup_physical(port->config.lookup, iova) - port->config.physical;
	_Atomic unsigned char *touched = port->config.touched;

	/* Read first: a line that all queues write would cost them more than the mark is worth. */
	if (touched && guest_address < port->config.bytes &&
	    !atomic_load_explicit(&touched[guest_address >> PAGE_BITS], memory_order_relaxed))
		atomic_store_explicit(&touched[guest_address >> PAGE_BITS], 1,
				      memory_order_relaxed);
	return guest_memory_dma(port->config.memory, guest_address);
}

static void port_translate(struct port *port, struct dma *dma)
{
	__u64 at = dma->iova, end = dma->iova + dma->length;

	dma->segments = 0;
	while (at < end) {
		__u64 piece = PAGE_BYTES - (at & (PAGE_BYTES - 1));
		struct iovec *last = dma->segments ? &dma->iov[dma->segments - 1] : NULL;
		char *frame = frame_of(port, at);

		if (piece > end - at)
			piece = end - at;
		if (last && (char *)last->iov_base + last->iov_len == frame)
			last->iov_len += piece;
		else
			dma->iov[dma->segments++] = (struct iovec){frame, piece};
		at += piece;
	}
}

/* The clock is read once more than it is needed: what that costs is part of every time. */
static __attribute__((noinline)) int timed_lookup(struct port *port, const struct dma *dma,
						  bool write, __u64 *absent, unsigned int room)
{
	__u64 start = monotonic_ns(), time_ns;
	int result = lookup_begin(port->config.lookup, dma->iova, dma->length, write, absent, room);

	time_ns = monotonic_ns() - start;
	pthread_mutex_lock(&port->lock);
	histogram_add(&port->lookup_time, time_ns);
	pthread_mutex_unlock(&port->lock);
	return result;
}

int port_dma_again(struct port *port, struct dma *dma, bool write, __u64 *absent, unsigned int room)
{
	int result = lookup_begin(port->config.lookup, dma->iova, dma->length, write, absent, room);

	if (!result)
		port_translate(port, dma);
	return result;
}

int port_dma_try(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length, bool write,
		 struct dma *dma, __u64 *absent, unsigned int room)
{
	_Atomic __u32 *lookups;
	__u32 lookup;
	int result;

	if (pasid != port->config.pasid || queue >= port->config.queues || !length ||
	    length > HUGE_BYTES || !room)
		return -EINVAL;
	dma->iova = iova;
	dma->length = length;
	dma->pasid = pasid;
	dma->faulted = false;
	lookups = &port->queues[queue].lookups;
	lookup = atomic_load_explicit(lookups, memory_order_relaxed);
	atomic_store_explicit(lookups, lookup + 1, memory_order_relaxed);
	if (lookup % LOOKUP_TIMED)
		return port_dma_again(port, dma, write, absent, room);
	result = timed_lookup(port, dma, write, absent, room);
	if (!result)
		port_translate(port, dma);
	return result;
}

void port_dma_end(struct port *port, struct dma *dma)
{
	lookup_end(port->config.lookup, dma->iova, dma->length);
}

int port_dma_undiscard(struct port *port, const struct dma *dma)
{
	__u64 first = dma->iova & ~(PAGE_BYTES - 1);
	int error = port->config.direct ? -EFAULT : 0;

	for (__u64 at = first; !error && at < dma->iova + dma->length; at += PAGE_BYTES) {
		__u64 physical = lookup_physical(port->config.lookup, at);

		error = physical == LOOKUP_NOWHERE
				? -EFAULT
				: guest_memory_undiscard(port->config.memory,
							 physical - port->config.physical,
							 PAGE_BYTES);
	}
	return error;
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

bool port_restarts(struct port *port)
{
	return inject_fire(port->config.injections, INJECT_DEVICE_RESTART, port->config.device);
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
		.queues = port->config.queues,
	};
	pthread_mutex_lock(&port->lock);
	stats->open_ns = port_open_ns(port);
	pthread_mutex_unlock(&port->lock);
}

static __u64 shortest(__u64 one, __u64 other)
{
	return !one || (other && other < one) ? other : one;
}

void port_round_trips(struct port *port, struct histogram *into, struct round_trip_parts *parts)
{
	pthread_mutex_lock(&port->lock);
	histogram_merge(into, &port->round_trip);
	if (parts) {
		parts->host_ns += port->parts.host_ns;
		parts->host_least_ns = shortest(parts->host_least_ns, port->parts.host_least_ns);
		parts->device_least_ns =
			shortest(parts->device_least_ns, port->parts.device_least_ns);
	}
	pthread_mutex_unlock(&port->lock);
}

void port_lookup_times(struct port *port, struct histogram *into)
{
	pthread_mutex_lock(&port->lock);
	histogram_merge(into, &port->lookup_time);
	pthread_mutex_unlock(&port->lock);
}
