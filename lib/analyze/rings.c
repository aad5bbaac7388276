// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/rings.h"

#include <errno.h>
#include <stdint.h>

#include "lib/analyze/frames.h"
#include "lib/analyze/rings_private.h"
#include "lib/analyze/session.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static struct ring_account *ring_make(struct rings *r, const struct event *e, enum ring_side side)
{
	const struct ring_key key = {e->device, e->queue, (__u16)side};
	struct rings_device *device = slots_make(&r->devices, e->device);
	struct ring_account *ring;

	HASH_FIND(hh, r->accounts, &key, sizeof(key), ring);
	if (ring)
		return ring;
	ring = device && HASH_COUNT(r->accounts) < RINGS_MAX ? memory_calloc(1, sizeof(*ring))
							     : NULL;
	if (ring) {
		ring->key = key;
		ring->totals.least = UINT64_MAX;
		HASH_ADD(hh, r->accounts, key, sizeof(ring->key), ring);
		if (ring->hh.tbl) {
			if (!device->rings++)
				device->totals.least = UINT64_MAX;
			return ring;
		}
		memory_free(ring);
	}
	r->dropped++;
	return NULL;
}

/* Where something of a ring is counted: there and for its device. */
struct ring_accounts {
	struct ring_totals *both[2];
};

static struct ring_accounts sides_of(struct rings *r, struct ring_account *ring)
{
	struct rings_device *device = slots_find(&r->devices, ring->key.device);

	return (struct ring_accounts){{&ring->totals, &device->totals}};
}

static const struct period *asked_for(const struct rings *r)
{
	return session_period(r->session);
}

static void rings_take_lost(struct rings *r, const struct event *e)
{
	struct ring_account *ring = ring_make(r, e, RING_RX);
	__u64 frames = frames_count(e);
	struct ring_accounts accounts;

	if (!ring)
		return;
	if (frames_since(e) < ring->last.time_ns)
		ring->told += frames;
	else
		ring->told_since += frames;
	if (!period_has(asked_for(r), frames_since(e)))
		return;
	accounts = sides_of(r, ring);
	for (size_t i = 0; i < 2; i++) {
		accounts.both[i]->lost[frames_reason(e)] += frames;
		accounts.both[i]->all_lost += frames;
		accounts.both[i]->lost_bytes += frames_bytes(e);
	}
}

