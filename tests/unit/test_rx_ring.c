// SPDX-License-Identifier: GPL-2.0
/* What each policy does with a few frames. Random steps are in test_rx_ring_steps.c. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/nic/rx_cache.h"

#define BUFFER	    16
#define FRAME_BYTES 1000

static struct rx_ring ring, other;
static struct rx_backup *backup;
static struct rx_cache *cache;
static struct rx_queue *queue;
static bool absent[RX_RING_SIZE_MAX]; /* by slot, of `ring` */
static unsigned int asked;
static __u64 number;
static bool provider_runs;
static struct rx_verdict verdict;

static bool is_present(void *self, __u64 position)
{
	const struct rx_ring *which = self;

	asked++;
	return which == &other || !absent[rx_ring_slot(which, position)];
}

static struct rx_settings settings_of(const char *policy, __u32 size)
{
	return (struct rx_settings){
		.policy = rx_policy_find(policy),
		.id = 7,
		.size = size,
		.buffer_bytes = BUFFER,
		.frame_bytes = FRAME_BYTES,
		.bitmap_bits = 4,
		.present = is_present,
		.self = &ring,
		.backup = backup,
		.cache = cache,
	};
}

/* A ring whose guest has posted all of it, and a second one of two buffers. */
static void start(const char *policy, __u32 size)
{
	struct rx_settings settings = settings_of(policy, size);

	assert_int_equal(rx_ring_create(&ring, &settings), 0);
	settings.size = 2;
	settings.self = &other;
	settings.id = 8;
	assert_int_equal(rx_ring_create(&other, &settings), 0);
	assert_int_equal(rx_ring_post(&ring, size), 0);
	assert_int_equal(rx_ring_post(&other, 2), 0);
}

static int setup(void **state)
{
	memset(absent, 0, sizeof(absent));
	number = 0;
	provider_runs = false;
	return rx_backup_create(&backup, 3, FRAME_BYTES) ||
	       rx_cache_create(&cache, 4 * RX_CACHE_CELL + 1, FRAME_BYTES) ||
	       rx_queue_create(&queue, 4, FRAME_BYTES);
}

static int teardown(void **state)
{
	rx_ring_destroy(&ring);
	rx_ring_destroy(&other);
	rx_queue_destroy(queue);
	rx_cache_destroy(cache);
	rx_backup_destroy(backup);
	return 0;
}

/*
 * What another thread does once the lock is free: it resolves the oldest held frame. Nobody calls it
 * from within rx_ring_receive(), but for a mutation that gives the lock back in the middle.
 */
void rx_unlocked(struct rx_ring *which);
void rx_unlocked(struct rx_ring *which)
{
	const struct rx_held *held;

	if (!provider_runs)
		return;
	provider_runs = false;
	rx_queue_take(queue, backup);
	held = rx_queue_at(queue, rx_queue_head(queue));
	rx_ring_resolve(which, held->bit, held->count, held->frame.length, true);
	rx_queue_finish(queue, rx_queue_head(queue));
}

/* A frame of so many bytes, each of which is its number. */
static enum rx_place receive_on(struct rx_ring *which, __u32 length)
{
	char bytes[FRAME_BYTES + 1];
	struct rx_frame frame = {bytes, length, 100 + number, number};

	memset(bytes, (int)number++, sizeof(bytes));
	rx_ring_receive(which, &frame, &verdict);
	return verdict.place;
}

static enum rx_place receive(__u32 buffers)
{
	return receive_on(&ring, buffers * BUFFER);
}

static void is_lost(enum rx_place place, enum loss_reason reason)
{
	assert_int_equal(place, RX_LOST);
	assert_int_equal(verdict.reason, reason);
}

static void is_stored(enum rx_place place, __u64 position, __u32 count, __u32 advanced)
{
	assert_int_equal(place, RX_STORE);
	assert_int_equal(verdict.reason, LOSS_UNKNOWN);
	assert_int_equal(verdict.position, position);
	assert_int_equal(verdict.count, count);
	assert_int_equal(verdict.advanced, advanced);
	assert_int_equal(verdict.absent, RX_NO_SLOT);
}

