// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <unistd.h>

#include "injectors/emu/workload_driver.h"
#include "injectors/emu/workload_pattern.h"
#include "lib/base/fail.h"
#include "tests/unit/fake_bench.h"

static struct workload_result drive(struct bench *bench, const struct workload_config *config)
{
	return fake_drive(&bench->port, bench->channel, config);
}

/*
 * Pearson's statistic of observed ranks against their probabilities, the tail in one cell. The
 * 99.9% quantile of chi-square with k degrees is below k + 3.1 sqrt(2k) + 8.
 */
static void check_zipf(__u64 items, double theta)
{
	enum { CELLS = 64, DRAWS = 200003 };
	__u64 seen[CELLS + 1] = {0};
	struct random random = {7};
	double sum = 0, statistic = 0, rest = 1;
	__u64 cells = items < CELLS ? items : CELLS;
	struct zipf zipf;

	for (__u64 rank = 1; rank <= items; rank++)
		sum += pow((double)rank, -theta);
	zipf_init(&zipf, items, theta);
	for (int i = 0; i < DRAWS; i++) {
		__u64 rank = zipf_next(&zipf, &random);

		assert_in_range(rank, 1, items);
		seen[rank <= cells ? rank - 1 : CELLS]++;
	}
	for (__u64 cell = 0; cell < cells; cell++) {
		double expected = DRAWS * pow((double)(cell + 1), -theta) / sum;

		rest -= expected / DRAWS;
		statistic += (seen[cell] - expected) * (seen[cell] - expected) / expected;
	}
	if (items > cells)
		statistic += (seen[CELLS] - DRAWS * rest) * (seen[CELLS] - DRAWS * rest) /
			     (DRAWS * rest);
	assert_true(statistic < cells + 3.1 * sqrt(2.0 * cells) + 8);
}

static void zipf_has_its_distribution(void **state)
{
	check_zipf(1, 0.9);
	check_zipf(2, 0.5);
	check_zipf(1000, 0.2);
	check_zipf(1000, 0.99);
	check_zipf(1000, 1.2);
	check_zipf(1000003, 0.9);
	check_zipf(1000003, 1.9);
}

/* Ranks are spread over the span, each to a place of its own. */
static void zipf_reaches_every_place(void **state)
{
	static __u32 hits[1000];
	struct pattern pattern;
	__u32 hottest = 0;

	pattern_init(&pattern, PATTERN_ZIPF, 1000 * 4096, 4096, 0.5, 11);
	for (int i = 0; i < 1000000; i++)
		hits[pattern_next(&pattern, 4096) / 4096]++;
	for (int i = 0; i < 1000; i++) {
		assert_true(hits[i] > 0);
		hottest = hits[i] > hottest ? hits[i] : hottest;
	}
	/* 1 / sum of r^-0.5 over 1000 ranks is 1.62% */
	assert_in_range(hottest, 15700, 16700);
}

static void patterns_stay_inside(void **state)
{
	static const enum access_pattern kinds[] = {PATTERN_SEQUENTIAL, PATTERN_RANDOM,
						    PATTERN_ZIPF};

	for (int k = 0; k < 3; k++) {
		struct pattern pattern;
		struct random random = {3};

		pattern_init(&pattern, kinds[k], 37 * 4096 + 511, 4096, 1.1, 5);
		for (int i = 0; i < 10000; i++) {
			__u64 length = (1 + random_below(&random, 37)) * 4096;
			__u64 offset = pattern_next(&pattern, length);

			assert_int_equal(offset % 4096, 0);
			assert_true(offset + length <= 37 * 4096);
		}
	}
}

static void sequential_follows_and_wraps(void **state)
{
	struct pattern pattern;

	pattern_init(&pattern, PATTERN_SEQUENTIAL, 5 * 4096, 4096, 0, 0);
	assert_int_equal(pattern_next(&pattern, 8192), 0);
	assert_int_equal(pattern_next(&pattern, 8192), 8192);
	assert_int_equal(pattern_next(&pattern, 8192), 0);
	assert_int_equal(pattern_next(&pattern, 4096), 8192);
}

static void equal_seeds_do_equal_things(void **state)
{
	struct pattern a, b;

	pattern_init(&a, PATTERN_ZIPF, 1 << 30, 4096, 0.8, 99);
	pattern_init(&b, PATTERN_ZIPF, 1 << 30, 4096, 0.8, 99);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pattern_next(&a, 4096), pattern_next(&b, 4096));
}