static void rings_take_held(struct rings *r, const struct event *e)
{
	struct ring_account *ring = ring_make(r, e, RING_RX);
	struct ring_accounts accounts;

	if (!ring || !period_has(asked_for(r), frames_since(e)))
		return;
	accounts = sides_of(r, ring);
	for (size_t i = 0; i < 2; i++) {
		struct ring_totals *totals = accounts.both[i];

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

static void rings_take_head(struct rings *r, const struct event *e)
{
	struct ring_account *ring = ring_make(r, e, RING_RX);
	struct ring_accounts accounts;

	if (!ring || !period_has(asked_for(r), e->time_ns))
		return;
	accounts = sides_of(r, ring);
	for (size_t i = 0; i < 2; i++)
		accounts.both[i]->heads++;
}

static void judge_window(const struct rings *r, struct ring_totals *totals,
			 const struct ring_window *window)
{
	double rate = throughput_of(window);

	if (period_touches(asked_for(r), window->from_ns, window->to_ns) &&
	    rate < (double)totals->least)
		totals->least = (__u64)rate;
}

/* Adds what came to what was too short to be judged; true if that is a window now, which is to be cleared. */
static bool is_long_enough(struct ring_window *window, const struct ring_window *more)
{
	if (!window->to_ns)
		window->from_ns = more->from_ns;
	window->to_ns = more->to_ns;
	window->frames += more->frames;
	window->bytes += more->bytes;
	return window->to_ns - window->from_ns >= RING_WINDOW_LEAST_NS;
}

/* Ends the round of a device that all of its rings have told in. */
static void round_end(struct rings *r, __u32 handle, struct rings_device *device)
{
	struct ring_window judged[THROUGHPUT_JUDGED];
	size_t count;

	device->sum.from_ns = device->before_ns;
	device->sum.to_ns = device->began_ns;
	if (!device->before_ns || device->before_ns >= device->began_ns)
		return;
	for (size_t i = 0; i < r->sink_count; i++)
		r->sinks[i].round(r->sinks[i].self, handle, &device->sum);
	if (!is_long_enough(&device->window, &device->sum))
		return;
	count = throughput_add(&device->throughput, &device->window, judged);
	device->window = (struct ring_window){0};
	for (size_t k = 0; k < count; k++) {
		judge_window(r, &device->totals, &judged[k]);
		for (size_t i = 0; i < r->sink_count; i++)
			r->sinks[i].judged(r->sinks[i].self, handle, &judged[k]);
	}
}

static void add_to_round(struct rings *r, struct ring_account *ring, const struct ring_window *more)
{
	struct rings_device *device = slots_find(&r->devices, ring->key.device);

	if (!device->round || device->over || ring->round == device->round) {
		if (!device->over)
			round_end(r, ring->key.device, device);
		device->over = false;
		device->sum = (struct ring_window){0};
		device->before_ns = device->began_ns;
		device->began_ns = more->to_ns;
		device->round++;
	}
	ring->round = device->round;
	device->sum.frames += more->frames;
	device->sum.bytes += more->bytes;
}

static void add_to_throughput(struct rings *r, struct ring_account *ring,
			      const struct ring_window *more)
{
	struct ring_window judged[THROUGHPUT_JUDGED];
	size_t count;

	if (!is_long_enough(&ring->window, more))
		return;
	count = throughput_add(&ring->throughput, &ring->window, judged);
	ring->window = (struct ring_window){0};
	for (size_t i = 0; i < count; i++)
		judge_window(r, &ring->totals, &judged[i]);
}

/*
 * What the ring told last, before its first telling: nothing so far, if its machine began while it was
 * recorded. False: it may have, so that the first telling is where counting begins.
 */
static bool told_before(const struct rings *r, const struct ring_account *ring,
			struct ring_told *before)
{
	const struct device_info *info = session_device(r->session, ring->key.device);

	*before = ring->last;
	if (ring->last.time_ns)
		return true;
	if (!info || !session_began_within(r->session, info))
		return false;
	before->time_ns = info->first_ns;
	return true;
}

/* By how much a counter grew; one that went back began anew. */
static __u64 grown(__u64 from, __u64 to)
{
	return to >= from ? to - from : 0;
}

/* Likewise of one of 32 bits, which may pass its end. */
static __u32 grown_short(__u32 from, __u32 to)
{
	__u32 by = to - from;

	return by <= INT32_MAX ? by : 0;
}

static void count_grown(struct rings *r, struct ring_account *ring, const struct event *e,
			const struct ring_told *before)
{
	const struct ring_window window = {
		.from_ns = before->time_ns < e->time_ns ? before->time_ns : e->time_ns,
		.to_ns = e->time_ns,
		.frames = grown(before->frames, e->value),
		.bytes = grown(before->bytes, e->length),
	};
	const __u32 lost = grown_short(before->lost, e->tid);
	struct ring_accounts accounts = sides_of(r, ring);

	ring->counted += lost;
	if (period_touches(asked_for(r), window.from_ns, window.to_ns))
		for (size_t i = 0; i < 2; i++) {
			accounts.both[i]->frames += window.frames;
			accounts.both[i]->bytes += window.bytes;
			accounts.both[i]->counted += lost;
			accounts.both[i]->interrupts += grown_short(before->interrupts, e->group);
		}
	if (period_touches(asked_for(r), window.from_ns, window.to_ns))
		ring->totals.watched_ns += window.to_ns - window.from_ns;
	add_to_throughput(r, ring, &window);
	/* What a guest sends goes on while it gets nothing: of a device that is judged which it gets. */
	if (ring->key.side == RING_RX)
		add_to_round(r, ring, &window);
}

static void rings_take_state(struct rings *r, const struct event *e)
{
	struct ring_account *ring = ring_make(r, e, e->code == RING_TX ? RING_TX : RING_RX);
	struct ring_told before;

	if (!ring || e->time_ns <= ring->last.time_ns)
		return;
	if (told_before(r, ring, &before)) {
		ring->told += ring->told_since;
		count_grown(r, ring, e, &before);
	} else {
		const struct ring_window nothing = {.to_ns = e->time_ns};

		add_to_round(r, ring, &nothing);
	}
	ring->told_since = 0;
	if (!period_is_after(asked_for(r), e->time_ns)) {
		ring->totals.held_now = e->address >> 32;
		ring->totals.posted = (__u32)e->address;
	}
	ring->last = (struct ring_told){e->time_ns, e->value, e->length, e->tid, e->group};
}

static int rings_on_events(void *self, const struct event *events, size_t count)
{
	struct rings *r = self;

	for (size_t i = 0; i < count; i++)
		switch (events[i].kind) {
		case EVENT_FRAMES_LOST:
			rings_take_lost(r, &events[i]);
			break;
		case EVENT_FRAMES_HELD:
			rings_take_held(r, &events[i]);
			break;
		case EVENT_HEAD_ADVANCED:
			rings_take_head(r, &events[i]);
			break;
		case EVENT_RING_STATE:
			rings_take_state(r, &events[i]);
			break;
		default:
			break;
		}
	return 0;
}

/* Ends rounds that began so long before: their machine has ended, or tells no more. */
static void end_rounds(struct rings *r, __u64 now_ns, __u64 age_ns)
{
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		struct rings_device *device = slots_find(&r->devices, h);

		if (!device || !device->round || device->over || device->began_ns + age_ns > now_ns)
			continue;
		round_end(r, h, device);
		device->over = true;
	}
}

static int rings_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	end_rounds(self, frame->window * AGGREGATE_WINDOW_NS, NSEC_PER_SEC);
	return 0;
}

