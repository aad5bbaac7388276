// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_cache.h"

#include <stdlib.h>

struct slot {
	bool used;
	uint64_t key;
	uint64_t entered; /* when */
	uint64_t touched;
	uint64_t next_use;
	unsigned int hits; /* LFU counter */
};

struct slow_cache {
	uint32_t ways;
	enum slow_policy policy;
	uint64_t state, now, halvings;
	struct slot slots[];
};

struct slow_cache *slow_cache_new(uint32_t sets, uint32_t ways, enum slow_policy policy,
				  uint64_t seed)
{
	struct slow_cache *cache =
		calloc(1, sizeof(*cache) + (size_t)sets * ways * sizeof(cache->slots[0]));

	if (!cache)
		abort();
	cache->ways = ways;
	cache->policy = policy;
	cache->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	if (cache->state == 0)
		cache->state = 1;
	return cache;
}

void slow_cache_free(struct slow_cache *cache)
{
	free(cache);
}

static uint32_t draw(struct slow_cache *cache, uint32_t bound)
{
	uint64_t x = cache->state;

	x = x ^ (x >> 12);
	x = x ^ (x << 25);
	x = x ^ (x >> 27);
	cache->state = x;
	return (uint32_t)((((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * bound) >> 32);
}

static void hit(struct slow_cache *cache, struct slot *set, struct slot *slot, uint64_t next_use)
{
	slot->touched = cache->now;
	slot->next_use = next_use;
	if (cache->policy != SLOW_LFU)
		return;
	slot->hits = slot->hits + 1;
	if (slot->hits < 15)
		return;
	for (uint32_t way = 0; way < cache->ways; way++)
		set[way].hits = set[way].hits / 2;
	cache->halvings = cache->halvings + 1;
}

static struct slot *least_used(struct slow_cache *cache, struct slot *set)
{
	unsigned int least = set[0].hits;
	uint32_t count = 0, chosen = 0;

	for (uint32_t way = 0; way < cache->ways; way++)
		if (set[way].hits < least)
			least = set[way].hits;
	for (uint32_t way = 0; way < cache->ways; way++)
		if (set[way].hits == least)
			count = count + 1;
	if (count > 1)
		chosen = draw(cache, count);
	for (uint32_t way = 0; way < cache->ways; way++) {
		if (set[way].hits != least)
			continue;
		if (chosen == 0)
			return &set[way];
		chosen = chosen - 1;
	}
	abort();
}

static struct slot *victim(struct slow_cache *cache, struct slot *set)
{
	struct slot *best = &set[0];

	if (cache->policy == SLOW_RANDOM)
		return &set[draw(cache, cache->ways)];
	if (cache->policy == SLOW_LFU)
		return least_used(cache, set);
	for (uint32_t way = 1; way < cache->ways; way++) {
		if (cache->policy == SLOW_LRU && set[way].touched < best->touched)
			best = &set[way];
		if (cache->policy == SLOW_FIFO && set[way].entered < best->entered)
			best = &set[way];
		if (cache->policy == SLOW_BELADY && set[way].next_use > best->next_use)
			best = &set[way];
	}
	return best;
}

static struct slot *find(struct slow_cache *cache, struct slot *set, uint64_t key)
{
	for (uint32_t way = 0; way < cache->ways; way++)
		if (set[way].used && set[way].key == key)
			return &set[way];
	return NULL;
}

bool slow_cache_access(struct slow_cache *cache, uint32_t number, uint64_t key, uint64_t next_use,
		       uint64_t *evicted)
{
	struct slot *set = &cache->slots[(size_t)number * cache->ways];
	struct slot *slot = find(cache, set, key);

	cache->now = cache->now + 1;
	*evicted = 0;
	if (slot) {
		hit(cache, set, slot, next_use);
		return true;
	}
	for (uint32_t way = 0; way < cache->ways && !slot; way++)
		if (!set[way].used)
			slot = &set[way];
	if (!slot) {
		slot = victim(cache, set);
		*evicted = slot->key;
	}
	*slot = (struct slot){true, key, cache->now, cache->now, next_use, 0};
	return false;
}

void slow_cache_second(struct slow_cache *cache, uint32_t number, uint64_t key, uint64_t next_use)
{
	struct slot *slot = find(cache, &cache->slots[(size_t)number * cache->ways], key);

	if (slot->next_use < next_use)
		slot->next_use = next_use;
}

bool slow_cache_holds(struct slow_cache *cache, uint32_t number, uint64_t key)
{
	return find(cache, &cache->slots[(size_t)number * cache->ways], key);
}

uint32_t slow_cache_used(const struct slow_cache *cache, uint32_t number)
{
	uint32_t used = 0;

	for (uint32_t way = 0; way < cache->ways; way++)
		if (cache->slots[(size_t)number * cache->ways + way].used)
			used = used + 1;
	return used;
}

bool slow_cache_remove(struct slow_cache *cache, uint32_t number, uint64_t key)
{
	struct slot *slot = find(cache, &cache->slots[(size_t)number * cache->ways], key);

	if (slot)
		slot->used = false;
	return slot;
}

uint64_t slow_cache_halvings(const struct slow_cache *cache)
{
	return cache->halvings;
}
