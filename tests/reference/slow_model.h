/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The whole model of lib/translate/model.h once more, written to be obviously right: one sorted list
 * of events, caches that are searched from end to end, no code of the model and none of its headers.
 * What it does is docs/translation.md, "The rules, to the picosecond"; addresses are below 2^57.
 */
#ifndef FAULTLINE_SLOW_MODEL_H
#define FAULTLINE_SLOW_MODEL_H

#include "tests/reference/slow_cache.h"

#define SLOW_REQUESTS 4
#define SLOW_DEVICES  64

struct slow_request {
	uint64_t iova, next_use;
	unsigned int page_shift;
};

struct slow_packet {
	unsigned int source, domain, count;
	struct slow_request requests[SLOW_REQUESTS];
};

struct slow_level_config {
	uint32_t entries, ways, partitions;
	enum slow_policy policy;
	uint64_t seed;
};

enum slow_walk { SLOW_AS_RELEASED, SLOW_NESTED, SLOW_24, SLOW_NONE };

enum slow_part {
	SLOW_PART_CONTEXT,
	SLOW_PART_DEVTLB,
	SLOW_PART_IOTLB,
	SLOW_PART_LEVEL2,
	SLOW_PART_LEVEL3,
	SLOW_PART_PREFETCH,
	SLOW_PARTS,
};

struct slow_config {
	uint64_t packet_bits, link_bits_per_s;
	unsigned int ptb_entries;
	uint64_t pcie_ps, dram_ps, devtlb_hit_ps, context_hit_ps, walk_hit_ps, fault_ps;
	enum slow_walk walk;
	unsigned int host_shift;
	struct slow_level_config context, devtlb, iotlb, level2, level3, prefetch;
	unsigned int prefetch_distance, prefetch_pages;
	bool prefetch_on_miss; /* of the buffer; else by every translation */
	unsigned int devices, invalidate_packets, fault_per_million;
	uint64_t seed;
};

/* Of a cache or of one of its sets, whose halvings are not told apart. */
struct slow_level_stats {
	uint64_t hits, misses, fills, evictions, cross_evictions, halvings;
};

struct slow_set {
	struct slow_level_stats stats;
	uint32_t used; /* entries in the end */
};

struct slow_stats {
	uint64_t time_ps, packets, translations, drops;
	uint64_t walks, walk_reads, prefetch_walks;
	uint64_t latency_sum_ps, latency_max_ps;
	struct slow_level_stats context, devtlb, iotlb, level2, level3, prefetch;
	uint64_t prefetches, prefetch_useful, prefetch_unused, prefetch_duplicates;
	uint64_t prefetch_late, prefetch_refused;
	uint64_t invalidations, faults, in_flight_ps, in_flight_max;
};

struct slow_run {
	struct slow_config config;
	/* The next packet of a device; false at its end. */
	bool (*next)(void *self, unsigned int device, struct slow_packet *packet);
	void (*entered)(void *self, uint64_t now, const struct slow_packet *packet, uint64_t drops);
	void (*completed)(void *self, uint64_t now, unsigned int source, uint64_t latency);
	void *self;
	/* Filled by slow_model_run. */
	struct slow_stats stats;
	/* The sets of each cache, partition by partition; of several devices the first one's. */
	struct slow_set *sets[SLOW_PARTS];
	uint32_t set_count[SLOW_PARTS];
	uint64_t *lost; /* DevTLB entries of a domain that made way for another domain's */
};

void slow_model_run(struct slow_run *run);
void slow_model_free(struct slow_run *run);

#endif
