/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the cache: sets of at most CACHE_NARROW_WAYS ways, inline for the model's inner loop.
 *
 * All that a decision needs of such a set lies in one 40-byte record. Order and LFU counters are
 * nibbles of a word, one a way, so that a touch is a rotate and the search for the smallest counter
 * looks at all ways at once.
 */
#ifndef FAULTLINE_TRANSLATE_CACHE_SET_H
#define FAULTLINE_TRANSLATE_CACHE_SET_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lib/translate/cache.h"

#define NIBBLES_ONE  0x1111111111111111ull
#define NIBBLES_LOW  0x7777777777777777ull
#define NIBBLES_HIGH 0x8888888888888888ull
#define NIBBLES_WAYS 0xfedcba9876543210ull

/* A third of what these functions cost were the calls. */
#define INLINE inline __attribute__((always_inline))

struct cache_set {
	__u8 tags[CACHE_NARROW_WAYS]; /* a hash byte of each key, valid where `valid` says so */
	__u64 order;		      /* ways from newest (lowest nibble) to oldest */
	__u64 counters;		      /* LFU, by way */
	__u32 valid;		      /* bit per way */
	__u32 first;		      /* slot of way 0 */
};

struct cache_wide;

struct cache {
	__u32 ways;
	__u32 sets;
	__u32 full;  /* `valid` of a full set */
	__u64 lanes; /* highest bit of each way's nibble */
	__u8 policy;
	__u64 random;
	__u64 halvings;
	__u64 *keys;	  /* by slot */
	__u64 *next_uses; /* by slot, BELADY only */
	struct cache_set *records;
	struct cache_wide *wide; /* instead of records where a set has more ways */
};

/* xorshift64star (Vigna 2016): fixed-width integers only, the same on every machine. */
static inline __u32 cache_draw(struct cache *cache, __u32 bound)
{
	cache->random ^= cache->random >> 12;
	cache->random ^= cache->random << 25;
	cache->random ^= cache->random >> 27;
	return (__u32)(((cache->random * 0x2545f4914f6cdd1dull >> 32) * bound) >> 32);
}

static inline __u64 cache_hash(__u64 key)
{
	return key * 0x9e3779b97f4a7c15ull;
}

/* Highest bit of every nibble of `word` that is zero. */
static inline __u64 zero_nibbles(__u64 word)
{
	return ~(((word & NIBBLES_LOW) + NIBBLES_LOW) | word) & NIBBLES_HIGH;
}

static inline __u32 equal_tags(const struct cache_set *set, __u8 tag)
{
#ifdef __SSE2__
	__m128i tags = _mm_loadu_si128((const __m128i *)set->tags);

	return (__u32)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag)));
#else
	__u32 equal = 0;

	for (unsigned int way = 0; way < CACHE_NARROW_WAYS; way++)
		equal |= (__u32)(set->tags[way] == tag) << way;
	return equal;
#endif
}

static INLINE __u32 narrow_find(const struct cache *cache, __u32 set, __u64 key)
{
	const struct cache_set *record = &cache->records[set];
	__u32 candidates = equal_tags(record, cache_hash(key) >> 56) & record->valid;

	while (candidates) {
		__u32 slot = record->first + (__u32)__builtin_ctz(candidates);

		if (cache->keys[slot] == key)
			return slot;
		candidates &= candidates - 1;
	}
	return CACHE_NO_SLOT;
}

/* Moves a way to the front of the order. */
static inline void narrow_newest(struct cache_set *record, __u32 way)
{
	unsigned int at =
		(unsigned int)__builtin_ctzll(zero_nibbles(record->order ^ way * NIBBLES_ONE)) &
		~3u;
	__u64 before = (1ull << at) - 1, moved = before << 4 | 0xf;

	record->order = (record->order & ~moved) | (record->order & before) << 4 | way;
}

static inline void narrow_count(struct cache *cache, struct cache_set *record, __u32 way)
{
	record->counters += 1ull << (4 * way);
	if ((record->counters >> (4 * way) & 0xf) == CACHE_LFU_LIMIT) {
		record->counters = record->counters >> 1 & NIBBLES_LOW;
		cache->halvings++;
	}
}

static inline void narrow_touch(struct cache *cache, __u32 set, __u32 slot, __u64 next_use)
{
	__u32 way = slot - cache->records[set].first;

	if (cache->policy == REPLACE_LFU)
		narrow_count(cache, &cache->records[set], way);
	else if (cache->policy == REPLACE_LRU)
		narrow_newest(&cache->records[set], way);
	else if (cache->policy == REPLACE_BELADY)
		cache->next_uses[slot] = next_use;
}

/* A second request brought the key: Belady's choice must not rest on a use that has been. */
static inline void cache_second(struct cache *cache, __u32 slot, __u64 next_use)
{
	if (cache->policy == REPLACE_BELADY && next_use > cache->next_uses[slot])
		cache->next_uses[slot] = next_use;
}

/* Of the ways with the smallest counter one is drawn. */
static INLINE __u32 narrow_least(struct cache *cache, const struct cache_set *record)
{
	__u64 least = zero_nibbles(record->counters) & cache->lanes, numbers, value = 0;

	while (!least) {
		value += NIBBLES_ONE;
		least = zero_nibbles(record->counters ^ value) & cache->lanes;
	}
	if (!(least & (least - 1)))
		return (__u32)__builtin_ctzll(least) / 4;
	if (least == cache->lanes) /* as in a set whose entries are never hit */
		return cache_draw(cache, cache->ways);
	/* Each way gets the number of least ways up to it; the highest one has their count. */
	numbers = (least >> 3) * NIBBLES_ONE;
	value = (cache_draw(cache, (__u32)(numbers >> 60)) + 1) * NIBBLES_ONE;
	return (__u32)__builtin_ctzll(zero_nibbles(numbers ^ value)) / 4;
}

static inline __u32 narrow_farthest(const struct cache *cache, __u32 set)
{
	const __u64 *next_uses = &cache->next_uses[set * cache->ways];
	__u32 farthest = 0;

	for (__u32 way = 1; way < cache->ways; way++)
		if (next_uses[way] > next_uses[farthest])
			farthest = way;
	return farthest;
}

static INLINE __u32 narrow_victim(struct cache *cache, __u32 set)
{
	const struct cache_set *record = &cache->records[set];

	if (__builtin_expect(cache->policy == REPLACE_LFU, 1))
		return narrow_least(cache, record);
	switch (cache->policy) {
	case REPLACE_RANDOM:
		return cache_draw(cache, cache->ways);
	case REPLACE_BELADY:
		return narrow_farthest(cache, set);
	default: /* LRU, FIFO: the oldest */
		return record->order >> (4 * (cache->ways - 1)) & 0xf;
	}
}

static INLINE __u32 narrow_insert(struct cache *cache, __u32 set, __u64 key, __u64 next_use,
				  __u64 *evicted)
{
	struct cache_set *record = &cache->records[set];
	__u32 way, slot;

	if (record->valid != cache->full) {
		way = (__u32)__builtin_ctz(~record->valid);
		*evicted = 0;
	} else {
		way = narrow_victim(cache, set);
		*evicted = cache->keys[record->first + way];
	}
	slot = record->first + way;
	cache->keys[slot] = key;
	record->tags[way] = cache_hash(key) >> 56;
	record->valid |= 1u << way;
	if (cache->policy == REPLACE_LFU)
		record->counters &= ~(0xfull << (4 * way));
	else if (cache->policy == REPLACE_BELADY)
		cache->next_uses[slot] = next_use;
	else
		narrow_newest(record, way);
	return slot;
}

#endif
