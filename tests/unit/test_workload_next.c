// SPDX-License-Identifier: GPL-2.0
/* What is planned and what of it is sent: pages of the next I/Os, and I/Os that a full queue keeps back. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/fake_bench.h"

#define WAIT (60 * NSEC_PER_SEC)

static void begin(struct bench *bench, const struct workload_config *config)
{
	assert_int_equal(
		workload_create(&bench->workload, config, &bench->port.memory, bench->channel), 0);
	assert_int_equal(workload_start(bench->workload), 0);
}

static struct workload_result end(struct bench *bench)
{
	struct workload_result result;

	assert_int_equal(workload_wait(bench->workload, WAIT), 0);
	workload_stop(bench->workload);
	result = *workload_result(bench->workload);
	workload_destroy(bench->workload);
	return result;
}

/* Until the workload is there and what it was asked before has been sent. */
static long next_pages(struct bench *bench, __u64 *pages, __u32 limit)
{
	long count = 0;

	while (!count && workload_wait(bench->workload, 0))
		count = workload_next_pages(bench->workload, pages, limit, NSEC_PER_SEC);
	return count;
}

static void take_away(struct bench *bench, const __u64 *pages, long count)
{
	for (long i = 0; i < count; i++)
		__atomic_store_n(&bench->port.absent[pages[i] / PAGE_BYTES], true,
				 __ATOMIC_RELEASE);
}

static void await_ios(struct bench *bench, __u64 count)
{
	__u64 from = fake_port_ios(&bench->port);

	while (fake_port_ios(&bench->port) - from < count)
		assert_int_equal(workload_wait(bench->workload, NSEC_PER_MSEC), -ETIMEDOUT);
}

static void assert_distinct(const struct bench *bench, const __u64 *pages, long count)
{
	for (long i = 0; i < count; i++) {
		assert_int_equal(pages[i] % PAGE_BYTES, 0);
		assert_in_range(pages[i], bench->channel->data_address, MEMORY - PAGE_BYTES);
		for (long k = 0; k < i; k++)
			assert_true(pages[i] != pages[k]);
	}
}

/* Open and closed loop: nobody waits for the injector, and each page it took is touched after. */
static void the_device_goes_on_while_pages_are_taken(void **state)
{
	static const double rates[] = {0, 3001};

	for (int r = 0; r < 2; r++) {
		struct workload_config config = plain(0);
		struct workload_result result;
		struct bench bench;
		__u64 pages[13];

		bench_open(&bench, &block_class, 1);
		config.duration_ns = NSEC_PER_SEC / 2;
		config.rate = rates[r];
		begin(&bench, &config);
		assert_int_equal(next_pages(&bench, pages, 13), 13);
		assert_distinct(&bench, pages, 13);
		await_ios(&bench, 101);
		take_away(&bench, pages, 13);
		workload_send_next(bench.workload);
		result = end(&bench);
		assert_int_equal(bench.port.faults, 13);
		assert_int_equal(result.errors, 0);
		bench_close(&bench);
	}
}

static void what_is_listed_is_part_of_the_count(void **state)
{
	struct workload_config config = plain(19);
	struct workload_result result;
	struct bench bench;
	__u64 pages[16];

	bench_open(&bench, &block_class, 1);
	config.rate = 200; /* the last is due after 90 ms */
	begin(&bench, &config);
	assert_int_equal(next_pages(&bench, pages, 7), 7);
	/* What is listed is not sent, whatever is due. */
	while (fake_port_ios(&bench.port) < 12)
		assert_int_equal(workload_wait(bench.workload, NSEC_PER_MSEC), -ETIMEDOUT);
	assert_int_equal(workload_wait(bench.workload, 200 * NSEC_PER_MSEC), -ETIMEDOUT);
	assert_int_equal(fake_port_ios(&bench.port), 12);
	take_away(&bench, pages, 7);
	workload_send_next(bench.workload);
	result = end(&bench);
	assert_int_equal(result.ios, 19);
	assert_int_equal(bench.port.faults, 7);
	bench_close(&bench);
}

static void the_next_are_none_without_io(void **state)
{
	struct workload_config config = plain(23);
	struct bench bench;
	__u64 page;

	bench_open(&bench, &block_class, 1);
	assert_int_equal(
		workload_create(&bench.workload, &config, &bench.port.memory, bench.channel), 0);
	assert_int_equal(workload_next_pages(bench.workload, &page, 1, 0), 0);
	assert_int_equal(workload_start(bench.workload), 0);
	assert_int_equal(workload_wait(bench.workload, WAIT), 0);
	assert_int_equal(workload_next_pages(bench.workload, &page, 1, 0), 0);
	assert_int_equal(end(&bench).ios, 23);
	bench_close(&bench);
}

