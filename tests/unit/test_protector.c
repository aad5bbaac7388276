// SPDX-License-Identifier: GPL-2.0
/* The live protector: what its policies decide is done, in order and by thread; and is what they decide of a recording. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/devices/block.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "tests/unit/rig/rig.h"

#define T0 (1000 * NSEC_PER_SEC)

static struct protector_stats stats;

static struct protector_options config_of(const char *policy)
{
	struct protector_options config = {.page_bytes = PAGE_BYTES};

	protect_keys_default(&config.keys);
	config.keys.policy = (__u32)protect_policy_find(policy);
	return config;
}

static void begin(struct protector_options config)
{
	rig->config.protector = config;
	if (protector_create(&rig->protector, rig))
		fail_msg("%s", failure_text());
}

static int teardown(void **state)
{
	protector_destroy(rig->protector);
	return rig_teardown(state);
}

static void touch(__u16 device, __u64 time_ns, __u64 address, __u32 length)
{
	const struct access_record record = {
		.time_ns = time_ns, .device = device, .address = address, .length = length};

	protector_take(rig->protector, &record);
}

/* Until its thread has done that much. */
static void await(__u64 pins, __u64 unpins, __u64 refused)
{
	do {
		sleep_until(monotonic_ns() + MS);
		protector_stats(rig->protector, &stats);
		assert_true(stats.pins <= pins && stats.unpins <= unpins &&
			    stats.refused <= refused);
	} while (stats.pins < pins || stats.unpins < unpins || stats.refused < refused);
}

static bool present(__u32 tenant, __u64 page)
{
	return guest_memory_present(rig->tenants[tenant].memory, page * PAGE_BYTES);
}

static void what_is_pinned_comes_and_stays(void **state)
{
	rig_build((struct rig_config){.devices = 2});
	begin(config_of("static"));
	/* Parts of pages 3 to 5: an access each. */
	touch(1, T0, 4 * PAGE_BYTES - 1, PAGE_BYTES + 2);
	touch(1, T0 + 1, 5 * PAGE_BYTES, 0);
	/* They settle first. */
	sleep_until(monotonic_ns() + 20 * MS);
	protector_stats(rig->protector, &stats);
	assert_int_equal(stats.pins, 0);
	touch(0, T0 + 100 * MS, 9 * PAGE_BYTES, 1);
	await(3, 0, 0);
	assert_int_equal(stats.accesses, 4);
	assert_int_equal(stats.pinned, 3 * PAGE_BYTES);
	for (__u64 page = 3; page <= 5; page++) {
		assert_true(present(0, page));
		assert_int_equal(evict_page(rig, 0, page * PAGE_BYTES, EVICT_MAJOR), EVICT_PINNED);
	}
	assert_false(present(0, 6));
	protector_halt(rig->protector);
	protector_stop(rig->protector);
	protector_stats(rig->protector, &stats);
	/* The machine has no use for a page any more that was to be pinned at the end. */
	assert_int_equal(stats.pins, 3);
	assert_int_equal(stats.unpins, 3);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.pinned, 0);
	assert_int_equal(stats.pinned_most, 3 * PAGE_BYTES);
	assert_true(stats.pinned_mean > 0 && stats.pinned_mean <= 3 * PAGE_BYTES);
	assert_false(present(0, 9));
	assert_int_equal(evict_page(rig, 0, 4 * PAGE_BYTES, EVICT_MAJOR), 0);
	assert_int_equal(rig_truth_count(TRUTH_PIN), 4);
	assert_int_equal(rig_truth_count(TRUTH_UNPIN), 4);
	assert_int_equal(rig_truth_count(TRUTH_PIN_REFUSED), 1);
	assert_int_equal(rig_violations(rig), 0);
}

static const struct truth_record *truth_at(__u8 what, __u64 page)
{
	return rig_truth_find(what, 0, page * PAGE_BYTES);
}

