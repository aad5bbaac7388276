// SPDX-License-Identifier: GPL-2.0
/*
 * What a transaction of an emulated cluster costs whoever makes it: nanoseconds each, of the least disturbed batch.
 *
 * Prints "NAME VALUE UNIT [PEER PEER_VALUE]" a line; the peer is a memcpy() of the same size to the same memory, which is what is left
 * without windows, tables, routes, prices and counters. Under callgrind, --toggle-collect=access_write gives instructions.
 * Arguments: rounds, and the only size to measure.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/job/text.h"

#define BATCHES 20
#define JOB	"cluster_bench.ini"
#define MEMORY	(64ull << 20)

/* Two hosts beside the one whose memory is written to; one of them has its IOMMU on. */
static const char topology[] = "[host a]\n"
			       "iommu = no\n"
			       "[host b]\n"
			       "iommu = no\n"
			       "[host c]\n"
			       "iommu = yes\n"
			       "[switch sb]\n"
			       "under = b\n"
			       "[switch sc]\n"
			       "under = c\n"
			       "[adapter ab]\n"
			       "under = a\n"
			       "bar = 64M\n"
			       "windows = 256\n"
			       "[adapter ba]\n"
			       "under = sb\n"
			       "bar = 64M\n"
			       "windows = 256\n"
			       "[adapter ac]\n"
			       "under = a\n"
			       "bar = 64M\n"
			       "windows = 256\n"
			       "[adapter ca]\n"
			       "under = sc\n"
			       "bar = 64M\n"
			       "windows = 256\n"
			       "[device disk]\n"
			       "under = sb\n"
			       "[device guarded]\n"
			       "under = sc\n"
			       "[link cable]\n"
			       "between = ab ba\n"
			       "[link guarded_cable]\n"
			       "between = ac ca\n";

static struct cluster *cluster;
static unsigned int rounds = 100000;
static __u64 only_size; /* 0: all */

static struct fabric *bench_topology(struct fabric_costs *costs)
{
	struct fabric *fabric = NULL;
	FILE *file = fopen(JOB, "w");
	struct job_text *text;
	int err;

	if (!file)
		return NULL;
	fputs(topology, file);
	fclose(file);
	err = job_text_read(&text, JOB, "a job file");
	unlink(JOB);
	if (err)
		return NULL;
	if (fabric_costs_read(costs, text) || fabric_build(&fabric, text))
		fabric = NULL;
	job_text_free(text);
	return fabric;
}

static int bench_create(struct cluster_config *config, const struct fabric_costs *costs)
{
	static struct host_config hosts[3];
	static struct cluster_device_config devices[2];
	static const char *const names[2] = {"disk", "guarded"};

	config->hosts = hosts;
	config->devices = devices;
	config->host_count = 3;
	config->device_count = 2;
	for (int h = 0; h < 3; h++) {
		snprintf(hosts[h].name, sizeof(hosts[h].name), "%s", config->fabric->hosts[h].name);
		hosts[h].memory = MEMORY;
		hosts[h].iommu = config->fabric->hosts[h].iommu;
		hosts[h].root = config->fabric->hosts[h].root;
	}
	for (int d = 0; d < 2; d++) {
		devices[d].node = fabric_find(config->fabric, names[d]);
		devices[d].host = config->fabric->nodes[devices[d].node].host;
		devices[d].functions = 1;
		devices[d].queue_pairs = 7;
		devices[d].bytes = MEMORY;
		devices[d].address_bits = 64;
	}
	return cluster_create(&cluster, config, costs);
}

/* Reads and writes of `bytes`, one behind the other in 4 MiB. */
static double each_ns(const struct initiator *from, __u64 address, __u64 bytes, bool write)
{
	static __u8 data[1 << 16];
	__u64 least = ~0ull, at = 0;

	for (int batch = 0; batch < BATCHES; batch++) {
		__u64 begin = monotonic_ns(), taken;

		for (unsigned int i = 0; i < rounds / BATCHES; i++) {
			if (write)
				access_write(cluster, from, PURPOSE_DATA, address + at, data, bytes,
					     NULL);
			else
				access_read(cluster, from, PURPOSE_DATA, address + at, data, bytes,
					    NULL);
			at = (at + bytes) & ((4 << 20) - 1);
		}
		taken = monotonic_ns() - begin;
		least = taken < least ? taken : least;
	}
	return (double)least / (rounds / BATCHES);
}

static double memcpy_ns(__u64 far, __u64 bytes)
{
	static __u8 data[1 << 16];
	__u8 *memory = host_memory(cluster, 0, far, 4 << 20);
	__u64 least = ~0ull, at = 0;

	for (int batch = 0; batch < BATCHES; batch++) {
		__u64 begin = monotonic_ns(), taken;

		for (unsigned int i = 0; i < rounds / BATCHES; i++) {
			memcpy(memory + at, data, bytes);
			__asm__ volatile("" ::: "memory");
			at = (at + bytes) & ((4 << 20) - 1);
		}
		taken = monotonic_ns() - begin;
		least = taken < least ? taken : least;
	}
	return (double)least / (rounds / BATCHES);
}

static int bench_measure(const struct fabric *fabric, __u32 device, const char *adapter,
			 const char *name)
{
	static const __u64 sizes[] = {8, 64, 4096, 65536};
	const __u32 function = function_of(cluster, device, 0);
	const struct initiator from = function_initiator(cluster, function);
	struct ntb_window wanted = {.adapter = fabric_find(fabric, adapter), .bytes = 8 << 20};
	struct ntb_window window;
	__u64 address;
	__u32 domain;
	int err = host_memory_alloc(cluster, 0, wanted.bytes, &wanted.far);

	if (!err)
		err = ntb_map(cluster, &wanted, ~0ull, &window);
	if (!err)
		err = ntb_requester_add(cluster, wanted.adapter, 0, function, 0);
	address = window.address;
	if (!err && cluster->config->hosts[from.host].iommu) {
		err = host_iommu_domain_create(cluster, from.host, &domain);
		if (!err)
			err = host_iommu_attach(cluster, from.host, function, domain);
		if (!err)
			err = host_iommu_map(cluster, from.host, domain, 1ull << 30, address,
					     wanted.bytes, HOST_IOMMU_READ | HOST_IOMMU_WRITE,
					     device);
		address = 1ull << 30;
	}
	for (int i = 0; !err && i < 4; i++) {
		double peer;

		if (only_size && sizes[i] != only_size)
			continue;
		peer = memcpy_ns(wanted.far, sizes[i]);
		printf("%s_write_%llu %.1f ns memcpy %.1f\n", name, sizes[i],
		       each_ns(&from, address, sizes[i], true), peer);
		printf("%s_read_%llu %.1f ns memcpy %.1f\n", name, sizes[i],
		       each_ns(&from, address, sizes[i], false), peer);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct cluster_config config = {.name = "bench", .dead_ns = NSEC_PER_SEC};
	struct fabric_costs costs;
	int err = -EBADMSG;

	if (argc > 1)
		rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		only_size = strtoull(argv[2], NULL, 10);
	config.fabric = bench_topology(&costs);
	if (config.fabric)
		err = bench_create(&config, &costs);
	if (!err) {
		cluster->self = cluster->host = 0;
		err = bench_measure(config.fabric, 0, "ba", "ntb");
	}
	if (!err)
		err = bench_measure(config.fabric, 1, "ca", "ntb_iommu");
	if (cluster)
		cluster_destroy(cluster);
	fabric_free(config.fabric);
	return err ? failure_report(err) : EXIT_OK;
}
