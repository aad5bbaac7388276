// SPDX-License-Identifier: GPL-2.0
/*
 * A receive ring that is a virtqueue (virtio 1.2, 5.1.6.3). Its own thread, the core's, takes the chains that the driver makes
 * available and gives them back; to the receiving thread a chain is a posted buffer, by the same tail and head as of an emulated guest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

/* A message stops a ring for microseconds; one that stays stopped has no buffers any more. */
#define HELD_NS (50 * NSEC_PER_MSEC)

struct nic_virtqueue {
	int wake; /* eventfd: there is something to complete */
	/* With the device's lock. */
	bool runs;     /* buffers may be written */
	bool stray;    /* one of them is not in the guest's memory any more */
	__u64 held_ns; /* until when it is waited for; 0: it is not */
	/* The virtqueue's thread's; what the tail covers the receiving thread reads, too. */
	__u64 posted, completed;
	__u64 taken,
		newest; /* numbers of chains: of the last, and of the newest that was completed */
	__u16 incoming[VHOST_SIZE_MAX];		     /* heads, by position */
	struct vhost_request *chain[VHOST_SIZE_MAX]; /* by head */
	__u64 number[VHOST_SIZE_MAX];
};

int ring_virtqueue_create(struct nic_ring *ring)
{
	struct nic_virtqueue *vq = calloc(1, sizeof(*vq));

	if (!vq)
		return failed(-ENOMEM, "no memory for ring %u of a virtual machine", ring->index);
	ring->virtqueue = vq;
	vq->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return vq->wake < 0 ? failed(-errno, "cannot make an eventfd: %s", strerror(errno)) : 0;
}

void ring_virtqueue_destroy(struct nic_ring *ring)
{
	if (ring->virtqueue && ring->virtqueue->wake >= 0)
		close(ring->virtqueue->wake);
	free(ring->virtqueue);
}

int ring_virtqueue_descriptor(const struct nic_ring *ring)
{
	return ring->virtqueue->wake;
}

static int chain_check(const struct nic_ring *ring, struct vhost_request *request)
{
	__u64 least = ring->prefix_bytes + ring->nic->frame_bytes;
	struct io_range piece[NIC_RANGES];
	int pieces;

	if (request->readable)
		return failed(-EPROTO, "a receive buffer that is to be read");
	if (request->writable_bytes < least)
		return failed(-EPROTO, "a receive buffer of %llu bytes: accepted: at least %llu",
			      request->writable_bytes, least);
	pieces = vhost_request_locate(request, true, piece, NIC_RANGES);
	if (pieces == -EAGAIN)
		return vhost_request_await(request, true);
	if (pieces < 0)
		return failed(
			-EPROTO,
			"a receive buffer that is not in memory as a whole, or in more than %d pieces",
			NIC_RANGES);
	return 0;
}

int ring_virtqueue_post(struct nic_ring *ring, struct vhost_request *request)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	int error = chain_check(ring, request);

	if (error)
		return error;
	vq->chain[request->head] = request;
	vq->number[request->head] = ++vq->taken;
	vq->incoming[vq->posted++ % VHOST_SIZE_MAX] = request->head;
	/* As of an emulated guest: either the device sees the tail or we see that it waits for it. */
	atomic_store(&ring->registers->tail, vq->posted);
	if (atomic_exchange(&ring->registers->tail_wanted, false))
		nic_kick(ring->nic);
	return VHOST_KEPT;
}

static void virtqueue_fetch(struct nic_ring *ring)
{
	__u64 tail = atomic_load_explicit(&ring->registers->tail, memory_order_acquire);
	const struct nic_virtqueue *vq = ring->virtqueue;
	__u64 at = ring->state.tail;

	/* A virtqueue has no more chains than descriptors: there is always room. */
	if (rx_ring_post(&ring->state, tail))
		return;
	for (; at < tail; at++)
		ring->posted[rx_ring_slot(&ring->state, at)].id = vq->incoming[at % VHOST_SIZE_MAX];
}

static void pieces_absent(__u64 *all, __u32 *count, const __u64 *some, int found)
{
	for (int i = 0; i < found && *count < PORT_REQUEST_PAGES; i++)
		all[(*count)++] = some[i];
}

/* References on all pieces, or on none; the rest of a chain whose first page is absent is looked at, too, for one request. */
static int take_pieces(struct nic_ring *ring, const struct io_range *piece, int pieces,
		       struct nic_store *store, __u64 *absent, __u32 *missing)
{
	__u32 before = store->ranges;
	int result = 0;