static void a_decision_is_told_as_it_was_due(void **state)
{
	struct protector_options config = config_of("lru");
	const struct truth_record *truth;

	rig_build((struct rig_config){.tenants = 2});
	config.keys.lru = 2.0 / (HUGE_BYTES / PAGE_BYTES);
	begin(config);
	for (__u64 i = 0; i < 3; i++)
		touch(1, T0 + i * 100 * MS, (i + 1) * PAGE_BYTES, 8);
	touch(1, T0 + 1000 * MS, PAGE_BYTES * 3, 8);
	await(3, 1, 0);
	truth = truth_at(TRUTH_PIN, 2);
	assert_non_null(truth);
	assert_int_equal(truth->who, TRUTH_PROTECTOR);
	assert_int_equal(truth->value, T0 + 100 * MS);
	assert_int_equal(truth->length, PAGE_BYTES);
	assert_int_equal(truth->device, 1);
	assert_int_equal(truth->tenant, 1);
	assert_int_equal(truth->pasid, PASID_NONE);
	assert_int_equal(truth->code, PROTECT_TOUCHED);
	truth = truth_at(TRUTH_UNPIN, 1);
	assert_int_equal(truth->value, T0 + 200 * MS);
	assert_int_equal(truth->code, PROTECT_DROPPED);
	assert_int_equal(truth->flags, 0);
	protector_stop(rig->protector);
	/* As the run ends, not by the policy's rules. */
	assert_int_equal(truth_at(TRUTH_UNPIN, 3)->flags, EVENT_LAST);
}

static void what_there_is_no_room_for_is_refused_and_counted(void **state)
{
	rig_build((struct rig_config){.memlock = 2 * PAGE_BYTES});
	begin(config_of("static"));
	for (__u64 page = 0; page < 5; page++)
		touch(0, T0 + page, page * PAGE_BYTES, 8);
	/* Of no guest. */
	touch(0, T0 + 5, HUGE_BYTES + 7, 8);
	touch(0, T0 + 100 * MS, 0, 8);
	await(2, 0, 4);
	assert_true(present(0, 0) && present(0, 1) && !present(0, 2));
	assert_int_equal(rig_truth_count(TRUTH_PIN_REFUSED), 4);
	assert_int_equal(truth_at(TRUTH_PIN_REFUSED, 2)->code, ENOMEM);
	assert_int_equal(truth_at(TRUTH_PIN_REFUSED, HUGE_BYTES / PAGE_BYTES)->code, EFAULT);
	protector_stop(rig->protector);
	protector_stats(rig->protector, &stats);
	/* What was refused is not let go either. */
	assert_int_equal(stats.unpins, 2);
	assert_int_equal(stats.pinned_most, 2 * PAGE_BYTES);
	assert_int_equal(rig_truth_count(TRUTH_UNPIN), 6);
}

static void large_pages_are_pinned_as_a_whole(void **state)
{
	struct protector_options config = config_of("static");

	rig_build((struct rig_config){.memory = 2 * HUGE_BYTES});
	config.page_bytes = HUGE_BYTES;
	begin(config);
	touch(0, T0, HUGE_BYTES + 5 * PAGE_BYTES, 8);
	touch(0, T0 + 100 * MS, HUGE_BYTES, 8);
	await(1, 0, 0);
	assert_int_equal(stats.pinned, HUGE_BYTES);
	assert_false(present(0, 511));
	assert_true(present(0, 512) && present(0, 1023));
	assert_int_equal(evict_page(rig, 0, HUGE_BYTES + 511 * PAGE_BYTES, EVICT_MINOR),
			 EVICT_PINNED);
}

/* Of a tenant's devices all find it, and it is theirs together. */
static void a_tenant_s_devices_share_a_policy(void **state)
{
	struct protector_options config = config_of("static");
	struct port_stats port;
	__u64 word = 1;

	rig_build((struct rig_config){.tenants = 2, .devices = 2});
	config.scope = PROTECTOR_TENANT;
	begin(config);
	touch(2, T0, 7 * PAGE_BYTES, 8);
	touch(3, T0 + 1, 7 * PAGE_BYTES, 8);
	touch(0, T0 + 2, 7 * PAGE_BYTES, 8);
	touch(0, T0 + 100 * MS, 7 * PAGE_BYTES, 8);
	await(2, 0, 0);
	assert_int_equal(rig_truth_find(TRUTH_PIN, 0, 7 * PAGE_BYTES)->device, DEVICE_ALL);
	protector_halt(rig->protector);
	for (__u32 d = 0; d < 4; d++) {
		assert_int_equal(port_dma_write(rig->devices[d].port, 0, PASID_NONE, 7 * PAGE_BYTES,
						&word, sizeof(word)),
				 0);
		port_stats(rig->devices[d].port, &port);
		assert_int_equal(port.groups, 0);
	}
}

