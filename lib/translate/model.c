// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/model.h"

#include <string.h>

#include "lib/translate/model_private.h"

#define BATCH	256
#define MILLION 1000000

/* The cache's functions, decided here so that those of narrow sets are inlined. */
static inline __u32 find(const struct cache *cache, __u32 set, __u64 key)
{
	return cache->wide ? wide_find(cache, set, key) : narrow_find(cache, set, key);
}

static inline void touch(struct cache *cache, __u32 set, __u32 slot, __u64 next_use)
{
	if (cache->wide)
		wide_touch(cache, slot, next_use);
	else
		narrow_touch(cache, set, slot, next_use);
}

static inline bool look_up(struct level *level, __u32 set, __u64 key, __u64 next_use)
{
	__u32 slot = find(level->cache, set, key);

	if (slot == CACHE_NO_SLOT) {
		level->stats.misses++;
		return false;
	}
	level->stats.hits++;
	touch(level->cache, set, slot, next_use);
	return true;
}

/* Two requests for one page may both have missed: the second finds the first one's entry. */
static inline __u32 fill(struct level *level, __u32 set, __u64 key, __u64 next_use)
{
	struct cache *cache = level->cache;
	__u32 slot = find(cache, set, key);
	__u64 evicted;

	if (slot != CACHE_NO_SLOT)
		return slot;
	slot = cache->wide ? wide_insert(cache, set, key, next_use, &evicted)
			   : narrow_insert(cache, set, key, next_use, &evicted);
	level->stats.fills++;
	if (evicted) {
		level->stats.evictions++;
		level->stats.cross_evictions += key_domain(evicted) != key_domain(key);
	}
	return slot;
}

static inline __u32 upper_set(const struct level *level, const struct access *a)
{
	return set_of(level, a->iova, MODEL_LEVEL3_SHIFT, a->domain);
}

static inline __u32 page_set(const struct level *level, const struct access *a)
{
	return set_of(level, a->iova, MODEL_SET_SHIFT, a->domain);
}

static inline __u64 access_key(const struct access *a)
{
	return page_key(a->iova, a->page_shift, a->domain);
}

static bool buffer_hit(struct model *m, struct model_device *device, const struct access *a)
{
	struct level *buffer = &device->buffer;
	__u32 slot = find(buffer->cache, 0, access_key(a));

	if (slot == CACHE_NO_SLOT) {
		buffer->stats.misses++;
		return false;
	}
	buffer->stats.hits++;
	touch(buffer->cache, 0, slot, a->next_use);
	m->stats.prefetch_useful += !device->prefetcher.used[slot];
	device->prefetcher.used[slot] = true;
	return true;
}

/* DevTLB and prefetch buffer side by side, at `time_ps`; what misses leaves for the IOMMU. */
static void device_lookup(struct model *m, __u32 number, __u64 time_ps)
{
	const struct access *a = &m->accesses[number];
	struct model_device *device = &m->devices[a->device];
	bool hit =
		look_up(&device->devtlb, page_set(&device->devtlb, a), access_key(a), a->next_use);

	if (!hit && device->buffer.cache)
		hit = buffer_hit(m, device, a);
	if (hit)
		schedule(m, EVENT_HIT, time_ps + m->config.devtlb_hit_ps, number);
	else
		schedule(m, EVENT_IOMMU, time_ps + m->config.pcie_ps, number);
}

/* Level of the table where a walk begins: below what the walk caches knew. */
static __u32 first_level(const struct access *a)
{
	return !a->fill2 ? 1 : !a->fill3 ? 2 : TABLES_LEVELS;
}

static __u32 nested_reads(const struct model *m, const struct access *a)
{
	__u32 leaf = (a->page_shift - 3u) / 9, first = first_level(a);
	__u32 host = m->config.host_shift == 21 ? TABLES_LEVELS - 1 : TABLES_LEVELS;
	struct tables_walk walk;

	if (first < leaf) /* the walk cache holds the leaf itself */
		return 0;
	if (m->config.walk == WALK_NESTED)
		return (first - leaf + 1) * (TABLES_LEVELS + 1) + host;
	tables_walk(m->tables, a->domain, a->iova, first, &walk);
	return walk.reads;
}

