/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache written to be obviously right: arrays, a clock, linear searches. What lib/translate/cache.h
 * documents is done here once more, from that text and with none of its code.
 */
#ifndef FAULTLINE_SLOW_CACHE_H
#define FAULTLINE_SLOW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum slow_policy { SLOW_LRU, SLOW_LFU, SLOW_RANDOM, SLOW_FIFO, SLOW_BELADY };

struct slow_cache;

struct slow_cache *slow_cache_new(uint32_t sets, uint32_t ways, enum slow_policy policy,
				  uint64_t seed);
void slow_cache_free(struct slow_cache *cache);
/* One access: a hit is true; a miss enters the key and tells who made way (0: nobody). */
bool slow_cache_access(struct slow_cache *cache, uint32_t set, uint64_t key, uint64_t next_use,
		       uint64_t *evicted);
/* A key that is there is brought once more: its next use is the later one. */
void slow_cache_second(struct slow_cache *cache, uint32_t set, uint64_t key, uint64_t next_use);
/* Changes nothing. */
bool slow_cache_holds(struct slow_cache *cache, uint32_t set, uint64_t key);
/* Keys in a set. */
uint32_t slow_cache_used(const struct slow_cache *cache, uint32_t set);
/* Takes a key out; false if it was not there. */
bool slow_cache_remove(struct slow_cache *cache, uint32_t set, uint64_t key);
uint64_t slow_cache_halvings(const struct slow_cache *cache);

#endif
