// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/model_pair.h"

#include "tests/unit/test.h"

#include <stdlib.h>

#include "lib/base/fail.h"
#include "tests/reference/slow_model.h"

/* What an observer is told: `value` is drops or latency. */
struct happening {
	uint64_t time, value;
	uint32_t source;
	bool completion;
};

struct comparison {
	const struct model_pair *pair;
	size_t at[64];		/* packets taken from each device */
	struct happening *seen; /* of the model */
	size_t seen_count, seen_room;
	size_t compared; /* of these, with the slow model's */
};

struct device_source {
	struct comparison *comparison;
	size_t device;
};

static int next_packets(void *self, struct model_packet *packets, int room)
{
	struct device_source *source = self;
	const struct model_pair *pair = source->comparison->pair;
	size_t *at = &source->comparison->at[source->device];
	int count = 0;

	while (count < room && *at < pair->devices[source->device].count)
		packets[count++] = pair->devices[source->device].packets[(*at)++];
	return count;
}

static void note(struct comparison *c, struct happening happening)
{
	if (c->seen_count == c->seen_room) {
		c->seen_room = c->seen_room * 2 + 4096;
		c->seen = realloc(c->seen, c->seen_room * sizeof(c->seen[0]));
		assert_non_null(c->seen);
	}
	c->seen[c->seen_count++] = happening;
}

static void note_entry(void *self, __u64 now_ps, const struct model_packet *packet, __u64 drops)
{
	note(self, (struct happening){now_ps, drops, packet->source, false});
}

static void note_completion(void *self, __u64 now_ps, __u16 source, __u64 latency_ps)
{
	note(self, (struct happening){now_ps, latency_ps, source, true});
}

static void check(struct comparison *c, struct happening slow)
{
	struct happening seen;

	if (c->compared == c->seen_count)
		fail_msg("%s: the model ended after %zu steps, the reference goes on",
			 c->pair->name, c->seen_count);
	seen = c->seen[c->compared];
	if (seen.time != slow.time || seen.value != slow.value || seen.source != slow.source ||
	    seen.completion != slow.completion)
		fail_msg("%s: step %zu: the model: %s of source %u at %llu ps with %s %llu; the "
			 "reference: %s of source %u at %llu ps with %s %llu",
			 c->pair->name, c->compared, seen.completion ? "completion" : "entry",
			 seen.source, (unsigned long long)seen.time,
			 seen.completion ? "latency" : "drops", (unsigned long long)seen.value,
			 slow.completion ? "completion" : "entry", slow.source,
			 (unsigned long long)slow.time, slow.completion ? "latency" : "drops",
			 (unsigned long long)slow.value);
	c->compared++;
}

static void check_entry(void *self, uint64_t now, const struct slow_packet *packet, uint64_t drops)
{
	check(self, (struct happening){now, drops, packet->source, false});
}

static void check_completion(void *self, uint64_t now, unsigned int source, uint64_t latency)
{
	check(self, (struct happening){now, latency, source, true});
}

static bool next_slow(void *self, unsigned int device, struct slow_packet *packet)
{
	struct comparison *c = self;
	const struct model_packet *next;

	if (c->at[device] == c->pair->devices[device].count)
		return false;
	next = &c->pair->devices[device].packets[c->at[device]++];
	*packet = (struct slow_packet){next->source, next->domain, next->count};
	for (__u32 i = 0; i < next->count; i++)
		packet->requests[i] =
			(struct slow_request){next->requests[i].iova, next->requests[i].next_use,
					      next->requests[i].page_shift};
	return true;
}

static struct slow_level_config level_of(const struct model_cache *cache)
{
	static const enum slow_policy policies[REPLACE_COUNT] = {
		[REPLACE_LRU] = SLOW_LRU,	[REPLACE_LFU] = SLOW_LFU,
		[REPLACE_RANDOM] = SLOW_RANDOM, [REPLACE_FIFO] = SLOW_FIFO,
		[REPLACE_BELADY] = SLOW_BELADY,
	};