static __u32 reads_left(const struct model *m, const struct access *a)
{
	__u32 leaf = (a->page_shift - 3u) / 9; /* 1 for 4 KiB, 2, 3 */

	if (m->config.walk == WALK_24)
		return 24;
	if (m->config.walk != WALK_AS_RELEASED)
		return nested_reads(m, a);
	if (!a->fill2)
		return leaf == 1 ? 1 : 0;
	if (!a->fill3)
		return leaf < 3 ? 3 - leaf : 0;
	return leaf;
}

static void iommu_lookup(struct model *m, __u32 number)
{
	struct access *a = &m->accesses[number];
	__u64 delay = m->config.walk_hit_ps;

	a->walks = true;
	a->fill2 = a->fill3 = false;
	if (m->iotlb.cache &&
	    look_up(&m->iotlb, page_set(&m->iotlb, a), access_key(a), a->next_use)) {
		a->walks = false;
		schedule(m, EVENT_WALKED, m->now_ps + delay, number);
		return;
	}
	a->fill2 = !look_up(&m->level2, page_set(&m->level2, a),
			    page_key(a->iova, MODEL_SET_SHIFT, a->domain), a->next_use);
	if (a->fill2)
		a->fill3 = !look_up(&m->level3, upper_set(&m->level3, a),
				    page_key(a->iova, MODEL_LEVEL3_SHIFT, a->domain), a->next_use);
	a->reads = (__u8)reads_left(m, a);
	if (a->reads)
		delay = a->reads * m->config.dram_ps;
	m->stats.walk_reads += a->reads;
	m->stats.walks += !a->prefetch;
	m->stats.prefetch_walks += a->prefetch;
	schedule(m, EVENT_WALKED, m->now_ps + delay, number);
}

/* The page is absent: the answer says so, the device requests it, and asks again after the response. */
static bool faults(struct model *m, struct access *a, __u32 number)
{
	if (!m->config.fault_per_million || !a->walks || a->prefetch || a->faulted ||
	    random_below(&m->random, MILLION) >= m->config.fault_per_million)
		return false;
	a->faulted = true;
	m->stats.faults++;
	schedule(m, EVENT_IOMMU, m->now_ps + 4 * m->config.pcie_ps + m->config.fault_ps, number);
	return true;
}

static void walked(struct model *m, __u32 number)
{
	struct access *a = &m->accesses[number];

	if (a->fill3)
		fill(&m->level3, upper_set(&m->level3, a),
		     page_key(a->iova, MODEL_LEVEL3_SHIFT, a->domain), a->next_use);
	if (a->fill2)
		fill(&m->level2, page_set(&m->level2, a),
		     page_key(a->iova, MODEL_SET_SHIFT, a->domain), a->next_use);
	if (faults(m, a, number))
		return;
	if (m->iotlb.cache)
		fill(&m->iotlb, page_set(&m->iotlb, a), access_key(a), a->next_use);
	schedule(m, EVENT_DONE, m->now_ps + m->config.pcie_ps, number);
}

static void fill_buffer(struct model *m, struct model_device *device, const struct access *a)
{
	struct level *buffer = &device->buffer;
	__u64 fills = buffer->stats.fills, evictions = buffer->stats.evictions;
	__u32 slot = fill(buffer, 0, access_key(a), CACHE_NEVER);

	device->prefetcher.under_way--;
	if (find(device->devtlb.cache, page_set(&device->devtlb, a), access_key(a)) !=
	    CACHE_NO_SLOT)
		m->stats.prefetch_late++;
	if (buffer->stats.fills == fills) {
		m->stats.prefetch_duplicates++;
		return;
	}
	m->stats.prefetch_unused +=
		buffer->stats.evictions > evictions && !device->prefetcher.used[slot];
	device->prefetcher.used[slot] = false;
}

/* The PTB's area grows by what was in flight since it last changed. */
static inline void in_flight_changes(struct model *m, struct model_device *device, __s32 by)
{
	m->stats.in_flight_ps += device->in_flight * (m->now_ps - device->area_since_ps);
	device->area_since_ps = m->now_ps;
	device->in_flight += (__u32)by;
	if (device->in_flight > m->stats.in_flight_max)
		m->stats.in_flight_max = device->in_flight;
}

