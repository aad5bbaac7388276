// SPDX-License-Identifier: GPL-2.0
/* A model from its configuration, and what is read off it in the end. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/translate/model_private.h"

#define PS_MAX PSEC_PER_SEC /* of any one latency: virtual time stays far from its end */

void model_preset(struct model_config *config, enum model_preset preset)
{
	bool full = preset == MODEL_HYPERTRIO;

	*config = (struct model_config){
		.packet_bits = 1542 * 8ull,
		.link_bits_per_s = 200000000000ull,
		.ptb_entries = full ? 32 : 1,
		.pcie_ps = 450000,
		.dram_ps = 50000,
		.devtlb_hit_ps = 2000,
		.context_hit_ps = 1000,
		.walk_hit_ps = 5000,
		.walk = WALK_AS_RELEASED,
		.host_shift = 12,
		.context = {{1536, 1536, REPLACE_LFU, 1}, 1},
		.devtlb = {{64, 8, REPLACE_LFU, 2}, full ? 8 : 1},
		.iotlb = {{0, 8, REPLACE_LFU, 6}, 1},
		.level2 = {{512, 16, REPLACE_LFU, 3}, full ? 32 : 1},
		.level3 = {{1024, 16, REPLACE_LFU, 4}, full ? 64 : 1},
		.prefetch = {{full ? 8 : 0, full ? 8 : 0, REPLACE_LRU, 5}, 1},
		.prefetch_distance = 48,
		.prefetch_pages = 2,
		.devices = 1,
		.fault_ps = 10000000,
		.seed = 1,
	};
}

/* Sets are chosen by the address in units of 2 MiB, of the level 3 cache in units of 1 GiB. */
static int level_create(struct level *level, const struct model_cache *config, const char *name,
			__u8 set_bit)
{
	int error;

	if (!config->cache.entries)
		return 0;
	error = cache_create(&level->cache, &config->cache);
	if (error)
		return failed_in(error, "%s", name);
	level->set_count = cache_sets(level->cache) / config->partitions;
	level->tenant_mask = config->partitions - 1;
	level->page_mask = level->set_count - 1;
	level->set_bit = set_bit;
	level->sets = calloc(cache_sets(level->cache), sizeof(level->sets[0]));
	return level->sets ? 0 : failed(-ENOMEM, "no memory for %u sets", cache_sets(level->cache));
}

/* Fully associative, shared by all tenants. */
static struct model_cache prefetch_buffer(const struct model_config *config)
{
	struct model_cache buffer = config->prefetch;

	buffer.cache.ways = buffer.cache.entries;
	buffer.partitions = 1;
	return buffer;
}

static int create_device(struct model *m, struct model_device *device)
{
	const struct model_cache buffer = prefetch_buffer(&m->config);
	int error = level_create(&device->devtlb, &m->config.devtlb, "devtlb", KEY_2M);

	device->devtlb.lost = m->lost;
	device->number = (__u8)(device - m->devices);
	device->until_invalidation = m->config.invalidate_packets;
	if (!error)
		error = level_create(&device->buffer, &buffer, "prefetch", KEY_2M);
	if (!error && device->buffer.cache &&
	    model_prefetcher_create(&device->prefetcher, &m->config))
		error = failed(-ENOMEM, "no memory for a prefetcher");
	return error;
}

static int create_levels(struct model *m)
{
	const struct model_config *c = &m->config;
	int error = level_create(&m->context, &c->context, "context", KEY_2M);

	if (!error)
		error = level_create(&m->iotlb, &c->iotlb, "iotlb", KEY_2M);
	if (!error)
		error = level_create(&m->level2, &c->level2, "level2", KEY_2M);
	if (!error)
		error = level_create(&m->level3, &c->level3, "level3", KEY_1G);
	m->devices = calloc(c->devices, sizeof(m->devices[0]));
	m->lost = calloc(MODEL_TENANTS, sizeof(m->lost[0]));
	if (!error && (!m->devices || !m->lost))
		error = failed(-ENOMEM, "no memory for %u devices", c->devices);
	for (__u32 i = 0; !error && i < c->devices; i++)
		error = create_device(m, &m->devices[i]);
	return error;
}

/* All that can be under way at once: a packet enters while there is room for one translation. */
static int create_accesses(struct model *m)
{
	__u32 accesses = m->config.ptb_entries + MODEL_REQUESTS;

	if (m->config.prefetch.cache.entries)
		accesses += MODEL_PREFETCHES;
	accesses *= m->config.devices;
	m->accesses = calloc(accesses, sizeof(m->accesses[0]));
	if (!m->accesses)
		return failed(-ENOMEM, "no memory for %u translations in flight", accesses);
	while (accesses)
		access_free(m, &m->accesses[--accesses]);
	for (unsigned int kind = 0; kind < MODEL_QUEUES; kind++) {
		queue_begin(&m->queues[kind], kind);
		m->due[kind] = queue_first(&m->queues[kind]);
	}
	return 0;
}

