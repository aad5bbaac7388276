/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the model: one cache of the hierarchy, with what chooses its set and what it counts. Here
 * and not in a .c file, because half of a simulation is spent in these lines.
 */
#ifndef FAULTLINE_TRANSLATE_MODEL_LEVEL_H
#define FAULTLINE_TRANSLATE_MODEL_LEVEL_H

#include "lib/translate/cache_set.h"
#include "lib/translate/cache_wide.h"
#include "lib/translate/model.h"

/*
 * Page, domain and page size in one word, never 0: the page's first address in units of 4 KiB, then
 * 16 bits of domain, then 1, 2 or 3 for 4 KiB, 2 MiB and 1 GiB.
 */
#define KEY_PAGE	18
#define KEY_2M		(KEY_PAGE + 9)
#define KEY_1G		(KEY_PAGE + 18)
#define KEY_DOMAIN	0x3fffcull
#define KEY_ABOVE(bits) (~0ull << (bits))

static inline __u64 page_key(__u64 iova, __u32 shift, __u32 domain)
{
	return iova >> shift << (shift - 12) << KEY_PAGE | (__u64)domain << 2 | (shift - 3) / 9;
}

static inline __u32 key_domain(__u64 key)
{
	return key >> 2 & 0xffff;
}

static inline __u64 key_iova(__u64 key)
{
	return key >> KEY_PAGE << 12;
}

static inline __u32 key_leaf(__u64 key)
{
	return key & 3;
}

/* The 2 MiB or the 1 GiB page that holds the key's page. */
static inline __u64 key_2m(__u64 key)
{
	return (key & (KEY_ABOVE(KEY_2M) | KEY_DOMAIN)) | 2;
}

static inline __u64 key_1g(__u64 key)
{
	return (key & (KEY_ABOVE(KEY_1G) | KEY_DOMAIN)) | 3;
}

struct level {
	struct cache *cache;		/* NULL: there is none */
	struct model_cache_stats *sets; /* what each set counts; halvings are the cache's */
	__u64 *lost;	   /* by domain: entries that made way for another one's; NULL: not kept */
	__u32 tenant_mask; /* of the domain's bits that choose the partition */
	__u32 page_mask;   /* of the page's bits that choose the set in it */
	__u32 set_count;   /* of one partition */
	__u8 set_bit;	   /* of the key, the lowest that chooses the set */
};

static inline __u32 level_set_of(const struct level *level, __u64 key)
{
	return ((__u32)(key >> 2) & level->tenant_mask) * level->set_count +
	       ((__u32)(key >> level->set_bit) & level->page_mask);
}

static inline __u32 level_find(const struct level *level, __u32 set, __u64 key)
{
	return level->cache->wide ? wide_find(level->cache, set, key)
				  : narrow_find(level->cache, set, key);
}

static INLINE void level_touch(struct level *level, __u32 set, __u32 slot, __u64 next_use)
{
	if (level->cache->wide)
		wide_touch(level->cache, slot, next_use);
	else
		narrow_touch(level->cache, set, slot, next_use);
}

/* Where a lookup missed, and how many keys had entered that set: its fill is spared a search. */
struct miss {
	__u32 set;
	__u32 fills;
};

/* For a key that has not been looked up just now: its fill has to search. */
static inline struct miss level_any_miss(const struct level *level, __u64 key)
{
	__u32 set = level_set_of(level, key);

	return (struct miss){set, (__u32)level->sets[set].fills - 1};
}

/* The slot that was hit, or CACHE_NO_SLOT and what level_fill_slot() wants to know. */
static INLINE __u32 level_look_up_slot(struct level *level, __u64 key, __u64 next_use,
				       struct miss *miss)
{
	__u32 set = level_set_of(level, key), slot = level_find(level, set, key);
	struct model_cache_stats *stats = &level->sets[set];

	if (slot == CACHE_NO_SLOT) {
		stats->misses++;
		*miss = (struct miss){set, (__u32)stats->fills};
		return slot;
	}
	stats->hits++;
	level_touch(level, set, slot, next_use);
	return slot;
}

static INLINE bool level_look_up(struct level *level, __u64 key, __u64 next_use, struct miss *miss)
{
	return level_look_up_slot(level, key, next_use, miss) != CACHE_NO_SLOT;
}

/*
 * Enters the key that missed; *evicted gets the one that made way. Two requests for one page may both
 * have missed: the second one finds the first one's entry, and CACHE_NO_SLOT is returned.
 */
static INLINE __u32 level_fill_slot(struct level *level, const struct miss *miss, __u64 key,
				    __u64 next_use, __u64 *evicted)
{
	struct cache *cache = level->cache;
	struct model_cache_stats *stats = &level->sets[miss->set];
	__u64 victim;
	__u32 slot;

	*evicted = 0;
	if ((__u32)stats->fills != miss->fills) {
		slot = level_find(level, miss->set, key);
		if (slot != CACHE_NO_SLOT) {
			cache_second(cache, slot, next_use);
			return CACHE_NO_SLOT;
		}
	}
	stats->fills++;
	if (cache->wide) {
		slot = wide_insert(cache, miss->set, key, next_use, evicted);
		victim = *evicted;
	} else {
		slot = narrow_insert(cache, miss->set, key, next_use, &victim);
		*evicted = victim;
	}
	if (!victim)
		return slot;
	stats->evictions++;
	if ((victim ^ key) & KEY_DOMAIN) {
		stats->cross_evictions++;
		if (level->lost)
			level->lost[key_domain(victim)]++;
	}
	return slot;
}

static INLINE void level_fill(struct level *level, const struct miss *miss, __u64 key,
			      __u64 next_use)
{
	__u64 evicted;

	level_fill_slot(level, miss, key, next_use, &evicted);
}

/* Takes a key out, if it is there. */
static inline void level_forget(struct level *level, __u64 key)
{
	__u32 slot =
		level->cache ? level_find(level, level_set_of(level, key), key) : CACHE_NO_SLOT;

	if (slot != CACHE_NO_SLOT)
		cache_remove(level->cache, slot);
}

#endif
