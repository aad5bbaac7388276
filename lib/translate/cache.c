// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/translate/cache_set.h"
#include "lib/translate/cache_wide.h"

int cache_check(const struct cache_config *config)
{
	__u32 sets;

	if (!config->entries || config->entries > CACHE_ENTRIES_MAX)
		return failed(-EINVAL, "cache of %u entries: accepted: 1 to %u", config->entries,
			      CACHE_ENTRIES_MAX);
	if (!config->ways || config->entries % config->ways)
		return failed(-EINVAL,
			      "cache of %u entries in sets of %u ways: accepted: a divisor of the "
			      "entries",
			      config->entries, config->ways);
	sets = config->entries / config->ways;
	if (sets & (sets - 1))
		return failed(-EINVAL,
			      "cache of %u entries in sets of %u ways has %u sets: accepted: a "
			      "power of two of sets",
			      config->entries, config->ways, sets);
	if (config->policy >= REPLACE_COUNT)
		return failed(-EINVAL, "there is no replacement policy %d", (int)config->policy);
	return 0;
}

static bool cache_allocate(struct cache *cache)
{
	size_t slots = (size_t)cache->sets * cache->ways;

	cache->keys = calloc(slots, sizeof(cache->keys[0]));
	if (!cache->keys)
		return false;
	if (cache->policy == REPLACE_BELADY) {
		cache->next_uses = calloc(slots, sizeof(cache->next_uses[0]));
		if (!cache->next_uses)
			return false;
	}
	if (cache->ways > CACHE_NARROW_WAYS) {
		cache->wide = wide_create(cache);
		return cache->wide;
	}
	cache->records = calloc(cache->sets, sizeof(cache->records[0]));
	for (__u32 set = 0; cache->records && set < cache->sets; set++)
		cache->records[set] =
			(struct cache_set){.order = NIBBLES_WAYS, .first = set * cache->ways};
	return cache->records;
}

int cache_create(struct cache **cache, const struct cache_config *config)
{
	int error = cache_check(config);
	struct cache *created;

	if (error)
		return error;
	created = calloc(1, sizeof(*created));
	if (!created)
		return failed(-ENOMEM, "no memory for a cache of %u entries", config->entries);
	created->ways = config->ways;
	created->sets = config->entries / config->ways;
	created->full = (__u32)((1ull << config->ways % 64) - 1);
	created->lanes = config->ways < CACHE_NARROW_WAYS
				 ? NIBBLES_HIGH & ((1ull << (4 * config->ways)) - 1)
				 : NIBBLES_HIGH;
	created->policy = (__u8)config->policy;
	/* The generator never leaves 0; the constant spreads small seeds. */
	created->random = cache_hash(config->seed + 1) ?: 1;
	if (!cache_allocate(created)) {
		cache_destroy(created);
		return failed(-ENOMEM, "no memory for a cache of %u entries", config->entries);
	}
	*cache = created;
	return 0;
}

void cache_destroy(struct cache *cache)
{
	if (!cache)
		return;
	wide_destroy(cache->wide);
	free(cache->records);
	free(cache->next_uses);
	free(cache->keys);
	free(cache);
}

__u32 cache_sets(const struct cache *cache)
{
	return cache->sets;
}

__u32 cache_find(const struct cache *cache, __u32 set, __u64 key)
{
	return cache->wide ? wide_find(cache, set, key) : narrow_find(cache, set, key);
}

void cache_touch(struct cache *cache, __u32 slot, __u64 next_use)
{
	if (cache->wide)
		wide_touch(cache, slot, next_use);
	else
		narrow_touch(cache, slot / cache->ways, slot, next_use);
}

__u32 cache_insert(struct cache *cache, __u32 set, __u64 key, __u64 next_use, __u64 *evicted)
{
	return cache->wide ? wide_insert(cache, set, key, next_use, evicted)
			   : narrow_insert(cache, set, key, next_use, evicted);
}

void cache_remove(struct cache *cache, __u32 slot)
{
	if (cache->wide) {
		wide_remove(cache, slot);
		return;
	}
	cache->keys[slot] = 0;
	cache->records[slot / cache->ways].valid &= ~(1u << slot % cache->ways);
}

__u64 cache_key(const struct cache *cache, __u32 slot)
{
	return cache->keys[slot];
}

__u32 cache_used(const struct cache *cache, __u32 set)
{
	return cache->wide ? wide_used(cache, set)
			   : (__u32)__builtin_popcount(cache->records[set].valid);
}

__u64 cache_halvings(const struct cache *cache)
{
	return cache->halvings;
}

const char *replacement_name(enum replacement policy)
{
	static const char *const names[REPLACE_COUNT] = {
		[REPLACE_LRU] = "lru",	 [REPLACE_LFU] = "lfu",	      [REPLACE_RANDOM] = "random",
		[REPLACE_FIFO] = "fifo", [REPLACE_BELADY] = "belady",
	};

	return policy < REPLACE_COUNT ? names[policy] : "unknown";
}
