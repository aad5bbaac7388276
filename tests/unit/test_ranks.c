// SPDX-License-Identifier: GPL-2.0
/* Ranks over verbs without a device: what they send is what arrives, by each pattern, operation and memory mode. */
#include <errno.h>
#include <string.h>

#include "tests/unit/test.h"

#include "injectors/emu/ranks/rank_pattern.h"
#include "injectors/emu/ranks/ranks_driver.h"
#include "lib/base/fail.h"
#include "tests/unit/rig/verbs_loop.h"

#define SHARE (16ull << 20)

/* The two ends of a group. */
struct ends {
	struct guest_memory *memory[2];
	struct channel *channel[2];
	void *driver[2];
	struct ranks_config config;
	struct ranks_result result;
};

static struct ranks_config example(void)
{
	return (struct ranks_config){
		.name = "x",
		.device = 0,
		.peer = 1,
		.count = 4,
		.sizes = {4096},
		.size_weights = {1},
		.size_count = 1,
		.depth = 7,
		.memory = RANKS_MEMORY_demand,
		.cache_bytes = 1 << 20,
		.operations = 53,
		.verify = true,
		.seed = 11,
	};
}

static void open_ends(struct ends *ends, const struct ranks_config *config)
{
	verbs_loop_reset();
	*ends = (struct ends){.config = *config};
	histogram_init(&ends->result.latency);
	for (int i = 0; i < 2; i++) {
		struct guest_memory_config memory = {
			.bytes = SHARE, .physical = (i + 1ull) << 40, .tenant = (__u32)i};
		struct channel_config channel = {.queues = 1,
						 .queue_depth = 2,
						 .depth_max = 2,
						 .pasid = PASID_NONE,
						 .bytes = SHARE};

		assert_int_equal(guest_memory_create(&ends->memory[i], &memory), 0);
		assert_int_equal(channel_create(&ends->channel[i], &channel), 0);
	}
}

static int create_ends(struct ends *ends)
{
	int err = 0;

	for (int i = 0; !err && i < 2; i++) {
		struct driver_setup setup = {.index = (__u32)i,
					     .channel = ends->channel[i],
					     .memory = ends->memory[i],
					     .ranks = &ends->config,
					     .peer = ends->driver[0]};

		err = rdma_driver.create(&ends->driver[i], &setup);
	}
	return err;
}

static void close_ends(struct ends *ends)
{
	for (int i = 0; i < 2; i++)
		if (ends->driver[i])
			rdma_driver.stop(ends->driver[i]);
	for (int i = 0; i < 2; i++)
		if (ends->driver[i]) {
			ranks_driver_result(ends->driver[i], &ends->result);
			rdma_driver.destroy(ends->driver[i]);
		}
	for (int i = 0; i < 2; i++) {
		channel_destroy(ends->channel[i]);
		guest_memory_destroy(ends->memory[i]);
	}
}

