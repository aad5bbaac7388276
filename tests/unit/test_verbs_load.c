// SPDX-License-Identifier: GPL-2.0
/* Loads of verbs over verbs without a device: what each test does, counts and leaves behind. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"

#include "injectors/emu/machine.h"
#include "injectors/emu/verbs/verbs_layout.h"
#include "injectors/emu/verbs_load/load_share.h"
#include "injectors/emu/verbs_load/verbs_load_driver.h"
#include "lib/base/fail.h"
#include "tests/unit/rig/verbs_loop.h"

#define SHARE	   (16ull << 20)
#define OPERATIONS 53

/* The two ends of a load. */
struct ends {
	struct guest_memory *memory[2];
	struct channel *channel[2];
	void *driver[2];
	struct device_config device; /* of no mode */
	struct verbs_load_config config;
	struct verbs_load_result result;
	char error[256];
};

static struct verbs_load_config example(enum verbs_load_test test)
{
	return (struct verbs_load_config){
		.name = "x",
		.device = 0,
		.peer = 1,
		.test = test,
		.size = 4000,
		.entries = 16,
		.outstanding = 7,
		.keys = 300,
		.clients = 1,
		.slo_ns = 10000,
		.operations = OPERATIONS,
		.verify = true,
		.seed = 11,
	};
}