	for (int i = 0; i < pieces && result >= 0; i++) {
		__u64 some[PORT_REQUEST_PAGES];

		result = ring_try(ring, piece[i].address, piece[i].length, true,
				  store->range[store->ranges], some);
		store->ranges += !result;
		pieces_absent(absent, missing, some, result);
	}
	if (result < 0 || *missing)
		while (store->ranges > before)
			port_dma_end(ring->nic->port, store->range[--store->ranges]);
	return result < 0 ? result : 0;
}

/* Of a buffer that is posted. */
static struct vhost_request *chain_at(struct nic_ring *ring, __u64 position)
{
	return ring->virtqueue->chain[ring->posted[rx_ring_slot(&ring->state, position)].id];
}

/* What a hostile driver, or a new memory table, has made of it meanwhile. */
static void chain_strays(struct nic_ring *ring)
{
	ring->virtqueue->stray = true;
	(void)eventfd_write(ring->virtqueue->wake, 1);
}

static bool virtqueue_take(struct nic_ring *ring, __u64 position, struct nic_store *store,
			   __u64 *page)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	__u64 absent[PORT_REQUEST_PAGES];
	struct io_range piece[NIC_RANGES];
	__u32 missing = 0;
	int pieces;

	if (!vq->runs || vq->stray)
		return false;
	pieces = vhost_request_locate(chain_at(ring, position), true, piece,
				      NIC_RANGES - store->ranges);
	if (pieces == -EAGAIN) {
		ring->retry_ns = monotonic_ns() + NIC_RETRY_NS;
		return false;
	}
	if (pieces < 0 || take_pieces(ring, piece, pieces, store, absent, &missing)) {
		chain_strays(ring);
		return false;
	}
	if (!missing)
		return true;
	*page = absent[0];
	ring_want_buffer(ring, position, absent, missing);
	return false;
}

/* A chain whose translation is not known yet, or that makes no sense, is seen to when its turn comes. */
static int virtqueue_absent(struct nic_ring *ring, __u64 position, __u64 absent[PORT_REQUEST_PAGES])
{
	struct io_range piece[NIC_RANGES];
	__u32 missing = 0;
	int pieces = 0;

	if (ring->virtqueue->runs && !ring->virtqueue->stray)
		pieces = vhost_request_locate(chain_at(ring, position), true, piece, NIC_RANGES);
	for (int i = 0; i < pieces; i++) {
		__u64 some[PORT_REQUEST_PAGES];

		pieces_absent(absent, &missing, some,
			      ring_absent(ring, piece[i].address, piece[i].length, some));
	}
	return (int)missing;
}

/* The virtqueue's thread reads them where they are. */
static __u32 virtqueue_publish(struct nic_ring *ring, __u32 count)
{
	(void)ring;
	return count;
}

static void virtqueue_interrupt(struct nic_ring *ring)
{
	(void)eventfd_write(ring->virtqueue->wake, 1);
}

const struct ring_way ring_virtqueue = {
	.fetch = virtqueue_fetch,
	.take = virtqueue_take,
	.absent = virtqueue_absent,
	.publish = virtqueue_publish,
	.interrupt = virtqueue_interrupt,
};

static int complete_received(struct nic_ring *ring)
{
	__u64 head = atomic_load_explicit(&ring->registers->head, memory_order_acquire);
	struct nic_virtqueue *vq = ring->virtqueue;
	int error = 0;

	while (vq->completed < head && !error) {
		struct nic_completion done = ring->done[vq->completed++ % ring->nic->depth];
		struct vhost_request *request = vq->chain[done.id];

		if (vq->number[done.id] > vq->newest)
			vq->newest = vq->number[done.id];
		request->used = done.flags & NIC_LOST ? 0 : ring->prefix_bytes + done.length;
		error = vhost_request_done(request);
		if (!error)
			vq->chain[done.id] = NULL;
	}
	return error;
}

int ring_virtqueue_complete(struct nic_ring *ring)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	eventfd_t count;
	bool stray;

	(void)eventfd_read(vq->wake, &count);
	pthread_mutex_lock(&ring->nic->lock);
	stray = vq->stray;
	pthread_mutex_unlock(&ring->nic->lock);
	if (stray)
		return failed(-EPROTO, "a receive buffer is not in memory any more");
	return complete_received(ring);
}