static int check_level(const struct model_cache *config, const char *name)
{
	__u32 sets;
	int error;

	if (!config->cache.entries)
		return 0;
	error = cache_check(&config->cache);
	if (error)
		return failed_in(error, "%s", name);
	sets = config->cache.entries / config->cache.ways;
	if (!config->partitions || config->partitions > sets ||
	    config->partitions & (config->partitions - 1))
		return failed(-EINVAL,
			      "%s: %u partitions of %u sets: accepted: powers of two, 1 to %u",
			      name, config->partitions, sets, sets);
	return 0;
}

static int check_levels(const struct model_config *c)
{
	const struct model_cache buffer = prefetch_buffer(c);
	const struct {
		const struct model_cache *config;
		const char *name;
	} levels[] = {{&c->context, "context"}, {&c->iotlb, "iotlb"},	{&c->level2, "level2"},
		      {&c->level3, "level3"},	{&c->devtlb, "devtlb"}, {&buffer, "prefetch"}};
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(levels) / sizeof(levels[0]); i++)
		error = check_level(levels[i].config, levels[i].name);
	return error;
}

static int check_caches(const struct model_config *c)
{
	if (!c->context.cache.entries || !c->devtlb.cache.entries || !c->level2.cache.entries ||
	    !c->level3.cache.entries)
		return failed(-EINVAL, "0 entries: accepted for iotlb and prefetch only");
	if (c->context.partitions != 1 || c->context.cache.ways != c->context.cache.entries)
		return failed(-EINVAL, "context: accepted: fully associative, one partition");
	if (c->prefetch.cache.policy == REPLACE_BELADY || c->context.cache.policy == REPLACE_BELADY)
		return failed(-EINVAL, "belady knows the next use of pages: accepted for devtlb, "
				       "iotlb, level2 and level3");
	if (c->prefetch_trigger >= TRIGGER_COUNT)
		return failed(-EINVAL, "prefetch trigger %u: accepted: 0 (access), 1 (miss)",
			      c->prefetch_trigger);
	if (c->prefetch.cache.entries > 4096 || !c->prefetch_distance ||
	    c->prefetch_distance > 1u << 20 || !c->prefetch_pages ||
	    c->prefetch_pages > MODEL_HISTORY_MAX)
		return failed(-EINVAL,
			      "prefetch of %u pages at %u translations into %u entries: accepted: "
			      "1 to %u pages, 1 to %u translations, 0 to 4096 entries",
			      c->prefetch_pages, c->prefetch_distance, c->prefetch.cache.entries,
			      MODEL_HISTORY_MAX, 1u << 20);
	return check_levels(c);
}

static __u64 model_slot_of(const struct model_config *c)
{
	return (__u64)((unsigned __int128)c->packet_bits * PSEC_PER_SEC / c->link_bits_per_s);
}

/* Walks of tables are nested. */
static struct tables_config tables_of(const struct model_config *c)
{
	return (struct tables_config){true, c->host_shift};
}

int model_check(const struct model_config *c)
{
	const struct tables_config tables = tables_of(c);
	int error;

	if (!c->packet_bits || c->packet_bits > 1u << 24)
		return failed(-EINVAL, "packets of %llu bits: accepted: 8 to %u", c->packet_bits,
			      1u << 24);
	if (c->link_bits_per_s < 1000000 || c->link_bits_per_s > 100000000000000ull)
		return failed(-EINVAL, "a link of %llu bits/s: accepted: 1M to 100T",
			      c->link_bits_per_s);
	if (!model_slot_of(c))
		return failed(-EINVAL,
			      "packets of %llu bits on a link of %llu bits/s: accepted: a "
			      "picosecond a packet and more",
			      c->packet_bits, c->link_bits_per_s);
	if (!c->ptb_entries || c->ptb_entries > 65536)
		return failed(-EINVAL, "a PTB of %u entries: accepted: 1 to 65536", c->ptb_entries);
	if (c->pcie_ps > PS_MAX || c->dram_ps > PS_MAX || c->devtlb_hit_ps > PS_MAX ||
	    c->context_hit_ps > PS_MAX || c->walk_hit_ps > PS_MAX || c->fault_ps > PS_MAX)
		return failed(-EINVAL, "a latency beyond 1 s: accepted: 0 to 1 s");
	if (c->devices > MODEL_DEVICES_MAX)
		return failed(-EINVAL, "%u devices: accepted: 1 to %u", c->devices,
			      MODEL_DEVICES_MAX);
	if (c->fault_per_million > 1000000)
		return failed(-EINVAL, "%u faults per million walks: accepted: 0 to 1000000",
			      c->fault_per_million);
	error = check_caches(c);
	return error || c->walk != WALK_TABLES ? error : tables_check(&tables);
}

