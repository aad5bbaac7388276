// SPDX-License-Identifier: GPL-2.0
/* The host's side of a guest: completion events, kicks, and times of verbs. */
#include "tests/unit/test.h"

#include <errno.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "tests/unit/hyv_world.h"

#define HYV_TEST(test, setup) cmocka_unit_test_setup_teardown(test, setup, hyv_world_teardown)

static __u64 interrupts(void)
{
	__u64 count = 0;

	return read(hyv.guest.descriptors[HYV_EVENT], &count, sizeof(count)) == sizeof(count)
		       ? count
		       : 0;
}

static void raise_event(__u64 queue)
{
	hyv.fake.queues[queue].notify(hyv.fake.queues[queue].argument, (__u32)queue);
}

static void events_come_by_the_ring(void **state)
{
	struct hyv_event_ring *ring = &hyv.guest.shared->events;
	__u64 queue[2] = {hyv_create_queue(1, 8), hyv_create_queue(2, 8)};
	__u64 start_ns;

	raise_event(queue[0]);
	raise_event(queue[0]);
	raise_event(queue[1]);
	assert_int_equal(atomic_load(&ring->produced), 2);
	assert_int_equal(ring->event[0].number, queue[0]);
	assert_int_equal(ring->event[1].number, queue[1]);
	assert_int_equal(ring->event[1].kind, HYV_EVENT_COMPLETION);
	assert_int_equal(interrupts(), 2);
	assert_int_equal(hyv_world_stats().events_merged, 1);
	atomic_store(&ring->consumed, 1);
	raise_event(queue[0]);
	assert_int_equal(atomic_load(&ring->produced), 3);
	/* What cannot be is not believed. */
	atomic_store(&ring->consumed, 1ull << 40);
	raise_event(queue[1]);
	assert_int_equal(hyv_world_stats().events_merged, 2);
	atomic_store(&ring->consumed, 3);
	assert_int_equal(interrupts(), 1);
	/* Its interrupt is lost, the event is there. */
	hyv_arm(INJECT_EVENT_LOST, 0, 1, 1);
	raise_event(queue[0]);
	assert_int_equal(atomic_load(&ring->produced), 4);
	assert_int_equal(interrupts(), 0);
	inject_disarm(rig->injections, 1);
	atomic_store(&ring->consumed, 4);
	hyv_arm(INJECT_EVENT_LATE, 20 * NSEC_PER_MSEC, 1, 1);
	start_ns = monotonic_ns();
	raise_event(queue[0]);
	raise_event(queue[0]);
	while (atomic_load(&ring->produced) == 4 && monotonic_ns() < start_ns + 5 * NSEC_PER_SEC)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_true(monotonic_ns() - start_ns >= 20 * NSEC_PER_MSEC);
	assert_int_equal(atomic_load(&ring->produced), 5);
	assert_int_equal(interrupts(), 1);
	assert_int_equal(atomic_load(&hyv.guest.shared->event_injections),
			 hyv_world_stats().exits[EXIT_INJECT_EVENT]);
}

static void a_full_ring_loses_nothing(void **state)
{
	struct hyv_event_ring *ring = &hyv.guest.shared->events;
	__u64 queue = hyv_create_queue(1, 8), start_ns = monotonic_ns();

	for (__u32 i = 0; i < HYV_EVENTS; i++)
		event_ring_tell(&hyv.host->events, HYV_EVENT_DEVICE_GONE, i);
	assert_int_equal(atomic_load(&ring->produced), HYV_EVENTS);
	raise_event(queue);
	assert_int_equal(atomic_load(&ring->produced), HYV_EVENTS);
	assert_true(hyv_world_stats().events_kept >= 1);
	atomic_store(&ring->consumed, 1);
	while (atomic_load(&ring->produced) == HYV_EVENTS &&
	       monotonic_ns() < start_ns + 5 * NSEC_PER_SEC)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_int_equal(atomic_load(&ring->produced), HYV_EVENTS + 1);
	assert_int_equal(ring->event[0].number, queue);
	/* None comes of a queue that has gone. */
	raise_event(queue);
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_CQ, (__u64[5]){queue}, NULL), 0);
	assert_int_equal(hyv.host->events.pending, 0);
}

