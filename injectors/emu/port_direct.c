// SPDX-License-Identifier: GPL-2.0
/*
 * A device that accesses its guest's memory as it is mapped: the kernel finds what is absent, the pager brings it. A queue's thread waits in
 * one access at a time, so that the number of the queue is that of the fault's group. Of the stages of a page request there are three: found,
 * there, gone on; the pager tells all of them, the device knows of none.
 */
#include "injectors/emu/port_private.h"

#include <unistd.h>

#include "injectors/emu/request_probe.h"
#include "injectors/emu/request_truth.h"
#include "lib/base/clock.h"

void port_direct_thread(struct port *port, __u16 queue)
{
	if (port->config.direct)
		atomic_store(&port->queues[queue].thread, (__u32)gettid());
}

static struct page_request access_request(const struct port *port,
					  const struct memory_access *access)
{
	return (struct page_request){
		.device = port->config.device,
		.pasid = port->config.pasid,
		.group = access->queue,
		.queue = access->queue,
		.flags = access->write ? EVENT_WRITE : EVENT_READ,
		.address = access->guest_address + port->config.iova_offset,
		.fault = access->fault,
	};
}

static void access_truth(const struct page_request *request, __u8 who, __u8 what, __u8 flags,
			 __u64 time_ns)
{
	struct truth_record truth = request_truth(who, what, request);

	truth.flags |= flags;
	truth.time_ns = time_ns;
	truth_log(truth);
}

bool port_direct_begins(struct port *port, struct memory_access *access)
{
	struct page_request request;
	struct fault_probe probe;
	__u16 queue = 0;

	while (queue < port->config.queues &&
	       atomic_load_explicit(&port->queues[queue].thread, memory_order_relaxed) !=
		       access->tid)
		queue++;
	if (queue == port->config.queues)
		return false;
	access->device = port;
	access->index = port->config.device;
	access->queue = queue;
	access->fault = port_number_faults(1);
	access->delay_ns =
		inject_delay(port->config.injections, INJECT_RESOLVE, port->config.device);
	atomic_store(&port->queues[queue].blocked_since, access->begin_ns);
	pthread_mutex_lock(&port->lock);
	port_group_opens(port, queue, access->begin_ns);
	pthread_mutex_unlock(&port->lock);
	atomic_fetch_add(&port->requests, 1);
	atomic_fetch_add(&port->groups_raised, 1);
	request = access_request(port, access);
	access_truth(&request, TRUTH_DEVICE, TRUTH_DETECT, 0, access->begin_ns);
	probe = request_probe(&request);
	FAULT_PROBE(detect, &probe);
	return true;
}

static void access_over(struct port *port, const struct memory_access *access, __u64 there_ns,
			__u64 now)
{
	struct port_queue *queue = &port->queues[access->queue];

	atomic_store(&queue->blocked_since, 0);
	atomic_fetch_add(&queue->blocked_ns, now - access->begin_ns);
	queue->fault_end_ns = now;
	pthread_mutex_lock(&port->lock);
	port_count_round_trip(port, now - access->begin_ns, there_ns - access->begin_ns);
	port_group_closes(port, access->queue, now);
	pthread_mutex_unlock(&port->lock);
}

/* The queue's thread waits until this has returned. */
void port_direct_ends(struct port *port, const struct memory_access *access, bool major)
{
	struct page_request request = access_request(port, access);
	struct fault_probe probe = request_probe(&request);
	__u64 there_ns = monotonic_ns(), now;

	probe.flags_code |= major ? EVENT_MAJOR : 0;
	FAULT_PROBE(resolved, &probe);
	access_truth(&request, TRUTH_SERVICE, TRUTH_RESOLVED, major ? EVENT_MAJOR : 0, there_ns);
	now = monotonic_ns();
	request.flags = EVENT_GROUP;
	access_truth(&request, TRUTH_DEVICE, TRUTH_RESUME, 0, now);
	probe.flags_code = EVENT_GROUP;
	FAULT_PROBE(resume, &probe);
	access_over(port, access, there_ns, now);
}
