// SPDX-License-Identifier: GPL-2.0
/* What the model counts by set and by tenant, and the device that is passed through. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/model.h"
#include "lib/translate/tenants.h"

#define TENANTS 97
#define PACKETS 20011

static struct model *run(const struct model_config *config)
{
	struct tenants_config trace;
	struct tenants *tenants;
	struct model *model;
	void *sources[1];

	tenants_preset(&trace, TENANTS_WEBSEARCH);
	trace.tenant_packets_min = trace.tenant_packets_max = 0;
	trace.packets = PACKETS;
	trace.turns.tenants = TENANTS;
	assert_int_equal(tenants_create(&tenants, &trace), 0);
	assert_int_equal(model_create(&model, config), 0);
	sources[0] = tenants;
	assert_int_equal(model_run(model, tenants_next, sources), 0);
	tenants_destroy(tenants);
	return model;
}

static void sets_add_up_to_their_cache(void **state)
{
	struct model_cache_stats sum = {0};
	struct model_config config;
	struct model_stats stats;
	__u64 lost = 0;
	__u32 count;

	model_preset(&config, MODEL_HYPERTRIO);

	struct model *model = run(&config);
	const struct model_cache_stats *sets = model_sets(model, PART_DEVTLB, &count);

	model_stats(model, &stats);
	assert_int_equal(count, 8);
	for (__u32 set = 0; set < count; set++) {
		/* A set a partition: a miss is filled unless another miss of that page was first. */
		assert_true(sets[set].hits && sets[set].fills <= sets[set].misses);
		assert_int_equal(sets[set].fills - sets[set].evictions, 8);
		sum.hits += sets[set].hits;
		sum.misses += sets[set].misses;
		sum.evictions += sets[set].evictions;
		sum.cross_evictions += sets[set].cross_evictions;
	}
	assert_int_equal(sum.hits, stats.devtlb.hits);
	assert_int_equal(sum.hits + sum.misses, stats.translations);
	assert_int_equal(sum.evictions, stats.devtlb.evictions);
	assert_int_equal(sum.cross_evictions, stats.devtlb.cross_evictions);
	for (__u16 domain = 0; domain < TENANTS; domain++)
		lost += model_lost(model, domain);
	assert_int_equal(lost, sum.cross_evictions);
	assert_null(model_sets(model, PART_IOTLB, &count));
	assert_int_equal(count, 0);
	model_destroy(model);
}

/* Who takes and who loses, by hand: a cache of one entry, tenants 1, 1, 2, 3. */
static int by_hand(void *self, struct model_packet *packets, int room)
{
	static const __u16 domains[] = {1, 1, 2, 3};
	int *at = self;

	(void)room;
	if (*at == 4)
		return 0;
	packets[0] = (struct model_packet){
		.source = domains[*at],
		.domain = domains[*at],
		.count = 1,
		.requests = {{.iova = 0x1000ull * (__u64)*at, .page_shift = 12}}};
	++*at;
	return 1;
}

static void the_one_whose_entry_makes_way_is_counted(void **state)
{
	struct model_config config;
	struct model_stats stats;
	struct model *model;
	int at = 0;
	void *sources[] = {&at};

	model_preset(&config, MODEL_BASE);
	config.devtlb = (struct model_cache){{1, 1, REPLACE_LRU, 1}, 1};
	assert_int_equal(model_create(&model, &config), 0);
	assert_int_equal(model_run(model, by_hand, sources), 0);
	model_stats(model, &stats);
	assert_int_equal(stats.devtlb.evictions, 3);
	assert_int_equal(stats.devtlb.cross_evictions, 2);
	assert_int_equal(model_lost(model, 1), 1);
	assert_int_equal(model_lost(model, 2), 1);
	model_destroy(model);
}

/* Figure 5's control line: the context cache is all that a passed-through device needs. */
static void a_device_that_is_passed_through_keeps_its_link(void **state)
{
	struct model_config config;
	struct model_stats stats;

	model_preset(&config, MODEL_HYPERTRIO);
	config.ptb_entries = 3;
	config.walk = WALK_NONE;

	struct model *model = run(&config);

	model_stats(model, &stats);
	assert_int_equal(stats.packets, PACKETS);
	assert_int_equal(stats.devtlb.hits + stats.devtlb.misses + stats.walks + stats.prefetches,
			 0);
	assert_int_equal(stats.context.misses, TENANTS * 3);
	/* Only a tenant's first packet waits, for the context entry: 1001 ns, 17 slots of 61.68 ns. */
	assert_true(stats.drops > 0 && stats.drops <= 17 * TENANTS);
	assert_int_equal(stats.latency_max_ps, 1001000);
	model_destroy(model);
}

/* 16 Mbit packets on 1 Mb/s: 65536 packets take 12.7 days. */
static int endless(void *self, struct model_packet *packets, int room)
{
	(void)self;
	for (int i = 0; i < room; i++)
		packets[i] = (struct model_packet){
			.count = 1, .requests = {{.iova = 0x1000, .page_shift = 12}}};
	return room;
}

static void virtual_time_ends_with_a_sentence(void **state)
{
	struct model_config config;
	struct model *model;
	void *sources[] = {NULL};

	model_preset(&config, MODEL_BASE);
	config.link_bits_per_s = 1000000;
	config.packet_bits = 1u << 24;
	assert_int_equal(model_create(&model, &config), 0);
	assert_int_equal(model_run(model, endless, sources), -EOVERFLOW);
	assert_non_null(strstr(failure_text(), "accepted: fewer packets"));
	model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_add_up_to_their_cache),
		cmocka_unit_test(the_one_whose_entry_makes_way_is_counted),
		cmocka_unit_test(a_device_that_is_passed_through_keeps_its_link),
		cmocka_unit_test(virtual_time_ends_with_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