static void every_policy_has_a_name_and_its_help(void **state)
{
	static const char *const names[] = {"pin", "drop", "cache", "backup", "ooo"};

	for (size_t i = 0; i < COUNT(names); i++) {
		assert_string_equal(rx_policies[i]->name, names[i]);
		assert_ptr_equal(rx_policy_find(names[i]), rx_policies[i]);
		assert_true(strlen(rx_policies[i]->meaning) > 10);
		assert_int_equal(rx_policies[i]->pins, i == 0);
	}
	assert_null(rx_policies[COUNT(names)]);
	assert_null(rx_policy_find("none"));
}

static void settings_out_of_range_are_refused(void **state)
{
	struct rx_settings good = settings_of("backup", 1), bad;

#define REFUSED(member, value)                                          \
	do {                                                            \
		bad = good;                                             \
		bad.member = value;                                     \
		assert_int_equal(rx_ring_create(&ring, &bad), -EINVAL); \
	} while (0)
	REFUSED(size, 0);
	REFUSED(size, RX_RING_SIZE_MAX + 1);
	REFUSED(buffer_bytes, 0);
	REFUSED(frame_bytes, 0);
	REFUSED(bitmap_bits, 0);
	REFUSED(bitmap_bits, RX_BITMAP_BITS_MAX + 1);
	REFUSED(backup, NULL);
	good.policy = rx_policy_find("cache");
	REFUSED(cache, NULL);
#undef REFUSED
	start("backup", RX_RING_SIZE_MAX);
}

static void a_tail_that_makes_no_sense_changes_nothing(void **state)
{
	static const __u64 bad[] = {3, 0, 6, ~0ull, 1ull << 32};

	start("pin", 4);
	is_stored(receive(1), 0, 1, 1);
	assert_int_equal(rx_ring_post(&ring, 5), 0);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(rx_ring_post(&ring, bad[i]), -EINVAL);
	assert_int_equal(ring.tail, 5);
	assert_true(rx_ring_posted(&ring, 3, 2));
	assert_false(rx_ring_posted(&ring, 4, 2));
}

static void a_frame_takes_what_it_needs_or_nothing(void **state)
{
	start("pin", 5);
	is_stored(receive_on(&ring, 0), 0, 1, 1);
	is_stored(receive_on(&ring, BUFFER + 1), 1, 2, 2);
	is_lost(receive(3), LOSS_NO_BUFFER);
	is_stored(receive(2), 3, 2, 2);
	is_lost(receive(1), LOSS_NO_BUFFER);
	is_lost(receive(6), LOSS_OVERLONG);
	is_lost(receive_on(&ring, FRAME_BYTES + 1), LOSS_OVERLONG);
	rx_ring_lose(&ring, LOSS_WIRE);
	assert_int_equal(ring.counters.in, 8);
	assert_int_equal(ring.counters.stored, 3);
	assert_int_equal(ring.counters.stored_bytes, 3 * BUFFER + 1);
	assert_int_equal(ring.counters.advanced, 5);
	assert_int_equal(ring.counters.lost[LOSS_NO_BUFFER], 2);
	assert_int_equal(ring.counters.lost[LOSS_OVERLONG], 2);
	assert_int_equal(ring.counters.lost[LOSS_WIRE], 1);
}

static void a_pinned_buffer_that_is_absent_is_told(void **state)
{
	start("pin", 3);
	absent[0] = true;
	is_lost(receive(1), LOSS_FAULT);
	assert_int_equal(ring.counters.broken, 1);
	absent[0] = false;
	is_stored(receive(1), 0, 1, 1);
}

static void drop_loses_all_until_it_is_resolved(void **state)
{
	start("drop", 4);
	absent[1] = true;
	is_stored(receive(1), 0, 1, 1);
	asked = 0;
	is_lost(receive(3), LOSS_FAULT);
	assert_int_equal(asked, 3);
	assert_int_equal(verdict.absent, 1);
	absent[1] = false;
	is_lost(receive(1), LOSS_FAULT);
	assert_int_equal(verdict.absent, 1);
	assert_int_equal(asked, 3);
	is_lost(receive(4), LOSS_NO_BUFFER);
	rx_ring_retry(&ring);
	is_stored(receive(3), 1, 3, 3);
	assert_int_equal(ring.counters.lost[LOSS_FAULT], 2);
}

