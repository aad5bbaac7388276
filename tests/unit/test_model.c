// SPDX-License-Identifier: GPL-2.0
/* The model of a translation hierarchy: what HyperTRIO and arithmetic say must come out of it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/oracle.h"
#include "lib/translate/watch.h"
#include "tests/unit/model_runs.h"

static void run(const struct model_config *config, const struct tenants_config *trace,
		const struct model_observer *observer, struct model_stats *stats)
{
	assert_true(model_runs(config, trace, observer, stats));
}

static double simulate(const struct model_config *config, __u32 tenants, enum turns_order order,
		       __u32 turn)
{
	struct tenants_config trace;
	struct model_stats stats;

	calibration_trace(&trace, tenants, order, turn);
	run(config, &trace, NULL, &stats);
	return gbit(&stats);
}

static void within(double measured, double expected, double part)
{
	if (fabs(measured - expected) > expected * part)
		fail_msg("%.2f, expected %.2f within %.0f%%", measured, expected, 100 * part);
}

/* HyperTRIO section V-B and V-D: 6% of the link, 136 Gb/s with a PTB of 32, over 90% with all of it. */
static void the_papers_three_calibration_facts_hold(void **state)
{
	struct model_config config;

	model_preset(&config, MODEL_BASE);
	within(simulate(&config, 1024, ORDER_ROUND_ROBIN, 1), 0.06 * 200, 0.05);
	config.ptb_entries = 32;
	partition(&config);
	within(simulate(&config, 1024, ORDER_ROUND_ROBIN, 1), 136, 0.05);
	model_preset(&config, MODEL_HYPERTRIO);
	assert_true(simulate(&config, 1024, ORDER_ROUND_ROBIN, 1) > 0.9 * 200);
}

static void the_same_configuration_gives_the_same_numbers(void **state)
{
	struct model_config config;
	struct tenants_config trace;
	struct model_stats first, second;
	struct watch *watch;

	model_preset(&config, MODEL_HYPERTRIO);
	config.fault_per_million = 1000;
	config.invalidate_packets = 97;
	calibration_trace(&trace, 300, ORDER_ZIPF, 1);
	run(&config, &trace, NULL, &first);
	assert_int_equal(watch_create(&watch, 1000000), 0);
	run(&config, &trace, watch_observer(watch), &second);
	assert_memory_equal(&first, &second, sizeof(first));
	assert_true(first.faults > 50);
	assert_int_equal(first.invalidations, CALIBRATION_PACKETS / 97);
	trace.turns.seed++;
	run(&config, &trace, NULL, &second);
	assert_memory_not_equal(&first, &second, sizeof(first));
	watch_destroy(watch);
}

/* What the observer adds up is what the model did. */
static void tenants_add_up_to_the_whole(void **state)
{
	__u64 packets = 0, drops = 0, translations = 0, latency = 0, area = 0, point_ps;
	const struct watch_point *points;
	struct model_config config;
	struct tenants_config trace;
	struct watch_tenant tenant;
	struct model_stats stats;
	struct watch *watch;
	__u32 count;

	model_preset(&config, MODEL_HYPERTRIO);
	calibration_trace(&trace, 97, ORDER_BURSTY, 3);
	assert_int_equal(watch_create(&watch, 1000), 0);
	run(&config, &trace, watch_observer(watch), &stats);
	assert_int_equal(watch_finish(watch, stats.time_ps), 0);
	assert_int_equal(watch_tenants(watch), 97);
	for (__u32 i = 0; watch_tenant(watch, i, &tenant); i++) {
		packets += tenant.packets;
		drops += tenant.drops;
		translations += tenant.translations;
		latency += tenant.latency_sum_ps;
		assert_true(tenant.p50_ps <= tenant.p99_ps && tenant.p99_ps <= tenant.p999_ps &&
			    tenant.p999_ps <= tenant.latency_max_ps);
	}
	assert_int_equal(packets, stats.packets);
	assert_int_equal(drops, stats.drops);
	assert_int_equal(translations, stats.translations);
	assert_int_equal(latency, stats.latency_sum_ps);
	points = watch_points(watch, &count, &point_ps);
	packets = 0;
	for (__u32 i = 0; i < count; i++) {
		packets += points[i].packets;
		area += points[i].in_flight_ps;
		assert_int_equal(points[i].start_ps, i * point_ps);
	}
	assert_int_equal(packets, stats.packets);
	assert_int_equal(area, stats.in_flight_ps);
	watch_destroy(watch);
}

