/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the cache: sets with more ways than a record holds, found through a hash of all keys. */
#ifndef FAULTLINE_TRANSLATE_CACHE_WIDE_H
#define FAULTLINE_TRANSLATE_CACHE_WIDE_H

#include "lib/translate/cache_set.h"

/* NULL without memory. The cache's other fields are set. */
struct cache_wide *wide_create(const struct cache *cache);
void wide_destroy(struct cache_wide *wide);

__u32 wide_find(const struct cache *cache, __u32 set, __u64 key);
void wide_touch(struct cache *cache, __u32 slot, __u64 next_use);
__u32 wide_insert(struct cache *cache, __u32 set, __u64 key, __u64 next_use, __u64 *evicted);
void wide_remove(struct cache *cache, __u32 slot);
__u32 wide_used(const struct cache *cache, __u32 set);

#endif
