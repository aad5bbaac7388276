// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/nic.h"

#include <errno.h>

#include "lib/analyze/frames.h"
#include "lib/analyze/nic_private.h"
#include "lib/analyze/session.h"
#include "lib/base/fail.h"

static struct nic_ring *ring_make(struct nic *nic, const struct event *e, enum ring_side side)
{
	const struct ring_key key = {e->device, e->queue, (__u16)side};
	struct nic_device *device = slots_make(&nic->devices, e->device);
	struct nic_ring *ring;

	HASH_FIND(hh, nic->rings, &key, sizeof(key), ring);
	if (ring)
		return ring;
	ring = device && HASH_COUNT(nic->rings) < NIC_RINGS_MAX ? memory_calloc(1, sizeof(*ring))
								: NULL;
	if (ring) {
		ring->key = key;
		ring->totals.least = UINT64_MAX;
		HASH_ADD(hh, nic->rings, key, sizeof(ring->key), ring);
		if (ring->hh.tbl) {
			if (!device->rings++)
				device->totals.least = UINT64_MAX;
			return ring;
		}
		memory_free(ring);
	}
	nic->dropped++;
	return NULL;
}

/* Where something of a ring is counted: there and for its device. */
struct ring_accounts {
	struct nic_totals *both[2];
};

static struct ring_accounts accounts_of(struct nic *nic, struct nic_ring *ring)
{
	struct nic_device *device = slots_find(&nic->devices, ring->key.device);

	return (struct ring_accounts){{&ring->totals, &device->totals}};
}

static const struct period *asked_for(const struct nic *nic)
{
	return session_period(nic->session);
}

static void nic_take_lost(struct nic *nic, const struct event *e)
{
	struct nic_ring *ring = ring_make(nic, e, RING_RX);
	__u64 frames = frames_count(e);
	struct ring_accounts accounts;

	if (!ring)
		return;
	if (frames_since(e) < ring->last.time_ns)
		ring->told += frames;
	else
		ring->told_since += frames;
	if (!period_has(asked_for(nic), frames_since(e)))
		return;
	accounts = accounts_of(nic, ring);
	for (size_t i = 0; i < 2; i++) {
		accounts.both[i]->lost[frames_reason(e)] += frames;
		accounts.both[i]->all_lost += frames;
		accounts.both[i]->lost_bytes += frames_bytes(e);
	}
}

static void nic_take_held(struct nic *nic, const struct event *e)
{
	struct nic_ring *ring = ring_make(nic, e, RING_RX);
	struct ring_accounts accounts;

	if (!ring || !period_has(asked_for(nic), frames_since(e)))
		return;
	accounts = accounts_of(nic, ring);
	for (size_t i = 0; i < 2; i++) {
		struct nic_totals *totals = accounts.both[i];

		totals->held += frames_count(e);
		if (!totals->hold) {
			totals->hold = memory_calloc(1, sizeof(*totals->hold));
			if (totals->hold)
				histogram_init(totals->hold);
		}
		if (totals->hold)
			histogram_add(totals->hold, e->time_ns - frames_since(e));
	}
}

static void nic_take_head(struct nic *nic, const struct event *e)
{
	struct nic_ring *ring = ring_make(nic, e, RING_RX);
	struct ring_accounts accounts;

	if (!ring || !period_has(asked_for(nic), e->time_ns))
		return;
	accounts = accounts_of(nic, ring);
	for (size_t i = 0; i < 2; i++)
		accounts.both[i]->heads++;
}

static void judge(const struct nic *nic, struct nic_totals *totals, const struct nic_window *window)
{
	double rate = throughput_of(window);

	if (period_touches(asked_for(nic), window->from_ns, window->to_ns) &&
	    rate < (double)totals->least)
		totals->least = (__u64)rate;
}

/* Adds what came to what was too short to be judged; true if that is a window now, which is to be cleared. */
static bool is_long_enough(struct nic_window *window, const struct nic_window *more)
{
	if (!window->to_ns)
		window->from_ns = more->from_ns;
	window->to_ns = more->to_ns;
	window->frames += more->frames;
	window->bytes += more->bytes;
	return window->to_ns - window->from_ns >= NIC_WINDOW_LEAST_NS;
}

