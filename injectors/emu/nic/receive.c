// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that takes frames off the wire. It reads a batch, then with the device's lock finds each frame its place.
 * It never waits for a page: what a policy cannot place at once is lost, or held where the policy says.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "injectors/emu/inject.h"
#include "injectors/emu/nic/generator.h"
#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"

void nic_wake(struct nic *nic)
{
	if (!__atomic_exchange_n(&nic->kicked, true, __ATOMIC_ACQ_REL))
		(void)eventfd_write(nic->kick, 1);
}

void nic_kick(struct nic *nic)
{
	pthread_mutex_lock(&nic->lock);
	pthread_cond_broadcast(&nic->changed);
	pthread_mutex_unlock(&nic->lock);
	nic_wake(nic);
}

/* Descriptors whose page is absent are buffers that the guest has posted and the device cannot see. */
static bool awaits_descriptors(const struct nic_ring *ring)
{
	return ring->state.unseen && nic_asks_for(ring->nic, ring->descriptor_page);
}

static void frame_lost(struct nic_ring *ring, const struct nic_frame *frame,
		       enum loss_reason reason)
{
	struct nic_blame blame = {0};

	/* It was stopped at this frame. */
	if (reason == LOSS_FAULT && ring->halted)
		reason = LOSS_NO_BUFFER;
	if (reason == LOSS_FAULT) {
		blame = ring_blame(ring, ring->absent_page);
		/* The page may not be asked for yet: no fault is open that could be named. */
		if (!blame.known)
			reason = LOSS_NO_BUFFER;
	} else if (reason == LOSS_NO_BUFFER && awaits_descriptors(ring)) {
		reason = LOSS_FAULT;
		blame = ring_blame(ring, ring->descriptor_page);
	}
	account_lost(ring, frame, reason, blame);
}

/* That a frame needs; at least 1. */
static __u32 frame_buffers(const struct nic *nic, __u32 length)
{
	__u32 buffer = nic->buffer_bytes;

	return length > buffer ? (length + buffer - 1) / buffer : 1;
}

static void frame_arrives(struct nic_ring *ring, const struct nic_frame *frame)
{
	const struct rx_frame state = {
		.bytes = frame->bytes,
		.length = frame->length,
		.arrived_ns = frame->arrived_ns,
	};
	struct nic *nic = ring->nic;
	struct rx_verdict verdict;

	ring->first_absent = 0;
	ring->placing = frame_buffers(nic, frame->length);
	rx_ring_receive(&ring->state, &state, &verdict);
	ring_ask(ring);
	if (ring->first_absent)
		ring->absent_page = ring->first_absent;
	switch (verdict.place) {
	case RX_STORE:
		ring_write(ring, verdict.position, verdict.count, frame, &nic->store, false,
			   nic->now_ns);
		account_delivered(ring, frame, 0);
		return;
	case RX_BACKUP:
		account_held(ring, frame, HOLD_BACKUP);
		pthread_cond_broadcast(&nic->changed);
		break;
	case RX_CACHE:
		account_held(ring, frame, HOLD_CACHE);
		break;
	case RX_LOST:
		frame_lost(ring, frame, verdict.reason);
		break;
	}
	references_drop(nic, &nic->store);
}

/* What the machine has made up has numbers of its own. */
static void number_made_up(const struct nic *nic, struct nic_frame *frame)
{
	__u32 header = nic_header_bytes(&nic->settings);
	__u64 number;

	if (nic->settings.wire == NIC_WIRE_TAP || frame->length < header ||
	    !generated_number(frame->bytes + header, frame->length - header, &number))
		return;
	frame->info.first = (__u32)number;
	frame->info.end = (__u32)number + 1;
}

struct nic_frame nic_frame_held(const struct nic *nic, const struct rx_frame *held)
{
	struct nic_frame frame = {
		.length = held->length,
		.bytes = held->bytes,
		.arrived_ns = held->arrived_ns,
	};