	return (struct slow_level_config){cache->cache.entries, cache->cache.ways,
					  cache->partitions, policies[cache->cache.policy],
					  cache->cache.seed};
}

static struct slow_config slow_of(const struct model_config *c)
{
	static const enum slow_walk walks[WALK_COUNT] = {
		[WALK_AS_RELEASED] = SLOW_AS_RELEASED,
		[WALK_NESTED] = SLOW_NESTED,
		[WALK_TABLES] = SLOW_NESTED,
		[WALK_24] = SLOW_24,
		[WALK_NONE] = SLOW_NONE,
	};
	_Static_assert(WALK_COUNT == 5, "every walk needs its like");
	struct slow_config slow = {
		.packet_bits = c->packet_bits,
		.link_bits_per_s = c->link_bits_per_s,
		.ptb_entries = c->ptb_entries,
		.pcie_ps = c->pcie_ps,
		.dram_ps = c->dram_ps,
		.devtlb_hit_ps = c->devtlb_hit_ps,
		.context_hit_ps = c->context_hit_ps,
		.walk_hit_ps = c->walk_hit_ps,
		.fault_ps = c->fault_ps,
		.walk = walks[c->walk],
		.host_shift = c->host_shift,
		.context = level_of(&c->context),
		.devtlb = level_of(&c->devtlb),
		.iotlb = level_of(&c->iotlb),
		.level2 = level_of(&c->level2),
		.level3 = level_of(&c->level3),
		.prefetch = level_of(&c->prefetch),
		.prefetch_distance = c->prefetch_distance,
		.prefetch_pages = c->prefetch_pages,
		.prefetch_on_miss = c->prefetch_trigger == TRIGGER_MISS,
		.devices = c->devices ? c->devices : 1,
		.invalidate_packets = c->invalidate_packets,
		.fault_per_million = c->fault_per_million,
		.seed = c->seed,
	};

	if (c->walk == WALK_NONE)
		slow.prefetch.entries = 0;
	slow.prefetch.ways = slow.prefetch.entries;
	slow.prefetch.partitions = 1;
	return slow;
}

static void same(const char *name, const char *what, const char *field, uint64_t seen,
		 uint64_t expected)
{
	if (seen != expected)
		fail_msg("%s: %s%s is %llu, the reference says %llu", name, what, field,
			 (unsigned long long)seen, (unsigned long long)expected);
}

#define SAME(field) same(name, what, #field, seen->field, expected->field)

static void same_level(const char *name, const char *what, const struct model_cache_stats *seen,
		       const struct slow_level_stats *expected)
{
	SAME(hits);
	SAME(misses);
	SAME(fills);
	SAME(evictions);
	SAME(cross_evictions);
	SAME(halvings);
}

static void same_stats(const char *name, const struct model_stats *seen,
		       const struct slow_stats *expected)
{
	const char *what = "";

	same_level(name, "context.", &seen->context, &expected->context);
	same_level(name, "devtlb.", &seen->devtlb, &expected->devtlb);
	same_level(name, "iotlb.", &seen->iotlb, &expected->iotlb);
	same_level(name, "level2.", &seen->level2, &expected->level2);
	same_level(name, "level3.", &seen->level3, &expected->level3);
	same_level(name, "prefetch.", &seen->prefetch, &expected->prefetch);
	SAME(time_ps);
	SAME(packets);
	SAME(translations);
	SAME(drops);
	SAME(walks);
	SAME(walk_reads);
	SAME(prefetch_walks);
	SAME(latency_sum_ps);
	SAME(latency_max_ps);
	SAME(prefetches);
	SAME(prefetch_useful);
	SAME(prefetch_unused);
	SAME(prefetch_duplicates);
	SAME(prefetch_late);
	SAME(prefetch_refused);
	SAME(invalidations);
	SAME(faults);
	SAME(in_flight_ps);
	SAME(in_flight_max);
}

