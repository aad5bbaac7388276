// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/cache_set.h"
#include "lib/translate/cache_wide.h"
#include "lib/translate/model_queue.h"

#define PS_PER_S     1000000000000ull
#define BATCH	     256
#define PREFETCHES   4096 /* in flight at most; what comes beyond is not fetched */
#define HISTORY	     4
#define SET_SHIFT    21 /* of every cache but the level 3 one */
#define LEVEL3_SHIFT 30
#define NONE	     UINT32_MAX

/* A cache of the hierarchy with what chooses its set and what it counts. */
struct level {
	struct cache *cache;
	struct model_cache_stats stats;
	__u32 tenant_mask; /* of the domain's bits that choose the partition */
	__u32 sets;	   /* of one partition */
	__u32 page_mask;   /* sets - 1 */
};

/* A translation under way, of a packet or of the prefetcher. */
struct access {
	__u64 iova;
	__u64 next_use;
	__u64 issued_ps;
	__u16 source, domain;
	__u8 page_shift;
	__u8 reads;
	bool prefetch;
	bool fill2, fill3; /* walk caches that missed */
	__u32 next_free;
};

struct request_history {
	__u64 iova[HISTORY];
	__u8 page_shift[HISTORY];
	__u8 count;
};

struct model {
	struct model_config config;
	struct level context, devtlb, iotlb, level2, level3, buffer;
	struct model_queue queues[MODEL_QUEUES];
	struct access *accesses;
	__u32 free_access;
	__u32 in_flight; /* translations of packets */
	__u64 now_ps;
	__u64 bound_ps; /* no event of another kind than the present one is due before */
	__u64 slot_ps;
	struct model_stats stats;
	/* prefetcher */
	__u32 *predicted; /* source -> source that came `distance` translations later, learned once */
	__u16 *domains;	  /* of a source */
	struct request_history *histories;
	__u16 *recent; /* ring of the last `distance` sources */
	__u32 recent_at, recent_count;
	__u64 *used; /* by slot of the buffer: 1 once it was hit */
};

void model_preset(struct model_config *config, enum model_preset preset)
{
	bool full = preset == MODEL_HYPERTRIO;

	*config = (struct model_config){
		.packet_bits = 1542 * 8,
		.link_bits_per_s = 200000000000ull,
		.ptb_entries = full ? 32 : 1,
		.pcie_ps = 450000,
		.dram_ps = 50000,
		.devtlb_hit_ps = 2000,
		.context_hit_ps = 1000,
		.walk_hit_ps = 5000,
		.walk = WALK_AS_RELEASED,
		.context = {{1536, 1536, REPLACE_LFU, 1}, 1},
		.devtlb = {{64, 8, REPLACE_LFU, 2}, full ? 8 : 1},
		.level2 = {{512, 16, REPLACE_LFU, 3}, full ? 32 : 1},
		.level3 = {{1024, 16, REPLACE_LFU, 4}, full ? 64 : 1},
		.prefetch = {{full ? 8 : 0, 8, REPLACE_LRU, 5}, 1},
		.prefetch_distance = 48,
		.prefetch_pages = 2,
	};
}

/* The cache's functions, decided here so that the narrow ones are inlined. */
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

static inline __u32 insert(struct cache *cache, __u32 set, __u64 key, __u64 next_use,
			   __u64 *evicted)
{
	return cache->wide ? wide_insert(cache, set, key, next_use, evicted)
			   : narrow_insert(cache, set, key, next_use, evicted);
}

/* Page number, domain and page size in one word, never 0. */
static inline __u64 page_key(__u64 iova, __u32 shift, __u32 domain)
{
	return iova >> shift << (shift - 12) << 18 | (__u64)domain << 2 | (shift - 3) / 9;
}

static inline __u32 key_domain(__u64 key)
{
	return key >> 2 & 0xffff;
}

