// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/rdma_link.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RDMA_LINK_SLOTS_LEAST 256
#define RDMA_LINK_SLOTS_MOST  4096
#define CACHE_LINE	      64

/* InfiniBand's headers (volume 1, 5.2): local route, base transport, invariant and variant CRC; RDMA and ACK extended. */
#define WIRE_HEADERS 26
#define WIRE_RETH    16
#define WIRE_AETH    4

/* The payload begins with a cache line. */
struct rdma_link_slot {
	__u64 lost; /* it is on the wire and will not arrive */
	struct rdma_packet packet;
};

struct rdma_link_ring {
	/* The producer's. */
	_Atomic __u64 tail __attribute__((aligned(CACHE_LINE)));
	__u64 head_seen;
	/* The consumer's. */
	_Atomic __u64 head __attribute__((aligned(CACHE_LINE)));
	__u64 tail_seen;
	_Atomic bool full;				  /* the producer waits for a slot */
	__u32 slots __attribute__((aligned(CACHE_LINE))); /* a power of two */
	__u32 stride;
	unsigned char *memory;
};

struct rdma_link_end {
	struct rdma_link *link;
	struct inject_table *injections;
	struct rdma_totals *totals;
	struct rdma_link_ring *out, *in;
	struct rdma_link_ring loop;
	struct doorbell *other;
	__u32 device, side;
	__u64 rate, delay_ns, ahead_ns;
	__u64 free_ns; /* of the wire */
	bool sent;     /* the other end has something to do since the last flush */
	/* Of what this end sent. */
	__u64 packets, wire_bytes, duplicated, lost, nacks_lost;
	/* Of what came here, by loopback too. */
	__u64 arrived;
	__u64 unknown_loop, unknown; /* for no queue pair: own packets, the other end's */
};

struct rdma_link {
	struct rdma_link *next;
	const struct machine *machine;
	__u32 device[2];
	struct rdma_link_end *ends[2];
	struct rdma_link_ring rings[2]; /* to ends[side] */
	struct doorbell bells[2] __attribute__((aligned(CACHE_LINE)));
	/* What an end that has closed leaves for the last one. */
	struct {
		struct rdma_totals *totals;
		__u64 unknown; /* packets of the other end */
		bool closed;
	} left[2];
};

/* Links are opened and closed as machines begin and end, nothing else. */
static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdma_link *links;

static int rdma_link_ring_create(struct rdma_link_ring *ring, __u32 slots, __u32 mtu)
{
	ring->slots = slots;
	ring->stride = (__u32)(sizeof(struct rdma_link_slot) + mtu + CACHE_LINE - 1) &
		       ~(__u32)(CACHE_LINE - 1);
	ring->memory = aligned_alloc(CACHE_LINE, (size_t)ring->stride * slots);
	return ring->memory ? 0
			    : failed(-ENOMEM, "no memory for %u packets of %u bytes", slots, mtu);
}

/* Of a slow link the next packets, too: else it would stand still after each until an engine has woken up. */
static __u64 ahead_of_wire(const struct rdma_settings *settings)
{
	__u64 packet_ns = settings->link ? (settings->mtu + WIRE_HEADERS) * 8ull * NSEC_PER_SEC /
						   settings->link
					 : 0;

	return RDMA_LINK_AHEAD_PACKETS * packet_ns > RDMA_LINK_AHEAD_NS
		       ? RDMA_LINK_AHEAD_PACKETS * packet_ns
		       : RDMA_LINK_AHEAD_NS;
}

/* As many as are on their way at once, twice: the other end takes some time, too. */
static __u32 slots_needed(const struct rdma_settings *settings)
{
	double bytes = (double)settings->link / 8 *
		       (double)(settings->link_delay_ns + ahead_of_wire(settings)) / NSEC_PER_SEC;
	__u32 slots = RDMA_LINK_SLOTS_LEAST;

	while (slots < RDMA_LINK_SLOTS_MOST && slots < 2 * bytes / settings->mtu)
		slots *= 2;
	return slots;
}

static void rdma_link_destroy(struct rdma_link *link)
{
	for (int side = 0; side < 2; side++)
		free(link->rings[side].memory);
	free(link);
}

static struct rdma_link *rdma_link_find(const struct rdma_link_config *config)
{
	__u32 low = config->device < config->peer ? config->device : config->peer;
	__u32 high = config->device + config->peer - low;
	struct rdma_link *link = links;

	while (link && (link->machine != config->machine || link->device[0] != low ||
			link->device[1] != high))
		link = link->next;
	return link;
}

static int rdma_link_create(struct rdma_link **link, const struct rdma_link_config *config)
{
	struct rdma_link *new = aligned_alloc(CACHE_LINE, (sizeof(*new) + CACHE_LINE - 1) &
								  ~(size_t)(CACHE_LINE - 1));
	__u32 slots = slots_needed(config->settings);
	int error = 0;

	if (!new)
		return failed(-ENOMEM, "no memory for a link");
	memset(new, 0, sizeof(*new));
	new->machine = config->machine;
	new->device[0] = config->device < config->peer ? config->device : config->peer;
	new->device[1] = config->device + config->peer - new->device[0];
	for (int side = 0; side < 2 && !error; side++)
		error = rdma_link_ring_create(&new->rings[side], slots, config->settings->mtu);
	if (error) {
		rdma_link_destroy(new);
		return error;
	}
	new->next = links;
	links = new;
	*link = new;
	return 0;
}

