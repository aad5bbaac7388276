// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/cache_wide.h"

#include <stdlib.h>
#include <string.h>

/* Neighbours in the order of a set: from newest to oldest, and from free way to free way. */
struct links {
	__u32 newer, older;
};

struct wide_set {
	__u32 newest, oldest; /* slots; CACHE_NO_SLOT: empty */
	__u32 free;	      /* first free slot, the others follow by `older`, ascending */
	__u32 used;
};

struct cache_wide {
	struct wide_set *sets;
	struct links *links; /* by slot */
	__u8 *counters;	     /* LFU, by slot */
	__u32 *index;	     /* open addressing with linear probing: slot + 1, 0: empty */
	__u32 index_shift;   /* of a 64-bit hash */
	__u32 index_mask;
};

static bool wide_allocate(struct cache_wide *wide, const struct cache *cache)
{
	__u32 slots = cache->sets * cache->ways, size = 16;

	while (size < 2 * slots)
		size *= 2;
	wide->index_mask = size - 1;
	wide->index_shift = 64 - (__u32)__builtin_ctz(size);
	wide->sets = calloc(cache->sets, sizeof(wide->sets[0]));
	wide->links = calloc(slots, sizeof(wide->links[0]));
	wide->counters = calloc(slots, 1);
	wide->index = calloc(size, sizeof(wide->index[0]));
	return wide->sets && wide->links && wide->counters && wide->index;
}

struct cache_wide *wide_create(const struct cache *cache)
{
	struct cache_wide *wide = calloc(1, sizeof(*wide));

	if (!wide || !wide_allocate(wide, cache)) {
		wide_destroy(wide);
		return NULL;
	}
	for (__u32 set = 0; set < cache->sets; set++) {
		__u32 first = set * cache->ways, last = first + cache->ways - 1;

		wide->sets[set] = (struct wide_set){CACHE_NO_SLOT, CACHE_NO_SLOT, first, 0};
		for (__u32 slot = first; slot <= last; slot++)
			wide->links[slot].older = slot < last ? slot + 1 : CACHE_NO_SLOT;
	}
	return wide;
}

void wide_destroy(struct cache_wide *wide)
{
	if (!wide)
		return;
	free(wide->sets);
	free(wide->links);
	free(wide->counters);
	free(wide->index);
	free(wide);
}

/* A key may stand in several sets (a partition each): the set is part of what is looked for. */
static __u32 index_home(const struct cache_wide *wide, __u32 set, __u64 key)
{
	return (__u32)(cache_hash(key ^ (__u64)set << 48) >> wide->index_shift);
}

static __u32 index_place(const struct cache *cache, __u32 set, __u64 key)
{
	const struct cache_wide *wide = cache->wide;
	__u32 at = index_home(wide, set, key);

	for (; wide->index[at]; at = (at + 1) & wide->index_mask) {
		__u32 slot = wide->index[at] - 1;

		if (cache->keys[slot] == key && (cache->sets == 1 || slot / cache->ways == set))
			break;
	}
	return at;
}

/* Closes the gap that a removal leaves, so that no search stops too early. */
static void index_remove(const struct cache *cache, __u32 slot)
{
	struct cache_wide *wide = cache->wide;
	__u32 gap = index_place(cache, slot / cache->ways, cache->keys[slot]);

	wide->index[gap] = 0;
	for (__u32 at = (gap + 1) & wide->index_mask; wide->index[at];
	     at = (at + 1) & wide->index_mask) {
		__u32 other = wide->index[at] - 1;
		__u32 home = index_home(wide, other / cache->ways, cache->keys[other]);

		if (((at - home) & wide->index_mask) < ((at - gap) & wide->index_mask))
			continue;
		wide->index[gap] = wide->index[at];
		wide->index[at] = 0;
		gap = at;
	}
}

static void unlink_slot(struct cache_wide *wide, struct wide_set *set, __u32 slot)
{
	struct links *links = &wide->links[slot];

	if (links->newer != CACHE_NO_SLOT)
		wide->links[links->newer].older = links->older;
	else
		set->newest = links->older;
	if (links->older != CACHE_NO_SLOT)
		wide->links[links->older].newer = links->newer;
	else
		set->oldest = links->newer;
}