/*
 * A run took as long as it was to, and longer only by what an I/O waited: on a busy host its thread
 * may not run for seconds, which the latency of the I/Os that were due then has in it.
 */
static void assert_took(const struct workload_result *result, __u64 ns)
{
	assert_in_range(result->end_ns - result->start_ns, ns,
			ns + result->latency.max + 200 * NSEC_PER_MSEC);
}

static void a_rate_is_kept_and_its_time_too(void **state)
{
	struct workload_config config = plain(1009);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, &block_class, 3);
	config.rate = 5000;
	config.count = 1501;
	result = drive(&bench, &config);
	assert_int_equal(result.ios, 1501);
	assert_int_equal(result.unsent, 0);
	/* The last one is due after 300 ms. */
	assert_took(&result, 300 * NSEC_PER_MSEC);
	bench_close(&bench);
}

/*
 * A device that freezes for 200 ms under an open load: the I/Os that were due meanwhile are all
 * charged, though only `depth` of them had been submitted.
 */
static void latency_runs_from_the_schedule(void **state)
{
	struct workload_config config = plain(1009);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, &block_class, 1);
	config.rate = 1000;
	config.count = 500;
	bench.port.fault_ns = 200 * NSEC_PER_MSEC;
	/* The first touch of the rings freezes the queue. */
	bench.port.absent[0] = true;
	result = drive(&bench, &config);
	assert_int_equal(result.ios, 500);
	/* About 200 waited; their mean wait is half of the freeze. */
	assert_true(histogram_percentile(&result.latency, 75) > 30 * NSEC_PER_MSEC);
	assert_true(result.latency.max >= 199 * NSEC_PER_MSEC);
	assert_true(result.blocked_ns >= 200 * NSEC_PER_MSEC);
	assert_int_equal(result.window_min_ios, 0);
	bench_close(&bench);
}

static void what_a_full_queue_kept_back_is_counted(void **state)
{
	struct workload_config config = plain(1009);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, &block_class, 1);
	config.rate = 1000;
	config.count = 0;
	config.duration_ns = 300 * NSEC_PER_MSEC;
	bench.port.fault_ns = 400 * NSEC_PER_MSEC;
	bench.port.absent[0] = true;
	result = drive(&bench, &config);
	assert_int_equal(result.ios, config.depth);
	assert_int_equal(result.ios + result.unsent, 300);
	assert_int_equal(result.latency.count, 300);
	/* 4 took 400 ms, 296 waited 1 to 296 ms. */
	assert_in_range(histogram_percentile(&result.latency, 50), 145 * NSEC_PER_MSEC,
			155 * NSEC_PER_MSEC);
	bench_close(&bench);
}

static void a_duration_ends_it(void **state)
{
	struct workload_config config = plain(1009);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, &block_class, 2);
	config.count = 0;
	config.duration_ns = 250 * NSEC_PER_MSEC;
	result = drive(&bench, &config);
	assert_true(result.ios > 100);
	assert_took(&result, 250 * NSEC_PER_MSEC);
	assert_true(result.window_min_ios <= result.ios / 2);
	assert_int_equal(result.bytes, result.ios * 4096);
	assert_int_equal(result.latency.count, result.ios);
	bench_close(&bench);
}

static void copies_are_verified(void **state)
{
	struct workload_config config = plain(1009);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, &accel_class, 2);
	config.verify = true;
	config.size_count = 2;
	config.sizes[1] = 2 << 20;
	config.size_weights[1] = 1;
	result = drive(&bench, &config);
	assert_int_equal(result.ios, 1009);
	assert_int_equal(result.errors + result.mismatches, 0);
	bench_close(&bench);
	/* A copy is one I/O of two accesses. */
	assert_int_equal(bench.port.ios, 1009);
	assert_int_equal(bench.port.accesses, 2 * 1009);
}

/* Waits until the device has done so many more I/Os, or the workload has ended. */
static void await_ios(struct bench *bench, struct workload *workload, __u64 count)
{
	__u64 begin = fake_port_ios(&bench->port);

	while (fake_port_ios(&bench->port) - begin < count &&
	       workload_wait(workload, NSEC_PER_MSEC) == -ETIMEDOUT)
		;
}

/*
 * A device that corrupts what it moves is found out: the disk's file is changed behind its back. How
 * long that goes on is counted in I/Os: on a busy host this thread may not run for long.
 */