/* A full link's worth of slots: what was offered is what the link can carry. */
static void packets_and_drops_fill_the_link(void **state)
{
	struct model_config config;
	struct tenants_config trace;
	struct model_stats stats;

	model_preset(&config, MODEL_BASE);
	calibration_trace(&trace, 1024, ORDER_ROUND_ROBIN, 1);
	run(&config, &trace, NULL, &stats);
	within((double)(stats.packets + stats.drops) * 61680, (double)stats.time_ps, 1e-4);
	assert_int_equal(stats.translations, 3 * stats.packets);
	assert_int_equal(stats.devtlb.hits + stats.devtlb.misses, stats.translations);
	assert_int_equal(stats.context.hits + stats.context.misses, stats.translations);
	assert_int_equal(stats.level2.hits + stats.level2.misses, stats.walks);
	assert_int_equal(stats.level3.hits + stats.level3.misses, stats.level2.misses);
}

static void devices_share_the_iommu_and_nothing_else(void **state)
{
	struct model_config config;
	struct tenants_config trace;
	struct model_stats one, two;
	struct tenants *tenants[2];
	struct model *model;

	model_preset(&config, MODEL_BASE);
	calibration_trace(&trace, 4, ORDER_ROUND_ROBIN, 1);
	run(&config, &trace, NULL, &one);
	config.devices = 2;
	assert_int_equal(model_create(&model, &config), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(tenants_create(&tenants[i], &trace), 0);
	assert_int_equal(model_run(model, tenants_next, (void **)tenants), 0);
	model_stats(model, &two);
	assert_int_equal(two.packets, 2 * one.packets);
	/* Four tenants fit into either DevTLB: both links stay full. */
	within(2 * gbit(&one), gbit(&two), 0.02);
	model_destroy(model);
	tenants_destroy(tenants[0]);
	tenants_destroy(tenants[1]);
}

static void run_policy(enum replacement policy, __u32 ptb, enum turns_order order, __u32 tenants,
		       struct model_stats *stats)
{
	struct tenants_config trace;
	struct model_config config;

	calibration_trace(&trace, tenants, order, 1);
	trace.packets = 20000;
	model_preset(&config, MODEL_BASE);
	config.ptb_entries = ptb;
	config.devtlb.cache.policy = policy;
	run(&config, &trace, NULL, stats);
	assert_int_equal(stats->packets, trace.packets);
}

/* With a PTB of 32 many requests for one page overlap: none may leave behind a next use that has been. */
static void the_oracle_needs_and_gets_the_future(void **state)
{
	struct model_stats oracle, other;

	for (int overlap = 0; overlap < 2; overlap++) {
		enum turns_order order = overlap ? ORDER_RANDOM : ORDER_ROUND_ROBIN;

		run_policy(REPLACE_BELADY, overlap ? 32 : 1, order, 12 + 4 * overlap, &oracle);
		for (int policy = 0; policy < REPLACE_BELADY; policy++) {
			run_policy(policy, overlap ? 32 : 1, order, 12 + 4 * overlap, &other);
			assert_true(oracle.devtlb.hits > other.devtlb.hits);
			assert_true(gbit(&oracle) >= gbit(&other));
		}
	}
}

/* Packets by hand. */
struct script {
	const struct model_packet *packets;
	size_t count, at;
};

static int script_next(void *self, struct model_packet *packets, int room)
{
	struct script *script = self;
	int count = 0;

	while (count < room && script->at < script->count)
		packets[count++] = script->packets[script->at++];
	return count;
}

static void run_script(const struct model_config *config, const struct model_packet *packets,
		       size_t count, struct model_stats *stats)
{
	struct script script = {packets, count, 0};
	void *sources[] = {&script};
	struct model *model;

	assert_int_equal(model_create(&model, config), 0);
	assert_int_equal(model_run(model, script_next, sources), 0);
	model_stats(model, stats);
	model_destroy(model);
}

#define PAGE(n)                                   \
	{                                         \
		(__u64)(n) << 12, CACHE_NEVER, 12 \
	}

/* With slots of 1 ns and hits of 3 ns a packet enters every third slot: not one later. */
static void a_packet_enters_at_the_very_slot_of_the_completion(void **state)
{
	struct model_packet packets[101];
	struct model_config config;
	struct model_stats stats;

	model_preset(&config, MODEL_BASE);
	config.packet_bits = 200;
	config.context_hit_ps = 1000;
	config.devtlb_hit_ps = 2000;
	config.pcie_ps = 10000;
	config.dram_ps = 5000;
	for (int i = 0; i < 101; i++)
		packets[i] = (struct model_packet){.count = 1, .requests = {PAGE(7)}};
	run_script(&config, packets, 101, &stats);
	/* The first: context 1 + 2 * (10 + 5), DevTLB miss 10 + 5 + 10, in ns. */
	assert_int_equal(stats.latency_max_ps, 56000);
	assert_int_equal(stats.latency_sum_ps, 56000 + 100 * 3000);
	assert_int_equal(stats.drops, 55 + 99 * 2);
	assert_int_equal(stats.time_ps, 56000 + 100 * 3000);
}

/* Answers that come at the same time come in the order of the questions. */
static void what_happens_at_once_happens_in_order(void **state)
{
	/* The first brings the context entry, which would be one more queue to pass. */
	static const struct model_packet packets[] = {
		{.count = 1, .requests = {PAGE(9)}},
		{.count = 3, .requests = {PAGE(1), PAGE(2), PAGE(3)}},
		{.count = 1, .requests = {PAGE(3)}},
		{.count = 1, .requests = {PAGE(2)}},
	};
	struct model_config config;
	struct model_stats stats;

	model_preset(&config, MODEL_BASE);
	config.devtlb = (struct model_cache){{2, 2, REPLACE_LRU, 0}, 1};
	run_script(&config, packets, 4, &stats);
	assert_int_equal(stats.devtlb.hits, 2);
	assert_int_equal(stats.devtlb.evictions, 2);
}

static void next_uses_are_those_of_a_look_ahead(void **state)
{
	enum { LENGTH = 300 };
	struct model_packet packets[LENGTH], seen[LENGTH];
	struct oracle *oracle;
	struct script script = {packets, LENGTH, 0};

	srand(3);
	for (int i = 0; i < LENGTH; i++)
		packets[i] = (struct model_packet){.domain = (__u16)(rand() % 3),
						   .count = 2,
						   .requests = {PAGE(rand() % 20), PAGE(30)}};
	assert_int_equal(oracle_create(&oracle, script_next, &script), 0);
	assert_int_equal(oracle_next(oracle, seen, LENGTH), LENGTH);
	for (int i = 0; i < 2 * LENGTH; i++) {
		const struct model_request *request = &packets[i / 2].requests[i % 2];
		__u64 next = CACHE_NEVER;

		for (int j = 2 * LENGTH - 1; j > i; j--)
			if (packets[j / 2].requests[j % 2].iova == request->iova &&
			    packets[j / 2].domain == packets[i / 2].domain)
				next = (__u64)j;
		assert_int_equal(seen[i / 2].requests[i % 2].next_use, next);
	}
	oracle_destroy(oracle);
}

static void what_cannot_be_is_refused_with_what_can(void **state)
{
	struct model_config good, bad;
	struct model *model;

	model_preset(&good, MODEL_HYPERTRIO);
#define REFUSED(change)                                                \
	do {                                                           \
		bad = good;                                            \
		change;                                                \
		assert_int_equal(model_create(&model, &bad), -EINVAL); \
		assert_int_equal(model_check(&bad), -EINVAL);          \
		assert_non_null(strstr(failure_text(), "accepted"));   \
	} while (0)
	REFUSED(bad.ptb_entries = 0);
	REFUSED(bad.packet_bits = 0);
	REFUSED(bad.link_bits_per_s = 0);
	REFUSED((bad.packet_bits = 8, bad.link_bits_per_s = 100000000000000ull));
	REFUSED(bad.devtlb.partitions = 3);
	REFUSED(bad.devtlb.partitions = 16);
	REFUSED(bad.devtlb.cache.ways = 7);
	REFUSED(bad.level2.cache.entries = 0);
	REFUSED(bad.prefetch_distance = 0);
	REFUSED(bad.prefetch_pages = 9);
	REFUSED(bad.prefetch_trigger = TRIGGER_COUNT);
	REFUSED(bad.devices = 65);
	REFUSED(bad.fault_per_million = 1000001);
	REFUSED(bad.dram_ps = 2000000000000ull);
	REFUSED(bad.context.cache.policy = REPLACE_BELADY);
	REFUSED((bad.walk = WALK_TABLES, bad.host_shift = 30));
	assert_int_equal(model_check(&good), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_three_calibration_facts_hold),
		cmocka_unit_test(the_same_configuration_gives_the_same_numbers),
		cmocka_unit_test(tenants_add_up_to_the_whole),
		cmocka_unit_test(packets_and_drops_fill_the_link),
		cmocka_unit_test(devices_share_the_iommu_and_nothing_else),
		cmocka_unit_test(the_oracle_needs_and_gets_the_future),
		cmocka_unit_test(a_packet_enters_at_the_very_slot_of_the_completion),
		cmocka_unit_test(what_happens_at_once_happens_in_order),
		cmocka_unit_test(next_uses_are_those_of_a_look_ahead),
		cmocka_unit_test(what_cannot_be_is_refused_with_what_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
