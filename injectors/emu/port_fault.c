// SPDX-License-Identifier: GPL-2.0
/* Page requests of a device: group indices, raising, the response's arrival, resuming. */
#include "injectors/emu/port_private.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/request_probe.h"
#include "injectors/emu/request_truth.h"
#include "lib/base/clock.h"

static atomic_ullong next_fault = 1; /* truth ids, unique in this process */

__u64 port_number_faults(__u32 count)
{
	return atomic_fetch_add(&next_fault, count);
}

/* Its index and its requests may be used again. */
static void free_group(struct port *port, struct port_group *group)
{
	group->state = GROUP_FREE;
	port->outstanding -= group->count;
	pthread_cond_broadcast(&port->index_freed);
}

/* Frees the indices that were given up and for which no response can come any more. */
static bool port_sweep(struct port *port)
{
	bool freed = false;

	for (__u16 i = 0; i < GROUP_INDEX_MAX; i++) {
		if (port->groups[i].state != GROUP_ABANDONED ||
		    service_pending(port->config.service, port->config.device, i))
			continue;
		free_group(port, &port->groups[i]);
		freed = true;
	}
	return freed;
}

static __u32 requests_left(const struct port *port)
{
	return port->config.page_requests ? port->config.page_requests - port->outstanding
					  : PAGE_REQUESTS_MAX;
}

/* The lowest index not in use: numbers are reused as soon as they can be, as devices do. */
static int find_index(const struct port *port)
{
	for (int i = 0; i < GROUP_INDEX_MAX && requests_left(port); i++)
		if (port->groups[i].state == GROUP_FREE)
			return i;
	return -EAGAIN;
}

bool port_may_raise(const struct port *port)
{
	return port->stopping || find_index(port) >= 0;
}

/* With the lock held: 0, -ESHUTDOWN, or -EIO while page requests are disabled. */
static int may_ask(struct port *port)
{
	if (port->stopping)
		return -ESHUTDOWN;
	if (monotonic_ns() >= port->enabled_ns)
		return 0;
	atomic_fetch_add(&port->refused, 1);
	return -EIO;
}

static int take_index(struct port *port, const struct port_fault *fault, __u32 count)
{
	int index, error;

	/* Once, however often one that waits tries again. */
	if (requests_left(port) < count && (fault->raised || !fault->held_ns))
		atomic_fetch_add(&port->held_back, 1);
	error = may_ask(port);
	if (error)
		return error;
	index = find_index(port);
	return index < 0 && port_sweep(port) ? find_index(port) : index;
}

/* A group of up to *count of the fault's pages: fewer, if the device may not ask for so many. */
static int claim_group(struct port *port, struct port_fault *fault, __u32 first, __u32 *count)
{
	struct port_group *group;
	int index;

	pthread_mutex_lock(&port->lock);
	index = take_index(port, fault, *count);
	if (index >= 0) {
		*count = *count < requests_left(port) ? *count : requests_left(port);
		port->outstanding += *count;
		group = &port->groups[index];
		*group = (struct port_group){
			.state = GROUP_WAITING,
			.fault = fault,
			.id = port_number_faults(*count),
			.detect_ns = fault->found_ns,
			.deadline_ns = ~0ull, /* until all of it has been raised */
			.first = first,
			.count = *count,
		};
		fault->groups[fault->raised++] = (__u16)index;
		fault->unanswered++;
		port_group_opens(port, fault->queue, fault->found_ns);
	}
	pthread_mutex_unlock(&port->lock);
	return index;
}

static enum response_code group_code(const struct port_group *group)
{
	return group->automatic ? RESPONSE_AUTOMATIC : group->code;
}

static void log_stage(__u8 what, __u64 time_ns, const struct page_request *request,
		      const struct port_fault *fault, const struct port_group *group)
{
	struct truth_record truth;

	for (__u32 i = 0; truth_enabled() && i < group->count; i++) {
		truth = request_truth(TRUTH_DEVICE, what, request);
		truth.time_ns = time_ns;
		truth.fault = group->id + i;
		truth.address = fault->pages[group->first + i];
		truth.code = group_code(group);
		truth_log(truth);
	}
}