int model_create(struct model **model, const struct model_config *config)
{
	const struct tables_config tables = tables_of(config);
	struct model *m;
	int error = model_check(config);

	if (error)
		return error;
	m = calloc(1, sizeof(*m));
	if (!m)
		return failed(-ENOMEM, "no memory for a model");
	m->config = *config;
	if (!m->config.devices)
		m->config.devices = 1;
	if (m->config.walk == WALK_NONE)
		m->config.prefetch.cache.entries = 0;
	m->instant = !config->pcie_ps || !config->dram_ps || !config->devtlb_hit_ps ||
		     !config->context_hit_ps || !config->walk_hit_ps;
	m->random.state = config->seed;
	m->slot_ps = model_slot_of(config);
	error = create_levels(m);
	if (!error)
		error = create_accesses(m);
	if (!error && config->walk == WALK_TABLES)
		error = tables_create(&m->tables, &tables);
	if (error) {
		model_destroy(m);
		return error;
	}
	*model = m;
	return 0;
}

static __u32 level_sets(const struct level *level)
{
	return level->cache ? cache_sets(level->cache) : 0;
}

static void take_stats(const struct level *level, struct model_cache_stats *stats)
{
	for (__u32 set = 0; set < level_sets(level); set++) {
		stats->hits += level->sets[set].hits;
		stats->misses += level->sets[set].misses;
		stats->fills += level->sets[set].fills;
		stats->evictions += level->sets[set].evictions;
		stats->cross_evictions += level->sets[set].cross_evictions;
	}
	if (level->cache)
		stats->halvings += cache_halvings(level->cache);
}

void model_stats(const struct model *m, struct model_stats *stats)
{
	*stats = m->stats;
	take_stats(&m->context, &stats->context);
	take_stats(&m->iotlb, &stats->iotlb);
	take_stats(&m->level2, &stats->level2);
	take_stats(&m->level3, &stats->level3);
	for (__u32 i = 0; i < m->config.devices; i++) {
		take_stats(&m->devices[i].devtlb, &stats->devtlb);
		take_stats(&m->devices[i].buffer, &stats->prefetch);
	}
}

static const struct level *part_level(const struct model *m, enum model_part part)
{
	const struct level *levels[] = {
		[PART_CONTEXT] = &m->context, [PART_DEVTLB] = &m->devices[0].devtlb,
		[PART_IOTLB] = &m->iotlb,     [PART_LEVEL2] = &m->level2,
		[PART_LEVEL3] = &m->level3,   [PART_PREFETCH] = &m->devices[0].buffer,
	};

	return levels[part];
}

__u32 model_occupancy(const struct model *m, enum model_part part, __u32 *used, __u32 room)
{
	const struct level *level = part_level(m, part);
	__u32 partitions = level->cache ? level->tenant_mask + 1 : 0;

	for (__u32 p = 0; p < partitions && p < room; p++) {
		used[p] = 0;
		for (__u32 set = 0; set < level->set_count; set++)
			used[p] += cache_used(level->cache, p * level->set_count + set);
	}
	return partitions;
}

const struct model_cache_stats *model_sets(const struct model *m, enum model_part part,
					   __u32 *count)
{
	const struct level *level = part_level(m, part);

	*count = level_sets(level);
	return level->sets;
}

__u64 model_lost(const struct model *m, __u16 domain)
{
	return m->lost[domain];
}

static void destroy_level(struct level *level)
{
	cache_destroy(level->cache);
	free(level->sets);
}

void model_destroy(struct model *m)
{
	if (!m)
		return;
	for (__u32 i = 0; m->devices && i < m->config.devices; i++) {
		destroy_level(&m->devices[i].devtlb);
		destroy_level(&m->devices[i].buffer);
		model_prefetcher_destroy(&m->devices[i].prefetcher);
	}
	destroy_level(&m->context);
	destroy_level(&m->iotlb);
	destroy_level(&m->level2);
	destroy_level(&m->level3);
	free(m->devices);
	free(m->lost);
	free(m->accesses);
	tables_destroy(m->tables);
	free(m);
}
