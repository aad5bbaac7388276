// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "injectors/emu/workload.h"
#include "tests/unit/fake_port.h"

#define MEMORY (16ull << 20)
#define DISK   (4ull << 20)
#define BASE   0x100000000ull /* IOVA of guest address 0 */

struct bench {
	struct port port;
	struct channel *channel;
	void *device;
};

static void bench_open(struct bench *bench, __u16 queues, __u16 depth)
{
	struct channel_config config = {.queues = queues,
					.queue_depth = depth,
					.pasid = PASID_NONE,
					.guest_address = 1 << 20,
					.bytes = MEMORY - (1 << 20),
					.iova_offset = BASE};
	struct device_setup setup = {.file_bytes = DISK};

	fake_port_init(&bench->port, MEMORY, BASE);
	assert_int_equal(channel_create(&bench->channel, &config), 0);
	setup.channel = bench->channel;
	assert_int_equal(block_device.start(&bench->device, &bench->port, &setup), 0);
}

static void bench_close(struct bench *bench)
{
	__atomic_store_n(&bench->port.stopping, true, __ATOMIC_RELEASE);
	block_device.stop(bench->device);
	channel_destroy(bench->channel);
	fake_port_free(&bench->port);
}

static struct workload_result drive(struct bench *bench, const struct workload_config *config)
{
	struct workload_result result;
	struct workload *workload;

	assert_int_equal(workload_create(&workload, config, &bench->port.memory, bench->channel),
			 0);
	assert_int_equal(workload_start(workload), 0);
	assert_int_equal(workload_wait(workload, 60 * NSEC_PER_SEC), 0);
	workload_stop(workload);
	result = *workload_result(workload);
	workload_destroy(workload);
	return result;
}

static struct workload_config mixed(__u64 count)
{
	return (struct workload_config){
		.name = "mixed",
		.read_percent = 50,
		.sizes = {4096, 65536, 2 << 20},
		.size_weights = {90, 9, 1},
		.size_count = 3,
		.pattern = PATTERN_RANDOM,
		.depth = 7,
		.count = count,
		.verify = true,
		.seed = 1,
	};
}

static void every_io_completes_with_its_data(void **state)
{
	struct workload_config config = mixed(10007);
	struct workload_result result;
	struct bench bench;

	(void)state;
	bench_open(&bench, 3, 8);
	result = drive(&bench, &config);
	assert_int_equal(result.ios, 10007);
	assert_int_equal(result.latency.count, 10007);
	assert_int_equal(result.errors, 0);
	assert_int_equal(result.mismatches, 0);
	assert_int_equal(bench.port.ios, 10007);
	assert_int_equal(bench.port.faulted, 0);
	bench_close(&bench);
}

/* More I/Os than a 16-bit index counts, through rings of 2 and of 1024. */
static void ring_indices_wrap(void **state)
{
	static const __u16 depths[] = {2, 1024};
	struct workload_config config = mixed(150001);

	(void)state;
	config.size_count = 1;
	for (int i = 0; i < 2; i++) {
		struct workload_result result;
		struct bench bench;

		bench_open(&bench, 1, depths[i]);
		config.depth = depths[i];
		result = drive(&bench, &config);
		assert_int_equal(result.ios, 150001);
		assert_int_equal(result.errors + result.mismatches, 0);
		bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_io_completes_with_its_data),
		cmocka_unit_test(ring_indices_wrap),
	};

	return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
