// SPDX-License-Identifier: GPL-2.0
/* Laws that the model must keep wherever it is set: Little's, and that a counted walk is a walk. */
#include "tests/unit/test.h"

#include <stdio.h>

#include "tests/unit/model_runs.h"

#define SLOT_PS	     61680 /* PACKET_BITS at 200 Gb/s */
#define REQUESTS     3
#define NS	     1000
#define FRESH	     30000
#define ENTRIES	     4
#define LATENCIES    3
#define WALK_READS   24
#define TOP_GBIT     200.0
#define ACCESS_LEAST (1 + 5)   /* ns beside PCIe: context entry, level 2 hit with no read left */
#define ACCESS_MOST  (1 + 100) /* the same with two reads */

static const __u32 entries[ENTRIES] = {8, 16, 32, 64};
static const __u64 pcie_ns[LATENCIES] = {300, 450, 900};

/* Packets of one source, each with three pages that were never seen before. */
struct fresh {
	__u64 page, left;
};

static int fresh_next(void *self, struct model_packet *packets, int room)
{
	struct fresh *fresh = self;
	int count = 0;

	for (; count < room && fresh->left; count++, fresh->left--) {
		packets[count] = (struct model_packet){.count = REQUESTS};
		for (int i = 0; i < REQUESTS; i++)
			packets[count].requests[i] = (struct model_request){
				.iova = fresh->page++ << 12, CACHE_NEVER, 12};
	}
	return count;
}

/*
 * Every translation misses and takes the same time L: context 1 ns, PCIe there and back, 24 reads.
 * ceil(N / 3) packets are under way, and each place is free for the next packet every ceil(L / slot)
 * slots: Little's law by hand, with nothing that the model counted but its time.
 */
static void time_is_what_littles_law_says_if_all_misses_are_alike(void **state)
{
	for (int e = 0; e < ENTRIES; e++)
		for (int l = 0; l < LATENCIES; l++) {
			__u64 latency = (1 + 2 * pcie_ns[l] + WALK_READS * 50) * NS;
			__u64 packets = (entries[e] + REQUESTS - 1) / REQUESTS;
			__u64 turn = (latency + SLOT_PS - 1) / SLOT_PS * SLOT_PS, expected;
			struct fresh fresh = {1, FRESH};
			void *sources[] = {&fresh};
			struct model_config config;
			struct model_stats stats;
			struct model *model;

			model_preset(&config, MODEL_BASE);
			config.walk = WALK_24;
			config.ptb_entries = entries[e];
			config.pcie_ps = pcie_ns[l] * NS;
			assert_int_equal(model_create(&model, &config), 0);
			assert_int_equal(model_run(model, fresh_next, sources), 0);
			model_stats(model, &stats);
			model_destroy(model);
			expected = FRESH * turn / packets;
			/* The first turn also fetches the context entry, the last one is not full. */
			assert_in_range(stats.time_ps, expected - turn, expected + 2 * turn);
		}
}

/*
 * The calibration's trace, whose 1024 tenants in turn leave nothing in a DevTLB of 64 entries under
 * LRU: N to N + 2 translations under way, less those that complete within a slot, and each takes
 * between a level 2 hit and two reads.
 */
static void bandwidth_lies_where_littles_law_puts_it(void **state)
{
	for (int e = 0; e < ENTRIES; e++)
		for (int l = 0; l < LATENCIES; l++) {
			double least_ns = 2.0 * (double)pcie_ns[l] + ACCESS_LEAST;
			double most_ns = 2.0 * (double)pcie_ns[l] + ACCESS_MOST;
			double bits = (double)PACKET_BITS / REQUESTS, full = entries[e] + 2;
			double upper = full * bits / least_ns;
			double within_a_slot = full * SLOT_PS / NS / least_ns;
			double lower = (entries[e] - within_a_slot) * bits / most_ns;
			struct model_config config;
			struct tenants_config trace;
			struct model_stats stats;

			model_preset(&config, MODEL_BASE);
			config.devtlb.cache.policy = REPLACE_LRU;
			config.ptb_entries = entries[e];
			config.pcie_ps = pcie_ns[l] * NS;
			calibration_trace(&trace, 1024, ORDER_ROUND_ROBIN, 1);
			assert_true(model_runs(&config, &trace, NULL, &stats));
			lower = lower < TOP_GBIT ? lower : 0.98 * TOP_GBIT;
			upper = upper < TOP_GBIT ? upper : TOP_GBIT;
			print_message("PTB %2u, PCIe %3llu ns: %.1f <= %.1f <= %.1f Gb/s\n",
				      entries[e], pcie_ns[l], lower, gbit(&stats), upper);
			assert_true(lower <= gbit(&stats) && gbit(&stats) <= upper);
		}
}

