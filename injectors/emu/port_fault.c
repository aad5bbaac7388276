// SPDX-License-Identifier: GPL-2.0
/* Page requests of a device: group indices, raising, waiting, the response's arrival, resuming. */
#include "injectors/emu/port_private.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/request_record.h"
#include "injectors/emu/thread.h"

/* With every index in use and no response coming: how often to look for ones that never will. */
#define SWEEP_NS (10 * NSEC_PER_MSEC)

static atomic_ullong next_fault = 1; /* truth ids, unique in this process */

/* Frees the indices that were given up and for which no response can come any more. */
static bool sweep(struct port *port)
{
	bool freed = false;

	for (__u16 i = 0; i < GROUP_INDEX_MAX; i++) {
		if (port->groups[i].state != GROUP_ABANDONED ||
		    service_pending(port->config.service, port->config.device, i))
			continue;
		port->groups[i].state = GROUP_FREE;
		freed = true;
	}
	return freed;
}

/* The lowest index not in use: numbers are reused as soon as they can be, as devices do. */
static int take_index(struct port *port, bool may_wait)
{
	for (;;) {
		if (port->stopping)
			return -ESHUTDOWN;
		for (int i = 0; i < GROUP_INDEX_MAX; i++)
			if (port->groups[i].state == GROUP_FREE)
				return i;
		if (sweep(port))
			continue;
		if (!may_wait)
			return -EAGAIN;
		monotonic_cond_wait_until(&port->index_freed, &port->lock,
					  monotonic_ns() + SWEEP_NS);
	}
}

static int claim_group(struct port *port, struct fault *fault, __u32 first, __u32 count)
{
	struct port_group *group;
	int index;

	pthread_mutex_lock(&port->lock);
	/* One that holds groups must not wait for another: two such queues would wait forever. */
	index = take_index(port, fault->raised == 0);
	if (index >= 0) {
		group = &port->groups[index];
		*group = (struct port_group){
			.state = GROUP_WAITING,
			.fault = fault,
			.id = atomic_fetch_add(&next_fault, count),
			.detect_ns = monotonic_ns(),
			.deadline_ns = ~0ull, /* until all of it has been raised */
			.first = first,
			.count = count,
		};
		fault->groups[fault->raised++] = (__u16)index;
		fault->unanswered++;
	}
	pthread_mutex_unlock(&port->lock);
	return index;
}

static void log_request(__u8 what, __u64 now, const struct page_request *request, __u64 value)
{
	struct truth_record truth = request_truth(TRUTH_DEVICE, what, now, request);

	truth.value = value;
	truth_log(truth);
}

static void detect(const struct page_request *request)
{
	struct fault_probe probe = request_probe(request);
	__u64 now = monotonic_ns();

	FAULT_PROBE(detect, &probe);
	log_request(TRUTH_DETECT, now, request, 0);
}

/* False if the queue did not take it. */
static bool send(struct port *port, const struct page_request *request)
{
	struct fault_probe probe = request_probe(request);
	__u32 depth = 0;
	__u64 now;
	bool taken = !service_reserve(port->config.service, request, &depth);

	probe.value = taken ? depth : port->config.queue_entries;
	now = monotonic_ns();
	if (taken) {
		FAULT_PROBE(request, &probe);
		log_request(TRUTH_REQUEST, now, request, depth);
		service_post(port->config.service, request);
	} else {
		FAULT_PROBE(overflow, &probe);
		log_request(TRUTH_OVERFLOW, now, request, port->config.queue_entries);
	}
	return taken;
}

static void answer(struct port_group *group, enum response_code code)
{
	group->state = GROUP_ANSWERED;
	group->code = code;
	if (!--group->fault->unanswered)
		pthread_cond_signal(&group->fault->answered);
}

