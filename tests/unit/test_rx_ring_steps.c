// SPDX-License-Identifier: GPL-2.0
/*
 * Millions of random steps of every policy, held to a model (rx_model.h). RX_STEPS=N in the
 * environment takes N steps a policy.
 */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/random.h"
#include "tests/unit/rx_world.h"

#define STEPS	    1000000
#define WORLD_STEPS 2000

static __u64 draw_random(void *self, __u64 bound)
{
	return random_below(self, bound);
}

static __u64 steps_wanted(void)
{
	const char *text = getenv("RX_STEPS");

	return text ? strtoull(text, NULL, 10) : STEPS;
}

/* Every place and reason that the policy has has occurred, or the steps show nothing. */
struct seen {
	__u64 stored, held_ever, skipped, broken, advanced;
	__u64 lost[LOSS_REASONS];
};

static void add_seen(struct seen *seen, const struct rx_world *world)
{
	for (__u32 i = 0; i < world->ring_count; i++) {
		const struct rx_counters *counters = &world->rings[i].ring.counters;

		seen->stored += counters->stored;
		seen->held_ever += counters->held_ever;
		seen->skipped += counters->skipped;
		seen->broken += counters->broken;
		for (int reason = 0; reason < LOSS_REASONS; reason++)
			seen->lost[reason] += counters->lost[reason];
	}
}

static struct seen walk(const char *policy)
{
	struct random random = {11};
	struct rx_world world = {.draw = draw_random, .self = &random};
	struct seen seen = {0};

	for (__u64 steps = 0; steps < steps_wanted(); steps += WORLD_STEPS) {
		rx_world_create(&world, rx_policy_find(policy), RX_RING_SIZE_MAX);
		for (int i = 0; i < WORLD_STEPS; i++)
			rx_world_step(&world);
		rx_world_finish(&world);
		add_seen(&seen, &world);
		rx_world_destroy(&world);
	}
	assert_true(seen.stored > steps_wanted() / 20);
	assert_true(seen.lost[LOSS_WIRE] && seen.lost[LOSS_BEFORE_NIC] && seen.lost[LOSS_OVERLONG]);
	return seen;
}

static void pin(void **state)
{
	struct seen seen = walk("pin");

	assert_true(seen.lost[LOSS_NO_BUFFER]);
	assert_true(seen.broken);
	assert_int_equal(seen.broken, seen.lost[LOSS_FAULT]);
}

static void drop(void **state)
{
	struct seen seen = walk("drop");

	assert_true(seen.lost[LOSS_NO_BUFFER] && seen.lost[LOSS_FAULT]);
	assert_int_equal(seen.held_ever, 0);
}

static void cache(void **state)
{
	struct seen seen = walk("cache");

	assert_true(seen.held_ever && seen.lost[LOSS_NO_BUFFER] && seen.lost[LOSS_CACHE_FULL]);
	assert_int_equal(seen.lost[LOSS_FAULT], 0);
}

static void backup(void **state)
{
	struct seen seen = walk("backup");

	assert_true(seen.held_ever && seen.skipped && seen.lost[LOSS_BACKUP_FULL]);
	assert_int_equal(seen.lost[LOSS_NO_BUFFER], 0);
}

static void ooo(void **state)
{
	struct seen seen = walk("ooo");

	assert_true(seen.skipped && seen.lost[LOSS_NO_BUFFER] && seen.lost[LOSS_FAULT]);
	assert_int_equal(seen.held_ever, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pin),	  cmocka_unit_test(drop), cmocka_unit_test(cache),
		cmocka_unit_test(backup), cmocka_unit_test(ooo),
	};

	return cmocka_run_group_tests_name("rx_ring_steps", tests, NULL, NULL);
}
