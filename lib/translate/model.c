// SPDX-License-Identifier: GPL-2.0
/* The device's side of the model, and its time. */
#include <errno.h>

#include "lib/base/fail.h"
#include "lib/translate/model_iommu.h"
#include "lib/translate/model_private.h"

#define BATCH 256

static bool buffer_hit(struct model *m, struct model_device *device, const struct access *a)
{
	bool *used = device->prefetcher.used;
	__u32 slot = level_look_up_slot(&device->buffer, a->key, CACHE_NEVER, &(struct miss){0});

	if (slot == CACHE_NO_SLOT)
		return false;
	m->stats.prefetch_useful += !used[slot];
	used[slot] = true;
	return true;
}

static bool is_in(const struct level *level, __u64 key)
{
	return level_find(level, level_set_of(level, key), key) != CACHE_NO_SLOT;
}

/* Beside the DevTLB, which `hit` or not. Only who needs the buffer's answer counts as asking for it. */
static bool buffer_lookup(struct model *m, struct model_device *device, const struct access *a,
			  __u64 time_ps, bool hit)
{
	bool on_miss = m->config.prefetch_trigger == TRIGGER_MISS;
	bool known = hit ? on_miss && is_in(&device->buffer, a->key) : buffer_hit(m, device, a);

	if (on_miss && !known)
		model_prefetch_ahead(m, device, a->source, time_ps);
	return hit || known;
}

/* DevTLB and prefetch buffer side by side, at `time_ps`; what misses leaves for the IOMMU. */
static INLINE void device_lookup(struct model *m, struct access *a, __u64 time_ps)
{
	struct model_device *device = &m->devices[a->device];
	bool hit;

	if (m->config.walk == WALK_NONE) {
		model_schedule(m, MODEL_STEP_HIT, time_ps, a);
		return;
	}
	hit = level_look_up(&device->devtlb, a->key, a->next_use, &a->devtlb);
	if (device->buffer.cache)
		hit = buffer_lookup(m, device, a, time_ps, hit);
	if (hit)
		model_schedule(m, MODEL_STEP_HIT, time_ps + m->config.devtlb_hit_ps, a);
	else
		model_schedule(m, MODEL_STEP_IOMMU, time_ps + m->config.pcie_ps, a);
}

static void fill_buffer(struct model *m, struct model_device *device, const struct access *a)
{
	bool *used = device->prefetcher.used;
	struct miss miss = level_any_miss(&device->buffer, a->key);
	__u64 evicted;
	__u32 slot = level_fill_slot(&device->buffer, &miss, a->key, CACHE_NEVER, &evicted);

	device->prefetcher.under_way--;
	if (is_in(&device->devtlb, a->key))
		m->stats.prefetch_late++;
	if (slot == CACHE_NO_SLOT) {
		m->stats.prefetch_duplicates++;
		return;
	}
	m->stats.prefetch_unused += evicted && !used[slot];
	used[slot] = false;
}

/* The PTB's area grows by what was in flight since it last changed. */
static inline void in_flight_changes(struct model *m, struct model_device *device, __s32 by)
{
	__u64 area = device->in_flight * (m->now_ps - device->area_since_ps);

	/* No other sum of times is larger. */
	if (__builtin_add_overflow(m->stats.in_flight_ps, area, &m->stats.in_flight_ps))
		m->overflowed = true;
	device->area_since_ps = m->now_ps;
	device->in_flight += (__u32)by;
	if (device->in_flight > m->stats.in_flight_max)
		m->stats.in_flight_max = device->in_flight;
}

static inline void access_complete(struct model *m, struct access *a)
{
	__u64 latency = m->now_ps - a->issued_ps;

	in_flight_changes(m, &m->devices[a->device], -1);
	m->stats.translations++;
	m->stats.latency_sum_ps += latency;
	if (m->stats.latency_max_ps < latency)
		m->stats.latency_max_ps = latency;
	if (m->observer)
		m->observer->completed(m->observer->self, m->now_ps, a->source, latency);
	access_free(m, a);
}

static void access_done(struct model *m, struct access *a)
{
	struct model_device *device = &m->devices[a->device];

	if (a->prefetch) {
		fill_buffer(m, device, a);
		access_free(m, a);
		return;
	}
	level_fill(&device->devtlb, &a->devtlb, a->key, a->next_use);
	access_complete(m, a);
}

static void context_arrives(struct model *m, struct access *a)
{
	__u64 key = page_key(0, 12, a->source);
	struct miss miss = level_any_miss(&m->context, key);

	level_fill(&m->context, &miss, key, CACHE_NEVER);
	device_lookup(m, a, m->now_ps);
}