static void same_occupancy(const struct model_pair *pair, const struct model *model,
			   enum model_part part, const struct slow_run *run,
			   enum slow_part slow_part)
{
	uint32_t seen[64], partitions = model_occupancy(model, part, seen, COUNT(seen));
	uint32_t sets = run->set_count[slow_part];

	for (uint32_t p = 0; p < partitions; p++) {
		uint32_t expected = 0;

		for (uint32_t set = 0; set < sets / partitions; set++)
			expected += run->sets[slow_part][p * (sets / partitions) + set].used;
		same(pair->name, "", "occupancy", seen[p], expected);
	}
	same(pair->name, "", "sets", partitions ? sets % partitions : sets, 0);
}

static void same_sets(const char *name, const struct model *model, enum model_part part,
		      const struct slow_run *run, enum slow_part slow_part)
{
	uint32_t count;
	const struct model_cache_stats *sets = model_sets(model, part, &count);

	same(name, "", "sets", count, run->set_count[slow_part]);
	for (uint32_t set = 0; set < count; set++)
		same_level(name, "set.", &sets[set], &run->sets[slow_part][set].stats);
}

static void same_caches(const struct model_pair *pair, const struct model *model,
			const struct slow_run *run)
{
	static const enum slow_part parts[] = {
		[PART_CONTEXT] = SLOW_PART_CONTEXT, [PART_DEVTLB] = SLOW_PART_DEVTLB,
		[PART_IOTLB] = SLOW_PART_IOTLB,	    [PART_LEVEL2] = SLOW_PART_LEVEL2,
		[PART_LEVEL3] = SLOW_PART_LEVEL3,   [PART_PREFETCH] = SLOW_PART_PREFETCH,
	};

	for (unsigned int part = 0; part < COUNT(parts); part++) {
		same_occupancy(pair, model, part, run, parts[part]);
		same_sets(pair->name, model, part, run, parts[part]);
	}
	for (uint32_t domain = 0; domain < MODEL_TENANTS; domain++)
		same(pair->name, "", "lost", model_lost(model, (__u16)domain), run->lost[domain]);
}

/* Runs the slow model against what was noted of the other. */
static void follow(struct comparison *c, const struct model *model, const struct model_stats *stats)
{
	struct slow_run run = {
		.config = slow_of(&c->pair->config),
		.next = next_slow,
		.entered = check_entry,
		.completed = check_completion,
		.self = c,
	};

	for (size_t i = 0; i < COUNT(c->at); i++)
		c->at[i] = 0;
	slow_model_run(&run);
	if (c->compared < c->seen_count)
		fail_msg("%s: the reference ended after %zu steps, the model goes on",
			 c->pair->name, c->compared);
	same_stats(c->pair->name, stats, &run.stats);
	same_caches(c->pair, model, &run);
	slow_model_free(&run);
}

__u64 model_pair_compare(const struct model_pair *pair, struct model_stats *stats)
{
	static struct comparison c; /* keeps its memory from pair to pair */
	const struct model_observer observer = {note_entry, note_completion, &c};
	struct device_source sources[64];
	void *selves[64];
	struct model *model;

	c.pair = pair;
	c.seen_count = c.compared = 0;
	for (size_t i = 0; i < COUNT(sources); i++) {
		c.at[i] = 0;
		sources[i] = (struct device_source){&c, i};
		selves[i] = &sources[i];
	}
	if (model_create(&model, &pair->config))
		fail_msg("%s: %s", pair->name, failure_text());
	model_observe(model, &observer);
	if (model_run(model, next_packets, selves))
		fail_msg("%s: %s", pair->name, failure_text());
	model_stats(model, stats);
	follow(&c, model, stats);
	model_destroy(model);
	return stats->translations;
}