/* One that hears nothing follows the others, a second behind. */
static void time_passes_for_who_is_silent(void **state)
{
	struct protector_options config = config_of("adp");

	rig_build((struct rig_config){.devices = 2});
	config.keys.scan_ns = 100 * MS;
	config.keys.promote_after_ns = 300 * MS;
	begin(config);
	touch(0, T0, 5 * PAGE_BYTES, 8);
	for (__u64 i = 1; i <= 12; i++)
		touch(1, T0 + i * 100 * MS, 8 * PAGE_BYTES, 8);
	sleep_until(monotonic_ns() + 20 * MS);
	protector_stats(rig->protector, &stats);
	assert_int_equal(stats.pins, 0);
	for (__u64 i = 13; i <= 15; i++)
		touch(1, T0 + i * 100 * MS, 8 * PAGE_BYTES, 8);
	await(1, 0, 0);
	assert_int_equal(rig_truth_find(TRUTH_PIN, 0, 5 * PAGE_BYTES)->value, T0 + 300 * MS);
	assert_int_equal(rig_truth_find(TRUTH_PIN, 0, 5 * PAGE_BYTES)->code, PROTECT_IDLE);
}

/* What is decided faster than it is done: pins are refused, what lets pages go is not, and all are in order. */
static void a_storm_of_decisions_leaves_nothing_pinned(void **state)
{
	struct protector_options config = config_of("lru");
	__u64 refused = 0;

	rig_build((struct rig_config){.tenants = 1, .memory = 16 * HUGE_BYTES});
	config.keys.lru = 5.0 / (16 * HUGE_BYTES / PAGE_BYTES);
	begin(config);
	for (__u64 i = 0; i < 30011; i++)
		touch(0, T0 + i, i * 7 % (16 * HUGE_BYTES / PAGE_BYTES) * PAGE_BYTES, 8);
	protector_stop(rig->protector);
	protector_stats(rig->protector, &stats);
	refused = rig_truth_count(TRUTH_PIN_REFUSED);
	assert_int_equal(rig_truth_count(TRUTH_PIN), rig_truth_count(TRUTH_UNPIN));
	assert_int_equal(stats.pins + refused, rig_truth_count(TRUTH_PIN));
	assert_int_equal(stats.unpins, stats.pins);
	assert_int_equal(stats.pinned, 0);
	assert_true(stats.pinned_most <= 5 * PAGE_BYTES);
}

/* While one page cannot be pinned 4096 wait behind it, and the log's owner for none of them. */
static void more_than_can_wait_is_refused(void **state)
{
	enum { TOUCHED = 6007, WAIT = 4096 };

	rig_build((struct rig_config){.memory = 16 * HUGE_BYTES});
	begin(config_of("static"));
	page_lock(rig->tenants[0].evictions, 0);
	touch(0, T0, 0, 8);
	touch(0, T0 + 100 * MS, PAGE_BYTES, 8);
	sleep_until(monotonic_ns() + 50 * MS);
	for (__u64 page = 2; page < TOUCHED; page++)
		touch(0, T0 + 100 * MS, page * PAGE_BYTES, 8);
	touch(0, T0 + 200 * MS, 0, 8);
	/* The first is with the thread, if that got a CPU meanwhile. */
	protector_stats(rig->protector, &stats);
	assert_in_range(stats.refused, TOUCHED - WAIT - 1, TOUCHED - WAIT);
	assert_int_equal(truth_at(TRUTH_PIN_REFUSED, TOUCHED - 1)->code, EAGAIN);
	page_unlock(rig->tenants[0].evictions, 0);
	await(TOUCHED - stats.refused, 0, stats.refused);
}

/* A whole machine, whose devices and reclaimer work as they do. */
static struct {
	struct tenant_config tenants[2];
	struct device_config devices[3];
	struct workload_config workloads[3];
	struct machine_config machine;
} plan;