static void wrong_data_is_found(void **state)
{
	struct workload_config config = plain(1009);
	char path[] = "/var/tmp/faultline-test-XXXXXX";
	int file = mkstemp(path);
	struct block_settings settings = {.file = {.writable = true}};
	struct device_setup setup = {.settings = &settings};
	struct workload_result result;
	struct workload *workload;
	struct bench bench;

	strcpy(settings.file.path, path);
	assert_int_equal(ftruncate(file, 1 << 20), 0);
	bench_open(&bench, &block_class, 1);
	block_class.stop(bench.device);
	setup.channel = bench.channel;
	assert_int_equal(block_class.start(&bench.device, &bench.port, &setup), 0);
	unlink(path);
	config.verify = true;
	config.count = 0;
	config.duration_ns = 60 * NSEC_PER_SEC;
	assert_int_equal(workload_create(&workload, &config, &bench.port.memory, bench.channel), 0);
	assert_int_equal(workload_start(workload), 0);
	for (int round = 0; round < 5; round++) {
		await_ios(&bench, workload, 1000);
		for (int block = 0; block < 256; block += 2)
			assert_int_equal(pwrite(file, "damage", 6, block * 4096 + 8), 6);
	}
	await_ios(&bench, workload, 1000);
	workload_stop(workload);
	result = *workload_result(workload);
	assert_true(result.mismatches > 0);
	assert_int_equal(result.errors, 0);
	workload_destroy(workload);
	bench_close(&bench);
	close(file);
}

static void refused(const struct bench *bench, struct workload_config config, const char *word)
{
	struct workload *workload;

	assert_int_equal(
		workload_create(&workload, &config, (void *)&bench->port.memory, bench->channel),
		-EINVAL);
	assert_non_null(strstr(failure_text(), word));
}

#define REFUSED(field, value, word)                          \
	do {                                                 \
		struct workload_config config = plain(1009); \
		config.field = value;                        \
		refused(&bench, config, word);               \
	} while (0)

static void impossible_workloads_are_refused(void **state)
{
	struct bench bench;

	bench_open(&bench, &block_class, 1);
	REFUSED(depth, 0, "depth");
	REFUSED(depth, 33, "depth");
	REFUSED(sizes[0], 0, "size");
	REFUSED(sizes[0], 4095, "size");
	REFUSED(sizes[0], 4 << 20, "size");
	REFUSED(size_count, 0, "size");
	REFUSED(size_count, 9, "size");
	REFUSED(read_percent, 101, "read_percent");
	REFUSED(rate, -1, "rate");
	REFUSED(rate, NAN, "rate");
	REFUSED(count, 0, "count");
	REFUSED(buffer_bytes, MEMORY, "buffer");
	REFUSED(buffer_bytes, 4095, "buffer");
	REFUSED(pattern, PATTERN_ZIPF, "zipf_theta");
	bench_close(&bench);
}

static void refused_disk(const char *path, __u64 bytes, const char *directory, int error,
			 const char *word)
{
	struct block_settings settings = {.file_bytes = bytes};
	const struct device_setup setup = {.settings = &settings, .directory = directory};
	struct port port;
	void *device;

	strcpy(settings.file.path, path);
	assert_int_equal(block_class.start(&device, &port, &setup), error);
	assert_non_null(strstr(failure_text(), word));
}

static void impossible_disks_are_refused(void **state)
{
	char path[] = "/var/tmp/faultline-test-XXXXXX";
	int file = mkstemp(path);

	refused_disk("/nonexistent/disk", 0, NULL, -ENOENT, "/nonexistent");
	refused_disk("/dev/null", 0, NULL, -EINVAL, "/dev/null");
	refused_disk("/var/tmp", 0, NULL, -EINVAL, "/var/tmp");
	refused_disk(path, 0, NULL, -EINVAL, "less than a sector");
	refused_disk("", 0, NULL, -EINVAL, "file_bytes");
	refused_disk("", 513, NULL, -EINVAL, "513");
	refused_disk("", 1 << 20, "/nonexistent", -ENOENT, "/nonexistent");
	unlink(path);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zipf_has_its_distribution),
		cmocka_unit_test(zipf_reaches_every_place),
		cmocka_unit_test(patterns_stay_inside),
		cmocka_unit_test(sequential_follows_and_wraps),
		cmocka_unit_test(equal_seeds_do_equal_things),
		cmocka_unit_test(a_rate_is_kept_and_its_time_too),
		cmocka_unit_test(latency_runs_from_the_schedule),
		cmocka_unit_test(what_a_full_queue_kept_back_is_counted),
		cmocka_unit_test(a_duration_ends_it),
		cmocka_unit_test(copies_are_verified),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(impossible_workloads_are_refused),
		cmocka_unit_test(impossible_disks_are_refused),
	};

	return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
