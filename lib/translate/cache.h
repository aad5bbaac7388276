/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A translation cache: what DevTLB, IOTLB, page-walk caches, context cache and prefetch buffer have
 * in common. It holds keys in sets of ways and knows which key makes way for which; whoever needs
 * more for each entry (an address, permissions) keeps an array of his own by slot.
 *
 * Replacement (HyperTRIO section III-C and IV-C, and two classics to compare with):
 *   LRU     least recently used
 *   LFU     a 4-bit counter an entry, 0 when it enters, one more at each hit; when one reaches 15
 *           all counters of its set are halved; of the smallest one is drawn
 *   RANDOM  drawn
 *   FIFO    oldest entry
 *   BELADY  farthest next use, which the caller knows (the oracle: needs the whole sequence)
 *
 * Draws come from a generator seeded by the configuration: same calls, same evictions, anywhere. It
 * is xorshift64star (Vigna 2016: shifts 12, 25, 27, multiplier 0x2545f4914f6cdd1d) whose state begins
 * as (seed + 1) * 0x9e3779b97f4a7c15; a draw of n takes the upper 32 bits, times n, shifted right by
 * 32. LFU draws only if several are smallest, and takes the drawn one in the order of ways.
 *
 * Contract: one owner, no locks inside. Only create and destroy allocate. Up to CACHE_NARROW_WAYS
 * ways a lookup costs a compare of all tags at once; wider sets are looked up through a hash.
 */
#ifndef FAULTLINE_TRANSLATE_CACHE_H
#define FAULTLINE_TRANSLATE_CACHE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

enum replacement {
	REPLACE_LRU,
	REPLACE_LFU,
	REPLACE_RANDOM,
	REPLACE_FIFO,
	REPLACE_BELADY,
	REPLACE_COUNT,
};

#define CACHE_NARROW_WAYS 16
#define CACHE_ENTRIES_MAX (1u << 20)
#define CACHE_LFU_LIMIT	  15
#define CACHE_NO_SLOT	  UINT32_MAX
#define CACHE_NEVER	  UINT64_MAX /* next use of a key that is not used again */

struct cache_config {
	__u32 entries; /* sets times ways; 1 to CACHE_ENTRIES_MAX */
	__u32 ways;    /* of a set; entries: fully associative */
	enum replacement policy;
	__u64 seed; /* of the draws */
};

struct cache;

/*
 * Whether there can be such a cache: -EINVAL with the accepted shapes. The number of sets is a power
 * of two, so that low bits of an address can choose.
 */
int cache_check(const struct cache_config *config);
/* -EINVAL as of cache_check(), -ENOMEM. */
int cache_create(struct cache **cache, const struct cache_config *config);
void cache_destroy(struct cache *cache);
__u32 cache_sets(const struct cache *cache);

/* The slot that holds `key` (never 0) in `set`, CACHE_NO_SLOT if none does. Changes nothing. */
__u32 cache_find(const struct cache *cache, __u32 set, __u64 key);
/* The slot was hit. `next_use` matters to BELADY only. */
void cache_touch(struct cache *cache, __u32 slot, __u64 next_use);
/*
 * Enters a key that is not there, into the first free way or in the place of the policy's victim;
 * returns its slot. *evicted gets the key that made way, 0 if none had to.
 */
__u32 cache_insert(struct cache *cache, __u32 set, __u64 key, __u64 next_use, __u64 *evicted);
/* Takes one key out. Its way is free until a key enters. */
void cache_remove(struct cache *cache, __u32 slot);

/* The key in a slot, 0 if it is free; slots are numbered set by set. */
__u64 cache_key(const struct cache *cache, __u32 slot);
__u32 cache_used(const struct cache *cache, __u32 set);
/* Times LFU counters were halved. */
__u64 cache_halvings(const struct cache *cache);

/* "lru", "lfu", ... */
const char *replacement_name(enum replacement policy);

#endif
