// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_level.h"

#include <stddef.h>

void slow_level_begin(struct slow_level *level, const struct slow_level_config *config)
{
	uint32_t sets;

	*level = (struct slow_level){0};
	if (config->entries == 0)
		return;
	sets = config->entries / config->ways;
	level->cache = slow_cache_new(sets, config->ways, config->policy, config->seed);
	level->partitions = config->partitions;
	level->sets = sets / config->partitions;
}

void slow_level_end(struct slow_level *level, struct slow_level_stats *stats, uint32_t *used)
{
	if (!level->cache)
		return;
	stats->hits += level->stats.hits;
	stats->misses += level->stats.misses;
	stats->fills += level->stats.fills;
	stats->evictions += level->stats.evictions;
	stats->cross_evictions += level->stats.cross_evictions;
	stats->halvings += slow_cache_halvings(level->cache);
	for (uint32_t set = 0; used && set < level->partitions * level->sets; set++)
		used[set] = slow_cache_used(level->cache, set);
	slow_cache_free(level->cache);
}

uint64_t slow_key(unsigned int domain, uint64_t iova, unsigned int shift)
{
	uint64_t bytes = (uint64_t)1 << shift;
	uint64_t first = iova - iova % bytes;

	/* A page's first byte has zeros where its size can stand. */
	return ((uint64_t)domain << 48) + first + shift;
}

static unsigned int key_domain(uint64_t key)
{
	return (unsigned int)(key >> 48);
}

static uint32_t set_of(const struct slow_level *level, unsigned int domain, uint64_t unit)
{
	uint32_t partition = domain % level->partitions;

	return partition * level->sets + (uint32_t)(unit % level->sets);
}

bool slow_level_holds(const struct slow_level *level, unsigned int domain, uint64_t unit,
		      uint64_t key)
{
	return slow_cache_holds(level->cache, set_of(level, domain, unit), key);
}

bool slow_level_lookup(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		       uint64_t next_use)
{
	uint64_t evicted;

	if (!slow_level_holds(level, domain, unit, key)) {
		level->stats.misses++;
		return false;
	}
	level->stats.hits++;
	slow_cache_access(level->cache, set_of(level, domain, unit), key, next_use, &evicted);
	return true;
}

bool slow_level_fill(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		     uint64_t next_use, uint64_t *evicted)
{
	*evicted = 0;
	if (slow_level_holds(level, domain, unit, key))
		return false;
	slow_cache_access(level->cache, set_of(level, domain, unit), key, next_use, evicted);
	level->stats.fills++;
	if (*evicted != 0)
		level->stats.evictions++;
	if (*evicted != 0 && key_domain(*evicted) != key_domain(key))
		level->stats.cross_evictions++;
	return true;
}

void slow_level_forget(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key)
{
	if (level->cache)
		slow_cache_remove(level->cache, set_of(level, domain, unit), key);
}
