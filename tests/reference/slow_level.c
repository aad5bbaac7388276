// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_level.h"

#include <stdlib.h>

void slow_level_begin(struct slow_level *level, const struct slow_level_config *config)
{
	uint32_t sets;

	*level = (struct slow_level){0};
	if (config->entries == 0)
		return;
	sets = config->entries / config->ways;
	level->cache = slow_cache_new(sets, config->ways, config->policy, config->seed);
	level->partitions = config->partitions;
	level->partition_sets = sets / config->partitions;
	level->sets = calloc(sets, sizeof(level->sets[0]));
	if (!level->sets)
		abort();
}

void slow_level_end(struct slow_level *level, struct slow_level_stats *stats)
{
	if (!level->cache)
		return;
	for (uint32_t set = 0; set < level->partitions * level->partition_sets; set++) {
		stats->hits += level->sets[set].stats.hits;
		stats->misses += level->sets[set].stats.misses;
		stats->fills += level->sets[set].stats.fills;
		stats->evictions += level->sets[set].stats.evictions;
		stats->cross_evictions += level->sets[set].stats.cross_evictions;
		level->sets[set].used = slow_cache_used(level->cache, set);
	}
	stats->halvings += slow_cache_halvings(level->cache);
	slow_cache_free(level->cache);
}

uint64_t slow_key(unsigned int domain, uint64_t iova, unsigned int shift)
{
	uint64_t bytes = (uint64_t)1 << shift;
	uint64_t first = iova - iova % bytes;

	/* 16 bits of domain, 45 of address in units of 4 KiB, 2 of size: 1, 2 or 3. */
	return ((uint64_t)domain << 47) + first / 4096 * 4 + (shift - 3) / 9;
}

unsigned int slow_key_domain(uint64_t key)
{
	return (unsigned int)(key >> 47);
}

static uint32_t set_of(const struct slow_level *level, unsigned int domain, uint64_t unit)
{
	uint32_t partition = domain % level->partitions;

	return partition * level->partition_sets + (uint32_t)(unit % level->partition_sets);
}

bool slow_level_holds(const struct slow_level *level, unsigned int domain, uint64_t unit,
		      uint64_t key)
{
	return slow_cache_holds(level->cache, set_of(level, domain, unit), key);
}

bool slow_level_lookup(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		       uint64_t next_use)
{
	uint32_t set = set_of(level, domain, unit);
	uint64_t evicted;

	if (!slow_cache_holds(level->cache, set, key)) {
		level->sets[set].stats.misses++;
		return false;
	}
	level->sets[set].stats.hits++;
	slow_cache_access(level->cache, set, key, next_use, &evicted);
	return true;
}

bool slow_level_fill(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		     uint64_t next_use, uint64_t *evicted)
{
	uint32_t set = set_of(level, domain, unit);

	*evicted = 0;
	if (slow_cache_holds(level->cache, set, key)) {
		slow_cache_second(level->cache, set, key, next_use);
		return false;
	}
	slow_cache_access(level->cache, set, key, next_use, evicted);
	level->sets[set].stats.fills++;
	if (*evicted != 0)
		level->sets[set].stats.evictions++;
	if (*evicted != 0 && slow_key_domain(*evicted) != slow_key_domain(key))
		level->sets[set].stats.cross_evictions++;
	return true;
}

void slow_level_forget(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key)
{
	if (level->cache)
		slow_cache_remove(level->cache, set_of(level, domain, unit), key);
}