static void describe_device(__u32 index, __u32 tenant, enum access_pattern pattern)
{
	struct device_config *device = &plan.devices[index];
	struct workload_config *workload = &plan.workloads[index];

	snprintf(device->name, sizeof(device->name), "d%u", index);
	device->tenant = tenant;
	device->class = &block_class;
	device->queues = 2;
	device->queue_depth = 16;
	device->group_pages = 8;
	device->msi_cpu = -1;
	((struct block_settings *)device->settings.bytes)->file_bytes = HUGE_BYTES;
	snprintf(workload->name, sizeof(workload->name), "w%u", index);
	workload->device = index;
	workload->read_percent = 50;
	workload->sizes[0] = 2 * PAGE_BYTES;
	workload->sizes[1] = PAGE_BYTES;
	workload->size_weights[0] = workload->size_weights[1] = 1;
	workload->size_count = 2;
	workload->pattern = pattern;
	workload->depth = 3;
	workload->rate = 1500;
	workload->duration_ns = 1200 * MS;
	workload->buffer_bytes = HUGE_BYTES / 2;
	workload->seed = index + 1;
}

static void describe(const char *policy, enum protector_scope scope)
{
	memset(&plan, 0, sizeof(plan));
	for (__u32 i = 0; i < 2; i++) {
		snprintf(plan.tenants[i].name, sizeof(plan.tenants[i].name), "t%u", i);
		plan.tenants[i].memory = 4 * HUGE_BYTES;
	}
	describe_device(0, 0, PATTERN_SEQUENTIAL);
	describe_device(1, 0, PATTERN_RANDOM);
	describe_device(2, 1, PATTERN_RANDOM);
	plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = 2,
		.device_count = 3,
		.workload_count = 3,
		.tenants = plan.tenants,
		.devices = plan.devices,
		.workloads = plan.workloads,
		.request_queue_entries = 256,
		.seed = 1,
		.premap = true,
		.reclaim_percent = 90,
		.reclaim_kind = EVICT_MAJOR,
		.reclaim_order = RECLAIM_IDLE,
		.reclaim_interval_ns = 10 * MS,
		.reclaim_scan_ns = 10 * MS,
		.protector = config_of(policy),
	};
	plan.machine.protector.scope = scope;
	plan.machine.protector.keys.scan_ns = 20 * MS;
	plan.machine.protector.keys.promote_after_ns = 100 * MS;
	plan.machine.protector.keys.demote_after_ns = 30 * MS;
	plan.machine.protector.keys.fault_after_ns = 120 * MS;
	plan.machine.protector.keys.learn_ns = 100 * MS;
	plan.machine.protector.keys.expect_ns = 50 * MS;
}

/* The access log's ring, whole: what a recorder reads. In the order of times. */
static struct access_record *read_log(struct machine *machine, __u64 *count)
{
	int descriptor = access_log_descriptor(machine->access_log);
	size_t bytes = (size_t)lseek(descriptor, 0, SEEK_END);
	const struct access_ring *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
	struct access_record *records;

	assert_ptr_not_equal(ring, MAP_FAILED);
	*count = ring->head;
	assert_true(*count > 1000 && *count < ring->capacity);
	records = malloc(*count * sizeof(*records));
	memcpy(records, ring->records, *count * sizeof(*records));
	/* Insertion keeps equals in place; nearly all are in order. */
	for (__u64 i = 1; i < *count; i++) {
		struct access_record moved = records[i];
		__u64 at = i;

		for (; at && records[at - 1].time_ns > moved.time_ns; at--)
			records[at] = records[at - 1];
		records[at] = moved;
	}
	munmap((void *)ring, bytes);
	return records;
}

struct replay {
	__u32 device, tenant; /* DEVICE_ALL: of the tenant */
	const struct truth_record *truth;
	size_t truths, at, actions;
};

/* The next of the log's decisions of this domain, NULL: there is none. */
static const struct truth_record *next_decision(struct replay *replay)
{
	for (; replay->at < replay->truths; replay->at++) {
		const struct truth_record *truth = &replay->truth[replay->at];

		if ((truth->what == TRUTH_PIN || truth->what == TRUTH_UNPIN) &&
		    !(truth->flags & EVENT_LAST) && truth->device == replay->device &&
		    truth->tenant == replay->tenant)
			return &replay->truth[replay->at++];
	}
	return NULL;
}