	(void)frame_parse(frame.bytes, frame.length, nic->settings.offload != NIC_OFFLOAD_NONE,
			  &frame.info);
	number_made_up(nic, &frame);
	return frame;
}

void ring_discard_cached(struct nic_ring *ring)
{
	struct rx_frame state;

	while (rx_ring_discard(&ring->state, LOSS_NO_BUFFER, &state)) {
		struct nic_frame frame = nic_frame_held(ring->nic, &state);

		account_lost(ring, &frame, LOSS_NO_BUFFER, (struct nic_blame){0});
	}
}

/* Frames of the cache whose buffers have come. */
static void release_cached(struct nic_ring *ring)
{
	struct rx_verdict verdict;
	struct rx_frame state;
	bool any = false;

	ring->placing = RX_FRAME_BUFFERS;
	while (rx_ring_next(&ring->state, &state, &verdict)) {
		struct nic_frame frame = nic_frame_held(ring->nic, &state);

		ring_write(ring, verdict.position, verdict.count, &frame, &ring->nic->store, true,
			   ring->nic->now_ns);
		account_delivered(ring, &frame, HOLD_CACHE);
		any = true;
	}
	ring_ask(ring);
	references_drop(ring->nic, &ring->nic->store);
	if (any)
		account_released(ring);
	/* It waits for buffers: the guest tells when it has posted some, if it has not meanwhile. */
	if (ring->state.cached.count && !ring->state.paused) {
		atomic_store(&ring->registers->tail_wanted, true);
		if (atomic_load(&ring->registers->tail) != ring->state.tail)
			nic_wake(ring->nic);
	}
}

/* What has changed since the last batch: pages that came, buffers that the guest posted. */
static void ring_catch_up(struct nic_ring *ring, __u64 now_ns)
{
	__u64 tail = ring->state.tail;
	bool retry = ring->retry || (ring->retry_ns && ring->retry_ns <= now_ns);

	if (retry) {
		ring->retry = false;
		ring->retry_ns = 0;
		rx_ring_retry(&ring->state);
	}
	if (atomic_load_explicit(&ring->registers->tail, memory_order_relaxed) != tail)
		ring_fetch(ring);
	if (ring->halted)
		ring_discard_cached(ring);
	else if (retry || ring->state.tail != tail)
		release_cached(ring);
}

/* That completions have ended. */
static __u32 frames_between(const struct nic_ring *ring, __u64 first, __u64 end)
{
	__u32 frames = 0;

	if (!ring->nic->settings.interrupt_frames)
		return 0;
	for (; first < end; first++)
		frames += ring->done[first % ring->nic->depth].flags & NIC_LAST;
	return frames;
}

/* Completions, and an interrupt when enough have gathered or the first has waited long enough. */
static void ring_tell_guest(struct nic_ring *ring, __u64 now_ns)
{
	const struct nic_settings *settings = &ring->nic->settings;
	__u64 before = ring->published;
	bool enough;

	ring_tell_done(ring);
	if (ring->published != before) {
		if (!ring->untold)
			ring->oldest_ns = now_ns;
		ring->untold = true;
		ring->pending += frames_between(ring, before, ring->published);
	}
	enough = settings->interrupt_frames && ring->pending >= settings->interrupt_frames;
	if (!ring->untold || (!enough && now_ns < ring->oldest_ns + settings->interrupt_delay_ns))
		return;
	ring->untold = false;
	ring->pending = 0;
	ring->rx.interrupts++;
	ring->way->interrupt(ring);
}