/* Not served: all requests before this one that the queue took, in an epoch that is over. */
static void enter_epoch(struct port_group *group, __u32 request, __u64 epoch)
{
	for (__u32 i = 0; epoch != group->epoch && i < request; i++)
		group->unserved[i / 64] |= 1ull << (i % 64);
	group->epoch = epoch;
}

/* The group's request number `index`. False if the queue did not take it. */
static bool port_send_request(struct port *port, struct port_group *group, __u32 index,
			      const struct page_request *request)
{
	struct fault_probe probe = request_probe(request);
	struct request_slot slot;

	if (service_reserve(port->config.service, request, &slot)) {
		group->unserved[index / 64] |= 1ull << (index % 64);
		probe.value = port->config.queue_entries;
		FAULT_PROBE(overflow, &probe);
		return false;
	}
	enter_epoch(group, index, slot.epoch);
	probe.value = slot.depth;
	FAULT_PROBE(request, &probe);
	service_post(port->config.service, request, &slot);
	return true;
}

/* Returns the request that waited for nothing else. */
static struct port_request *group_answer(struct port_group *group, enum response_code code)
{
	struct port_fault *fault = group->fault;

	group->state = GROUP_ANSWERED;
	group->answered_ns = monotonic_ns();
	group->code = code;
	if (--fault->unanswered)
		return NULL;
	if (!fault->request)
		pthread_cond_signal(fault->answered);
	return fault->request;
}

/* LAST was dropped: the IOMMU has answered, no page came. A request is never done by it: it is still
 * being raised. */
static void answered_by_iommu(struct port_group *group)
{
	group->fault->overflowed = true;
	group->automatic = true;
	memset(group->unserved, 0xff, sizeof(group->unserved));
	group_answer(group, RESPONSE_SUCCESS);
}

static struct page_request group_request(const struct port *port, const struct port_fault *fault,
					 __u16 index)
{
	return (struct page_request){
		.device = port->config.device,
		.pasid = port->config.pasid,
		.group = index,
		.queue = fault->queue,
		.flags = fault->access,
	};
}

/* The pages were found absent, and are known by their group from here on. */
static void group_detect(struct port *port, const struct port_fault *fault, __u16 index)
{
	const struct port_group *group = &port->groups[index];
	struct page_request request = group_request(port, fault, index);

	atomic_fetch_add(&port->requests, group->count);
	atomic_fetch_add(&port->groups_raised, 1);
	log_stage(TRUTH_DETECT, fault->found_ns, &request, fault, group);
	if (fault->held_ns)
		log_stage(TRUTH_HELD, fault->logged_held_ns, &request, fault, group);
	for (__u32 i = 0; i < group->count; i++) {
		struct fault_probe probe;

		request.address = fault->pages[group->first + i];
		probe = request_probe(&request);
		probe.value = fault->held_ns;
		FAULT_PROBE(detect, &probe);
	}
}

static void group_send(struct port *port, const struct port_fault *fault, __u16 index)
{
	__u64 delay = inject_delay(port->config.injections, INJECT_DELIVERY, port->config.device);
	struct page_request request = group_request(port, fault, index);
	struct port_group *group = &port->groups[index];
	bool taken = true;

	group->sent_ns = monotonic_ns();
	request.deliver_ns = delay ? group->sent_ns + delay : 0;
	for (__u32 i = 0; i < group->count; i++) {
		request.address = fault->pages[group->first + i];
		request.fault = group->id + i;
		if (i == group->count - 1)
			request.flags |= EVENT_LAST;
		taken = port_send_request(port, group, i, &request);
	}
	pthread_mutex_lock(&port->lock);
	group->deadline_ns = monotonic_ns() + port->config.response_timeout_ns;
	if (!taken)
		answered_by_iommu(group);
	pthread_mutex_unlock(&port->lock);
}