/* What an observer sees, folded into one number. */
struct fold {
	__u64 hash;
};

static void fold(struct fold *fold, __u64 value)
{
	fold->hash = (fold->hash ^ value) * 0x100000001b3ull;
}

static void fold_entered(void *self, __u64 now_ps, const struct model_packet *packet, __u64 drops)
{
	fold(self, now_ps);
	fold(self, packet->source);
	fold(self, drops);
}

static void fold_completed(void *self, __u64 now_ps, __u16 source, __u64 latency_ps)
{
	fold(self, now_ps);
	fold(self, source);
	fold(self, latency_ps);
}

/* Runs it counted and on tables: the same sums, and every event at the same time. */
static void walk_both(struct model_config *config, const struct tenants_config *trace)
{
	struct fold folds[2] = {{0}, {0}};
	struct model_stats stats[2];

	for (int real = 0; real < 2; real++) {
		const struct model_observer observer = {fold_entered, fold_completed, &folds[real]};

		config->walk = real ? WALK_TABLES : WALK_NESTED;
		assert_true(model_runs(config, trace, &observer, &stats[real]));
	}
	assert_memory_equal(&stats[0], &stats[1], sizeof(stats[0]));
	assert_int_equal(folds[0].hash, folds[1].hash);
	assert_true(stats[0].walk_reads > 0);
}

/* Data pages of each size, where the preset has them, or above all else if they are of 1 GiB. */
static void place_data(struct tenants_config *trace, __u32 shift)
{
	trace->data.shift = shift;
	if (shift == 30)
		trace->data.first = 1ull << 40;
}

static void counted_and_real_walks_are_one(void **state)
{
	static const __u32 shifts[] = {12, 21, 30};

	for (int host = 0; host < 2; host++)
		for (int design = MODEL_BASE; design <= MODEL_HYPERTRIO; design++)
			for (int workload = 0; workload < TENANTS_PRESETS; workload++)
				for (int data = 0; data < 3; data++) {
					struct model_config config;
					struct tenants_config trace;

					model_preset(&config, design);
					config.host_shift = shifts[host];
					calibration_trace(&trace, 64, ORDER_RANDOM, 1);
					trace.data.count = workload == TENANTS_IPERF3 ? 6 : 34;
					place_data(&trace, shifts[data]);
					trace.packets = 3000;
					walk_both(&config, &trace);
				}
}

/* ... and whatever else is on: an IOTLB, pages taken back, page requests, addresses apart. */
static void they_stay_one_beyond_the_paper(void **state)
{
	for (int host = 0; host < 2; host++) {
		struct model_config config;
		struct tenants_config trace;

		model_preset(&config, MODEL_HYPERTRIO);
		config.host_shift = host ? 21 : 12;
		config.iotlb.cache.entries = 256;
		config.invalidate_packets = 17;
		config.fault_per_million = 20000;
		calibration_trace(&trace, 300, ORDER_ZIPF, 2);
		trace.apart = 1ull << 32;
		trace.first_touches = 2;
		trace.packets = 60000;
		walk_both(&config, &trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_what_littles_law_says_if_all_misses_are_alike),
		cmocka_unit_test(bandwidth_lies_where_littles_law_puts_it),
		cmocka_unit_test(counted_and_real_walks_are_one),
		cmocka_unit_test(they_stay_one_beyond_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