/* Ends the round of a device that all of its rings have told in. */
static void round_end(struct nic *nic, __u32 handle, struct nic_device *device)
{
	struct nic_window judged[THROUGHPUT_JUDGED];
	size_t count;

	device->sum.from_ns = device->before_ns;
	device->sum.to_ns = device->began_ns;
	if (!device->before_ns || device->before_ns >= device->began_ns)
		return;
	for (size_t i = 0; i < nic->sink_count; i++)
		nic->sinks[i].round(nic->sinks[i].self, handle, &device->sum);
	if (!is_long_enough(&device->window, &device->sum))
		return;
	count = throughput_add(&device->throughput, &device->window, judged);
	device->window = (struct nic_window){0};
	for (size_t k = 0; k < count; k++) {
		judge(nic, &device->totals, &judged[k]);
		for (size_t i = 0; i < nic->sink_count; i++)
			nic->sinks[i].judged(nic->sinks[i].self, handle, &judged[k]);
	}
}

static void add_to_round(struct nic *nic, struct nic_ring *ring, const struct nic_window *more)
{
	struct nic_device *device = slots_find(&nic->devices, ring->key.device);

	if (!device->round || ring->round == device->round) {
		round_end(nic, ring->key.device, device);
		device->sum = (struct nic_window){0};
		device->before_ns = device->began_ns;
		device->began_ns = more->to_ns;
		device->round++;
	}
	ring->round = device->round;
	device->sum.frames += more->frames;
	device->sum.bytes += more->bytes;
}

static void add_to_throughput(struct nic *nic, struct nic_ring *ring, const struct nic_window *more)
{
	struct nic_window judged[THROUGHPUT_JUDGED];
	size_t count;

	if (!is_long_enough(&ring->window, more))
		return;
	count = throughput_add(&ring->throughput, &ring->window, judged);
	ring->window = (struct nic_window){0};
	for (size_t i = 0; i < count; i++)
		judge(nic, &ring->totals, &judged[i]);
}

/*
 * What the ring told last, before its first telling: nothing so far, if its machine began while it was
 * recorded. False: it may have, so that the first telling is where counting begins.
 */
static bool told_before(const struct nic *nic, const struct nic_ring *ring,
			struct ring_told *before)
{
	const struct device_info *info = session_device(nic->session, ring->key.device);
	const struct host_info *host = session_host(nic->session);

	*before = ring->last;
	if (ring->last.time_ns)
		return true;
	if (!info || !host || !host->start_ns || info->pid_start_ns <= host->start_ns)
		return false;
	before->time_ns = info->first_ns;
	return true;
}

/* By how much a counter grew; one that went back began anew. */
static __u64 grown(__u64 from, __u64 to)
{
	return to >= from ? to - from : 0;
}

static void count_grown(struct nic *nic, struct nic_ring *ring, const struct event *e,
			const struct ring_told *before)
{
	const struct nic_window window = {
		.from_ns = before->time_ns < e->time_ns ? before->time_ns : e->time_ns,
		.to_ns = e->time_ns,
		.frames = grown(before->frames, e->value),
		.bytes = grown(before->bytes, e->length),
	};
	struct ring_accounts accounts = accounts_of(nic, ring);

	ring->counted += e->tid - before->lost;
	if (period_touches(asked_for(nic), window.from_ns, window.to_ns))
		for (size_t i = 0; i < 2; i++) {
			accounts.both[i]->frames += window.frames;
			accounts.both[i]->bytes += window.bytes;
			accounts.both[i]->counted += e->tid - before->lost;
			accounts.both[i]->interrupts += e->group - before->interrupts;
		}
	if (period_touches(asked_for(nic), window.from_ns, window.to_ns))
		ring->totals.watched_ns += window.to_ns - window.from_ns;
	add_to_throughput(nic, ring, &window);
	add_to_round(nic, ring, &window);
}