static int rings_on_tick(void *self, __u64 now_ns)
{
	end_rounds(self, now_ns, NSEC_PER_SEC);
	return 0;
}

static int rings_on_end(void *self, __u64 end_ns)
{
	(void)end_ns;
	end_rounds(self, UINT64_MAX, 0);
	return 0;
}

int rings_create(struct rings **rings, const struct session *session)
{
	*rings = memory_calloc(1, sizeof(**rings));
	if (!*rings)
		return failed(-ENOMEM, "no memory for the rings of NICs");
	(*rings)->session = session;
	slots_init(&(*rings)->devices, sizeof(struct rings_device));
	return 0;
}

__u64 rings_frames_of_side(const struct rings *r, __u32 device, unsigned int side)
{
	__u64 frames = 0;

	for (const struct ring_account *ring = r->accounts; ring; ring = ring->hh.next)
		if (ring->key.device == device && ring->key.side == side)
			frames += ring->totals.frames;
	return frames;
}

struct stream rings_stream(struct rings *r)
{
	static const struct stream_ops ops = {.events = rings_on_events,
					      .aggregate = rings_on_aggregate,
					      .tick = rings_on_tick,
					      .end = rings_on_end};

	return (struct stream){&ops, r};
}

void rings_destroy(struct rings *r)
{
	struct ring_account *ring, *next;

	if (!r)
		return;
	HASH_ITER(hh, r->accounts, ring, next) {
		HASH_DEL(r->accounts, ring);
		memory_free(ring->totals.hold);
		memory_free(ring);
	}
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		struct rings_device *device = slots_find(&r->devices, h);

		if (device)
			memory_free(device->totals.hold);
	}
	slots_free(&r->devices);
	memory_free(r);
}

int rings_subscribe(struct rings *r, struct ring_sink sink)
{
	if (r->sink_count == RING_SUBSCRIBERS)
		return failed(-ENOSPC, "more than %d analyzers want rings", RING_SUBSCRIBERS);
	r->sinks[r->sink_count++] = sink;
	return 0;
}

const struct ring_totals *rings_of_device(const struct rings *r, __u32 handle)
{
	const struct rings_device *device = slots_find(&r->devices, handle);

	return device && device->rings ? &device->totals : NULL;
}

__u64 rings_untold(const struct rings *r, __u32 device)
{
	__u64 sum = 0;

	for (const struct ring_account *ring = r->accounts; ring; ring = ring->hh.next)
		if (ring->key.device == device)
			sum += grown(ring->told, ring->counted);
	return sum;
}

__u64 rings_frames_lost(const struct rings *r)
{
	__u64 sum = 0;

	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h))
		if (rings_of_device(r, h))
			sum += rings_of_device(r, h)->all_lost;
	return sum;
}

__u64 rings_count(const struct rings *r)
{
	return HASH_COUNT(r->accounts);
}

__u64 rings_dropped(const struct rings *r)
{
	return r->dropped;
}
