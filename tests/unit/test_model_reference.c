// SPDX-License-Identifier: GPL-2.0
/* The model against the slow one: every entry, every completion, every sum, in random configurations. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/translate/oracle.h"
#include "tests/unit/amount.h"
#include "tests/unit/model_pair.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS amount(150, 75)
#define EVERY amount(10, 20) /* of the systematic ones */
#else
#define SEEDS amount(1200, 300)
#define EVERY amount(1, 4)
#endif
#define PACKETS	    1200
#define PACKETS_MAX 4096
#define DEVICES_MAX 3

static struct model_packet packets[DEVICES_MAX][PACKETS_MAX];
static uint64_t state;

static void begin(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull;
}

static uint32_t below(uint32_t bound)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * bound >> 32);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* What packets look like. */
struct traffic {
	uint32_t sources, domains;
	uint32_t pages[3]; /* of 4 KiB, 2 MiB, 1 GiB that a source uses */
	uint32_t requests; /* of a packet: exactly, or up to if `varying` */
	uint32_t order;	   /* 0: in turns, 1: drawn, 2: drawn or the same again */
	bool varying;
	uint64_t high; /* bits of all addresses */
};

static struct model_request draw_request(const struct traffic *t, uint32_t source)
{
	/* Sizes lie apart, sources partly on the same pages. */
	static const uint64_t bases[] = {0x34800000, 0xbbe0000000, 0x400000000000};
	static const uint32_t shifts[] = {12, 21, 30};
	/* Pages of 4 KiB are spread over several 2 MiB and 1 GiB. */
	static const uint64_t strides[] = {0x67000, 1ull << 21, 1ull << 30};
	uint32_t size, page;

	do
		size = below(3);
	while (!t->pages[size]);
	page = below(t->pages[size]);
	if (one_in(2))
		page = below(page + 1);
	if (size == 0 && one_in(16))
		page += 3000;
	page += source % 3;
	return (struct model_request){t->high + bases[size] + page * strides[size] +
					      (one_in(2) ? below(1u << shifts[size]) : 0),
				      CACHE_NEVER, shifts[size]};
}

static void draw_packets(const struct traffic *t, struct model_packet *made, size_t count)
{
	uint32_t source = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t requests = t->varying ? 1 + below(t->requests) : t->requests;

		if (t->order == 0)
			source = (uint32_t)i % t->sources;
		else if (t->order == 1 || one_in(4))
			source = below(t->sources);
		made[i] = (struct model_packet){.source = (__u16)(source * 257),
						.domain = (__u16)(source % t->domains * 3),
						.count = requests};
		for (uint32_t r = 0; r < requests; r++)
			made[i].requests[r] = draw_request(t, source);
	}
}

/* Next uses by looking back from the end, page by page in a list. */
static void find_next_uses(struct model_packet *made, size_t count)
{
	static struct {
		uint64_t first, next;
		uint32_t shift, domain;
	} pages[4 * PACKETS_MAX];
	uint64_t number = 0;
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		number += made[i].count;
	for (size_t i = count; i-- > 0;)
		for (uint32_t r = made[i].count; r-- > 0;) {
			struct model_request *request = &made[i].requests[r];
			uint64_t first = request->iova & -(1ull << request->page_shift);
			size_t at = 0;

			while (at < known && (pages[at].first != first ||
					      pages[at].shift != request->page_shift ||
					      pages[at].domain != made[i].domain))
				at++;
			request->next_use = at < known ? pages[at].next : CACHE_NEVER;
			known += at == known;
			pages[at].first = first;
			pages[at].shift = request->page_shift;
			pages[at].domain = made[i].domain;
			pages[at].next = --number;
		}
}

static struct model_cache draw_cache(bool may_know_future)
{
	static const uint32_t ways[] = {1, 1, 2, 3, 4, 8, 12, 15, 16, 17, 24, 33};
	uint32_t sets = 1u << below(6), way = ways[below(COUNT(ways))];
	struct model_cache cache = {.partitions = 1u << below(7)};

