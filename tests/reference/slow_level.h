/* SPDX-License-Identifier: GPL-2.0 */
/* A cache of the slow model: its sets, its partitions, its counts. */
#ifndef FAULTLINE_SLOW_LEVEL_H
#define FAULTLINE_SLOW_LEVEL_H

#include "tests/reference/slow_model.h"

struct slow_level {
	struct slow_cache *cache; /* NULL: there is none */
	uint32_t partitions, partition_sets;
	struct slow_set *sets;
};

void slow_level_begin(struct slow_level *level, const struct slow_level_config *config);
/* Adds what it counted to `stats`; leaves the sets to whoever takes or frees them. */
void slow_level_end(struct slow_level *level, struct slow_level_stats *stats);

/* What an entry is for: a piece of 2^shift bytes of a domain, never 0. */
uint64_t slow_key(unsigned int domain, uint64_t iova, unsigned int shift);
unsigned int slow_key_domain(uint64_t key);

/* `unit` is the address in units of what the level's sets go by. */
bool slow_level_lookup(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		       uint64_t next_use);
bool slow_level_holds(const struct slow_level *level, unsigned int domain, uint64_t unit,
		      uint64_t key);
/* False if the entry was there already; else *evicted is who made way, 0: nobody. */
bool slow_level_fill(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key,
		     uint64_t next_use, uint64_t *evicted);
void slow_level_forget(struct slow_level *level, unsigned int domain, uint64_t unit, uint64_t key);

#endif
