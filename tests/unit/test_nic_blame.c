// SPDX-License-Identifier: GPL-2.0
/* Frames that are lost to a fault name one, by the truth log: also where their own page could not be asked for. */
#include "tests/unit/nic_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"

/* Fewer than either ring has buffers: none runs out of them, however late its guest is. */
#define FRAMES 1000
#define DEPTH  1024

static __u64 number_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

struct lost {
	__u64 named, unnamed;
};

static struct lost read_lost(const char *path)
{
	FILE *file = fopen(path, "r");
	struct lost lost = {0};
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "\"what\":\"frame_lost\"") ||
		    number_of(line, "\"code\":") != LOSS_FAULT)
			continue;
		if (number_of(line, "\"fault\":"))
			lost.named++;
		else
			lost.unnamed++;
	}
	fclose(file);
	return lost;
}

/* One request a ring: what else is absent has to wait for its answer. */
static void plan_begin(enum rx_policy_index policy)
{
	nic_plan_begin(policy, FRAMES);
	nic_plan.tenant.memory = 8 * HUGE_BYTES;
	nic_plan.device.queue_depth = DEPTH;
	nic_plan.traffic.rate = 2500;
	nic_plan.nic->fault_limit = 1;
	nic_plan.sides = RING_SIDE(RING_RX);
	nic_plan.pause_ns = 5 * NSEC_PER_MSEC;
	nic_plan.evict = true;
}

static void run(struct nic_outcome *outcome)
{
	char path[] = "/tmp/faultline-blame-XXXXXX";
	int descriptor = mkstemp(path);
	struct lost lost;

	assert_true(descriptor >= 0);
	close(descriptor);
	nic_plan.truth = path;
	nic_plan_run(outcome);
	lost = read_lost(path);
	unlink(path);
	print_message("%s: lost to faults %llu (named %llu), to buffers %llu; %llu "
		      "groups\n",
		      rx_policies[nic_plan.nic->rx_policy]->name, outcome->frames.lost[LOSS_FAULT],
		      lost.named, outcome->frames.lost[LOSS_NO_BUFFER], outcome->machine.groups);
	assert_int_equal(lost.named, outcome->frames.lost[LOSS_FAULT]);
	assert_int_equal(lost.unnamed, 0);
}

static void what_waits_for_a_request_names_it(void **state)
{
	static const enum rx_policy_index policies[] = {RX_POLICY_drop, RX_POLICY_ooo};
	struct nic_outcome outcome;

	(void)state;
	for (int i = 0; i < 2; i++) {
		plan_begin(policies[i]);
		nic_plan_inject(INJECT_RESPOND, 100, 2 * NSEC_PER_MSEC);
		run(&outcome);
		/* `ooo` may have found another buffer each time. */
		assert_true(outcome.frames.lost[LOSS_FAULT] > 0 || i);
		assert_int_equal(outcome.frames.lost[LOSS_NO_BUFFER], 0);
	}
}

/* After requests that came to nothing the ring asks for no page for a while: no fault is open. */
static void what_may_not_be_asked_for_has_no_buffer(void **state)
{
	static const enum rx_policy_index policies[] = {RX_POLICY_drop, RX_POLICY_ooo};
	struct nic_outcome outcome;

	(void)state;
	for (int i = 0; i < 2; i++) {
		plan_begin(policies[i]);
		nic_plan.device.response_timeout_ns = 5 * NSEC_PER_MSEC;
		nic_plan.rounds = 20;
		nic_plan_inject(INJECT_RESPONSE_LOST, 70, 0);
		run(&outcome);
		assert_true(outcome.frames.lost[LOSS_FAULT] > 0 || i);
		assert_true(outcome.frames.lost[LOSS_NO_BUFFER] > 0 || i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_for_a_request_names_it),
		cmocka_unit_test(what_may_not_be_asked_for_has_no_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