static void take_off_wire(struct nic *nic, const unsigned char *bytes, __u32 length, __u64 now_ns)
{
	struct nic_frame frame = {.bytes = bytes, .length = length, .arrived_ns = now_ns};
	enum loss_reason reason = LOSS_UNKNOWN;
	struct nic_ring *ring;

	nic->in++;
	nic->in_bytes += length;
	if (frame_parse(bytes, length < nic->frame_bytes ? length : nic->frame_bytes,
			nic->settings.offload != NIC_OFFLOAD_NONE, &frame.info) ||
	    length > nic->frame_bytes)
		reason = LOSS_OVERLONG;
	number_made_up(nic, &frame);
	if (inject_fire(nic->injections, INJECT_FRAME_LOSS, nic->index))
		reason = LOSS_WIRE;
	ring = &nic->ring[steering_queue(&nic->steering, &frame.info)];
	if (ring->halted && !reason)
		reason = LOSS_NO_BUFFER;
	if (!reason) {
		frame_arrives(ring, &frame);
		return;
	}
	rx_ring_lose(&ring->state, reason);
	account_lost(ring, &frame, reason, (struct nic_blame){0});
}

/* With the lock: everything but reading the wire. */
static void serve(struct nic *nic, const long *lengths, int count, __u64 now_ns)
{
	pthread_mutex_lock(&nic->lock);
	if (nic->rings_held)
		nic_await_rings(nic);
	nic->now_ns = monotonic_ns();
	__atomic_store_n(&nic->kicked, false, __ATOMIC_RELEASE);
	for (__u32 r = 0; r < nic->queues; r++)
		ring_catch_up(&nic->ring[r], now_ns);
	for (int i = 0; i < count; i++)
		take_off_wire(nic, nic->batch + (size_t)i * nic->frame_bytes, (__u32)lengths[i],
			      now_ns);
	for (__u32 r = 0; r < nic->queues; r++)
		ring_tell_guest(&nic->ring[r], now_ns);
	if (now_ns >= nic->account_ns) {
		account_tell(nic, now_ns);
		nic->account_ns = now_ns + NIC_ACCOUNT_NS;
	}
	pthread_mutex_unlock(&nic->lock);
}

static __u64 earlier(__u64 a, __u64 b)
{
	return b && b < a ? b : a;
}

static void wait_for_frames(struct nic *nic, bool ended)
{
	__u64 at_ns = 0, until = nic->account_ns, now = monotonic_ns();
	/* What is broken is always ready. */
	struct pollfd ready[2] = {
		{.fd = nic->kick, .events = POLLIN},
		{.fd = ended ? -1 : nic->wire->ops->ready(nic->wire, &at_ns), .events = POLLIN}};
	struct timespec timeout;
	eventfd_t kicks;

	until = earlier(until, at_ns);
	pthread_mutex_lock(&nic->lock);
	for (__u32 r = 0; r < nic->queues; r++) {
		const struct nic_ring *ring = &nic->ring[r];

		until = earlier(until, ring->retry_ns);
		if (ring->untold)
			until = earlier(until, ring->oldest_ns + nic->settings.interrupt_delay_ns);
	}
	pthread_mutex_unlock(&nic->lock);
	timeout = timespec_of_ns(until > now ? until - now : 0);
	if (ppoll(ready, 2, &timeout, NULL) > 0 && ready[0].revents)
		(void)eventfd_read(nic->kick, &kicks);
}

void *nic_receive(void *argument)
{
	struct nic *nic = argument;
	long lengths[NIC_BATCH];
	bool ended = false;

	while (!nic_stopping(nic)) {
		__u64 now_ns = monotonic_ns();
		int count = 0;

		while (count < NIC_BATCH && !ended &&
		       __atomic_load_n(&nic->begun, __ATOMIC_ACQUIRE)) {
			long length = nic->wire->ops->receive(
				nic->wire, nic->batch + (size_t)count * nic->frame_bytes,
				nic->frame_bytes, now_ns);

			if (length < 0) {
				fprintf(stderr, "faultline: the wire of %s is gone: %s\n",
					nic->name, strerror((int)-length));
				ended = true;
			}
			if (length <= 0)
				break;
			lengths[count++] = length;
		}
		serve(nic, lengths, count, now_ns);
		if (!count && !nic_stopping(nic))
			wait_for_frames(nic, ended);
	}
	return NULL;
}