static inline __u32 set_of(const struct level *level, __u64 iova, __u32 shift, __u32 domain)
{
	return (domain & level->tenant_mask) * level->sets +
	       ((__u32)(iova >> shift) & level->page_mask);
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
	__u64 evicted;
	__u32 slot = find(level->cache, set, key);

	if (slot != CACHE_NO_SLOT)
		return slot;
	slot = insert(level->cache, set, key, next_use, &evicted);
	level->stats.fills++;
	if (evicted) {
		level->stats.evictions++;
		level->stats.cross_evictions += key_domain(evicted) != key_domain(key);
	}
	return slot;
}

static inline __u32 access_new(struct model *m)
{
	__u32 number = m->free_access;

	if (number != NONE)
		m->free_access = m->accesses[number].next_free;
	return number;
}

static inline void access_free(struct model *m, __u32 number)
{
	m->accesses[number].next_free = m->free_access;
	m->free_access = number;
}

static inline void schedule(struct model *m, enum model_event event, __u64 time_ps, __u32 number)
{
	queue_add(&m->queues[event], time_ps, number);
	if (time_ps < m->bound_ps)
		m->bound_ps = time_ps;
}

/* A source's newest requests; the same page asked for again is one request more, as released. */
static void remember(struct model *m, const struct access *a)
{
	struct request_history *h = &m->histories[a->source];
	__u32 kept = m->config.prefetch_pages;

	memmove(&h->iova[1], &h->iova[0], (kept - 1) * sizeof(h->iova[0]));
	memmove(&h->page_shift[1], &h->page_shift[0], kept - 1);
	h->iova[0] = a->iova;
	h->page_shift[0] = a->page_shift;
	if (h->count < kept)
		h->count++;
}

/* Who comes `distance` translations after a source is learned at the first time it happens. */
static void learn(struct model *m, __u16 source)
{
	if (m->recent_count == m->config.prefetch_distance) {
		__u32 *predicted = &m->predicted[m->recent[m->recent_at]];

		if (*predicted == NONE)
			*predicted = source;
	} else {
		m->recent_count++;
	}
	m->recent[m->recent_at] = source;
	if (++m->recent_at == m->config.prefetch_distance)
		m->recent_at = 0;
}

static void prefetch(struct model *m, const struct access *trigger)
{
	__u32 source;

	learn(m, trigger->source);
	m->domains[trigger->source] = trigger->domain;
	source = m->predicted[trigger->source];
	if (source != NONE) {
		const struct request_history *h = &m->histories[source];

		for (__u32 i = 0; i < h->count; i++) {
			__u32 number = access_new(m);

			if (number == NONE)
				break;
			m->accesses[number] = (struct access){
				.iova = h->iova[i],
				.page_shift = h->page_shift[i],
				.source = (__u16)source,
				.domain = m->domains[source],
				.prefetch = true,
			};
			m->stats.prefetches++;
			schedule(m, EVENT_HISTORY,
				 m->now_ps + m->config.pcie_ps + m->config.dram_ps, number);
		}
	}
	remember(m, trigger);
}

/* DevTLB and prefetch buffer side by side, at `time_ps`; a miss leaves for the IOMMU. */
static void device_lookup(struct model *m, __u32 number, __u64 time_ps)
{
	struct access *a = &m->accesses[number];
	__u64 key = page_key(a->iova, a->page_shift, a->domain);
	bool hit = look_up(&m->devtlb, set_of(&m->devtlb, a->iova, SET_SHIFT, a->domain), key,
			   a->next_use);

	if (!hit && m->buffer.cache) {
		__u32 slot = find(m->buffer.cache, 0, key);

		hit = slot != CACHE_NO_SLOT;
		m->buffer.stats.hits += hit;
		m->buffer.stats.misses += !hit;
		if (hit) {
			touch(m->buffer.cache, 0, slot, a->next_use);
			m->stats.prefetch_useful += !m->used[slot];
			m->used[slot] = 1;
		}
	}
	if (hit)
		schedule(m, EVENT_HIT, time_ps + m->config.devtlb_hit_ps, number);
	else
		schedule(m, EVENT_IOMMU, time_ps + m->config.pcie_ps, number);
}