static INLINE void step_happen(struct model *m, enum model_step_kind kind)
{
	switch (kind) {
	case MODEL_STEP_HIT:
		access_complete(m, model_take(m, MODEL_STEP_HIT));
		break;
	case MODEL_STEP_DONE:
		access_done(m, model_take(m, MODEL_STEP_DONE));
		break;
	case MODEL_STEP_WALKED:
		iommu_walked(m, model_take(m, MODEL_STEP_WALKED));
		break;
	case MODEL_STEP_CONTEXT:
		context_arrives(m, model_take(m, MODEL_STEP_CONTEXT));
		break;
	default: /* MODEL_STEP_IOMMU, MODEL_STEP_HISTORY */
		iommu_lookup(m, model_take(m, kind));
		break;
	}
}

static inline __u64 least_of(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* The next step's time, its kind in the low bits. */
static inline __u64 first_due(const struct model *m)
{
	const __u64 *due = m->due;

	/* A tree, not a row: every step waits for this. */
	_Static_assert(MODEL_QUEUES == 6, "one for each kind");
	return least_of(least_of(least_of(due[0], due[1]), least_of(due[2], due[3])),
			least_of(due[4], due[5]));
}

/*
 * All that happens up to `until_ps`, or until the device has fewer than `room` translations in
 * flight.
 */
static void model_pass(struct model *m, __u64 until_ps, const struct model_device *device,
		       __u32 room)
{
	while (device->in_flight >= room) {
		__u64 first = first_due(m);
		enum model_step_kind kind = first & DUE_KIND;

		if (first >> DUE_KIND_BITS > until_ps)
			return;
		m->now_ps = first >> DUE_KIND_BITS;
		/* What a packet or the prefetcher began at once often happens at once. */
		do
			step_happen(m, kind);
		while (m->due[kind] == first && device->in_flight >= room && !m->instant);
	}
}

/* Arrivals of a device before the first at `time_ps` or later. */
static __u64 slots_until(const struct model *m, const struct model_device *device, __u64 time_ps)
{
	return (time_ps - device->slot_ps + m->slot_ps - 1) / m->slot_ps;
}

/* Waits for the slot at which the packet finds room; returns the arrivals that found none. */
static __u64 find_room(struct model *m, struct model_device *device)
{
	__u64 dropped = 0;

	model_pass(m, device->slot_ps, device, 0);
	while (device->in_flight >= m->config.ptb_entries) {
		__u64 missed;

		model_pass(m, TIME_END_PS - 1, device, m->config.ptb_entries);
		missed = slots_until(m, device, m->now_ps);
		dropped += missed;
		device->slot_ps += missed * m->slot_ps;
		model_pass(m, device->slot_ps, device, 0);
	}
	m->now_ps = device->slot_ps;
	return dropped;
}

/*
 * The host takes a page back: the caches that may know it forget it, of the walk caches those that
 * hold pages of its size. What they know of the tables above it stays.
 */
static void model_invalidate(struct model *m, struct model_device *device,
			     const struct model_packet *packet)
{
	const struct model_request *r = &packet->requests[random_below(&m->random, packet->count)];
	__u64 key = page_key(r->iova, r->page_shift, packet->domain);

	level_forget(&device->devtlb, key);
	level_forget(&device->buffer, key);
	level_forget(&m->iotlb, key);
	if (r->page_shift >= 21)
		level_forget(&m->level2, key_2m(key));
	if (r->page_shift >= 30)
		level_forget(&m->level3, key_1g(key));
	m->stats.invalidations++;
}

/* All translations of a packet ask for the same entry: most find it where the last one did. */
static bool context_hit(struct model *m, __u16 source)
{
	struct level *context = &m->context;
	__u64 key = page_key(0, 12, source);

	if (context->cache->keys[m->context_slot] == key) {
		context->sets[0].hits++;
		level_touch(context, 0, m->context_slot, CACHE_NEVER);
		return true;
	}
	__u32 slot = level_look_up_slot(context, key, CACHE_NEVER, &(struct miss){0});

	if (slot == CACHE_NO_SLOT)
		return false;
	m->context_slot = slot;
	return true;
}

static int model_translate(struct model *m, struct model_device *device,
			   const struct model_packet *packet, const struct model_request *request)
{
	struct access *a;

	if (m->tables) {
		int error =
			tables_map(m->tables, packet->domain, request->iova, request->page_shift);

		if (error)
			return error;
	}
	a = access_new(m);
	a->key = page_key(request->iova, request->page_shift, packet->domain);
	a->next_use = request->next_use;
	a->issued_ps = m->now_ps;
	a->source = packet->source;
	a->device = device->number;
	a->prefetch = a->faulted = false;
	if (device->buffer.cache)
		model_prefetch(m, device, a);
	if (context_hit(m, a->source))
		device_lookup(m, a, m->now_ps + m->config.context_hit_ps);
	else
		model_schedule(m, MODEL_STEP_CONTEXT,
			       m->now_ps + m->config.context_hit_ps +
				       2 * (m->config.pcie_ps + m->config.dram_ps),
			       a);
	return 0;
}

static int model_too_long(const struct model *m)
{
	return failed(-EOVERFLOW,
		      "%s after %llu packets: accepted: fewer packets, shorter latencies or a "
		      "faster link",
		      m->overflowed ? "sums of virtual time beyond 64 bits"
				    : "13 days of virtual time",
		      m->stats.packets);
}

static int packet_enter(struct model *m, struct model_device *device,
			const struct model_packet *packet, __u64 drops)
{
	int error = 0;

	if (m->now_ps > TIME_MAX_PS || m->overflowed)
		return model_too_long(m);
	if (__builtin_add_overflow(m->stats.drops, drops, &m->stats.drops))
		m->overflowed = true;
	if (m->observer)
		m->observer->entered(m->observer->self, m->now_ps, packet, drops);
	in_flight_changes(m, device, (__s32)packet->count);
	for (__u32 i = 0; !error && i < packet->count; i++)
		error = model_translate(m, device, packet, &packet->requests[i]);
	if (m->config.invalidate_packets && !--device->until_invalidation) {
		device->until_invalidation = m->config.invalidate_packets;
		model_invalidate(m, device, packet);
	}
	m->stats.packets++;
	device->slot_ps += m->slot_ps;
	return error;
}

void model_observe(struct model *m, const struct model_observer *observer)
{
	m->observer = observer;
}

static int model_run_one(struct model *m, model_source_fn source, void *self)
{
	struct model_packet packets[BATCH];
	int count, error = 0;

	while (!error && (count = source(self, packets, BATCH)) > 0)
		for (int i = 0; !error && i < count; i++)
			error = packet_enter(m, m->devices, &packets[i], find_room(m, m->devices));
	return error ? error : count;
}

/* With several devices each waits from step to step: others may enter between them. */
static int model_run_many(struct model *m, model_source_fn source, void **sources)
{
	struct model_packet packets[MODEL_DEVICES_MAX];
	bool waiting[MODEL_DEVICES_MAX] = {0};
	__u64 drops[MODEL_DEVICES_MAX] = {0};

	for (;;) {
		struct model_device *device = NULL;
		__u32 n;
		int count = 1;

		for (n = 0; n < m->config.devices; n++)
			if (!m->devices[n].ended &&
			    (!device || m->devices[n].slot_ps < device->slot_ps))
				device = &m->devices[n];
		if (!device)
			return 0;
		n = (__u32)(device - m->devices);
		if (!waiting[n])
			count = source(sources[n], &packets[n], 1);
		if (count < 0)
			return count;
		device->ended = !count;
		if (!count)
			continue;
		waiting[n] = true;
		model_pass(m, device->slot_ps, device, 0);
		m->now_ps = device->slot_ps;
		if (device->in_flight >= m->config.ptb_entries) {
			__u64 missed = slots_until(m, device, first_due(m) >> DUE_KIND_BITS);

			drops[n] += missed;
			device->slot_ps += missed * m->slot_ps;
			continue;
		}
		count = packet_enter(m, device, &packets[n], drops[n]);
		if (count)
			return count;
		waiting[n] = false;
		drops[n] = 0;
	}
}

int model_run(struct model *m, model_source_fn source, void **sources)
{
	int error = m->config.devices > 1 ? model_run_many(m, source, sources)
					  : model_run_one(m, source, sources[0]);
	__u64 slots = 0;

	if (error)
		return error;
	model_pass(m, TIME_END_PS - 1, m->devices, 0);
	for (__u32 i = 0; i < m->config.devices; i++)
		if (m->devices[i].slot_ps > slots)
			slots = m->devices[i].slot_ps;
	if (m->overflowed)
		return model_too_long(m);
	m->stats.time_ps = m->now_ps > slots ? m->now_ps : slots;
	return 0;
}