static int end_create(struct rdma_link_end **end, const struct rdma_link_config *config)
{
	struct rdma_link_end *new = aligned_alloc(CACHE_LINE, (sizeof(*new) + CACHE_LINE - 1) &
								      ~(size_t)(CACHE_LINE - 1));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for a link");
	memset(new, 0, sizeof(*new));
	new->injections = config->injections;
	new->totals = config->totals;
	new->device = config->device;
	new->rate = config->settings->link;
	new->delay_ns = config->settings->link_delay_ns;
	new->ahead_ns = ahead_of_wire(config->settings);
	error = rdma_link_ring_create(&new->loop, RDMA_LINK_SLOTS_LEAST, config->settings->mtu);
	if (error) {
		free(new);
		return error;
	}
	*end = new;
	return 0;
}

int rdma_link_open(struct rdma_link_end **end, const struct rdma_link_config *config)
{
	struct rdma_link_end *new = NULL;
	struct rdma_link *link;
	int error = end_create(&new, config);

	if (error)
		return error;
	pthread_mutex_lock(&links_lock);
	link = rdma_link_find(config);
	if (!link)
		error = rdma_link_create(&link, config);
	if (!error) {
		new->side = config->device == link->device[1];
		new->link = link;
		new->in = &link->rings[new->side];
		new->out = &link->rings[!new->side];
		new->other = &link->bells[!new->side];
		link->ends[new->side] = new;
	}
	pthread_mutex_unlock(&links_lock);
	if (error) {
		free(new->loop.memory);
		free(new);
		return error;
	}
	*end = new;
	return 0;
}

static struct rdma_link_slot *slot_at(const struct rdma_link_ring *ring, __u64 position)
{
	return (struct rdma_link_slot *)(ring->memory +
					 (size_t)(position & (ring->slots - 1)) * ring->stride);
}

/* Packets that nobody will take; those that were to be lost are counted as that. */
static __u64 ring_left(const struct rdma_link_ring *ring)
{
	__u64 left = 0;

	for (__u64 at = atomic_load(&ring->head); at != atomic_load(&ring->tail); at++)
		left += !slot_at(ring, at)->lost;
	return left;
}

/* With the lock held, both closed: nobody takes what is left. */
static void rdma_link_settle(const struct rdma_link *link)
{
	for (int side = 0; side < 2; side++) {
		struct rdma_totals *totals = link->left[side].totals;

		if (!totals)
			continue;
		totals->lost[RDMA_LOSS_STOPPED] += ring_left(&link->rings[!side]);
		totals->lost[RDMA_LOSS_NO_PAIR] += link->left[!side].unknown;
	}
}

static void rdma_link_remove(const struct rdma_link *link)
{
	struct rdma_link **at = &links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
}

void rdma_link_close(struct rdma_link_end *end)
{
	struct rdma_link *link;

	if (!end)
		return;
	link = end->link;
	pthread_mutex_lock(&links_lock);
	link->ends[end->side] = NULL;
	link->left[end->side].totals = end->totals;
	link->left[end->side].unknown = end->unknown;
	if (end->totals)
		end->totals->lost[RDMA_LOSS_STOPPED] += ring_left(&end->loop);
	if (!link->ends[!end->side]) {
		rdma_link_settle(link);
		rdma_link_remove(link);
		rdma_link_destroy(link);
	}
	pthread_mutex_unlock(&links_lock);
	free(end->loop.memory);
	free(end);
}

struct doorbell *rdma_link_doorbell(struct rdma_link_end *end)
{
	return &end->link->bells[end->side];
}

__u32 rdma_link_wire_bytes(const struct rdma_packet *packet)
{
	__u32 bytes = WIRE_HEADERS + packet->bytes;

	switch (packet->kind) {
	case RDMA_WRITE:
		return bytes + (packet->flags & RDMA_FIRST ? WIRE_RETH : 0);
	case RDMA_READ_REQUEST:
		return bytes + WIRE_RETH;
	case RDMA_READ_RESPONSE:
	case RDMA_ACK:
	case RDMA_NAK:
	case RDMA_READ_RNR:
		return bytes + WIRE_AETH;
	default:
		return bytes;
	}
}

static __u32 ring_room(struct rdma_link_ring *ring)
{
	__u64 tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (tail - ring->head_seen >= ring->slots)
		ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
	return ring->slots - (__u32)(tail - ring->head_seen);
}

struct rdma_packet *rdma_link_room(struct rdma_link_end *end, bool loopback, __u64 now_ns)
{
	struct rdma_link_ring *ring = loopback ? &end->loop : end->out;

	if (!loopback && end->free_ns > now_ns + end->ahead_ns)
		return NULL;
	if (!ring_room(ring)) {
		atomic_store_explicit(&ring->full, true, memory_order_relaxed);
		return NULL;
	}
	return &slot_at(ring, atomic_load_explicit(&ring->tail, memory_order_relaxed))->packet;
}