	if (one_in(4)) { /* fully associative */
		sets = 1;
		way = 1 + below(one_in(2) ? 16 : 80);
	}
	while (cache.partitions > sets)
		cache.partitions /= 2;
	cache.cache = (struct cache_config){sets * way, way,
					    below(may_know_future ? REPLACE_COUNT : REPLACE_BELADY),
					    below(1000)};
	return cache;
}

/* Fully associative, one partition. */
static struct model_cache draw_flat(uint32_t entries)
{
	return (struct model_cache){{entries, entries, below(REPLACE_BELADY), below(1000)}, 1};
}

/* Often whole slots or none, so that much happens at once. */
static uint64_t draw_latency(uint64_t slot)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return below((uint32_t)(4 * slot));
	case 2:
		return slot / 2;
	default:
		return (1 + below(6)) * slot;
	}
}

static void draw_config(struct model_config *c)
{
	static const uint32_t ptbs[] = {1, 1, 2, 8, 32, 64};
	uint64_t slot;

	model_preset(c, one_in(2) ? MODEL_BASE : MODEL_HYPERTRIO);
	if (!one_in(4))
		c->packet_bits = 100 + below(2000);
	slot = c->packet_bits * 5; /* at 200 Gb/s */
	c->ptb_entries = ptbs[below(COUNT(ptbs))];
	if (!one_in(4)) {
		c->pcie_ps = draw_latency(slot);
		c->dram_ps = draw_latency(slot);
		c->devtlb_hit_ps = draw_latency(slot);
		c->context_hit_ps = draw_latency(slot);
		c->walk_hit_ps = draw_latency(slot);
	}
	c->fault_ps = draw_latency(4 * slot);
	c->walk = below(WALK_COUNT);
	c->host_shift = one_in(2) ? 12 : 21;
	if (!one_in(16))
		c->context = draw_flat(1 + below(40));
	c->devtlb = draw_cache(true);
	c->iotlb = draw_cache(true);
	if (one_in(2))
		c->iotlb.cache.entries = 0;
	c->level2 = draw_cache(true);
	c->level3 = draw_cache(true);
	c->prefetch = one_in(3) ? draw_flat(0) : draw_flat(1 + below(one_in(2) ? 8 : 40));
	c->prefetch_distance = 1 + below(one_in(2) ? 6 : 100);
	c->prefetch_pages = 1 + below(one_in(2) ? 2 : 8);
	c->devices = one_in(3) ? 1 + below(DEVICES_MAX) : 1;
	c->invalidate_packets = one_in(3) ? 1 + below(40) : 0;
	c->fault_per_million = one_in(3) ? below(one_in(4) ? 1000001 : 50000) : 0;
	c->seed = below(1000);
	c->prefetch_trigger = below(TRIGGER_COUNT);
}

static void draw_traffic(struct traffic *t, const struct model_config *c)
{
	*t = (struct traffic){
		.sources = 1 + below(one_in(2) ? 8 : 60),
		.pages = {below(12), below(12), one_in(3) ? below(4) : 0},
		.requests = 1 + below(MODEL_REQUESTS),
		.order = below(3),
		.varying = one_in(3),
	};
	if (one_in(3)) /* real tables end at 48 bits */
		t->high = c->walk == WALK_TABLES ? 1ull << 47 : 1ull << 56;
	t->domains = one_in(2) ? t->sources : 1 + below(t->sources);
	if (one_in(4))
		t->pages[0] += 150;
	if (c->walk == WALK_TABLES && c->host_shift == 12)
		t->pages[2] = 0; /* a quarter of a million entries each */
	if (!t->pages[0] && !t->pages[1])
		t->pages[1] = 3;
}

static __u64 compare(const char *name, const struct model_config *config,
		     const struct traffic *traffic, size_t count, struct model_stats *stats)
{
	struct model_pair pair = {.name = name, .config = *config};

	for (uint32_t i = 0; i < config->devices; i++) {
		draw_packets(traffic, packets[i], count);
		find_next_uses(packets[i], count);
		pair.devices[i].packets = packets[i];
		pair.devices[i].count = count - i * 7;
	}
	return model_pair_compare(&pair, stats);
}