static __u32 reads_left(const struct model *m, const struct access *a)
{
	__u32 leaf = (a->page_shift - 3u) / 9; /* level of the leaf: 1 for 4 KiB, 2, 3 */

	if (m->config.walk == WALK_NESTED) {
		/* Each level of the first dimension costs its own read and one walk of the second;
		 * the result's address one walk more: (4 - leaf + 1) * 5 + 4. */
		__u32 top = !a->fill2 ? 2 : !a->fill3 ? 3 : 5;

		return top > leaf ? (top - leaf) * 5 + 4 : 0;
	}
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

	a->fill2 = a->fill3 = false;
	a->reads = 0;
	if (m->iotlb.cache && look_up(&m->iotlb, set_of(&m->iotlb, a->iova, SET_SHIFT, a->domain),
				      page_key(a->iova, a->page_shift, a->domain), a->next_use)) {
		schedule(m, EVENT_WALKED, m->now_ps + delay, number);
		return;
	}
	a->fill2 = !look_up(&m->level2, set_of(&m->level2, a->iova, SET_SHIFT, a->domain),
			    page_key(a->iova, SET_SHIFT, a->domain), a->next_use);
	if (a->fill2)
		a->fill3 =
			!look_up(&m->level3, set_of(&m->level3, a->iova, LEVEL3_SHIFT, a->domain),
				 page_key(a->iova, LEVEL3_SHIFT, a->domain), a->next_use);
	a->reads = (__u8)reads_left(m, a);
	if (a->reads)
		delay = a->reads * m->config.dram_ps;
	m->stats.walk_reads += a->reads;
	m->stats.walks += !a->prefetch;
	m->stats.prefetch_walks += a->prefetch;
	schedule(m, EVENT_WALKED, m->now_ps + delay, number);
}

static void walked(struct model *m, __u32 number)
{
	struct access *a = &m->accesses[number];

	if (a->fill3)
		fill(&m->level3, set_of(&m->level3, a->iova, LEVEL3_SHIFT, a->domain),
		     page_key(a->iova, LEVEL3_SHIFT, a->domain), a->next_use);
	if (a->fill2)
		fill(&m->level2, set_of(&m->level2, a->iova, SET_SHIFT, a->domain),
		     page_key(a->iova, SET_SHIFT, a->domain), a->next_use);
	if (m->iotlb.cache)
		fill(&m->iotlb, set_of(&m->iotlb, a->iova, SET_SHIFT, a->domain),
		     page_key(a->iova, a->page_shift, a->domain), a->next_use);
	schedule(m, EVENT_DONE, m->now_ps + m->config.pcie_ps, number);
}

static void fill_buffer(struct model *m, const struct access *a)
{
	__u64 fills = m->buffer.stats.fills, evictions = m->buffer.stats.evictions;
	__u32 slot = fill(&m->buffer, 0, page_key(a->iova, a->page_shift, a->domain), CACHE_NEVER);

	if (m->buffer.stats.fills == fills) {
		m->stats.prefetch_duplicates++;
		return;
	}
	m->stats.prefetch_unused += m->buffer.stats.evictions > evictions && !m->used[slot];
	m->used[slot] = 0;
}

static void complete(struct model *m, __u32 number)
{
	const struct access *a = &m->accesses[number];
	__u64 latency = m->now_ps - a->issued_ps;

	m->in_flight--;
	m->stats.translations++;
	m->stats.latency_sum_ps += latency;
	if (m->stats.latency_max_ps < latency)
		m->stats.latency_max_ps = latency;
	access_free(m, number);
}

static void done(struct model *m, __u32 number)
{
	const struct access *a = &m->accesses[number];

	if (a->prefetch) {
		fill_buffer(m, a);
		access_free(m, number);
		return;
	}
	fill(&m->devtlb, set_of(&m->devtlb, a->iova, SET_SHIFT, a->domain),
	     page_key(a->iova, a->page_shift, a->domain), a->next_use);
	complete(m, number);
}