static void complete(struct model *m, __u32 number)
{
	const struct access *a = &m->accesses[number];
	__u64 latency = m->now_ps - a->issued_ps;

	in_flight_changes(m, &m->devices[a->device], -1);
	m->stats.translations++;
	m->stats.latency_sum_ps += latency;
	if (m->stats.latency_max_ps < latency)
		m->stats.latency_max_ps = latency;
	if (m->observer)
		m->observer->completed(m->observer->self, m->now_ps, a->source, latency);
	access_free(m, number);
}

static void done(struct model *m, __u32 number)
{
	const struct access *a = &m->accesses[number];
	struct model_device *device = &m->devices[a->device];

	if (a->prefetch) {
		fill_buffer(m, device, a);
		access_free(m, number);
		return;
	}
	fill(&device->devtlb, page_set(&device->devtlb, a), access_key(a), a->next_use);
	complete(m, number);
}

static void happen(struct model *m, enum model_event event)
{
	__u32 number = queue_take(&m->queues[event]);

	switch (event) {
	case EVENT_HIT:
		complete(m, number);
		break;
	case EVENT_DONE:
		done(m, number);
		break;
	case EVENT_WALKED:
		walked(m, number);
		break;
	case EVENT_CONTEXT:
		fill(&m->context, 0, page_key(0, 12, m->accesses[number].source), CACHE_NEVER);
		device_lookup(m, number, m->now_ps);
		break;
	default: /* EVENT_IOMMU, EVENT_HISTORY */
		iommu_lookup(m, number);
		break;
	}
}

/*
 * All that happens up to `until_ps`, or until the device has fewer than `room` translations in
 * flight. Events of one kind run on while no other kind can be due.
 */
static void pass(struct model *m, __u64 until_ps, const struct model_device *device, __u32 room)
{
	for (;;) {
		__u64 first = QUEUE_EMPTY;
		enum model_event next = 0;

		m->bound_ps = until_ps;
		for (unsigned int event = 0; event < MODEL_QUEUES; event++) {
			__u64 time = queue_first_ps(&m->queues[event]);

			if (time < first) {
				m->bound_ps = first < until_ps ? first : until_ps;
				first = time;
				next = event;
			} else if (time < m->bound_ps) {
				m->bound_ps = time;
			}
		}
		if (first > until_ps || first == QUEUE_EMPTY)
			return;
		do {
			m->now_ps = first;
			happen(m, next);
			if (device->in_flight < room)
				return;
			first = queue_first_ps(&m->queues[next]);
		} while (first < m->bound_ps);
	}
}

/* Waits for the slot at which the packet finds room; returns the arrivals that found none. */
static __u64 find_room(struct model *m, struct model_device *device)
{
	__u64 dropped = 0;

	pass(m, device->slot_ps, device, 0);
	while (device->in_flight >= m->config.ptb_entries) {
		__u64 missed;

		pass(m, QUEUE_EMPTY, device, m->config.ptb_entries);
		missed = (m->now_ps - device->slot_ps + m->slot_ps - 1) / m->slot_ps;
		dropped += missed;
		device->slot_ps += missed * m->slot_ps;
		pass(m, device->slot_ps, device, 0);
	}
	m->now_ps = device->slot_ps;
	return dropped;
}

static void forget(struct level *level, __u32 set, __u64 key)
{
	__u32 slot = level->cache ? find(level->cache, set, key) : CACHE_NO_SLOT;

	if (slot != CACHE_NO_SLOT)
		cache_remove(level->cache, slot);
}

/* What walk caches know of a page itself; of the tables above it they may know on. */
static void forget_walks(struct model *m, const struct model_request *r, __u32 domain)
{
	__u64 bytes = 1ull << r->page_shift, first = r->iova & -bytes;

	if (r->page_shift >= MODEL_SET_SHIFT)
		for (__u64 iova = first; iova < first + bytes; iova += 1ull << MODEL_SET_SHIFT)
			forget(&m->level2, set_of(&m->level2, iova, MODEL_SET_SHIFT, domain),
			       page_key(iova, MODEL_SET_SHIFT, domain));
	if (r->page_shift >= MODEL_LEVEL3_SHIFT)
		forget(&m->level3, set_of(&m->level3, first, MODEL_LEVEL3_SHIFT, domain),
		       page_key(first, MODEL_LEVEL3_SHIFT, domain));
}