/* Raises one group for `count` of the fault's pages, from `first` on. */
static int raise_group(struct port *port, struct fault *fault, __u32 first, __u32 count)
{
	int index = claim_group(port, fault, first, count);
	struct page_request request;
	struct port_group *group;
	bool taken = true;
	__u64 delay;

	if (index < 0)
		return index;
	group = &port->groups[index];
	request = (struct page_request){
		.device = port->config.device,
		.pasid = port->config.pasid,
		.group = (__u16)index,
		.queue = fault->queue,
		.flags = fault->access,
	};
	atomic_fetch_add(&port->requests, count);
	atomic_fetch_add(&port->groups_raised, 1);
	for (__u32 i = 0; i < count; i++) {
		request.address = fault->pages[first + i];
		request.fault = group->id + i;
		detect(&request);
	}
	delay = inject_delay(port->config.injections, INJECT_DELIVERY, port->config.device);
	request.deliver_ns = delay ? monotonic_ns() + delay : 0;
	for (__u32 i = 0; i < count; i++) {
		request.address = fault->pages[first + i];
		request.fault = group->id + i;
		if (i == count - 1)
			request.flags |= EVENT_LAST;
		taken = send(port, &request);
		if (!taken)
			group->dropped[i / 64] |= 1ull << (i % 64);
	}
	pthread_mutex_lock(&port->lock);
	group->deadline_ns = monotonic_ns() + port->config.response_timeout_ns;
	if (!taken) { /* LAST was dropped: the IOMMU has answered, no page came */
		fault->overflowed = true;
		group->automatic = true;
		memset(group->dropped, 0xff, sizeof(group->dropped));
		answer(group, RESPONSE_SUCCESS);
	}
	pthread_mutex_unlock(&port->lock);
	return 0;
}

static int raise_groups(struct port *port, struct fault *fault)
{
	__u32 first = 0, count;
	int error = 0;

	while (first < fault->count && fault->raised < fault->group_limit && !error) {
		count = fault->count - first;
		if (count > fault->group_pages)
			count = fault->group_pages;
		error = raise_group(port, fault, first, count);
		if (!error && !first &&
		    inject_fire(port->config.injections, INJECT_DUPLICATE, port->config.device))
			error = raise_group(port, fault, first, count);
		first += count;
	}
	/* What found no index is asked for in the next round. */
	return error == -EAGAIN ? 0 : error;
}

static void abandon(struct port *port, struct port_group *group)
{
	group->state = GROUP_ABANDONED;
	group->fault->unanswered--;
	group->fault = NULL;
	atomic_fetch_add(&port->timeouts, 1);
}

/* Gives up what is past its deadline; returns the next deadline. */
static __u64 expire(struct port *port, struct fault *fault, __u64 now)
{
	__u64 next = ~0ull;
	__u32 kept = 0;

	for (__u32 i = 0; i < fault->raised; i++) {
		struct port_group *group = &port->groups[fault->groups[i]];

		if (group->state == GROUP_WAITING && group->deadline_ns <= now) {
			abandon(port, group);
			continue;
		}
		if (group->state == GROUP_WAITING && group->deadline_ns < next)
			next = group->deadline_ns;
		fault->groups[kept++] = fault->groups[i];
	}
	fault->raised = kept;
	return next;
}

static int wait_answered(struct port *port, struct fault *fault)
{
	__u64 deadline;
	int error = 0;

	pthread_mutex_lock(&port->lock);
	while (fault->unanswered) {
		deadline = expire(port, fault, port->stopping ? ~0ull : monotonic_ns());
		if (fault->unanswered)
			monotonic_cond_wait_until(&fault->answered, &port->lock, deadline);
	}
	if (port->stopping)
		error = -ESHUTDOWN;
	pthread_mutex_unlock(&port->lock);
	return error;
}