static void is_held(const struct rx_frame *frame, __u64 what, __u32 length)
{
	char bytes[FRAME_BYTES];

	memset(bytes, (int)what, sizeof(bytes));
	assert_int_equal(frame->number, what);
	assert_int_equal(frame->arrived_ns, 100 + what);
	assert_int_equal(frame->length, length);
	assert_memory_equal(frame->bytes, bytes, length);
}

static void a_cache_holds_a_paused_rings_frames_in_order(void **state)
{
	struct rx_frame frame;

	start("cache", 3);
	absent[0] = true;
	assert_int_equal(receive(2), RX_CACHE);
	assert_int_equal(verdict.absent, 0);
	assert_int_equal(receive(1), RX_CACHE);
	assert_int_equal(verdict.absent, 0);
	is_lost(receive(4), LOSS_OVERLONG);
	assert_int_equal(ring.counters.held, 2);
	assert_int_equal(rx_cache_used(cache), 2 * RX_CACHE_CELL);
	assert_false(rx_ring_next(&ring, &frame, &verdict));
	rx_ring_retry(&ring);
	assert_false(rx_ring_next(&ring, &frame, &verdict));
	absent[0] = false;
	assert_false(rx_ring_next(&ring, &frame, &verdict));
	rx_ring_retry(&ring);
	/* It does not overtake them, though its buffer is present. */
	assert_int_equal(receive(1), RX_CACHE);
	assert_int_equal(verdict.absent, RX_NO_SLOT);
	assert_true(rx_ring_next(&ring, &frame, &verdict));
	is_stored(verdict.place, 0, 2, 2);
	is_held(&frame, 0, 2 * BUFFER);
	assert_true(rx_ring_next(&ring, &frame, &verdict));
	is_stored(verdict.place, 2, 1, 1);
	is_held(&frame, 1, BUFFER);
	assert_false(rx_ring_next(&ring, &frame, &verdict));
	assert_int_equal(rx_ring_post(&ring, 4), 0);
	assert_true(rx_ring_next(&ring, &frame, &verdict));
	is_held(&frame, 3, BUFFER);
	assert_int_equal(rx_cache_used(cache), 0);
	assert_int_equal(ring.counters.held, 0);
	assert_int_equal(ring.counters.held_ever, 3);
	assert_int_equal(ring.counters.stored, 3);
}

static void a_full_cache_loses_frames_of_other_rings(void **state)
{
	struct rx_frame frame;

	start("cache", 9);
	absent[0] = true;
	assert_int_equal(receive(9), RX_CACHE); /* 144 bytes: two cells */
	assert_int_equal(receive(1), RX_CACHE);
	assert_int_equal(receive_on(&other, BUFFER), RX_STORE);
	is_lost(receive(9), LOSS_CACHE_FULL);
	assert_int_equal(receive(8), RX_CACHE);
	is_lost(receive_on(&other, BUFFER), LOSS_CACHE_FULL);
	assert_true(rx_ring_discard(&ring, LOSS_UNKNOWN, &frame));
	is_held(&frame, 0, 9 * BUFFER);
	assert_int_equal(receive_on(&other, BUFFER), RX_STORE);
	is_lost(receive_on(&other, BUFFER), LOSS_NO_BUFFER);
	assert_int_equal(ring.counters.lost[LOSS_UNKNOWN], 1);
	assert_int_equal(ring.counters.held, 2);
	/* The first of them was what the ring stood at. */
	absent[0] = false;
	assert_true(rx_ring_next(&ring, &frame, &verdict));
	is_held(&frame, 1, BUFFER);
	assert_true(rx_ring_discard(&ring, LOSS_FAULT, &frame));
	assert_false(rx_ring_discard(&ring, LOSS_FAULT, &frame));
	assert_false(rx_ring_next(&ring, &frame, &verdict));
}