/* Frames go to rings that a driver has set up: queue pairs are enabled from the first one on. */
static void steer(struct nic *nic)
{
	__u32 rings = 0;

	while (rings < nic->queues &&
	       (nic->ring[rings].virtqueue->runs || nic->ring[rings].virtqueue->held_ns))
		rings++;
	if (rings && rings != nic->steered)
		steering_init(&nic->steering, rings);
	if (rings)
		nic->steered = rings;
}

static void set_held(struct nic_ring *ring, __u64 until_ns)
{
	ring->nic->rings_held += !!until_ns - !!ring->virtqueue->held_ns;
	ring->virtqueue->held_ns = until_ns;
}

void nic_await_rings(struct nic *nic)
{
	while (nic->rings_held && !nic_stopping(nic)) {
		__u64 until = ~0ull, now = monotonic_ns();

		for (__u32 r = 0; r < nic->queues; r++) {
			__u64 held_ns = nic->ring[r].virtqueue->held_ns;

			if (held_ns && held_ns <= now)
				set_held(&nic->ring[r], 0);
			else if (held_ns && held_ns < until)
				until = held_ns;
		}
		if (nic->rings_held)
			monotonic_cond_wait_until(&nic->changed, &nic->lock, until);
		else
			steer(nic);
	}
}

void ring_virtqueue_begins(struct nic_ring *ring)
{
	struct nic *nic = ring->nic;

	pthread_mutex_lock(&nic->lock);
	ring->virtqueue->runs = true;
	set_held(ring, 0);
	ring->retry = true;
	steer(nic);
	pthread_cond_broadcast(&nic->changed);
	pthread_mutex_unlock(&nic->lock);
	nic_wake(nic);
}

/* What waits for buffers will have none. */
static void give_up_waiting(struct nic_ring *ring)
{
	ring_discard_cached(ring);
	ring_give_up_held(ring);
	ring_tell_done(ring);
}

/* Chains that `ooo` has passed over are older than ones that were completed: they go back empty. */
static int return_passed_over(struct nic_virtqueue *vq)
{
	int error = 0;

	for (__u32 head = 0; head < VHOST_SIZE_MAX && !error; head++) {
		if (!vq->chain[head] || vq->number[head] > vq->newest)
			continue;
		vq->chain[head]->used = 0;
		error = vhost_request_done(vq->chain[head]);
		vq->chain[head] = NULL;
	}
	return error;
}

int ring_virtqueue_rests(struct nic_ring *ring, bool finishes)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	struct nic *nic = ring->nic;
	int error = 0;

	pthread_mutex_lock(&nic->lock);
	if (vq->runs && !finishes && !vq->stray)
		set_held(ring, monotonic_ns() + HELD_NS);
	vq->runs = false;
	if (finishes)
		give_up_waiting(ring);
	pthread_mutex_unlock(&nic->lock);
	if (finishes)
		error = complete_received(ring) ?: return_passed_over(vq);
	return error;
}

void ring_virtqueue_forget(struct nic_ring *ring)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	struct nic *nic = ring->nic;

	pthread_mutex_lock(&nic->lock);
	vq->runs = vq->stray = false;
	set_held(ring, 0);
	give_up_waiting(ring);
	rx_ring_restart(&ring->state);
	ring->published = vq->posted = vq->completed = ring->state.head;
	atomic_store(&ring->registers->tail, ring->state.tail);
	atomic_store(&ring->registers->head, ring->state.head);
	ring->untold = false;
	ring->pending = 0;
	vq->newest = 0;
	memset(vq->chain, 0, sizeof(vq->chain));
	steer(nic);
	pthread_cond_broadcast(&nic->changed);
	pthread_mutex_unlock(&nic->lock);
}

long ring_virtqueue_pages(struct nic_ring *ring, __u64 *pages, __u32 limit)
{
	struct nic_virtqueue *vq = ring->virtqueue;
	struct io_range piece[NIC_RANGES];
	long count = 0;

	for (__u64 at = ring->state.head; vq->runs && at < ring->state.tail; at++) {
		int pieces = vhost_request_known(chain_at(ring, at), true, piece, NIC_RANGES);

		for (int i = 0; i < pieces; i++) {
			__u64 page =
				(piece[i].address - ring->nic->iova_offset) & ~(PAGE_BYTES - 1);
			__u64 end = piece[i].address - ring->nic->iova_offset + piece[i].length;

			for (; page < end; page += PAGE_BYTES, count++)
				if (count < limit)
					pages[count] = page;
		}
	}
	return count;
}