static void context_filled(struct model *m, __u32 number)
{
	const struct access *a = &m->accesses[number];

	fill(&m->context, 0, page_key(0, 12, a->source), CACHE_NEVER);
	device_lookup(m, number, m->now_ps);
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
		context_filled(m, number);
		break;
	default: /* EVENT_IOMMU, EVENT_HISTORY */
		iommu_lookup(m, number);
		break;
	}
}

/*
 * All that happens up to `until_ps`, or until fewer than `room` translations are in flight. Events
 * of one kind run on while no other kind can be due.
 */
static void pass(struct model *m, __u64 until_ps, __u32 room)
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
			if (m->in_flight < room)
				return;
			first = queue_first_ps(&m->queues[next]);
		} while (first < m->bound_ps);
	}
}

/* Waits for the slot at which the packet finds room, counting the drops until then. */
static void find_room(struct model *m, __u64 *slot_ps)
{
	pass(m, *slot_ps, 0);
	while (m->in_flight >= m->config.ptb_entries) {
		__u64 missed;

		pass(m, QUEUE_EMPTY, m->config.ptb_entries);
		missed = (m->now_ps - *slot_ps + m->slot_ps - 1) / m->slot_ps;
		m->stats.drops += missed;
		*slot_ps += missed * m->slot_ps;
		pass(m, *slot_ps, 0);
	}
	m->now_ps = *slot_ps;
}

static void enter(struct model *m, const struct model_packet *packet)
{
	for (__u32 i = 0; i < packet->count; i++) {
		__u32 number = access_new(m);
		struct access *a = &m->accesses[number];

		*a = (struct access){
			.iova = packet->requests[i].iova,
			.next_use = packet->requests[i].next_use,
			.page_shift = (__u8)packet->requests[i].page_shift,
			.issued_ps = m->now_ps,
			.source = packet->source,
			.domain = packet->domain,
		};
		m->in_flight++;
		if (m->buffer.cache)
			prefetch(m, a);
		if (look_up(&m->context, 0, page_key(0, 12, a->source), CACHE_NEVER))
			device_lookup(m, number, m->now_ps + m->config.context_hit_ps);
		else
			schedule(m, EVENT_CONTEXT,
				 m->now_ps + 2 * m->config.pcie_ps + 2 * m->config.dram_ps, number);
	}
	m->stats.packets++;
}

int model_run(struct model *m, model_source_fn source, void *self)
{
	struct model_packet packets[BATCH];
	__u64 slot_ps = 0;
	int count;

	while ((count = source(self, packets, BATCH)) > 0)
		for (int i = 0; i < count; i++) {
			find_room(m, &slot_ps);
			enter(m, &packets[i]);
			slot_ps += m->slot_ps;
		}
	pass(m, QUEUE_EMPTY, 0);
	m->stats.time_ps = m->now_ps > slot_ps ? m->now_ps : slot_ps;
	return count;
}

static int level_create(struct level *level, const struct model_cache *config, const char *name)
{
	int error;

	if (!config->cache.entries)
		return 0;
	error = cache_create(&level->cache, &config->cache);
	if (error)
		return failed_in(error, "%s", name);
	level->sets = cache_sets(level->cache) / config->partitions;
	if (!config->partitions || config->partitions & (config->partitions - 1) || !level->sets)
		return failed(-EINVAL,
			      "%s: %u partitions of %u sets: accepted: powers of two, 1 to %u",
			      name, config->partitions, cache_sets(level->cache),
			      cache_sets(level->cache));
	level->tenant_mask = config->partitions - 1;
	level->page_mask = level->sets - 1;
	return 0;
}