/* The truth log has each fault of the group on its own. */
static void log_resume(struct port *port, const struct fault *fault, __u16 index, __u64 now)
{
	const struct port_group *group = &port->groups[index];

	for (__u32 i = 0; truth_enabled() && i < group->count; i++)
		truth_log((struct truth_record){
			.time_ns = now,
			.fault = group->id + i,
			.address = fault->pages[group->first + i],
			.length = PAGE_BYTES,
			.device = port->config.device,
			.pasid = port->config.pasid,
			.group = index,
			.queue = fault->queue,
			.who = TRUTH_DEVICE,
			.what = TRUTH_RESUME,
			.code = (__u8)group->code,
			.flags = EVENT_GROUP,
		});
}

static void resume(struct port *port, const struct fault *fault, __u16 index, __u64 now)
{
	const struct port_group *group = &port->groups[index];
	struct fault_probe probe = {
		.device = port->config.device,
		.queue = fault->queue,
		.pasid = port->config.pasid,
		.group = index,
		.address = fault->pages[group->first],
		.length = group->count * PAGE_BYTES,
		.flags_code = EVENT_GROUP | ((__u64)group->code << 8),
	};

	FAULT_PROBE(resume, &probe);
	log_resume(port, fault, index, now);
}

/* What the IOMMU answered itself may still have requests on their way to the host. */
static void release(struct port *port, __u16 index)
{
	struct port_group *group = &port->groups[index];
	bool pending = group->automatic &&
		       service_pending(port->config.service, port->config.device, index);

	group->state = pending ? GROUP_ABANDONED : GROUP_FREE;
	pthread_cond_signal(&port->index_freed);
}

/* Takes the answers: from ANSWERED on a group is its waiter's alone. The indices are free again. */
static int resume_groups(struct port *port, struct fault *fault)
{
	int error = 0;

	for (__u32 i = 0; i < fault->raised; i++) {
		struct port_group *group = &port->groups[fault->groups[i]];
		__u64 now = monotonic_ns();

		if (group->code == RESPONSE_INVALID)
			error = -EFAULT;
		else if (group->code != RESPONSE_SUCCESS && !error)
			error = -EIO;
		resume(port, fault, fault->groups[i], now);
		pthread_mutex_lock(&port->lock);
		histogram_add(&port->round_trip, now - group->detect_ns);
		release(port, fault->groups[i]);
		pthread_mutex_unlock(&port->lock);
	}
	return error;
}

int port_fault(struct port *port, struct fault *fault)
{
	int error, stopped;

	fault->raised = 0;
	fault->unanswered = 0;
	fault->overflowed = false;
	error = raise_groups(port, fault);
	stopped = wait_answered(port, fault);
	if (!error)
		error = stopped;
	if (!error)
		return resume_groups(port, fault);
	return error;
}

/* The device learns that the pages may be used. Runs of pages in one call. */
static void pages_mapped(struct port *port, const struct port_group *group)
{
	const __u64 *pages = &group->fault->pages[group->first];
	__u32 start = 0, end;

	while (start < group->count) {
		if (group->dropped[start / 64] & (1ull << (start % 64))) {
			start++;
			continue;
		}
		for (end = start + 1; end < group->count; end++)
			if (pages[end] != pages[end - 1] + PAGE_BYTES ||
			    group->dropped[end / 64] & (1ull << (end % 64)))
				break;
		lookup_mapped(port->config.lookup, pages[start], (end - start) * PAGE_BYTES);
		start = end;
	}
}

void port_respond(struct port *port, __u32 pasid, __u16 index, enum response_code code)
{
	struct port_group *group = &port->groups[index % GROUP_INDEX_MAX];

	pthread_mutex_lock(&port->lock);
	if (index >= GROUP_INDEX_MAX || pasid != port->config.pasid || group->state == GROUP_FREE ||
	    group->state == GROUP_ANSWERED) {
		atomic_fetch_add(&port->violations, 1);
	} else if (group->state == GROUP_WAITING) {
		if (code == RESPONSE_SUCCESS)
			pages_mapped(port, group);
		answer(group, code);
	} else {
		group->state = GROUP_FREE;
		pthread_cond_signal(&port->index_freed);
	}
	pthread_mutex_unlock(&port->lock);
}