static void run_ends(struct ends *ends, const struct ranks_config *config)
{
	open_ends(ends, config);
	assert_int_equal(create_ends(ends), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.start(ends->driver[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.wait(ends->driver[i], 60 * SECOND), 0);
	close_ends(ends);
}

/* Messages that a step of all ranks takes. */
static __u64 messages_of(const struct ranks_config *config)
{
	__u64 n = config->count, power = 1, doublings = 0;

	while (power * 2 <= n) {
		power *= 2;
		doublings++;
	}
	switch (config->pattern) {
	case RANKS_sendrecv:
		return n;
	case RANKS_bcast:
		return n - 1;
	case RANKS_alltoall:
		return n * (n - 1);
	case RANKS_allreduce:
		return power * doublings + 2 * (n - power);
	case RANKS_beff:
		return 2 * n;
	default:
		return n / 2;
	}
}

static void check_run(const struct ends *ends)
{
	const struct ranks_config *config = &ends->config;
	__u64 messages = messages_of(config) * config->operations;
	__u64 each = config->pattern == RANKS_stream ? config->count / 2 : config->count;
	struct verbs_loop_counts counts;

	verbs_loop_counts(&counts);
	assert_int_equal(ends->result.errors, 0);
	assert_int_equal(ends->result.mismatches, 0);
	assert_int_equal(ends->result.operations, each * config->operations);
	assert_int_equal(ends->result.latency.count, ends->result.operations);
	assert_int_equal(ends->result.bytes, messages * config->sizes[0]);
	/* Nothing is ever sent to who is not ready, and all that was made is gone. */
	assert_int_equal(counts.unready, 0);
	assert_int_equal(counts.regions + counts.pairs + counts.queues, 0);
	assert_int_equal(counts.registered, counts.deregistered);
	assert_int_equal(counts.writes, config->op == RANKS_WRITE ? messages : 0);
	assert_int_equal(counts.empty_sends, config->op == RANKS_WRITE ? messages : 0);
	assert_int_equal(counts.reads, config->op == RANKS_READ ? messages : 0);
}

static void every_pattern_operation_and_memory(void **state)
{
	static struct ends ends;

	for (int pattern = 0; pattern < RANKS_PATTERNS; pattern++)
		for (int op = RANKS_SEND; op <= RANKS_READ; op++)
			for (int memory = 0; memory < RANKS_MEMORIES; memory++) {
				struct ranks_config config = example();

				config.pattern = (enum ranks_pattern)pattern;
				config.op = (enum ranks_op)op;
				config.memory = (enum ranks_memory)memory;
				config.off_cache = memory % 2;
				run_ends(&ends, &config);
				check_run(&ends);
			}
}

static void counts_that_are_no_power_of_two(void **state)
{
	static const __u32 many[] = {2, 3, 5, 6, 7};
	static struct ends ends;

	for (int pattern = 0; pattern < RANKS_PATTERNS; pattern++)
		for (size_t i = 0; i < COUNT(many); i++) {
			struct ranks_config config = example();

			if (pattern == RANKS_stream && many[i] % 2)
				continue;
			config.pattern = (enum ranks_pattern)pattern;
			config.count = many[i];
			config.operations = 31;
			run_ends(&ends, &config);
			check_run(&ends);
		}
}

/* Sizes of no alignment, to a byte. */
static void sizes_of_any_kind(void **state)
{
	static const __u64 sizes[] = {1, 7, 8, 4095, 4097, 70001};
	static struct ends ends;

	for (size_t i = 0; i < COUNT(sizes); i++)
		for (int memory = 0; memory < RANKS_MEMORIES; memory++) {
			struct ranks_config config = example();

			config.pattern = RANKS_beff;
			config.memory = (enum ranks_memory)memory;
			config.cache_bytes = 4 << 20;
			config.sizes[0] = sizes[i];
			config.operations = 17;
			run_ends(&ends, &config);
			check_run(&ends);
		}
}

static void a_mix_of_sizes_is_the_same_at_both_ends(void **state)
{
	static struct ends ends;
	struct ranks_config config = example();

	config.pattern = RANKS_stream;
	config.sizes[1] = 20000;
	config.size_weights[1] = 3;
	config.size_count = 2;
	config.operations = 401;
	run_ends(&ends, &config);
	assert_int_equal(ends.result.mismatches + ends.result.errors, 0);
	assert_in_range(ends.result.bytes, 802 * 14000ull, 802 * 18000ull);
}

/* One bit of each message is wrong: each is counted. */
static void damage_is_seen(void **state)
{
	static struct ends ends;

	for (int pattern = 0; pattern < RANKS_PATTERNS; pattern++) {
		struct ranks_config config = example();

		config.pattern = (enum ranks_pattern)pattern;
		open_ends(&ends, &config);
		verbs_loop_damage(64);
		assert_int_equal(create_ends(&ends), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(rdma_driver.start(ends.driver[i]), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(rdma_driver.wait(ends.driver[i], 60 * SECOND), 0);
		close_ends(&ends);
		if (pattern == RANKS_allreduce || pattern == RANKS_bcast)
			/* Two wrong bits may cancel out in a sum, and do on the way through two ranks. */
			assert_in_range(ends.result.mismatches, 53, 53 * 4);
		else
			assert_int_equal(ends.result.mismatches, messages_of(&config) * 53);
	}
}

static void an_error_ends_all_of_them(void **state)
{
	static struct ends ends;
	struct ranks_config config = example();

	config.operations = 0;
	config.duration_ns = 3600 * SECOND;
	open_ends(&ends, &config);
	assert_int_equal(create_ends(&ends), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.start(ends.driver[i]), 0);
	verbs_loop_fail(VERBS_RNR_RETRY_EXC_ERR);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.wait(ends.driver[i], 60 * SECOND), 0);
	assert_non_null(strstr(ranks_driver_error(ends.driver[0]), "status 13"));
	close_ends(&ends);
	assert_in_range(ends.result.errors, 1, 4);
}

static void a_duration_ends_all_at_the_same_step(void **state)
{
	static struct ends ends;
	struct ranks_config config = example();

	config.pattern = RANKS_alltoall;
	config.operations = 0;
	config.duration_ns = 50 * MS;
	run_ends(&ends, &config);
	assert_int_equal(ends.result.operations % 4, 0);
	assert_int_equal(ends.result.bytes, ends.result.operations * 3 * 4096);
	assert_int_equal(ends.result.errors + ends.result.mismatches, 0);
}

static void a_rate_has_a_time_for_each(void **state)
{
	static struct ends ends;
	struct ranks_config config = example();

	config.rate = 1000;
	config.operations = 41;
	run_ends(&ends, &config);
	check_run(&ends);
	assert_true(ends.result.end_ns - ends.result.start_ns >= 39 * MS);
}

static void stopped_at_any_time(void **state)
{
	static struct ends ends;
	struct verbs_loop_counts counts;

	for (int memory = 0; memory < RANKS_MEMORIES; memory++) {
		struct ranks_config config = example();

		config.memory = (enum ranks_memory)memory;
		config.pattern = memory % 2 ? RANKS_stream : RANKS_beff;
		config.operations = 0;
		config.duration_ns = 3600 * SECOND;
		open_ends(&ends, &config);
		assert_int_equal(create_ends(&ends), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(rdma_driver.start(ends.driver[i]), 0);
		assert_int_equal(rdma_driver.wait(ends.driver[0], 3 * MS), -ETIMEDOUT);
		close_ends(&ends);
		verbs_loop_counts(&counts);
		assert_int_equal(counts.regions + counts.pairs + counts.queues, 0);
		assert_int_equal(ends.result.errors + ends.result.mismatches, 0);
	}
}

/* One waits for a command that nobody answers, the others for its messages: that is no error of theirs. */
static void stopped_while_a_command_takes_long(void **state)
{
	static struct ends ends;
	struct verbs_loop_counts counts;
	struct ranks_config config = example();

	config.memory = RANKS_MEMORY_cache;
	config.pattern = RANKS_alltoall;
	open_ends(&ends, &config);
	assert_int_equal(create_ends(&ends), 0);
	verbs_loop_stick();
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.start(ends.driver[i]), 0);
	while (!verbs_loop_stuck())
		assert_int_equal(rdma_driver.wait(ends.driver[0], 3 * MS), -ETIMEDOUT);
	for (int i = 0; i < 2; i++)
		rdma_driver.stop(ends.driver[i]);
	assert_string_equal(ranks_driver_error(ends.driver[0]), "");
	close_ends(&ends);
	verbs_loop_counts(&counts);
	assert_int_equal(counts.regions + counts.pairs + counts.queues, 0);
	assert_int_equal(ends.result.errors + ends.result.mismatches, 0);
	assert_int_equal(ends.result.operations, 0);
}

/* As memlock or memory_limit refuse it, at the first device or at the second: these ranks do not start, and hold nothing. */
static void memory_that_may_not_be_pinned(void **state)
{
	static const __u64 limits[] = {1 << 20, 0}; /* 0: one byte too few */
	struct ranks_config config = example();
	struct verbs_loop_counts counts, left;
	static struct ends ends;

	config.memory = RANKS_MEMORY_pin;
	open_ends(&ends, &config);
	assert_int_equal(create_ends(&ends), 0);
	verbs_loop_counts(&counts);
	close_ends(&ends);
	assert_false(ends.result.refused);
	for (int i = 0; i < 2; i++) {
		open_ends(&ends, &config);
		verbs_loop_limit(limits[i] ? limits[i] : counts.pinned_most - 1);
		assert_int_equal(create_ends(&ends), 0);
		verbs_loop_counts(&left);
		assert_int_equal(left.pinned + left.regions, 0);
		assert_int_equal(rdma_driver.buffer_bytes(ends.driver[1]), 0);
		for (int end = 0; end < 2; end++)
			assert_int_equal(rdma_driver.start(ends.driver[end]), 0);
		for (int end = 0; end < 2; end++)
			assert_int_equal(rdma_driver.wait(ends.driver[end], 0), 0);
		close_ends(&ends);
		assert_true(ends.result.refused);
		assert_int_equal(ends.result.operations + ends.result.errors, 0);
	}
	config.memory = RANKS_MEMORY_demand;
	open_ends(&ends, &config);
	verbs_loop_limit(1 << 20);
	assert_int_equal(create_ends(&ends), 0);
	close_ends(&ends);
	assert_false(ends.result.refused);
}

/* What the plan says is what is taken. */
static void pinned_as_planned(void **state)
{
	static struct ends ends;
	struct verbs_loop_counts counts;
	struct ranks_layout layout;

	for (int memory = 0; memory < RANKS_MEMORIES; memory++)
		for (int pattern = 0; pattern < RANKS_PATTERNS; pattern++) {
			struct ranks_config config = example();
			__u64 planned = 0, queues = 0;

			config.memory = (enum ranks_memory)memory;
			config.pattern = (enum ranks_pattern)pattern;
			config.buffer_bytes = 1 << 20;
			config.off_cache = true;
			config.operations = 300;
			for (int end = 0; end < 2; end++) {
				ranks_plan(&config, end, SHARE, &layout);
				planned += ranks_pinned(&config, &layout);
				queues += layout.queues;
				assert_true(layout.total <= SHARE);
			}
			run_ends(&ends, &config);
			verbs_loop_counts(&counts);
			/* The rings of queues are no regions. */
			assert_true(counts.pinned_most <= planned);
			assert_true(counts.pinned_most + queues >= planned ||
				    memory == RANKS_MEMORY_cache);
		}
}

static void posted_receives_are_a_ring(void **state)
{
	static struct ends ends;
	struct ranks_config config = example();
	__u64 pages[1024], seen = 0;
	long count;

	config.pattern = RANKS_stream;
	config.count = 2;
	config.sizes[0] = 3 * 4096;
	config.rate = 1; /* the second message is not due for a second: the receives stay */
	config.operations = 1000;
	open_ends(&ends, &config);
	assert_int_equal(create_ends(&ends), 0);
	assert_int_equal(rdma_driver.ring_pages(ends.driver[1], RING_SIDES, pages, 1024), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_driver.start(ends.driver[i]), 0);
	do {
		assert_int_equal(rdma_driver.wait(ends.driver[1], MS), -ETIMEDOUT);
		count = rdma_driver.ring_pages(ends.driver[1], RING_SIDE(RING_RX), pages, 1024);
	} while (count != 7 * 3);
	for (long i = 0; i < count; i++)
		for (long other = 0; other < i; other++)
			seen += pages[i] == pages[other];
	assert_int_equal(seen, 0);
	assert_true(pages[0] + rdma_driver.buffer_bytes(ends.driver[1]) <= SHARE + pages[0]);
	assert_int_equal(rdma_driver.ring_pages(ends.driver[0], RING_SIDE(RING_RX), pages, 1024),
			 0);
	close_ends(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pattern_operation_and_memory),
		cmocka_unit_test(counts_that_are_no_power_of_two),
		cmocka_unit_test(sizes_of_any_kind),
		cmocka_unit_test(a_mix_of_sizes_is_the_same_at_both_ends),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(an_error_ends_all_of_them),
		cmocka_unit_test(a_duration_ends_all_at_the_same_step),
		cmocka_unit_test(a_rate_has_a_time_for_each),
		cmocka_unit_test(stopped_at_any_time),
		cmocka_unit_test(stopped_while_a_command_takes_long),
		cmocka_unit_test(memory_that_may_not_be_pinned),
		cmocka_unit_test(pinned_as_planned),
		cmocka_unit_test(posted_receives_are_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