static void open_ends(struct ends *ends, const struct verbs_load_config *config)
{
	verbs_loop_reset();
	*ends = (struct ends){.config = *config};
	histogram_init(&ends->result.latency);
	histogram_init(&ends->result.undo);
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

static void create_ends(struct ends *ends)
{
	for (int i = 0; i < 2; i++) {
		struct driver_setup setup = {.index = (__u32)i,
					     .device = &ends->device,
					     .channel = ends->channel[i],
					     .memory = ends->memory[i],
					     .verbs = &ends->config,
					     .peer = ends->driver[0]};

		assert_int_equal(verbs_load_driver.create(&ends->driver[i], &setup), 0);
	}
}

static void close_ends(struct ends *ends)
{
	for (int i = 0; i < 2; i++)
		verbs_load_driver.stop(ends->driver[i]);
	snprintf(ends->error, sizeof(ends->error), "%s",
		 verbs_load_driver_result(ends->driver[1], &ends->result));
	for (int i = 0; i < 2; i++) {
		verbs_load_driver.destroy(ends->driver[i]);
		channel_destroy(ends->channel[i]);
		guest_memory_destroy(ends->memory[i]);
	}
}

static void run_ends(struct ends *ends, const struct verbs_load_config *config)
{
	open_ends(ends, config);
	create_ends(ends);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.start(ends->driver[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.wait(ends->driver[i], 60 * SECOND), 0);
	close_ends(ends);
}

static void check_counts(const struct ends *ends, __u64 operations, __u64 bytes)
{
	struct verbs_loop_counts counts;

	verbs_loop_counts(&counts);
	assert_string_equal(ends->error, "");
	assert_int_equal(ends->result.errors, 0);
	assert_int_equal(ends->result.mismatches, 0);
	assert_int_equal(ends->result.operations, operations);
	assert_int_equal(ends->result.latency.count, operations);
	assert_int_equal(ends->result.bytes, bytes);
	assert_true(ends->result.over_slo <= operations);
	/* All that was made is gone. */
	assert_int_equal(counts.regions + counts.pairs + counts.queues + counts.channels, 0);
	assert_int_equal(counts.registered, counts.deregistered);
	assert_int_equal(counts.unready, 0);
}

static void each_test_moves_what_it_says(void **state)
{
	static const enum verbs_load_test tests[] = {LOAD_read_latency, LOAD_write_bandwidth,
						     LOAD_send, LOAD_kv};
	struct verbs_loop_counts counts;

	for (int events = 0; events < 2; events++)
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
			struct verbs_load_config config = example(tests[i]);
			struct ends ends;

			config.events = events;
			run_ends(&ends, &config);
			check_counts(&ends, OPERATIONS, OPERATIONS * config.size);
			verbs_loop_counts(&counts);
			assert_int_equal(counts.reads,
					 tests[i] == LOAD_read_latency || tests[i] == LOAD_kv
						 ? OPERATIONS
						 : 0);
			assert_int_equal(counts.writes,
					 tests[i] == LOAD_write_bandwidth ? OPERATIONS : 0);
			assert_int_equal(counts.sends, tests[i] == LOAD_send ? 2 * OPERATIONS : 0);
			/* The one that serves waits in any case. */
			assert_int_equal(counts.channels_made, 1 + events);
			assert_int_equal(ends.result.undo.count, 0);
		}
}

static void control_is_timed_in_two_halves(void **state)
{
	struct verbs_load_config config = example(LOAD_register);
	struct verbs_loop_counts counts;
	struct ends ends;

	run_ends(&ends, &config);
	check_counts(&ends, OPERATIONS, OPERATIONS * config.size);
	assert_int_equal(ends.result.undo.count, OPERATIONS);
	verbs_loop_counts(&counts);
	/* And once to look at what is pinned. */
	assert_int_equal(counts.registered, OPERATIONS + 1);
	assert_true(ends.result.machine.resident > 0);
	assert_int_equal(ends.result.guest.pinned, ends.result.machine.pinned);

	config = example(LOAD_create_qp);
	run_ends(&ends, &config);
	check_counts(&ends, OPERATIONS, 0);
	assert_int_equal(ends.result.undo.count, OPERATIONS);
}

static void two_clients_each_do_all(void **state)
{
	struct verbs_load_config config = example(LOAD_kv);
	struct ends ends;

	config.clients = 2;
	run_ends(&ends, &config);
	check_counts(&ends, 2 * OPERATIONS, 2 * OPERATIONS * config.size);
}

/* Of pieces of 64 KiB, 16 at each end, the limit has room for 16 in all. */
static void what_is_refused_is_left_out(void **state)
{
	struct verbs_load_config config = example(LOAD_pressure);
	struct ends ends;

	config.working_set = 1 << 20;
	config.piece = 64 << 10;
	config.size = 4096;
	run_ends(&ends, &config);
	check_counts(&ends, OPERATIONS, OPERATIONS * config.size);
	assert_int_equal(ends.result.refused, 0);

	open_ends(&ends, &config);
	verbs_loop_limit(1 << 20);
	create_ends(&ends);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.start(ends.driver[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.wait(ends.driver[i], 60 * SECOND), 0);
	close_ends(&ends);
	assert_int_equal(ends.result.refused, 16);
	assert_int_equal(ends.result.errors, 0);
	/* Both ends have registered some of it, or one all, and then there is nothing to read. */
	assert_true(ends.result.operations == OPERATIONS || ends.result.operations == 0);
	assert_int_equal(ends.result.mismatches, 0);
}

static void run_refused(struct ends *ends, const struct verbs_load_config *config, __u32 which)
{
	open_ends(ends, config);
	verbs_loop_refuse(which);
	create_ends(ends);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.start(ends->driver[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.wait(ends->driver[i], 60 * SECOND), 0);
	close_ends(ends);
}

/* Whichever of its regions it is, the others are read, each from where its bytes are. */
static void one_region_of_many_may_be_refused(void **state)
{
	struct verbs_load_config config = example(LOAD_pressure);
	struct ends ends;

	config.working_set = 1 << 18;
	config.piece = 64 << 10;
	config.size = 4096;
	for (__u32 which = 1; which <= 8; which++) {
		run_refused(&ends, &config, which);
		check_counts(&ends, OPERATIONS, OPERATIONS * config.size);
		assert_int_equal(ends.result.refused, 1);
	}
}

/* One that is refused is none of the operations, and the next is tried. */
static void registering_goes_on_behind_a_refusal(void **state)
{
	struct verbs_load_config config = example(LOAD_register);
	struct ends ends;

	run_refused(&ends, &config, 3);
	check_counts(&ends, OPERATIONS - 1, (OPERATIONS - 1) * config.size);
	assert_int_equal(ends.result.refused, 1);
}

/* Who has but one cannot do without it. */
static void the_only_region_is_needed(void **state)
{
	static const enum verbs_load_test tests[] = {LOAD_read_latency, LOAD_write_bandwidth,
						     LOAD_send, LOAD_kv};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		struct verbs_load_config config = example(tests[i]);
		struct ends ends;

		run_refused(&ends, &config, 2);
		assert_int_equal(ends.result.errors, 1);
		assert_int_equal(ends.result.refused, 1);
		assert_int_equal(ends.result.operations, 0);
		assert_non_null(
			strstr(ends.error, "a region was refused: a right that is not its"));
	}
}

static void a_wrong_byte_is_seen(void **state)
{
	static const enum verbs_load_test tests[] = {LOAD_read_latency, LOAD_write_bandwidth,
						     LOAD_send, LOAD_kv};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		struct verbs_load_config config = example(tests[i]);
		struct ends ends;

		open_ends(&ends, &config);
		verbs_loop_damage(64);
		create_ends(&ends);
		for (int n = 0; n < 2; n++)
			assert_int_equal(verbs_load_driver.start(ends.driver[n]), 0);
		for (int n = 0; n < 2; n++)
			assert_int_equal(verbs_load_driver.wait(ends.driver[n], 60 * SECOND), 0);
		close_ends(&ends);
		assert_int_equal(ends.result.operations, OPERATIONS);
		assert_true(ends.result.mismatches > 0);
	}
}

static void a_failed_completion_ends_it(void **state)
{
	struct verbs_load_config config = example(LOAD_send);
	struct ends ends;

	open_ends(&ends, &config);
	verbs_loop_fail(VERBS_REM_ACCESS_ERR);
	create_ends(&ends);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.start(ends.driver[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_load_driver.wait(ends.driver[i], 60 * SECOND), 0);
	close_ends(&ends);
	assert_int_equal(ends.result.errors, 1);
	assert_int_equal(ends.result.operations, 0);
	assert_non_null(
		strstr(ends.error, "work request 0 completed with \"remote access error\""));
}

/* Nothing comes any more, polled or waited for; the other end is let go. */
static void a_lost_completion_ends_it(void **state)
{
	static const enum verbs_load_test tests[] = {LOAD_read_latency, LOAD_write_bandwidth,
						     LOAD_send, LOAD_kv};

	for (size_t i = 0; i < 2 * sizeof(tests) / sizeof(tests[0]); i++) {
		struct verbs_load_config config = example(tests[i / 2]);
		struct ends ends;

		config.events = i % 2;
		config.operations = 0;
		config.duration_ns = 3600 * SECOND;
		open_ends(&ends, &config);
		verbs_loop_overrun();
		create_ends(&ends);
		for (int n = 0; n < 2; n++)
			assert_int_equal(verbs_load_driver.start(ends.driver[n]), 0);
		for (int n = 0; n < 2; n++)
			assert_int_equal(verbs_load_driver.wait(ends.driver[n], 60 * SECOND), 0);
		close_ends(&ends);
		assert_int_equal(ends.result.errors, 1);
		assert_non_null(strstr(ends.error, "completion queue 77 full"));
	}
}

static void run_stuck(struct ends *ends)
{
	struct verbs_load_config config = example(LOAD_register);

	config.no_syscalls = true;
	open_ends(ends, &config);
	create_ends(ends);
	verbs_loop_stick();
	assert_int_equal(verbs_load_driver.start(ends->driver[0]), 0);
	assert_int_equal(verbs_load_driver.wait(ends->driver[0], 60 * SECOND), 0);
	close_ends(ends);
}

/*
 * Registering takes until the device is shut down, by waiting in the kernel: the filter ends it there. In a process of its own: a thread
 * that the kernel ends leaves its stack to the next one as it is, which AddressSanitizer takes for an error.
 */
static void a_system_call_ends_who_may_make_none(void **state)
{
	struct ends *ends = mmap(NULL, sizeof(*ends), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	assert_ptr_not_equal(ends, MAP_FAILED);
	child = fork();
	if (!child) {
		run_stuck(ends);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(ends->result.stopped_calls, 1);
	assert_int_equal(ends->result.errors, 1);
	assert_non_null(strstr(ends->error, "client 0 made a system call while it polled"));
	munmap(ends, sizeof(*ends));
}

static void it_can_be_stopped(void **state)
{
	static const enum verbs_load_test tests[] = {LOAD_read_latency, LOAD_send, LOAD_register};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		struct verbs_load_config config = example(tests[i]);
		struct ends ends;

		config.operations = 0;
		config.duration_ns = 3600 * SECOND;
		open_ends(&ends, &config);
		create_ends(&ends);
		for (int n = 0; n < 2; n++)
			assert_int_equal(verbs_load_driver.start(ends.driver[n]), 0);
		assert_int_equal(verbs_load_driver.wait(ends.driver[0], SECOND / 50), -ETIMEDOUT);
		close_ends(&ends);
		assert_int_equal(ends.result.mismatches, 0);
		assert_int_equal(ends.result.latency.count, ends.result.operations);
	}
}

/* What the killed one had counted is there, and the other end is let go by who sees its death. */
static void counts_outlive_who_counts(void **state)
{
	struct verbs_load_config config = example(LOAD_read_latency);
	struct load_share *share = load_share_create(&config);
	struct verbs_load_result result = {0};
	int status;
	pid_t child;

	assert_non_null(share);
	child = fork();
	if (!child) {
		histogram_add(&share->counts[0][0].latency, 5);
		share->counts[0][0].operations = 17;
		load_share_reach(share, 0, LOAD_READY);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_true(load_share_await(share, 1, LOAD_READY));
	load_share_fail(share, -EIO, "the guest has ended");
	assert_false(load_share_await(share, 1, LOAD_CONNECTED));
	histogram_init(&result.latency);
	histogram_init(&result.undo);
	load_share_result(share, &result);
	assert_int_equal(result.operations, 17);
	assert_int_equal(result.latency.count, 1);
	assert_int_equal(result.errors, 1);
	assert_string_equal(share->error, "the guest has ended");
	load_share_drop(share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_test_moves_what_it_says),
		cmocka_unit_test(control_is_timed_in_two_halves),
		cmocka_unit_test(two_clients_each_do_all),
		cmocka_unit_test(what_is_refused_is_left_out),
		cmocka_unit_test(one_region_of_many_may_be_refused),
		cmocka_unit_test(registering_goes_on_behind_a_refusal),
		cmocka_unit_test(the_only_region_is_needed),
		cmocka_unit_test(a_wrong_byte_is_seen),
		cmocka_unit_test(a_failed_completion_ends_it),
		cmocka_unit_test(a_lost_completion_ends_it),
		cmocka_unit_test(a_system_call_ends_who_may_make_none),
		cmocka_unit_test(it_can_be_stopped),
		cmocka_unit_test(counts_outlive_who_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