static int create_levels(struct model *m)
{
	const struct model_config *c = &m->config;
	const struct {
		struct level *level;
		const struct model_cache *config;
		const char *name;
	} levels[] = {
		{&m->context, &c->context, "context cache"},
		{&m->devtlb, &c->devtlb, "DevTLB"},
		{&m->iotlb, &c->iotlb, "IOTLB"},
		{&m->level2, &c->level2, "L2 cache"},
		{&m->level3, &c->level3, "L3 cache"},
		{&m->buffer, &c->prefetch, "prefetch buffer"},
	};
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(levels) / sizeof(levels[0]); i++)
		error = level_create(levels[i].level, levels[i].config, levels[i].name);
	return error;
}

static int create_queues(struct model *m)
{
	__u32 accesses =
		m->config.ptb_entries + MODEL_REQUESTS + (m->buffer.cache ? PREFETCHES : 0);
	__u32 size = 1;

	while (size < accesses)
		size *= 2;
	m->accesses = calloc(accesses, sizeof(m->accesses[0]));
	if (!m->accesses)
		return -ENOMEM;
	for (__u32 i = 0; i < accesses; i++)
		m->accesses[i].next_free = i + 1 < accesses ? i + 1 : NONE;
	for (int i = 0; i < MODEL_QUEUES; i++) {
		m->queues[i].ring = calloc(size, sizeof(m->queues[i].ring[0]));
		m->queues[i].mask = size - 1;
		if (!m->queues[i].ring)
			return -ENOMEM;
	}
	return 0;
}

static int create_prefetcher(struct model *m)
{
	if (!m->buffer.cache)
		return 0;
	m->predicted = malloc(MODEL_TENANTS * sizeof(m->predicted[0]));
	m->domains = calloc(MODEL_TENANTS, sizeof(m->domains[0]));
	m->histories = calloc(MODEL_TENANTS, sizeof(m->histories[0]));
	m->recent = calloc(m->config.prefetch_distance, sizeof(m->recent[0]));
	m->used = calloc(m->config.prefetch.cache.entries, sizeof(m->used[0]));
	if (!m->predicted || !m->domains || !m->histories || !m->recent || !m->used)
		return -ENOMEM;
	memset(m->predicted, 0xff, MODEL_TENANTS * sizeof(m->predicted[0]));
	return 0;
}

int model_create(struct model **model, const struct model_config *config)
{
	struct model *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return failed(-ENOMEM, "no memory for a model");
	m->config = *config;
	m->slot_ps = (__u64)((unsigned __int128)config->packet_bits * PS_PER_S /
			     config->link_bits_per_s);
	error = create_levels(m);
	if (!error && (create_queues(m) || create_prefetcher(m)))
		error = failed(-ENOMEM, "no memory for a model");
	if (error) {
		model_destroy(m);
		return error;
	}
	*model = m;
	return 0;
}

static void take_stats(const struct level *level, struct model_cache_stats *stats)
{
	*stats = level->stats;
	if (level->cache)
		stats->halvings = cache_halvings(level->cache);
}

void model_stats(const struct model *m, struct model_stats *stats)
{
	*stats = m->stats;
	take_stats(&m->context, &stats->context);
	take_stats(&m->devtlb, &stats->devtlb);
	take_stats(&m->iotlb, &stats->iotlb);
	take_stats(&m->level2, &stats->level2);
	take_stats(&m->level3, &stats->level3);
	take_stats(&m->buffer, &stats->prefetch);
}

void model_destroy(struct model *m)
{
	if (!m)
		return;
	cache_destroy(m->context.cache);
	cache_destroy(m->devtlb.cache);
	cache_destroy(m->iotlb.cache);
	cache_destroy(m->level2.cache);
	cache_destroy(m->level3.cache);
	cache_destroy(m->buffer.cache);
	for (int i = 0; i < MODEL_QUEUES; i++)
		free(m->queues[i].ring);
	free(m->accesses);
	free(m->predicted);
	free(m->domains);
	free(m->histories);
	free(m->recent);
	free(m->used);
	free(m);
}
