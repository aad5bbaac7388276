// SPDX-License-Identifier: GPL-2.0
/*
 * The slow model of tests/reference over a trace of HyperSIO's records, three to a packet, as it is:
 * the least code that gives the same results. Prints "TRANSLATIONS TIME_PS DROPS".
 *
 *	slow_model_bench base|hypertrio FILE
 */
#include <stdio.h>
#include <string.h>

#include "tests/reference/slow_model.h"

#define REQUESTS 3

#define NS 1000ull /* in picoseconds */

/* As HyperSIO writes it, little-endian. */
struct slow_record {
	uint32_t type;
	uint16_t source, domain;
	uint64_t iova, mask, level, entry, next_use;
};
_Static_assert(sizeof(struct slow_record) == 48, "HyperSIO's records have 48 bytes");

static bool next_packet(void *self, unsigned int device, struct slow_packet *packet)
{
	struct slow_record records[REQUESTS];

	(void)device;
	if (fread(records, sizeof(records), 1, self) != 1)
		return false;
	*packet = (struct slow_packet){records[0].source, records[0].domain, REQUESTS};
	for (int i = 0; i < REQUESTS; i++)
		packet->requests[i] = (struct slow_request){
			.iova = records[i].iova,
			.page_shift = 3 + 9 * (unsigned int)records[i].level,
		};
	return true;
}

static void entered(void *self, uint64_t now, const struct slow_packet *packet, uint64_t drops)
{
	(void)self, (void)now, (void)packet, (void)drops;
}

static void completed(void *self, uint64_t now, unsigned int source, uint64_t latency)
{
	(void)self, (void)now, (void)source, (void)latency;
}

/* The columns of table IV; draws begin where lib/translate's do. */
static struct slow_config table_4(bool hypertrio)
{
	return (struct slow_config){
		.packet_bits = 1542 * 8,
		.link_bits_per_s = 200000000000,
		.ptb_entries = hypertrio ? 32 : 1,
		.pcie_ps = 450 * NS,
		.dram_ps = 50 * NS,
		.devtlb_hit_ps = 2 * NS,
		.context_hit_ps = 1 * NS,
		.walk_hit_ps = 5 * NS,
		.walk = SLOW_AS_RELEASED,
		.host_shift = 12,
		.context = {1536, 1536, 1, SLOW_LFU, 1},
		.devtlb = {64, 8, hypertrio ? 8 : 1, SLOW_LFU, 2},
		.iotlb = {0, 8, 1, SLOW_LFU, 6},
		.level2 = {512, 16, hypertrio ? 32 : 1, SLOW_LFU, 3},
		.level3 = {1024, 16, hypertrio ? 64 : 1, SLOW_LFU, 4},
		.prefetch = {hypertrio ? 8 : 0, hypertrio ? 8 : 0, 1, SLOW_LRU, 5},
		.prefetch_distance = 48,
		.prefetch_pages = 2,
		.devices = 1,
		.seed = 1,
	};
}

int main(int argc, char **argv)
{
	struct slow_run run = {.next = next_packet, .entered = entered, .completed = completed};

	if (argc != 3 || (strcmp(argv[1], "base") && strcmp(argv[1], "hypertrio"))) {
		fprintf(stderr, "Usage: slow_model_bench base|hypertrio FILE\n");
		return 2;
	}
	run.config = table_4(!strcmp(argv[1], "hypertrio"));
	run.self = fopen(argv[2], "rb");
	if (!run.self) {
		perror(argv[2]);
		return 1;
	}
	slow_model_run(&run);
	printf("%llu %llu %llu\n", (unsigned long long)run.stats.translations,
	       (unsigned long long)run.stats.time_ps, (unsigned long long)run.stats.drops);
	fclose(run.self);
	slow_model_free(&run);
	return 0;
}