/* What fails by itself has words of its own and an interrupt of its own: a full ring is in nobody's way. */
static void what_fails_is_told_past_the_ring(void **state)
{
	struct hyv_shared *shared = hyv.guest.shared;
	__u64 queue = hyv_create_queue(1, 8), told = 0;
	const struct verbs_queue_setup *setup = &hyv.fake.queues[queue];

	for (__u32 i = 0; i < HYV_EVENTS; i++)
		event_ring_tell(&hyv.host->events, HYV_EVENT_DEVICE_GONE, i);
	setup->failed(setup->failed_of, VERBS_QUEUE_FAILED, (__u32)queue);
	setup->failed(setup->failed_of, VERBS_PAIR_FAILED, VERBS_QUEUE_PAIRS_MAX + 65);
	assert_int_equal(read(hyv.guest.descriptors[HYV_ALARM], &told, sizeof(told)), sizeof(told));
	assert_int_equal(told, 2);
	assert_true(
		verbs_registers_take_failure(&shared->registers, VERBS_QUEUE_FAILED, (__u32)queue));
	assert_false(
		verbs_registers_take_failure(&shared->registers, VERBS_QUEUE_FAILED, (__u32)queue));
	assert_int_equal(atomic_load(&shared->registers.failed[VERBS_PAIR_FAILED][1]), 2);
	assert_int_equal(atomic_load(&shared->event_injections), HYV_EVENTS + 2);
	assert_int_equal(hyv_world_stats().exits[EXIT_INJECT_EVENT], HYV_EVENTS + 2);
}

static void a_lost_kick_is_kicked_again(void **state)
{
	__u64 key;

	hyv_arm(INJECT_KICK_LOST, 0, 1, 1);
	assert_int_equal(hyv_register(hyv_page(1), 1, &key), 0);
	assert_int_equal(hyv_world_stats().exits[EXIT_KICK], 2);
	assert_int_equal(hyv_world_stats().exits[EXIT_INJECT_CONTROL], 1);
	assert_int_equal(atomic_load(&hyv.guest.shared->injections), 1);
}

/* Stages are told of, and their sum is no more than the guest has waited. */
static void stages_are_timed(void **state)
{
	__u64 start_ns = monotonic_ns(), key, sum = 0, took_ns;
	struct hyv_stats stats;

	hyv_arm(INJECT_SLOW_REMAP, 5 * NSEC_PER_MSEC, 1, 1);
	assert_int_equal(hyv_register(hyv_page(1), 40 * PAGE_BYTES, &key), 0);
	took_ns = monotonic_ns() - start_ns;
	stats = hyv_world_stats();
	/* The verb before is told with the next. */
	while (stats.verbs[VERBS_REGISTER] != 1)
		stats = hyv_world_stats();
	for (int stage = 0; stage < VERB_STAGES; stage++)
		sum += stats.stage_ns[VERBS_REGISTER][stage];
	assert_true(stats.stage_ns[VERBS_REGISTER][VERB_REMAP] >= 5 * NSEC_PER_MSEC);
	for (int stage = VERB_KICK; stage < VERB_WAKE; stage++)
		assert_true(stats.stage_ns[VERBS_REGISTER][stage] > 0);
	assert_true(sum <= took_ns + NSEC_PER_MSEC * 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HYV_TEST(events_come_by_the_ring, hyv_hybrid),
		HYV_TEST(what_fails_is_told_past_the_ring, hyv_hybrid),
		HYV_TEST(a_full_ring_loses_nothing, hyv_hybrid),
		HYV_TEST(a_lost_kick_is_kicked_again, hyv_hybrid),
		HYV_TEST(stages_are_timed, hyv_hybrid),
	};

	return cmocka_run_group_tests_name("hyv host events", tests, NULL, NULL);
}