static void compare(void *argument, const struct protect_action *action)
{
	struct replay *replay = argument;
	const struct truth_record *live = next_decision(replay);

	assert_non_null(live);
	assert_int_equal(live->what, action->pin ? TRUTH_PIN : TRUTH_UNPIN);
	assert_int_equal(live->address, action->page * PAGE_BYTES);
	assert_int_equal(live->value, action->time_ns);
	assert_int_equal(live->code, action->reason);
	replay->actions++;
}

/* Once more, all at once: each domain by itself, with no advance but the last. */
static size_t replay_domain(struct replay replay, const struct access_record *records, __u64 count)
{
	struct protect *policy;
	__u64 pages = plan.tenants[replay.tenant].memory / PAGE_BYTES;

	assert_int_equal(protect_create(&policy, &plan.machine.protector.keys, pages,
					(struct protect_sink){compare, &replay}),
			 0);
	for (__u64 i = 0; i < count; i++) {
		__u64 address = records[i].address;
		__u32 device = records[i].device;

		if (replay.device == DEVICE_ALL ? plan.devices[device].tenant != replay.tenant
						: device != replay.device)
			continue;
		for (__u64 page = address / PAGE_BYTES;
		     page <= (address + records[i].length - 1) / PAGE_BYTES; page++)
			protect_access(policy, records[i].time_ns, page);
	}
	protect_advance(policy, records[count - 1].time_ns);
	assert_null(next_decision(&replay));
	protect_destroy(policy);
	return replay.actions;
}

static void run_and_compare(const char *policy, enum protector_scope scope)
{
	const volatile sig_atomic_t no_stop = 0;
	struct machine_totals totals;
	struct access_record *records;
	struct replay replay;
	struct machine *machine;
	size_t actions = 0;
	__u64 count;

	describe(policy, scope);
	rig_truth_clear();
	if (machine_create(&machine, &plan.machine) || machine_start(machine))
		fail_msg("%s", failure_text());
	assert_int_equal(machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop), 0);
	machine_stop(machine);
	machine_totals(machine, &totals);
	assert_int_equal(totals.violations, 0);
	assert_int_equal(totals.accesses.discarded, 0);
	assert_int_equal(totals.pinned, 0);
	assert_int_equal(totals.protector.pins, totals.protector.unpins);
	records = read_log(machine, &count);
	replay.truth = rig_truth(&replay.truths);
	for (__u32 i = 0; i < (scope == PROTECTOR_TENANT ? 2 : 3); i++) {
		replay.device = scope == PROTECTOR_TENANT ? DEVICE_ALL : i;
		replay.tenant = scope == PROTECTOR_TENANT ? i : plan.devices[i].tenant;
		replay.at = replay.actions = 0;
		actions += replay_domain(replay, records, count);
	}
	print_message("%s: %llu accesses, %zu decisions, %llu pins done\n", policy, count, actions,
		      totals.protector.pins);
	assert_true(actions > 300 && totals.protector.pins > 100);
	free(records);
	machine_destroy(machine);
	rig_truth_clear();
}

static void live_decides_as_a_recording_is_decided_of(void **state)
{
	run_and_compare("adp", PROTECTOR_DEVICE);
	run_and_compare("adp", PROTECTOR_TENANT);
	run_and_compare("lru", PROTECTOR_TENANT);
	run_and_compare("tuned", PROTECTOR_DEVICE);
	run_and_compare("spatial", PROTECTOR_DEVICE);
}

#define PROTECTOR_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROTECTOR_TEST(what_is_pinned_comes_and_stays),
		PROTECTOR_TEST(a_decision_is_told_as_it_was_due),
		PROTECTOR_TEST(what_there_is_no_room_for_is_refused_and_counted),
		PROTECTOR_TEST(large_pages_are_pinned_as_a_whole),
		PROTECTOR_TEST(a_tenant_s_devices_share_a_policy),
		PROTECTOR_TEST(time_passes_for_who_is_silent),
		PROTECTOR_TEST(a_storm_of_decisions_leaves_nothing_pinned),
		PROTECTOR_TEST(more_than_can_wait_is_refused),
		cmocka_unit_test(live_decides_as_a_recording_is_decided_of),
	};

	return cmocka_run_group_tests_name("protector", tests, NULL, NULL);
}
