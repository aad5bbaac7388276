// SPDX-License-Identifier: GPL-2.0
/* Whether an objective is violated, held, or could not be judged. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "tests/unit/slo_rig.h"

static void a_window_within_its_percentile_is_kept(void **state)
{
	struct slo_rig s;

	slo_rig_begin(
		&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 99});
	slo_rig_window(&s, 100, 1009, 10);
	slo_rig_window(&s, 101, 1009, 11);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_int_equal(slo_violation(s.slo, 0)->from_ns, 101 * SECOND);
	slo_rig_end(&s);
}

/* The device did I/O before and after: the silence between is one violation as long as it was. */
static void a_freeze_is_a_window_without_io(void **state)
{
	const struct slo_violation *v;
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.min_iops = 100});
	slo_rig_window(&s, 100, 3, 0);
	slo_rig_window(&s, 101, 101, 0);
	slo_rig_window(&s, 102, 97, 0);
	slo_rig_fault(&s, 1, 104 * SECOND);
	slo_rig_window(&s, 106, 101, 0);
	slo_rig_window(&s, 107, 2, 0);
	slo_rig_finish(&s);
	/* The first and the last second are not whole and not judged. */
	assert_int_equal(slo_violations(s.slo), 2);
	assert_int_equal(slo_violations_like(s.slo, slo_violation(s.slo, 0)), 2);
	v = slo_violation(s.slo, 0);
	assert_int_equal(v->from_ns, 102 * SECOND);
	assert_true(v->measured > 96.9 && v->measured < 97.1);
	assert_int_equal(v->faults, 0);
	v = slo_violation(s.slo, 1);
	assert_int_equal(v->from_ns, 103 * SECOND);
	assert_int_equal(v->to_ns, 106 * SECOND);
	assert_true(v->measured < 0.1);
	assert_int_equal(v->faults, 1);
	assert_int_equal(v->stage, STAGE_RESOLVE);
	assert_int_equal(slo_device(s.slo, 1).violations, 2);
	slo_rig_end(&s);
}

static void bandwidth_is_bytes_a_second(void **state)
{
	struct slo_rig s;

	slo_rig_begin(
		&s, (struct slo_objective){.min_bandwidth = 4096ull * 50, .window_ns = 2 * SECOND});
	for (__u64 w = 99; w < 107; w++)
		slo_rig_window(&s, w, w == 102 || w == 103 ? 49 : 50, 0);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_int_equal(slo_violation(s.slo, 0)->metric, SLO_BANDWIDTH);
	assert_int_equal(slo_violation(s.slo, 0)->from_ns, 102 * SECOND);
	assert_true(slo_violation(s.slo, 0)->measured == 4096.0 * 49);
	slo_rig_end(&s);
}

static void fault_rate_and_burst_count_faults(void **state)
{
	struct slo_rig s;

	slo_rig_begin(&s, (struct slo_objective){.has_fault_rate = true,
						 .fault_rate = 3,
						 .has_burst = true,
						 .burst = 5});
	/* Seven within a second over two windows: a burst, and four in the second window. */
	for (__u32 i = 0; i < 7; i++)
		slo_rig_fault(&s, i + 1, 100 * SECOND + 700 * MS + i * (110 * MS));
	slo_rig_fault(&s, 20, 105 * SECOND);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 2);
	assert_int_equal(slo_violations_like(s.slo, slo_violation(s.slo, 0)), 1);
	assert_int_equal(slo_violations_like(s.slo, slo_violation(s.slo, 1)), 1);
	for (size_t i = 0; i < 2; i++) {
		const struct slo_violation *v = slo_violation(s.slo, i);

		assert_int_equal(v->stage, STAGE_RESOLVE);
		if (v->metric == SLO_BURST) {
			assert_true(v->measured == 7);
			assert_int_equal(v->from_ns, 100 * SECOND + 700 * MS);
			assert_int_equal(v->faults, 7);
		} else {
			assert_int_equal(v->metric, SLO_FAULT_RATE);
			assert_true(v->measured == 4);
			assert_int_equal(v->from_ns, 101 * SECOND);
		}
	}
	slo_rig_end(&s);
}

