// SPDX-License-Identifier: GPL-2.0
/* The engine's thread: what arrives, what guests posted, what is due, what is to be sent; then again, or a nap. */
#include <sched.h>

#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

#define SPIN_NS	 (20 * NSEC_PER_USEC)  /* idle rounds go on for so long */
#define NAP_NS	 (20 * NSEC_PER_USEC)  /* then naps of this, twice it, ... */
#define NAP_MOST (200 * NSEC_PER_USEC) /* ... up to this: guests ring by a store alone */

static bool take_call(struct rdma *device)
{
	struct engine_call *call = atomic_load_explicit(&device->call, memory_order_acquire);

	if (!call)
		return false;
	atomic_store_explicit(&device->call, NULL, memory_order_relaxed);
	call->result = call->run(device, call->argument);
	__atomic_store_n(&call->done, true, __ATOMIC_RELEASE);
	return true;
}

/* Only the pair that it is connected to may send to a pair. */
static struct rdma_pair *pair_for(const struct rdma *device, const struct rdma_packet *packet,
				  bool loopback)
{
	struct rdma_pair *pair = pair_find(device, packet->destination);

	return pair && pair->connected && pair->loopback == loopback && pair->peer == packet->source
		       ? pair
		       : NULL;
}

static bool engine_receive(struct rdma *device, bool loopback, __u64 now_ns)
{
	const struct rdma_packet *packet;
	struct rdma_pair *pair;
	__u32 count = 0;
	bool lost;

	while (count < ENGINE_PACKETS &&
	       (packet = rdma_link_arrived(device->link, loopback, now_ns, &lost))) {
		pair = pair_for(device, packet, loopback);
		if (pair && lost)
			account_lost_packet(device, pair, packet, now_ns);
		else if (pair)
			transport_receive(pair->transport, packet, now_ns);
		rdma_link_take(device->link, loopback, pair);
		if (pair)
			pair_fail(pair, now_ns);
		count++;
	}
	return count;
}

static bool engine_poll(struct rdma *device, __u64 now_ns)
{
	bool any = false;

	for (__u32 i = 0; i < device->live_count; i++) {
		struct rdma_pair *pair = device->live[i];
		__u64 deadline;

		if (!device_forwards_posts(device))
			any |= pair_poll(pair);
		deadline = transport_deadline(pair->transport);
		if (deadline && deadline <= now_ns) {
			transport_timeout(pair->transport, now_ns);
			any = true;
		}
		pair_fail(pair, now_ns);
	}
	return any;
}

static __u32 pair_send(struct rdma_pair *pair, __u64 now_ns)
{
	struct rdma *device = pair->device;
	struct rdma_packet *packet;
	__u32 count = 0;

	while (count < PAIR_PACKETS && transport_ready(pair->transport) &&
	       (packet = rdma_link_room(device->link, pair->loopback, now_ns)) &&
	       transport_transmit(pair->transport, packet, now_ns)) {
		rdma_link_send(device->link, pair->loopback, now_ns);
		count++;
	}
	pair_fail(pair, now_ns);
	return count;
}

/* Each in its turn, until the wire has enough or nobody has anything. */
static bool engine_send(struct rdma *device, __u64 now_ns)
{
	__u32 sent = 0, idle = 0;

	while (idle < device->live_count && sent < ENGINE_PACKETS) {
		__u32 count = pair_send(device->live[device->turn++ % device->live_count], now_ns);

		idle = count ? 0 : idle + 1;
		sent += count;
	}
	return sent;
}

static bool engine_round(struct rdma *device)
{
	__u64 now_ns = monotonic_ns();
	bool any;

	device->round_ns = now_ns;
	/* A full barrier: who retires a region either sees this or is seen by the look-ups behind it. */
	atomic_fetch_add(&device->epoch, 1);
	any = take_call(device);
	any |= faults_run(device, now_ns);
	any |= engine_receive(device, false, now_ns);
	any |= engine_receive(device, true, now_ns);
	any |= engine_poll(device, now_ns);
	/* What was rung for in this round leaves after it was, however long the thread had no CPU in between. */
	any |= engine_send(device, any ? monotonic_ns() : now_ns);
	accesses_report(device);
	queues_flush(device);
	rdma_link_flush(device->link);
	account_state(device, now_ns);
	atomic_fetch_add_explicit(&device->epoch, 1, memory_order_release);
	return any;
}

static __u64 sooner(__u64 a, __u64 b)
{
	return !a || (b && b < a) ? b : a;
}

/* When there is something to do by itself; 0: nothing is known. */
static __u64 engine_next_ns(const struct rdma *device, __u64 now_ns)
{
	__u64 next = sooner(faults_next_ns(device), rdma_link_next_ns(device->link, now_ns));

	for (__u32 i = 0; i < device->live_count; i++)
		next = sooner(next, transport_deadline(device->live[i]->transport));
	return next;
}

/* With no queue pair connected nobody can post: sleeps until it is rung. */
static void nap(struct rdma *device, __u32 seen, __u64 nap_ns)
{
	__u64 now_ns = monotonic_ns(), until = engine_next_ns(device, now_ns);

	if (device->live_count)
		until = sooner(until, now_ns + nap_ns);
	if (!until || until > now_ns)
		(void)doorbell_wait(device->bell, seen, until);
}

void *rdma_engine(void *argument)
{
	struct rdma *device = argument;
	__u64 idle_ns = 0, nap_ns = NAP_NS;

	thread_short_slices();
	while (!atomic_load_explicit(&device->stopping, memory_order_acquire)) {
		__u32 seen = doorbell_count(device->bell);

		if (engine_round(device)) {
			idle_ns = 0;
			nap_ns = NAP_NS;
			continue;
		}
		if (!idle_ns)
			idle_ns = monotonic_ns();
		if (device->live_count && monotonic_ns() - idle_ns < SPIN_NS) {
			sched_yield();
			continue;
		}
		nap(device, seen, nap_ns);
		nap_ns = nap_ns * 2 < NAP_MOST ? nap_ns * 2 : NAP_MOST;
	}
	return NULL;
}