static void a_backup_ring_lets_later_frames_go_on(void **state)
{
	const struct rx_held *held;

	start("backup", 4);
	absent[1] = true;
	is_stored(receive(1), 0, 1, 1);
	assert_int_equal(receive(2), RX_BACKUP);
	assert_int_equal(verdict.absent, 1);
	assert_int_equal(verdict.position, 1);
	is_stored(receive(1), 3, 1, 0);
	/* None is posted: it waits for that. */
	assert_int_equal(receive(1), RX_BACKUP);
	assert_int_equal(verdict.position, 4);
	assert_int_equal(verdict.absent, RX_NO_SLOT);
	is_lost(receive(1), LOSS_BACKUP_FULL); /* four bits, of which the stored one is one */
	assert_int_equal(ring.head, 1);
	assert_int_equal(rx_backup_used(backup), 2);
	held = rx_backup_first(backup);
	assert_int_equal(held->ring, 7);
	rx_queue_take(queue, backup);
	rx_queue_take(queue, backup);
	assert_null(rx_backup_first(backup));
	held = rx_queue_at(queue, 1);
	is_held(&held->frame, 3, BUFFER);
	assert_false(rx_ring_posted(&ring, held->position, held->count));
	held = rx_queue_at(queue, 0);
	is_held(&held->frame, 1, 2 * BUFFER);
	assert_int_equal(rx_ring_resolve(&ring, held->bit, held->count, 2 * BUFFER, true), 3);
	assert_int_equal(ring.head, 4);
	assert_int_equal(ring.head_offset, 1);
	rx_queue_finish(queue, 0);
	assert_int_equal(rx_queue_head(queue), 1);
	held = rx_queue_at(queue, 1);
	assert_int_equal(rx_ring_post(&ring, 5), 0);
	assert_int_equal(rx_ring_resolve(&ring, held->bit, 1, BUFFER, false), 1);
	assert_int_equal(ring.counters.stored, 3);
	assert_int_equal(ring.counters.stored_bytes, 4 * BUFFER);
	assert_int_equal(ring.counters.held, 0);
	assert_int_equal(ring.counters.held_ever, 2);
	assert_int_equal(ring.counters.lost[LOSS_FAULT], 1);
	assert_int_equal(ring.counters.skipped, 1);
	assert_int_equal(ring.counters.advanced, 5);
}

static void a_ring_that_is_resolved_while_it_receives_is_not_stuck(void **state)
{
	start("backup", 4);
	absent[0] = true;
	assert_int_equal(receive(1), RX_BACKUP);
	provider_runs = true;
	assert_int_equal(receive(1), RX_STORE);
	rx_unlocked(&ring);
	assert_int_equal(ring.head_offset, 0);
	assert_int_equal(ring.head, 2);
}

static void rings_share_one_backup_ring(void **state)
{
	start("backup", 4);
	absent[0] = true;
	is_stored(receive_on(&other, 2 * BUFFER), 0, 2, 2);
	assert_int_equal(receive(1), RX_BACKUP);
	assert_int_equal(receive_on(&other, BUFFER), RX_BACKUP);
	assert_int_equal(verdict.position, 2);
	assert_int_equal(verdict.bit, 0);
	is_stored(receive(1), 1, 1, 0);
	assert_int_equal(receive_on(&other, BUFFER), RX_BACKUP);
	is_lost(receive_on(&other, BUFFER), LOSS_BACKUP_FULL);
	rx_queue_take(queue, backup);
	assert_int_equal(rx_backup_first(backup)->ring, 8);
	assert_int_equal(receive_on(&other, BUFFER), RX_BACKUP);
	assert_int_equal(rx_backup_used(backup), 3);
}

static void frames_of_a_queue_finish_in_any_order(void **state)
{
	start("backup", 4);
	memset(absent, true, sizeof(absent));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(receive(1), RX_BACKUP);
		rx_queue_take(queue, backup);
	}
	rx_queue_finish(queue, 1);
	assert_int_equal(rx_queue_head(queue), 0);
	is_held(&rx_queue_at(queue, 2)->frame, 2, BUFFER);
	rx_queue_finish(queue, 0);
	assert_int_equal(rx_queue_head(queue), 2);
	assert_int_equal(rx_queue_tail(queue), 3);
}

