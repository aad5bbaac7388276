// SPDX-License-Identifier: GPL-2.0
/*
 * What a NIC asks for: at most `fault_limit` requests a ring are outstanding, and never two for one page. With
 * `prefault` the buffers behind the one that faulted are asked for with it.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static const struct nic_request *find_request(const struct nic_ring *ring, __u64 page, __u32 *index)
{
	for (__u32 i = 0; i < ring->nic->settings.fault_limit; i++) {
		const struct nic_request *request = &ring->requests[i];

		for (__u32 p = 0; request->open && p < request->request.count; p++)
			if (request->request.pages[p] == page) {
				*index = p;
				return request;
			}
	}
	return NULL;
}

bool nic_asks_for(const struct nic *nic, __u64 page)
{
	__u32 index;

	for (__u32 r = 0; r < nic->queues; r++)
		if (find_request(&nic->ring[r], page, &index))
			return true;
	return false;
}

bool ring_faulted_since(const struct nic_ring *ring, __u64 since_ns)
{
	if (ring->fault_over_ns >= since_ns)
		return true;
	for (__u32 i = 0; i < ring->nic->settings.fault_limit; i++)
		if (ring->requests[i].open)
			return true;
	return false;
}

/* Of a request that found too few group indices some pages have no group: they are asked for with the next one. */
static struct nic_blame blame_page(const struct nic_request *request, __u32 index)
{
	if (!request || request->group[index] == NIC_NO_GROUP)
		return (struct nic_blame){0};
	return (struct nic_blame){true, request->group[index], request->fault[index]};
}

/* Whose answer lets the ring ask for what it could not: the faults' numbers tell their age. */
static struct nic_blame blame_oldest(const struct nic_ring *ring)
{
	struct nic_blame oldest = {0};

	for (__u32 i = 0; i < ring->nic->settings.fault_limit; i++) {
		struct nic_blame blame =
			ring->requests[i].open ? blame_page(&ring->requests[i], 0) : oldest;

		if (blame.known && (!oldest.known || blame.fault < oldest.fault))
			oldest = blame;
	}
	return oldest;
}

struct nic_blame ring_blame(const struct nic_ring *ring, __u64 page)
{
	const struct nic *nic = ring->nic;
	struct nic_blame blame = {0};
	__u32 index = 0;

	for (__u32 r = 0; r < nic->queues && !blame.known; r++)
		blame = blame_page(find_request(&nic->ring[r], page, &index), index);
	return blame.known ? blame : blame_oldest(ring);
}

static struct nic_request *free_request(struct nic_ring *ring)
{
	for (__u32 i = 0; i < ring->nic->settings.fault_limit; i++)
		if (!ring->requests[i].open)
			return &ring->requests[i];
	return NULL;
}

/*
 * What came to nothing is asked for again ever later. A host that answers after the device has given up has the old
 * requests to serve first: new ones at the rate of the old would all come too late, for ever. Those that came to
 * nothing together count once.
 */
static void ease_off(struct nic_ring *ring)
{
	__u64 now = monotonic_ns();

	if (now < ring->ask_ns)
		return;
	ring->ask_ns = now + (NIC_RETRY_NS << ring->unanswered);
	ring->retry_ns = ring->ask_ns;
	if (ring->unanswered < NIC_RETRY_DOUBLINGS)
		ring->unanswered++;
}

/* Some other ring's answer: there may be room now for what was refused. */
static void may_ask_again(struct nic_ring *ring)
{
	ring->retry = true;
	if (!ring->refused)
		return;
	ring->refused = false;
	ring->ask_ns = 0;
	ring->unanswered = 0;
}

/* The fault service's thread, or its timer's. */
static void request_done(struct port_request *port_request, int error)
{
	struct nic_request *request = (struct nic_request *)((char *)port_request -
							     offsetof(struct nic_request, request));
	struct nic_ring *ring = request->ring;
	struct nic *nic = ring->nic;

	pthread_mutex_lock(&nic->lock);
	for (__u32 i = 0; i < port_request->count; i++)
		if (!i || request->group[i] != request->group[i - 1])
			account_fault_over(nic, request->group[i]);
	request->open = false;
	ring->fault_over_ns = monotonic_ns();
	/* Another ring may have wanted this page, or found no room for a request of its own. */
	for (__u32 r = 0; r < nic->queues; r++)
		if (error)
			nic->ring[r].retry = true;
		else
			may_ask_again(&nic->ring[r]);
	if (!error)
		ring->unanswered = 0;
	else if (error != -ESHUTDOWN)
		ease_off(ring);
	pthread_cond_broadcast(&nic->changed);
	nic_wake(nic);
	pthread_mutex_unlock(&nic->lock);
}