/* Sums over all seeds show that nothing was left out. */
static void random_configurations_agree_step_by_step(void **unused)
{
	struct model_stats sum = {0}, stats;
	uint64_t missed = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model_config config;
		struct traffic traffic;
		char name[40];

		begin(seed);
		draw_config(&config);
		draw_traffic(&traffic, &config);
		snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
		sum.translations += compare(name, &config, &traffic, PACKETS, &stats);
		sum.drops += stats.drops;
		sum.faults += stats.faults;
		sum.invalidations += stats.invalidations;
		sum.prefetch_useful += stats.prefetch_useful;
		if (config.prefetch_trigger == TRIGGER_MISS)
			missed += stats.prefetch_useful;
		sum.prefetch_unused += stats.prefetch_unused;
		sum.prefetch_late += stats.prefetch_late;
		sum.prefetch_duplicates += stats.prefetch_duplicates;
		sum.iotlb.cross_evictions += stats.iotlb.cross_evictions;
		sum.level3.halvings += stats.level3.halvings;
	}
	print_message("%llu translations\n", sum.translations);
	assert_true(sum.translations > SEEDS * 2000ull);
	assert_true(sum.drops > SEEDS && sum.faults > SEEDS && sum.invalidations > SEEDS);
	assert_true(sum.prefetch_useful > SEEDS && sum.prefetch_unused > SEEDS);
	assert_true(missed > SEEDS && missed < sum.prefetch_useful - SEEDS);
	assert_true(sum.prefetch_late > SEEDS && sum.prefetch_duplicates > SEEDS);
	assert_true(sum.iotlb.cross_evictions > SEEDS && sum.level3.halvings > SEEDS);
}

/* Each cache of the hierarchy with each policy in each shape, the rest drawn. */
static void every_policy_and_shape_agrees_in_every_cache(void **unused)
{
	static const struct {
		const char *name;
		size_t offset;
		bool flat; /* one set, nothing known of the future */
	} caches[] = {
		{"context", offsetof(struct model_config, context), true},
		{"devtlb", offsetof(struct model_config, devtlb), false},
		{"iotlb", offsetof(struct model_config, iotlb), false},
		{"level2", offsetof(struct model_config, level2), false},
		{"level3", offsetof(struct model_config, level3), false},
		{"prefetch", offsetof(struct model_config, prefetch), true},
	};
	static const struct {
		uint32_t sets, ways, partitions;
	} shapes[] = {
		{1, 1, 1},  {8, 1, 2},	{16, 1, 16}, {4, 3, 1},	 {8, 8, 8},
		{1, 16, 1}, {2, 16, 2}, {1, 17, 1},  {4, 24, 2}, {1, 64, 1},
	};
	uint64_t number = 0;

	(void)unused;
	for (size_t c = 0; c < COUNT(caches); c++)
		for (unsigned int policy = 0; policy < REPLACE_COUNT; policy++)
			for (size_t s = 0; s < COUNT(shapes); s++) {
				struct model_config config;
				struct model_cache *cache =
					(void *)((char *)&config + caches[c].offset);
				struct traffic traffic;
				struct model_stats stats;
				char name[80];

				if (caches[c].flat &&
				    (shapes[s].sets > 1 || policy == REPLACE_BELADY))
					continue;
				begin(++number);
				if (number % EVERY)
					continue;
				draw_config(&config);
				cache->cache.entries = shapes[s].sets * shapes[s].ways;
				cache->cache.ways = shapes[s].ways;
				cache->cache.policy = policy;
				cache->partitions = shapes[s].partitions;
				draw_traffic(&traffic, &config);
				snprintf(name, sizeof(name), "%s, %s, %u sets of %u in %u",
					 caches[c].name, replacement_name(policy), shapes[s].sets,
					 shapes[s].ways, shapes[s].partitions);
				compare(name, &config, &traffic, PACKETS, &stats);
			}
}