/* A second list only once the first has been sent, or what comes next would be what comes later. */
static void one_list_after_the_other(void **state)
{
	struct workload_config config = plain(0);
	struct bench bench;
	__u64 pages[5], more;

	bench_open(&bench, &block_class, 1);
	config.duration_ns = NSEC_PER_SEC / 2;
	begin(&bench, &config);
	assert_int_equal(next_pages(&bench, pages, 5), 5);
	assert_int_equal(workload_next_pages(bench.workload, &more, 1, NSEC_PER_MSEC), 0);
	workload_send_next(bench.workload);
	assert_int_equal(next_pages(&bench, &more, 1), 1);
	/* Never sent: the end of the duration is the end. */
	end(&bench);
	bench_close(&bench);
}

/*
 * A buffer of 16 pages of which 5 are being taken: nobody touches these meanwhile, who would is sent
 * after. So a page that is taken is not in use, and the fault that follows is its own.
 */
static void what_touches_a_listed_page_waits(void **state)
{
	struct workload_config config = plain(0);
	struct workload_result result;
	struct bench bench;
	__u64 pages[5];

	bench_open(&bench, &block_class, 1);
	config.buffer_bytes = 16 * PAGE_BYTES;
	config.rate = 20011;
	config.duration_ns = 2 * NSEC_PER_SEC;
	begin(&bench, &config);
	assert_int_equal(next_pages(&bench, pages, 5), 5);
	take_away(&bench, pages, 5);
	await_ios(&bench, 101);
	assert_int_equal(__atomic_load_n(&bench.port.faults, __ATOMIC_RELAXED), 0);
	workload_send_next(bench.workload);
	result = end(&bench);
	assert_int_equal(bench.port.faults, 5);
	assert_int_equal(result.ios + result.unsent, 40022);
	bench_close(&bench);
}

static void both_sides_of_verified_copies_are_listed(void **state)
{
	struct workload_config config = plain(0);
	struct workload_result result;
	__u64 *pages = calloc(6, sizeof(*pages)), half;
	struct bench bench;

	bench_open(&bench, &accel_class, 1);
	config.verify = true;
	config.sizes[0] = 3 * PAGE_BYTES;
	config.duration_ns = NSEC_PER_SEC / 2;
	begin(&bench, &config);
	half = bench.channel->data_address + workload_buffer_bytes(bench.workload) / 2;
	assert_int_equal(next_pages(&bench, pages, 6), 6);
	assert_distinct(&bench, pages, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(pages[i] >= half - PAGE_BYTES, i >= 3);
	take_away(&bench, pages, 6);
	workload_send_next(bench.workload);
	result = end(&bench);
	assert_int_equal(bench.port.faults, 2); /* one for each side */
	assert_int_equal(result.errors + result.mismatches, 0);
	bench_close(&bench);
	free(pages);
}

/* A device that never answers in time: what was due has waited, and nothing that was due is missing. */
static void what_was_never_sent_has_waited(void **state)
{
	struct workload_config config = plain(0);
	struct histogram expected;
	struct workload_result result;
	__u64 planned = 0, below = 0, expected_below = 0;
	struct bench bench;

	bench_open(&bench, &block_class, 3);
	config.rate = 7919;
	config.duration_ns = 300 * NSEC_PER_MSEC;
	bench.port.fault_ns = 500 * NSEC_PER_MSEC;
	for (unsigned int page = 0; page < bench.channel->data_address / PAGE_BYTES; page++)
		bench.port.absent[page] = true;
	begin(&bench, &config);
	result = end(&bench);
	histogram_init(&expected);
	for (__u64 n = 0; (__u64)((double)n * 1e9 / 7919) < config.duration_ns; n++, planned++)
		if (n >= 3 * config.depth)
			histogram_add(&expected,
				      config.duration_ns - (__u64)((double)n * 1e9 / 7919));
	assert_int_equal(planned, 2376); /* 0.3 s * 7919/s, begun */
	assert_int_equal(result.ios, 3 * config.depth);
	assert_int_equal(result.unsent, planned - result.ios);
	assert_int_equal(result.latency.count, planned);
	/* Bucket by bucket; a value at an edge may fall to either side. */
	for (unsigned int b = 0; b < histogram_bucket(400 * NSEC_PER_MSEC); b++) {
		below += result.latency.buckets[b];
		expected_below += expected.buckets[b];
		assert_in_range(below + 3, expected_below, expected_below + 6);
	}
	assert_int_equal(below, result.unsent);
	assert_in_range(histogram_percentile(&result.latency, 50), 145 * NSEC_PER_MSEC,
			155 * NSEC_PER_MSEC);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_goes_on_while_pages_are_taken),
		cmocka_unit_test(what_is_listed_is_part_of_the_count),
		cmocka_unit_test(the_next_are_none_without_io),
		cmocka_unit_test(one_list_after_the_other),
		cmocka_unit_test(what_touches_a_listed_page_waits),
		cmocka_unit_test(both_sides_of_verified_copies_are_listed),
		cmocka_unit_test(what_was_never_sent_has_waited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