/* Raises one group for up to *count of the fault's pages, from `first` on. */
static int port_raise_group(struct port *port, struct port_fault *fault, __u32 first, __u32 *count)
{
	int index = claim_group(port, fault, first, count);

	if (index < 0)
		return index;
	group_detect(port, fault, (__u16)index);
	if (!fault->claim)
		group_send(port, fault, (__u16)index);
	return 0;
}

int port_send(struct port *port, const struct port_fault *fault)
{
	int error;

	pthread_mutex_lock(&port->lock);
	error = may_ask(port);
	pthread_mutex_unlock(&port->lock);
	for (__u32 i = 0; i < fault->raised && !error; i++)
		group_send(port, fault, fault->groups[i]);
	return error;
}

int port_raise(struct port *port, struct port_fault *fault)
{
	__u32 first = 0, count, again;
	int error = 0;

	while (first < fault->count && fault->raised < fault->group_limit && !error) {
		count = fault->count - first;
		if (count > fault->group_pages)
			count = fault->group_pages;
		error = port_raise_group(port, fault, first, &count);
		again = count;
		if (!error && !first &&
		    inject_fire(port->config.injections, INJECT_DUPLICATE, port->config.device))
			error = port_raise_group(port, fault, first, &again);
		first += count;
	}
	/* What found no index is asked for later. Who holds groups must not wait for another: two such queues
	 * would wait forever. */
	return error == -EAGAIN && fault->raised ? 0 : error;
}

static struct fault_probe port_group_probe(const struct port *port, const struct port_fault *fault,
					   __u16 index)
{
	const struct port_group *group = &port->groups[index];

	return (struct fault_probe){
		.device = port->config.device,
		.queue = fault->queue,
		.pasid = port->config.pasid,
		.group = index,
		.address = fault->pages[group->first],
		.length = group->count * PAGE_BYTES,
		.flags_code = EVENT_GROUP | ((__u64)group_code(group) << 8),
	};
}

static void log_group(__u8 what, __u64 time_ns, const struct port *port,
		      const struct port_fault *fault, __u16 index)
{
	struct page_request request = {.device = port->config.device,
				       .pasid = port->config.pasid,
				       .group = index,
				       .queue = fault->queue,
				       .flags = EVENT_GROUP};

	log_stage(what, time_ns, &request, fault, &port->groups[index]);
}

void group_abandon(struct port *port, const struct port_fault *fault, __u16 index)
{
	struct fault_probe probe = port_group_probe(port, fault, index);
	struct port_group *group = &port->groups[index];
	__u64 now = monotonic_ns();

	log_group(TRUTH_ABANDON, now, port, fault, index);
	FAULT_PROBE(abandon, &probe);
	port_group_closes(port, fault->queue, now);
	group->fault = NULL;
	if (group->late)
		free_group(port, group);
	else
		group->state = GROUP_ABANDONED;
	atomic_fetch_add(&port->timeouts, 1);
}

int port_verdict(const struct port *port, const struct port_fault *fault)
{
	int error = 0;

	for (__u32 i = 0; i < fault->raised; i++) {
		const struct port_group *group = &port->groups[fault->groups[i]];

		if (group->state != GROUP_ANSWERED)
			continue;
		if (group->code == RESPONSE_INVALID)
			return -EFAULT;
		if (group->code != RESPONSE_SUCCESS)
			error = -EIO;
	}
	return error;
}

/* Told as the queue goes on; the groups' answers are taken one by one afterwards. */
static __u64 log_resume(const struct port *port, const struct port_fault *fault)
{
	__u64 now = monotonic_ns();

	for (__u32 i = 0; i < fault->raised; i++)
		log_group(TRUTH_RESUME, now, port, fault, fault->groups[i]);
	return now;
}

/* What the IOMMU answered itself may still have requests on their way to the host. */
static void group_release(struct port *port, __u16 index)
{
	struct port_group *group = &port->groups[index];

	if (group->automatic && service_pending(port->config.service, port->config.device, index))
		group->state = GROUP_ABANDONED;
	else
		free_group(port, group);
}