static void ring_push(struct rdma_link_ring *ring)
{
	__u64 tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

/* When it has left, and the wire is free again. */
static __u64 serialize(struct rdma_link_end *end, __u32 bytes, __u64 now_ns)
{
	if (end->free_ns < now_ns)
		end->free_ns = now_ns;
	if (end->rate)
		end->free_ns += (__u64)bytes * 8 * NSEC_PER_SEC / end->rate;
	return end->free_ns;
}

static bool is_lost(struct rdma_link_end *end, const struct rdma_packet *packet)
{
	bool nack = packet->kind == RDMA_NAK || packet->kind == RDMA_READ_RNR;

	if (nack && inject_fire(end->injections, INJECT_NACK_LOST, end->device)) {
		end->nacks_lost++;
		return true;
	}
	if (inject_fire(end->injections, INJECT_PACKET_LOSS, end->device)) {
		end->lost++;
		return true;
	}
	return false;
}

static void duplicate(struct rdma_link_end *end, const struct rdma_packet *packet, __u32 bytes,
		      __u64 now_ns)
{
	struct rdma_link_slot *copy;

	/* One that there is no room for is none. */
	if (!ring_room(end->out) ||
	    !inject_fire(end->injections, INJECT_PACKET_DUPLICATE, end->device))
		return;
	copy = slot_at(end->out, atomic_load_explicit(&end->out->tail, memory_order_relaxed));
	memcpy(&copy->packet, packet, sizeof(*packet) + packet->bytes);
	copy->packet.due_ns = serialize(end, bytes, now_ns) + end->delay_ns;
	copy->lost = false;
	end->duplicated++;
	ring_push(end->out);
}

void rdma_link_send(struct rdma_link_end *end, bool loopback, __u64 now_ns)
{
	struct rdma_link_ring *ring = loopback ? &end->loop : end->out;
	struct rdma_link_slot *slot =
		slot_at(ring, atomic_load_explicit(&ring->tail, memory_order_relaxed));
	__u32 bytes = rdma_link_wire_bytes(&slot->packet);

	end->packets++;
	end->wire_bytes += bytes;
	if (loopback) {
		slot->packet.due_ns = now_ns;
		slot->lost = false;
		ring_push(ring);
		return;
	}
	slot->packet.due_ns = serialize(end, bytes, now_ns) + end->delay_ns;
	slot->lost = is_lost(end, &slot->packet);
	ring_push(ring);
	end->sent = true;
	/* The slot stays as it is until it is filled again, which is here. */
	if (!slot->lost)
		duplicate(end, &slot->packet, bytes, now_ns);
}

static struct rdma_link_slot *ring_head(struct rdma_link_ring *ring)
{
	__u64 head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head == ring->tail_seen)
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
	return head == ring->tail_seen ? NULL : slot_at(ring, head);
}

const struct rdma_packet *rdma_link_arrived(struct rdma_link_end *end, bool loopback, __u64 now_ns,
					    bool *lost)
{
	const struct rdma_link_slot *slot = ring_head(loopback ? &end->loop : end->in);

	if (!slot || slot->packet.due_ns > now_ns)
		return NULL;
	*lost = slot->lost;
	return &slot->packet;
}

void rdma_link_take(struct rdma_link_end *end, bool loopback, bool taken)
{
	struct rdma_link_ring *ring = loopback ? &end->loop : end->in;
	__u64 head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (slot_at(ring, head)->lost)
		; /* the other end has counted it */
	else if (taken)
		end->arrived++;
	else if (loopback)
		end->unknown_loop++;
	else
		end->unknown++;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	/* Missed at worst for as long as an engine naps. */
	if (atomic_load_explicit(&ring->full, memory_order_relaxed)) {
		atomic_store_explicit(&ring->full, false, memory_order_relaxed);
		end->sent = true;
	}
}

void rdma_link_flush(struct rdma_link_end *end)
{
	if (!end->sent)
		return;
	end->sent = false;
	doorbell_ring(end->other);
}

static __u64 earlier_ns(__u64 a, __u64 b)
{
	return !a || (b && b < a) ? b : a;
}

__u64 rdma_link_next_ns(const struct rdma_link_end *end, __u64 now_ns)
{
	const struct rdma_link_slot *slot = ring_head(end->in);
	__u64 next = slot ? slot->packet.due_ns : 0;

	if (end->free_ns > now_ns + end->ahead_ns)
		next = earlier_ns(next, end->free_ns - end->ahead_ns);
	return next;
}

void rdma_link_totals(const struct rdma_link_end *end, struct rdma_totals *totals)
{
	totals->packets += end->packets;
	totals->wire_bytes += end->wire_bytes;
	totals->duplicated += end->duplicated;
	totals->lost[RDMA_LOSS_INJECTED] += end->lost;
	totals->lost[RDMA_LOSS_NACK] += end->nacks_lost;
	totals->lost[RDMA_LOSS_NO_PAIR] += end->unknown_loop;
	totals->arrived += end->arrived;
}