static void add_page(struct port_request *request, const struct nic *nic, __u64 page)
{
	for (__u32 i = 0; i < request->count; i++)
		if (request->pages[i] == page)
			return;
	if (request->count < PORT_REQUEST_PAGES && !nic_asks_for(nic, page))
		request->pages[request->count++] = page;
}

/*
 * The absent ones among the buffers from a position on. Buffers before the next free one have frames already, or frames that are held
 * for them and ask themselves: what has been written may be gone from the guest's IOMMU as soon as the head has passed it, while
 * its translation is still being asked for.
 */
static void add_following(struct port_request *request, struct nic_ring *ring, __u64 next)
{
	__u64 free = ring->state.head + ring->state.head_offset;
	__u32 prefault = ring->nic->settings.prefault;
	__u64 absent[PORT_REQUEST_PAGES];

	if (next < free)
		next = free;
	for (__u32 i = 0; i < prefault && next + i < ring->state.tail; i++) {
		int count = ring->way->absent(ring, next + i, absent);

		for (int p = 0; p < count; p++)
			add_page(request, ring->nic, absent[p]);
	}
}

static void request_raise(struct nic_ring *ring, struct nic_request *request)
{
	int error = port_request(ring->nic->port, &request->request);

	if (error) {
		ring->refused = error != -ESHUTDOWN;
		if (ring->refused)
			ease_off(ring);
		return;
	}
	request->open = true;
	for (__u32 i = 0; i < request->request.count; i++)
		if (port_request_group(&request->request, i, &request->group[i],
				       &request->fault[i]))
			request->group[i] = NIC_NO_GROUP;
}

/* One that is free, with those of the pages that nobody has asked for; NULL: not now. */
static struct nic_request *wanted_request(struct nic_ring *ring, const __u64 *pages, __u32 count,
					  bool write)
{
	struct nic_request *request = free_request(ring);

	if (!request)
		return NULL;
	if (monotonic_ns() < ring->ask_ns) {
		ring->retry_ns = ring->ask_ns;
		return NULL;
	}
	request->request = (struct port_request){
		.queue = ring->port_queue,
		.access = write ? EVENT_WRITE : EVENT_READ,
		.done = request_done,
	};
	for (__u32 i = 0; i < count; i++)
		add_page(&request->request, ring->nic, pages[i]);
	return request->request.count ? request : NULL;
}

void ring_want(struct nic_ring *ring, const __u64 *pages, __u32 count, bool write)
{
	struct nic_request *request = wanted_request(ring, pages, count, write);

	if (request)
		request_raise(ring, request);
}

void ring_want_buffer(struct nic_ring *ring, __u64 position, const __u64 *pages, __u32 count)
{
	struct nic_wants *wants = &ring->wants;

	for (__u32 i = 0; i < count && wants->pages < PORT_REQUEST_PAGES; i++)
		wants->page[wants->pages++] = pages[i];
	wants->behind = position + 1;
	if (++wants->buffers >= ring->placing)
		ring_ask(ring);
}

void ring_ask(struct nic_ring *ring)
{
	struct nic_wants *wants = &ring->wants;
	struct nic_request *request =
		wants->pages ? wanted_request(ring, wants->page, wants->pages, true) : NULL;

	wants->pages = 0;
	wants->buffers = 0;
	if (!request)
		return;
	add_following(&request->request, ring, wants->behind);
	request_raise(ring, request);
}

int requests_create(struct nic_ring *ring)
{
	__u32 count = ring->nic->settings.fault_limit;

	ring->requests = calloc(count, sizeof(*ring->requests));
	if (!ring->requests)
		return failed(-ENOMEM, "no memory for %u page requests of ring %u", count,
			      ring->index);
	for (__u32 i = 0; i < count; i++)
		ring->requests[i].ring = ring;
	return 0;
}

void requests_destroy(struct nic_ring *ring)
{
	free(ring->requests);
}