static void nic_take_state(struct nic *nic, const struct event *e)
{
	struct nic_ring *ring = ring_make(nic, e, e->code == RING_TX ? RING_TX : RING_RX);
	struct ring_told before;

	if (!ring || e->time_ns <= ring->last.time_ns)
		return;
	if (told_before(nic, ring, &before)) {
		ring->told += ring->told_since;
		count_grown(nic, ring, e, &before);
	} else {
		const struct nic_window nothing = {.to_ns = e->time_ns};

		add_to_round(nic, ring, &nothing);
	}
	ring->told_since = 0;
	if (!period_is_after(asked_for(nic), e->time_ns)) {
		ring->totals.held_now = e->address >> 32;
		ring->totals.posted = (__u32)e->address;
	}
	ring->last = (struct ring_told){e->time_ns, e->value, e->length, e->tid, e->group};
}

static int nic_on_events(void *self, const struct event *events, size_t count)
{
	struct nic *nic = self;

	for (size_t i = 0; i < count; i++)
		switch (events[i].kind) {
		case EVENT_FRAMES_LOST:
			nic_take_lost(nic, &events[i]);
			break;
		case EVENT_FRAMES_HELD:
			nic_take_held(nic, &events[i]);
			break;
		case EVENT_HEAD_ADVANCED:
			nic_take_head(nic, &events[i]);
			break;
		case EVENT_RING_STATE:
			nic_take_state(nic, &events[i]);
			break;
		default:
			break;
		}
	return 0;
}

static int nic_on_end(void *self, __u64 end_ns)
{
	struct nic *nic = self;

	(void)end_ns;
	for (__u32 h = 0; h < nic->devices.end; h = slots_next(&nic->devices, h)) {
		struct nic_device *device = slots_find(&nic->devices, h);

		if (device && device->round)
			round_end(nic, h, device);
	}
	return 0;
}

int nic_create(struct nic **nic, const struct session *session)
{
	*nic = memory_calloc(1, sizeof(**nic));
	if (!*nic)
		return failed(-ENOMEM, "no memory for the rings of NICs");
	(*nic)->session = session;
	slots_init(&(*nic)->devices, sizeof(struct nic_device));
	return 0;
}

struct stream nic_stream(struct nic *nic)
{
	static const struct stream_ops ops = {.events = nic_on_events, .end = nic_on_end};

	return (struct stream){&ops, nic};
}

void nic_destroy(struct nic *nic)
{
	struct nic_ring *ring, *next;

	if (!nic)
		return;
	HASH_ITER(hh, nic->rings, ring, next) {
		HASH_DEL(nic->rings, ring);
		memory_free(ring->totals.hold);
		memory_free(ring);
	}
	for (__u32 h = 0; h < nic->devices.end; h = slots_next(&nic->devices, h)) {
		struct nic_device *device = slots_find(&nic->devices, h);

		if (device)
			memory_free(device->totals.hold);
	}
	slots_free(&nic->devices);
	memory_free(nic);
}

int nic_subscribe(struct nic *nic, struct nic_sink sink)
{
	if (nic->sink_count == NIC_SUBSCRIBERS)
		return failed(-ENOSPC, "more than %d analyzers want rings", NIC_SUBSCRIBERS);
	nic->sinks[nic->sink_count++] = sink;
	return 0;
}

const struct nic_totals *nic_of_device(const struct nic *nic, __u32 handle)
{
	const struct nic_device *device = slots_find(&nic->devices, handle);

	return device && device->rings ? &device->totals : NULL;
}

__u64 nic_untold(const struct nic *nic, __u32 device)
{
	__u64 sum = 0;

	for (const struct nic_ring *ring = nic->rings; ring; ring = ring->hh.next)
		if (ring->key.device == device)
			sum += grown(ring->told, ring->counted);
	return sum;
}

__u64 nic_frames_lost(const struct nic *nic)
{
	__u64 sum = 0;

	for (__u32 h = 0; h < nic->devices.end; h = slots_next(&nic->devices, h))
		if (nic_of_device(nic, h))
			sum += nic_of_device(nic, h)->all_lost;
	return sum;
}

__u64 nic_rings(const struct nic *nic)
{
	return HASH_COUNT(nic->rings);
}

__u64 nic_dropped(const struct nic *nic)
{
	return nic->dropped;
}