/* Until then the device waits for the host. */
static __u64 last_answer(const struct port *port, const struct port_fault *fault)
{
	__u64 last = 0;

	for (__u32 i = 0; i < fault->raised; i++)
		if (port->groups[fault->groups[i]].answered_ns > last)
			last = port->groups[fault->groups[i]].answered_ns;
	return last;
}

void port_count_round_trip(struct port *port, __u64 total_ns, __u64 host_ns)
{
	struct round_trip_parts *parts = &port->parts;
	__u64 device_ns = total_ns - host_ns;

	histogram_add(&port->round_trip, total_ns);
	parts->host_ns += host_ns;
	if (!parts->host_least_ns || host_ns < parts->host_least_ns)
		parts->host_least_ns = host_ns;
	if (!parts->device_least_ns || device_ns < parts->device_least_ns)
		parts->device_least_ns = device_ns;
}

/* From ANSWERED on a group is its fault's alone. */
void port_resume(struct port *port, const struct port_fault *fault)
{
	__u64 answered_ns = last_answer(port, fault), resumed_ns = log_resume(port, fault);

	for (__u32 i = 0; i < fault->raised; i++) {
		struct port_group *group = &port->groups[fault->groups[i]];
		struct fault_probe probe = port_group_probe(port, fault, fault->groups[i]);
		__u64 now = monotonic_ns();

		FAULT_PROBE(resume, &probe);
		pthread_mutex_lock(&port->lock);
		if (group->automatic)
			atomic_fetch_add(&port->automatic, 1);
		else
			port_count_round_trip(port, now - group->detect_ns,
					      answered_ns - group->sent_ns);
		port_group_closes(port, fault->queue, resumed_ns);
		group_release(port, fault->groups[i]);
		pthread_mutex_unlock(&port->lock);
	}
}

/* The device learns that the pages may be used. Runs of pages in one call. */
static void pages_mapped(struct port *port, const struct port_group *group)
{
	const __u64 *pages = &group->fault->pages[group->first];
	__u32 start = 0, end;

	while (start < group->count) {
		if (group->unserved[start / 64] & (1ull << (start % 64))) {
			start++;
			continue;
		}
		for (end = start + 1; end < group->count; end++)
			if (pages[end] != pages[end - 1] + PAGE_BYTES ||
			    group->unserved[end / 64] & (1ull << (end % 64)))
				break;
		lookup_mapped(port->config.lookup, pages[start], (end - start) * PAGE_BYTES);
		start = end;
	}
}

/* With the lock held. */
static struct port_request *take_response(struct port *port, struct port_group *group,
					  enum response_code code)
{
	struct port_request *request = NULL;

	switch (group->state) {
	case GROUP_WAITING:
		if (code == RESPONSE_SUCCESS)
			pages_mapped(port, group);
		request = group_answer(group, code);
		break;
	case GROUP_EXPIRED:
		atomic_fetch_add(&port->violations, group->late);
		group->late = true;
		break;
	case GROUP_ABANDONED:
		free_group(port, group);
		break;
	case GROUP_FREE:
	case GROUP_ANSWERED:
		atomic_fetch_add(&port->violations, 1);
	}
	return request;
}

void port_respond(struct port *port, __u32 pasid, __u16 index, enum response_code code)
{
	struct port_request *request = NULL;

	pthread_mutex_lock(&port->lock);
	if (code == RESPONSE_FAILURE) {
		port->enabled_ns = monotonic_ns() + port->config.reenable_ns;
		atomic_fetch_add(&port->disabled, 1);
	}
	if (index >= GROUP_INDEX_MAX || pasid != port->config.pasid)
		atomic_fetch_add(&port->violations, 1);
	else
		request = take_response(port, &port->groups[index], code);
	if (request)
		port_request_take(port, request);
	pthread_mutex_unlock(&port->lock);
	if (request)
		port_request_finish(port, request);
}