/* The paper's designs as they are, with every walk and with few and many tenants. */
static void the_papers_designs_agree(void **unused)
{
	static const uint32_t sources[] = {4, 48, 700};
	uint64_t number = 0;

	(void)unused;
	for (unsigned int preset = MODEL_BASE; preset <= MODEL_HYPERTRIO + 1; preset++)
		for (unsigned int walk = 0; walk < WALK_COUNT; walk++)
			for (size_t s = 0; s < COUNT(sources); s++)
				for (uint32_t order = 0; order < 3; order++) {
					struct traffic traffic = {.sources = sources[s],
								  .domains = sources[s],
								  .pages = {2, 8, 0},
								  .requests = 3,
								  .order = order};
					struct model_config config;
					struct model_stats stats;
					char name[80];

					begin(++number);
					if (number % EVERY)
						continue;
					model_preset(&config,
						     preset ? MODEL_HYPERTRIO : MODEL_BASE);
					config.prefetch_trigger = preset > MODEL_HYPERTRIO
									  ? TRIGGER_MISS
									  : TRIGGER_ACCESS;
					config.walk = walk;
					snprintf(name, sizeof(name),
						 "%s, walk %u, %u sources, order %u",
						 preset ? "hypertrio" : "base", walk, sources[s],
						 order);
					compare(name, &config, &traffic, PACKETS, &stats);
				}
}

/* On a fast link and a slow bus more is asked for ahead than can be under way. */
static void prefetches_beyond_the_limit_are_refused_alike(void **unused)
{
	struct traffic traffic = {
		.sources = 6, .domains = 6, .pages = {40, 20, 0}, .requests = 4, .order = 0};
	struct model_config config;
	struct model_stats stats;

	(void)unused;
	begin(1);
	model_preset(&config, MODEL_HYPERTRIO);
	config.ptb_entries = 4000;
	config.prefetch_pages = 8;
	config.pcie_ps = 5000000;
	compare("refused", &config, &traffic, PACKETS, &stats);
	assert_true(stats.prefetch_refused > 1000);
	config.devices = 2;
	compare("refused of two", &config, &traffic, 400, &stats);
	assert_true(stats.prefetch_refused > 1000);
}

struct player {
	size_t at, count;
};

static int play(void *self, struct model_packet *made, int room)
{
	struct player *player = self;
	int count = 0;

	while (count < room && player->at < player->count) {
		made[count] = packets[0][player->at++];
		for (__u32 r = 0; r < made[count].count; r++)
			made[count].requests[r].next_use = 0;
		count++;
	}
	return count;
}

/* Pages of all sizes, addresses anywhere in them. */
static void the_oracle_knows_what_a_look_back_finds(void **unused)
{
	static struct model_packet seen[PACKETS_MAX];

	(void)unused;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct player player = {0, 1 + (size_t)seed * 53 % PACKETS_MAX};
		struct model_config config;
		struct traffic traffic;
		struct oracle *oracle;

		begin(seed);
		draw_config(&config);
		draw_traffic(&traffic, &config);
		draw_packets(&traffic, packets[0], player.count);
		find_next_uses(packets[0], player.count);
		assert_int_equal(oracle_create(&oracle, play, &player), 0);
		assert_int_equal(oracle_next(oracle, seen, PACKETS_MAX), player.count);
		assert_memory_equal(seen, packets[0], player.count * sizeof(seen[0]));
		assert_int_equal(oracle_next(oracle, seen, PACKETS_MAX), 0);
		oracle_destroy(oracle);
	}
}

/* An argument chooses tests by name, as in "random*". */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy_and_shape_agrees_in_every_cache),
		cmocka_unit_test(the_papers_designs_agree),
		cmocka_unit_test(prefetches_beyond_the_limit_are_refused_alike),
		cmocka_unit_test(the_oracle_knows_what_a_look_back_finds),
		cmocka_unit_test(random_configurations_agree_step_by_step),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
