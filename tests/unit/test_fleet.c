// SPDX-License-Identifier: GPL-2.0
/* Machines of a fleet: who they are, what overcommit comes to, and what becomes of one by hand. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "tools/fleet/options.h"

#define STEPS 100000

/* A fleet of one population "a" with these settings, each SECTION.KEY=VALUE. */
static int configure(struct fleet_config *config, const char *const *sets, size_t count)
{
	struct job_text *text = job_text_new("the test");
	struct idle_keys idle = {0};
	char target[64];
	int err = job_text_need(text, "population", "the test");

	for (size_t i = 0; i < text->section_count; i++) {
		free(text->sections[i].name);
		text->sections[i].name = strdup("a");
	}
	if (!err)
		err = fleet_complete(text);
	for (size_t i = 0; !err && i < count; i++) {
		const char *equals = strchr(sets[i], '=');

		snprintf(target, sizeof(target), "%.*s", (int)(equals - sets[i]), sets[i]);
		err = job_text_set(text, target, equals + 1, "--set");
	}
	if (!err)
		err = fleet_configure(config, text, &idle);
	idle_keys_free(&idle);
	job_text_free(text);
	return err;
}

static double mean_share(const struct fleet_config *config)
{
	double low = config->rule.share_low, high = config->rule.share_high, sum = 0;

	for (int i = 0; i < STEPS; i++)
		sum += fmax(0, low + (high - low) * (i + 0.5) / STEPS);
	return sum / STEPS;
}

static void overcommit_is_the_mean_over_time(void **state)
{
	static const double commits[] = {0.1, 0.2, 0.3, 0.5, 0.9, 1.5, 5};
	struct fleet_config *config = malloc(sizeof(*config));
	char set[64];

	for (size_t i = 0; i < COUNT(commits); i++) {
		const char *const sets[] = {set};
		double wanted = fmin(commits[i] / (1 + commits[i]), 0.5);

		snprintf(set, sizeof(set), "fleet.overcommit=%g", commits[i]);
		assert_int_equal(configure(config, sets, 1), 0);
		assert_true(fabs(mean_share(config) - wanted) < 1e-4);
		assert_true(config->rule.share_high == 0.5);
	}
	snprintf(set, sizeof(set), "fleet.overcommit=0");
	assert_int_equal(configure(config, (const char *const[]){set}, 1), 0);
	assert_true(config->rule.share_high == 0);
	free(config);
}

static void machines_have_memories_by_turns(void **state)
{
	static const char *const sets[] = {"a.count=5", "a.memory=1G:3G", "a.device=block"};
	struct fleet_config *config = malloc(sizeof(*config));

	assert_int_equal(configure(config, sets, COUNT(sets)), 0);
	assert_int_equal(config->machine_count, 5);
	for (__u32 i = 0; i < 5; i++) {
		struct fleet_machine machine = fleet_machine(config, i);

		assert_int_equal(machine.memory_pages, i % 2 ? 1536 : 512);
		assert_int_equal(machine.own, i);
		assert_false(machine.has[POPULATION_NIC]);
		assert_true(machine.has[POPULATION_BLOCK]);
	}
	free(config);
}

static void a_resolution_that_policies_would_see_is_refused(void **state)
{
	static const char *const fine[] = {"fleet.resolution=10s"};
	static const char *const coarse[] = {"fleet.resolution=10001ms"};
	static const char *const scans[] = {"protector.scan=19s"};
	static const char *const promotes[] = {"protector.promote_after=19s"};
	struct fleet_config *config = malloc(sizeof(*config));

	assert_int_equal(configure(config, fine, 1), 0);
	assert_int_equal(configure(config, coarse, 1), -EINVAL);
	assert_non_null(strstr(failure_text(), "up to 10000ms"));
	assert_int_equal(configure(config, scans, 1), -EINVAL);
	assert_int_equal(configure(config, promotes, 1), -EINVAL);
	assert_non_null(strstr(failure_text(), "up to 9500ms"));
	free(config);
}

static void accesses_of_two_devices_are_in_the_order_of_times(void **state)
{
	static const char *const sets[] = {"a.memory=1G", "fleet.hours=1"};
	struct fleet_config *config = calloc(1, sizeof(*config));
	struct fleet_accesses accesses;
	struct fleet_machine machine;
	struct what_if_access access;
	__u64 before = 0, of[POPULATION_MODELS] = {0};

	assert_int_equal(configure(config, sets, COUNT(sets)), 0);
	machine = fleet_machine(config, 0);
	assert_int_equal(fleet_accesses_open(&accesses, config, &machine), 0);
	for (; fleet_accesses_next(&accesses, &access); before = access.time_ns) {
		assert_true(access.time_ns >= before && access.time_ns < 3600 * SECOND);
		of[access.domain]++;
	}
	assert_int_equal(fleet_accesses_close(&accesses), 0);
	assert_true(before > 3590 * SECOND && of[POPULATION_NIC] > 100 &&
		    of[POPULATION_BLOCK] > 100);
	free(config);
}

/* What a machine's policies see is the same; what one of them does changes nothing for the others. */
static void policies_do_not_see_each_other(void **state)
{
	static const char *const sets[] = {"a.memory=1G", "fleet.hours=26", "a.nic_gap=120s",
					   "protector.policy=adp"};
	static const char *const lru[] = {"a.memory=1G", "fleet.hours=26", "a.nic_gap=120s",
					  "protector.policy=lru"};
	struct fleet_config *configs = calloc(2, sizeof(*configs));
	const struct fleet_config *both[] = {&configs[0], &configs[1]};
	struct fleet_outcome alone = {0}, outcomes[2] = {0};
	struct fleet_outcome *const one[] = {&alone}, *const two[] = {&outcomes[0], &outcomes[1]};

	assert_int_equal(configure(&configs[0], sets, COUNT(sets)), 0);
	assert_int_equal(configure(&configs[1], lru, COUNT(lru)), 0);
	assert_int_equal(fleet_simulate(both, 1, 0, one), 0);
	assert_int_equal(fleet_simulate(both, 2, 0, two), 0);
	/* Two devices on two days. */
	assert_int_equal(alone.device_count, 4);
	assert_int_equal(alone.burst_count, outcomes[0].burst_count);
	assert_memory_equal(alone.devices, outcomes[0].devices, 4 * sizeof(alone.devices[0]));
	for (size_t i = 0; i < 4; i++) {
		const struct fleet_device *device = &outcomes[1].devices[i];

		assert_int_equal(device->unprotected, alone.devices[i].unprotected);
		assert_int_equal(device->accesses, alone.devices[i].accesses);
		assert_int_equal(device->day, i / 2);
		assert_true(device->unprotected > 0 || device->day);
	}
	fleet_outcome_free(&alone);
	fleet_outcome_free(&outcomes[0]);
	fleet_outcome_free(&outcomes[1]);
	free(configs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overcommit_is_the_mean_over_time),
		cmocka_unit_test(machines_have_memories_by_turns),
		cmocka_unit_test(a_resolution_that_policies_would_see_is_refused),
		cmocka_unit_test(accesses_of_two_devices_are_in_the_order_of_times),
		cmocka_unit_test(policies_do_not_see_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
