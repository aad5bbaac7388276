/* SPDX-License-Identifier: GPL-2.0 */
/* A device model with its channel on a fake port, for tests of workloads. */
#ifndef FAULTLINE_FAKE_BENCH_H
#define FAULTLINE_FAKE_BENCH_H

#include "injectors/emu/devices/block.h"
#include "tests/unit/fake_port.h"

#define MEMORY (16ull << 20)

struct bench {
	struct port port;
	struct channel *channel;
	const struct device_class *class;
	void *device;
	struct workload *workload; /* the test's own */
};

static void bench_open(struct bench *bench, const struct device_class *class, __u16 queues)
{
	struct channel_config config = {.queues = queues,
					.queue_depth = 32,
					.depth_max = (__u16) class->depth_max,
					.io = class->io,
					.pasid = 77,
					.bytes = MEMORY,
					.iova_offset = 1ull << 40};
	const struct block_settings settings = {.file_bytes = 4 << 20}; /* others have none */
	struct device_setup setup = {.settings = &settings};

	fake_port_init(&bench->port, MEMORY, config.iova_offset);
	assert_int_equal(channel_create(&bench->channel, &config), 0);
	setup.channel = bench->channel;
	bench->class = class;
	assert_int_equal(class->start(&bench->device, &bench->port, &setup), 0);
}

static void bench_close(struct bench *bench)
{
	__atomic_store_n(&bench->port.stopping, true, __ATOMIC_RELEASE);
	bench->class->stop(bench->device);
	channel_destroy(bench->channel);
	fake_port_free(&bench->port);
}

static struct workload_config plain(__u64 count)
{
	return (struct workload_config){
		.name = "plain",
		.read_percent = 70,
		.sizes = {4096},
		.size_weights = {1},
		.size_count = 1,
		.pattern = PATTERN_RANDOM,
		.depth = 4,
		.count = count,
		.seed = 42,
	};
}

#endif