/* The host takes a page back: the caches that may know it forget it. */
static void invalidate(struct model *m, struct model_device *device,
		       const struct model_packet *packet)
{
	const struct model_request *r = &packet->requests[random_below(&m->random, packet->count)];
	__u64 key = page_key(r->iova, r->page_shift, packet->domain);

	forget(&device->devtlb, set_of(&device->devtlb, r->iova, MODEL_SET_SHIFT, packet->domain),
	       key);
	forget(&device->buffer, 0, key);
	forget(&m->iotlb, set_of(&m->iotlb, r->iova, MODEL_SET_SHIFT, packet->domain), key);
	forget_walks(m, r, packet->domain);
	m->stats.invalidations++;
}

static int translate(struct model *m, struct model_device *device,
		     const struct model_packet *packet, const struct model_request *request)
{
	struct access *a;
	__u32 number;

	if (m->tables) {
		int error =
			tables_map(m->tables, packet->domain, request->iova, request->page_shift);

		if (error)
			return error;
	}
	a = access_new(m, &number);
	*a = (struct access){
		.iova = request->iova,
		.next_use = request->next_use,
		.page_shift = (__u8)request->page_shift,
		.issued_ps = m->now_ps,
		.source = packet->source,
		.domain = packet->domain,
		.device = (__u8)(device - m->devices),
	};
	if (device->buffer.cache)
		model_prefetch(m, device, a);
	if (look_up(&m->context, 0, page_key(0, 12, a->source), CACHE_NEVER))
		device_lookup(m, number, m->now_ps + m->config.context_hit_ps);
	else
		schedule(m, EVENT_CONTEXT,
			 m->now_ps + m->config.context_hit_ps +
				 2 * (m->config.pcie_ps + m->config.dram_ps),
			 number);
	return 0;
}

static int enter(struct model *m, struct model_device *device, const struct model_packet *packet,
		 __u64 drops)
{
	int error = 0;

	m->stats.drops += drops;
	if (m->observer)
		m->observer->entered(m->observer->self, m->now_ps, packet, drops);
	in_flight_changes(m, device, (__s32)packet->count);
	for (__u32 i = 0; !error && i < packet->count; i++)
		error = translate(m, device, packet, &packet->requests[i]);
	if (m->config.invalidate_packets && !--device->until_invalidation) {
		device->until_invalidation = m->config.invalidate_packets;
		invalidate(m, device, packet);
	}
	m->stats.packets++;
	device->slot_ps += m->slot_ps;
	return error;
}

void model_observe(struct model *m, const struct model_observer *observer)
{
	m->observer = observer;
}

static int run_one(struct model *m, model_source_fn source, void *self)
{
	struct model_packet packets[BATCH];
	int count, error = 0;

	while (!error && (count = source(self, packets, BATCH)) > 0)
		for (int i = 0; !error && i < count; i++)
			error = enter(m, m->devices, &packets[i], find_room(m, m->devices));
	return error ? error : count;
}

/* With several devices each waits slot by slot: what frees one may be an event of another. */
static int run_many(struct model *m, model_source_fn source, void **sources)
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
		pass(m, device->slot_ps, device, 0);
		m->now_ps = device->slot_ps;
		if (device->in_flight >= m->config.ptb_entries) {
			drops[n]++;
			device->slot_ps += m->slot_ps;
			continue;
		}
		count = enter(m, device, &packets[n], drops[n]);
		if (count)
			return count;
		waiting[n] = false;
		drops[n] = 0;
	}
}

int model_run(struct model *m, model_source_fn source, void **sources)
{
	int error = m->config.devices > 1 ? run_many(m, source, sources)
					  : run_one(m, source, sources[0]);
	__u64 slots = 0;

	if (error)
		return error;
	pass(m, QUEUE_EMPTY - 1, m->devices, 0);
	for (__u32 i = 0; i < m->config.devices; i++)
		if (m->devices[i].slot_ps > slots)
			slots = m->devices[i].slot_ps;
	m->stats.time_ps = m->now_ps > slots ? m->now_ps : slots;
	return 0;
}