static void link_newest(struct cache_wide *wide, struct wide_set *set, __u32 slot)
{
	wide->links[slot] = (struct links){CACHE_NO_SLOT, set->newest};
	if (set->newest != CACHE_NO_SLOT)
		wide->links[set->newest].newer = slot;
	else
		set->oldest = slot;
	set->newest = slot;
}

__u32 wide_find(const struct cache *cache, __u32 set, __u64 key)
{
	return cache->wide->index[index_place(cache, set, key)] - 1;
}

static void count_hit(struct cache *cache, __u32 slot)
{
	__u8 *counters = cache->wide->counters;
	__u32 first;

	if (++counters[slot] < CACHE_LFU_LIMIT)
		return;
	first = slot - slot % cache->ways;
	for (__u32 way = 0; way < cache->ways; way++)
		counters[first + way] >>= 1;
	cache->halvings++;
}

void wide_touch(struct cache *cache, __u32 slot, __u64 next_use)
{
	if (cache->policy == REPLACE_LFU) {
		count_hit(cache, slot);
	} else if (cache->policy == REPLACE_BELADY) {
		cache->next_uses[slot] = next_use;
	} else if (cache->policy == REPLACE_LRU) {
		struct wide_set *set = &cache->wide->sets[slot / cache->ways];

		if (set->newest == slot)
			return;
		unlink_slot(cache->wide, set, slot);
		link_newest(cache->wide, set, slot);
	}
}

static __u32 least_used(struct cache *cache, __u32 first)
{
	const __u8 *counters = &cache->wide->counters[first];
	__u32 count = 0, drawn;
	__u8 least = UINT8_MAX;

	for (__u32 way = 0; way < cache->ways; way++)
		least = counters[way] < least ? counters[way] : least;
	for (__u32 way = 0; way < cache->ways; way++)
		count += counters[way] == least;
	drawn = count > 1 ? cache_draw(cache, count) : 0;
	for (__u32 way = 0;; way++)
		if (counters[way] == least && !drawn--)
			return first + way;
}

static __u32 wide_victim(struct cache *cache, __u32 set)
{
	__u32 first = set * cache->ways;

	switch (cache->policy) {
	case REPLACE_LFU:
		return least_used(cache, first);
	case REPLACE_RANDOM:
		return first + cache_draw(cache, cache->ways);
	case REPLACE_BELADY:
		return first + narrow_farthest(cache, set);
	default: /* LRU, FIFO: the oldest */
		return cache->wide->sets[set].oldest;
	}
}

__u32 wide_insert(struct cache *cache, __u32 number, __u64 key, __u64 next_use, __u64 *evicted)
{
	struct cache_wide *wide = cache->wide;
	struct wide_set *set = &wide->sets[number];
	__u32 slot = set->free;

	*evicted = 0;
	if (slot == CACHE_NO_SLOT) {
		slot = wide_victim(cache, number);
		*evicted = cache->keys[slot];
		wide_remove(cache, slot);
	}
	set->free = wide->links[slot].older;
	set->used++;
	wide->index[index_place(cache, number, key)] = slot + 1;
	cache->keys[slot] = key;
	wide->counters[slot] = 0;
	if (cache->next_uses)
		cache->next_uses[slot] = next_use;
	link_newest(wide, set, slot);
	return slot;
}

void wide_remove(struct cache *cache, __u32 slot)
{
	struct cache_wide *wide = cache->wide;
	struct wide_set *set = &wide->sets[slot / cache->ways];
	__u32 *free = &set->free;

	index_remove(cache, slot);
	cache->keys[slot] = 0;
	unlink_slot(wide, set, slot);
	while (*free != CACHE_NO_SLOT && *free < slot)
		free = &wide->links[*free].older;
	wide->links[slot].older = *free;
	*free = slot;
	set->used--;
}

__u32 wide_used(const struct cache *cache, __u32 set)
{
	return cache->wide->sets[set].used;
}
