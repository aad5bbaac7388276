// SPDX-License-Identifier: GPL-2.0
/*
 * Millions of random steps of two queue pairs, held to a model (rdma_world.h), by every fault policy.
 * RDMA_STEPS=N in the environment takes N steps each.
 */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/random.h"
#include "tests/unit/rdma_world.h"

#define STEPS	    1000000
#define WORLD_STEPS 700

static __u64 draw_random(void *self, __u64 bound)
{
	return random_below(self, bound);
}

static __u64 steps_wanted(void)
{
	const char *text = getenv("RDMA_STEPS");

	return text ? strtoull(text, NULL, 10) : STEPS;
}

static void walk(struct rdma_world *world, const char *policy, bool read_rnr)
{
	struct random random = {11};

	*world = (struct rdma_world){.draw = draw_random, .self = &random, .now_ns = 1};
	for (__u64 steps = 0; steps < steps_wanted(); steps += WORLD_STEPS) {
		rdma_world_create(world, fault_policy_find(policy), read_rnr);
		for (int i = 0; i < WORLD_STEPS; i++)
			rdma_world_step(world);
		rdma_world_finish(world);
		rdma_world_destroy(world);
	}
	assert_true(world->seen_operations > steps_wanted() / 20);
	for (int opcode = 0; opcode < VERBS_OPCODES; opcode++)
		assert_true(world->seen.operations[opcode] > steps_wanted() / 200);
	for (int why = 0; why < RDMA_RESENDS; why++)
		assert_true(world->seen.resent[why]);
	/* What the wire loses is not the transport's to tell. */
	for (int why = 0; why < RDMA_DROPS; why++)
		assert_int_equal(world->seen.dropped[why] == 0, why == RDMA_DROP_WIRE);
	assert_true(world->seen.asked_again && world->seen.replayed && world->seen.paused_ns);
	assert_true(
		world->seen_status[VERBS_LOC_LEN_ERR] && world->seen_status[VERBS_LOC_PROT_ERR] &&
		world->seen_status[VERBS_REM_INV_REQ_ERR] &&
		world->seen_status[VERBS_REM_ACCESS_ERR] && world->seen_status[VERBS_REM_OP_ERR] &&
		world->seen_status[VERBS_RETRY_EXC_ERR] &&
		world->seen_status[VERBS_RNR_RETRY_EXC_ERR]);
}

static void npf(void **state)
{
	struct rdma_world world;

	walk(&world, "npf", false);
	assert_true(world.exact > steps_wanted() / 100);
}

static void npf_read_rnr(void **state)
{
	struct rdma_world world;

	walk(&world, "npf", true);
	assert_true(world.exact > steps_wanted() / 100);
}

static void drop(void **state)
{
	struct rdma_world world;

	walk(&world, "drop", false);
	assert_int_equal(world.exact, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(npf),
		cmocka_unit_test(npf_read_rnr),
		cmocka_unit_test(drop),
	};

	return cmocka_run_group_tests_name("transport_steps", tests, NULL, NULL);
}