static void ooo_takes_the_next_present_buffer(void **state)
{
	start("ooo", 5);
	absent[0] = absent[2] = true;
	assert_int_equal(receive(1), RX_STORE);
	assert_int_equal(verdict.absent, 0);
	assert_int_equal(verdict.position, 0);
	assert_int_equal(rx_ring_slot(&ring, 0), 1);
	assert_int_equal(ring.head, 1);
	assert_int_equal(receive(2), RX_STORE);
	assert_int_equal(rx_ring_slot(&ring, 1), 3);
	assert_int_equal(rx_ring_slot(&ring, 2), 4);
	is_lost(receive(1), LOSS_FAULT);
	is_lost(receive(3), LOSS_NO_BUFFER);
	/* The slots that were used are what is posted next, in their order. */
	assert_int_equal(rx_ring_post(&ring, 7), 0);
	assert_int_equal(rx_ring_slot(&ring, 5), 1);
	assert_int_equal(rx_ring_slot(&ring, 6), 3);
	/* What was passed over is first, as soon as it is told. */
	absent[2] = false;
	assert_int_equal(receive(1), RX_STORE);
	assert_int_equal(rx_ring_slot(&ring, 3), 1);
	rx_ring_retry(&ring);
	assert_int_equal(receive(1), RX_STORE);
	assert_int_equal(rx_ring_slot(&ring, 4), 2);
	absent[0] = false;
	rx_ring_retry(&ring);
	is_stored(receive(2), 5, 2, 2);
	assert_int_equal(rx_ring_slot(&ring, 5), 0);
	assert_int_equal(rx_ring_slot(&ring, 6), 3);
	assert_int_equal(ring.counters.skipped, 4);
}

static void ooo_does_not_ask_again_for_what_it_cannot_have(void **state)
{
	start("ooo", 8);
	memset(absent, true, sizeof(absent));
	absent[3] = false;
	is_lost(receive(2), LOSS_FAULT);
	assert_int_equal(verdict.absent, 0);
	asked = 0;
	is_lost(receive(3), LOSS_FAULT);
	assert_int_equal(asked, 0);
	assert_int_equal(verdict.absent, 0);
	assert_int_equal(receive(1), RX_STORE);
	assert_int_equal(asked, 1);
	is_lost(receive(1), LOSS_FAULT);
	assert_int_equal(asked, 5);
	is_lost(receive(1), LOSS_FAULT);
	assert_int_equal(asked, 5);
	assert_int_equal(rx_ring_post(&ring, 9), 0);
	assert_int_equal(receive(1), RX_STORE);
	assert_int_equal(rx_ring_slot(&ring, 1), 3);
	assert_int_equal(asked, 6);
}

static void rings_without_faults_are_alike(void **state)
{
	for (const struct rx_policy *const *policy = rx_policies; *policy; policy++) {
		start((*policy)->name, 4);
		for (__u64 i = 0; i < 9; i++) {
			is_stored(receive(1), i, 1, 1);
			assert_int_equal(rx_ring_slot(&ring, i), i % 4);
			assert_int_equal(rx_ring_post(&ring, 5 + i), 0);
			rx_ring_retry(&ring);
		}
		assert_int_equal(ring.counters.skipped, 0);
		rx_ring_destroy(&ring);
		rx_ring_destroy(&other);
	}
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_policy_has_a_name_and_its_help),
		TEST(settings_out_of_range_are_refused),
		TEST(a_tail_that_makes_no_sense_changes_nothing),
		TEST(a_frame_takes_what_it_needs_or_nothing),
		TEST(a_pinned_buffer_that_is_absent_is_told),
		TEST(drop_loses_all_until_it_is_resolved),
		TEST(a_cache_holds_a_paused_rings_frames_in_order),
		TEST(a_full_cache_loses_frames_of_other_rings),
		TEST(a_backup_ring_lets_later_frames_go_on),
		TEST(a_ring_that_is_resolved_while_it_receives_is_not_stuck),
		TEST(rings_share_one_backup_ring),
		TEST(frames_of_a_queue_finish_in_any_order),
		TEST(ooo_takes_the_next_present_buffer),
		TEST(ooo_does_not_ask_again_for_what_it_cannot_have),
		TEST(rings_without_faults_are_alike),
	};

	return cmocka_run_group_tests_name("rx_ring", tests, NULL, NULL);
}