/* Told after faults that began later: each counts in the window and the burst in which it began. */
static void held_back_faults_count_when_they_began(void **state)
{
	static const struct {
		__u64 told, found;
	} faults[] = {{99800, 0},      {99900, 0},	 {100100, 0}, {100300, 99600},
		      {101200, 99700}, {102300, 100050}, {106000, 0}};
	struct slo_rig s;
	struct event e = {.kind = EVENT_FAULT_DETECT, .device = 1};

	slo_rig_begin(&s, (struct slo_objective){.has_fault_rate = true,
						 .fault_rate = 3,
						 .has_burst = true,
						 .burst = 5});
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		e.time_ns = faults[i].told * MS;
		e.value = faults[i].found * MS;
		e.instance++;
		slo_rig_push(&s, &e);
	}
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct slo_violation *v = slo_violation(s.slo, i);

		assert_int_equal(v->from_ns, (v->metric == SLO_BURST ? 99600 : 99000) * MS);
		assert_int_equal(v->to_ns, (v->metric == SLO_BURST ? 100100 : 100000) * MS);
		assert_true(v->measured == (v->metric == SLO_BURST ? 6 : 4));
	}
	assert_int_equal(slo_dropped(s.slo), 0);
	slo_rig_end(&s);
}

/* Nothing to judge is no objective that holds; having seen no fault is to have measured their rate. */
static void an_objective_without_anything_to_judge_says_so(void **state)
{
	static const struct {
		const char *device;
		struct slo_objective objective;
		bool io;
		const char *said;
	} cases[] = {
		{"nic*", {.has_burst = true, .burst = 5}, true, "no device fits 'nic*'"},
		{"*", {.latency_target_ns = MS}, false, "had I/O; its latency was not measured"},
		{"*", {.min_iops = 1, .has_burst = true, .burst = 5}, false, "its iops was not"},
		{"*", {.min_bandwidth = 1}, false, "its bandwidth was not measured"},
		{"*", {.has_burst = true, .burst = 5}, false, NULL},
		{"*", {.has_fault_rate = true}, false, NULL},
		{"*", {.latency_target_ns = 20 * MS}, true, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slo_objective objective = cases[i].objective;
		char text[SLO_UNMEASURED_TEXT];
		struct slo_rig s;

		strcpy(objective.device, cases[i].device);
		slo_rig_begin(&s, objective);
		if (cases[i].io)
			slo_rig_window(&s, 100, 10, 0);
		slo_rig_finish(&s);
		assert_int_equal(slo_violations(s.slo), 0);
		assert_int_equal(slo_fits(s.slo, 0), cases[i].device[0] == '*');
		if (!cases[i].said)
			assert_null(slo_unmeasured(s.slo, 0, text));
		else
			assert_non_null(strstr(slo_unmeasured(s.slo, 0, text), cases[i].said));
		slo_rig_end(&s);
	}
}

/* Of faults that no probe sees, or that were not asked for, an objective is not held. */
static void faults_that_nobody_watched_hold_no_objective(void **state)
{
	static const struct {
		__u32 device;
		const char *kinds;
		struct probe_info probes[3];
		bool watched;
	} cases[] = {
		{DEVICE_EMULATED, "", {{.name = "fault_detect", .state = PROBE_ON}}, true},
		{DEVICE_EMULATED, "fault", {{.name = "fault_detect", .state = PROBE_ON}}, true},
		{DEVICE_EMULATED, "io", {{.name = "fault_detect", .state = PROBE_ON}}, false},
		{DEVICE_EMULATED,
		 "fault_request,fault_overflow",
		 {{.name = "fault_detect", .state = PROBE_ON},
		  {.name = "fault_request", .state = PROBE_ON},
		  {.name = "fault_overflow", .state = PROBE_ON}},
		 true},
		/* Nobody sees that the number of a group is taken again. */
		{DEVICE_EMULATED,
		 "",
		 {{.name = "fault_detect", .state = PROBE_DISABLED},
		  {.name = "fault_request", .state = PROBE_ON},
		  {.name = "fault_overflow", .state = PROBE_ON}},
		 false},
		/* Those that a full queue dropped are told by nobody. */
		{DEVICE_EMULATED,
		 "fault_request,fault_resume",
		 {{.name = "fault_detect", .state = PROBE_ON},
		  {.name = "fault_request", .state = PROBE_ON},
		  {.name = "fault_overflow", .state = PROBE_ON}},
		 false},
		{DEVICE_EMULATED,
		 "",
		 {{.name = "fault_detect", .state = PROBE_DISABLED},
		  {.name = "iopf_report", .state = PROBE_ON}},
		 false},
		{DEVICE_EMULATED, "", {{.name = "fault_detect", .state = PROBE_OFF}}, false},
		{DEVICE_PCI, "", {{.name = "iopf_report", .state = PROBE_ON}}, true},
		{DEVICE_PCI,
		 "",
		 {{.name = "iopf_report", .state = PROBE_OFF},
		  {.name = "fault_detect", .state = PROBE_ON}},
		 false},
		{DEVICE_PCI, "fault_response", {{.name = "iopf_report", .state = PROBE_ON}}, false},
		{DEVICE_IB, "", {{.name = "odp_fault", .state = PROBE_ON}}, true},
		{DEVICE_IB, "", {{.name = "odp_fault", .state = PROBE_DISABLED}}, false},
	};
	static const struct slo_objective objectives[] = {
		{.has_burst = true, .burst = 5},
		{.has_fault_rate = true, .fault_rate = 1},
		{.has_fault_rate = true, .fault_rate = 1, .latency_target_ns = 20 * MS},
	};

	for (size_t n = 0; n < 3 * sizeof(cases) / sizeof(cases[0]); n++) {
		const struct device_info device = {.handle = 1, .kind = cases[n / 3].device};
		char text[SLO_UNMEASURED_TEXT];
		struct host_info host = {0};
		struct slo_rig s;
		struct stream faults;

		slo_rig_begin(&s, objectives[n % 3]);
		faults = faults_stream(s.faults);
		strcpy(host.kinds, cases[n / 3].kinds);
		faults.ops->host(faults.self, &host);
		for (size_t k = 0; k < 3; k++)
			faults.ops->probe(faults.self, &cases[n / 3].probes[k]);
		faults.ops->device(faults.self, &device);
		slo_rig_window(&s, 100, 10, 0);
		slo_rig_finish(&s);
		assert_int_equal(slo_measured(s.slo, 1), cases[n / 3].watched);
		if (cases[n / 3].watched) {
			assert_null(slo_unmeasured(s.slo, 0, text));
			assert_null(slo_unwatched(s.slo, 0, text));
		} else {
			assert_non_null(strstr(slo_unmeasured(s.slo, 0, text),
					       "the faults of '*' were not watched; its "));
			assert_non_null(slo_unwatched(s.slo, 0, text));
		}
		slo_rig_end(&s);
	}
}

static void other_devices_are_not_judged(void **state)
{
	struct slo_rig s;
	struct slo_objective objective = {.latency_target_ns = MS, .device = "tenant1/*"};

	slo_rig_begin(&s, objective);
	slo_rig_window(&s, 100, 101, 1);
	slo_rig_finish(&s);
	assert_int_equal(slo_violations(s.slo), 0);
	assert_false(slo_measured(s.slo, 1));
	slo_rig_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_within_its_percentile_is_kept),
		cmocka_unit_test(a_freeze_is_a_window_without_io),
		cmocka_unit_test(bandwidth_is_bytes_a_second),
		cmocka_unit_test(fault_rate_and_burst_count_faults),
		cmocka_unit_test(held_back_faults_count_when_they_began),
		cmocka_unit_test(an_objective_without_anything_to_judge_says_so),
		cmocka_unit_test(faults_that_nobody_watched_hold_no_objective),
		cmocka_unit_test(other_devices_are_not_judged),
	};

	return cmocka_run_group_tests_name("slo", tests, NULL, NULL);
}
