// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/histogram.h"
#include "lib/analyze/slo.h"
#include "lib/base/fail.h"

struct setup {
	struct slo_set set;
	struct session *session;
	struct faults *faults;
	struct slo *slo;
};

static void begin(struct setup *s, struct slo_objective objective)
{
	const struct device_info info = {.handle = 1, .name = "tenant0/disk0"};

	memset(s, 0, sizeof(*s));
	if (!objective.device[0])
		strcpy(objective.device, "*");
	if (!objective.window_ns)
		objective.window_ns = SECOND;
	if (!(objective.latency_percentile > 0))
		objective.latency_percentile = 100;
	s->set.objectives[0] = objective;
	s->set.count = 1;
	assert_int_equal(session_create(&s->session), 0);
	assert_int_equal(faults_create(&s->faults, NULL), 0);
	assert_int_equal(slo_create(&s->slo, &s->set, s->faults, NULL), 0);
	slo_stream(s->slo).ops->device(s->slo, &info);
}

static void push(struct setup *s, const struct event *e)
{
	stream_events(faults_stream(s->faults), e, 1);
	stream_events(slo_stream(s->slo), e, 1);
}

/* A fault on queue 2 of the device that takes 1 us a stage but 8 ms to resolve. */
static void fault(struct setup *s, __u32 instance, __u64 at)
{
	struct event e = {.device = 1, .queue = 2, .instance = instance, .address = 4096};

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		e.kind = (__u16)(EVENT_FAULT_DETECT + k);
		e.time_ns = at + k * 1000ull + (k >= 4 ? 8 * MS : 0);
		push(s, &e);
	}
}

static void slow_io(struct setup *s, __u64 done, __u64 latency, __u16 queue)
{
	push(s, &(struct event){.time_ns = done,
				.kind = EVENT_IO_COMPLETE,
				.device = 1,
				.queue = queue,
				.value = latency,
				.code = IO_FAULTED});
}

/* `count` I/Os of 4 KiB in a window: `slow` of them with 10 ms, the others with 100 us. */
static void window(struct setup *s, __u64 number, __u32 count, __u32 slow)
{
	const struct aggregate_bin bins[] = {{histogram_bucket(MS / 10), count - slow},
					     {histogram_bucket(10 * MS), slow}};
	const struct aggregate_row row = {
		.key = {.window = number, .device = 1, .kind = EVENT_IO_COMPLETE},
		.counts = {.count = count,
			   .bytes = 4096ull * count,
			   .latency_max_ns = slow ? 10 * MS : MS / 10},
		.bins = slow ? 2 : 1,
	};
	const struct aggregate_frame frame = {.window = number,
					      .rows = &row,
					      .row_count = count ? 1 : 0,
					      .bins = bins,
					      .bin_count = 2};

	assert_int_equal(slo_stream(s->slo).ops->aggregate(s->slo, &frame), 0);
}

static void finish(struct setup *s)
{
	faults_stream(s->faults).ops->end(s->faults, 0);
	assert_int_equal(slo_stream(s->slo).ops->end(s->slo, 0), 0);
}

static void end(struct setup *s)
{
	slo_destroy(s->slo);
	faults_destroy(s->faults);
	session_destroy(s->session);
}

static void the_fault_that_stood_in_the_way_is_the_cause(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 99});
	fault(&s, 1, 100 * SECOND + 200 * MS);
	slow_io(&s, 100 * SECOND + 209 * MS, 10 * MS, 2);
	/* Slow at another time, and slow on another queue: this fault is not their cause. */
	slow_io(&s, 100 * SECOND + 700 * MS, 10 * MS, 2);
	slow_io(&s, 100 * SECOND + 205 * MS, 10 * MS, 3);
	window(&s, 100, 101, 3);
	window(&s, 101, 101, 1);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	v = slo_violation(s.slo, 0);
	assert_int_equal(v->metric, SLO_LATENCY);
	assert_int_equal(v->from_ns, 100 * SECOND);
	assert_int_equal(v->ios, 101);
	assert_int_equal(v->slow_ios, 3);
	assert_int_equal(v->overlapped_ios, 1);
	assert_int_equal(v->faults, 1);
	assert_int_equal(v->stage, STAGE_RESOLVE);
	assert_int_equal(v->longest.instance, 1);
	assert_string_equal(slo_cause(v, s.session, text),
			    "1 of 3 slow I/Os overlapped 1 fault; resolve took "
			    "8.00ms of their 8.01ms (100%)");
	end(&s);
}

/* A window of one kind of I/Os between target and what is recorded one by one, and of slower ones. */
static void window_of(struct setup *s, __u64 number, const struct aggregate_bin *bins, __u32 count,
		      __u64 max_ns)
{
	struct aggregate_row row = {
		.key = {.window = number, .device = 1, .kind = EVENT_IO_COMPLETE},
		.counts = {.latency_max_ns = max_ns},
		.bins = count,
	};
	const struct aggregate_frame frame = {
		.window = number, .rows = &row, .row_count = 1, .bins = bins, .bin_count = count};

	for (__u32 i = 0; i < count; i++)
		row.counts.count += bins[i].count;
	assert_int_equal(slo_stream(s->slo).ops->aggregate(s->slo, &frame), 0);
}

static void ios_between_target_and_recording_count_as_slow(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 50});
	/* 13 of 20 ms, which a fault overlapped, and 7 of 7 ms, which were only counted. */
	fault(&s, 1, 100 * SECOND + 200 * MS);
	for (int i = 0; i < 13; i++)
		slow_io(&s, 100 * SECOND + 209 * MS, 20 * MS, 2);
	window_of(&s, 100,
		  (struct aggregate_bin[]){{histogram_bucket(MS), 11},
					   {histogram_bucket(7 * MS), 7},
					   {histogram_bucket(20 * MS), 13}},
		  3, 20 * MS);
	/* Next to the target: nobody knows on which side of it. */
	window_of(&s, 101,
		  (struct aggregate_bin[]){{histogram_bucket(5 * MS), 3},
					   {histogram_bucket(7 * MS), 7}},
		  2, 7 * MS);
	/* The slowest is known exactly, though its bucket is the target's. */
	window_of(&s, 102, (struct aggregate_bin[]){{histogram_bucket(5 * MS), 1}}, 1, 5 * MS + 1);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 3);
	v = slo_violation(s.slo, 0);
	assert_int_equal(v->ios, 31);
	assert_int_equal(v->slow_ios, 20);
	assert_int_equal(v->recorded_ios, 13);
	assert_int_equal(v->overlapped_ios, 13);
	assert_false(v->slow_floor);
	assert_non_null(strstr(slo_cause(v, s.session, text),
			       "13 of 20 slow I/Os (13 recorded one by one) "
			       "overlapped 1 fault; resolve took"));
	v = slo_violation(s.slo, 1);
	assert_int_equal(v->slow_ios, 7);
	assert_true(v->slow_floor);
	assert_non_null(strstr(slo_cause(v, s.session, text),
			       "none of at least 7 slow I/Os was recorded one "
			       "by one"));
	v = slo_violation(s.slo, 2);
	assert_int_equal(v->slow_ios, 1);
	assert_false(v->slow_floor);
	end(&s);
}

static void a_part_of_an_io_is_no_slow_io(void **state)
{
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	fault(&s, 1, 100 * SECOND + 200 * MS);
	slow_io(&s, 100 * SECOND + 209 * MS, 10 * MS, 2);
	push(&s, &(struct event){.time_ns = 100 * SECOND + 209 * MS,
				 .kind = EVENT_IO_COMPLETE,
				 .device = 1,
				 .queue = 2,
				 .value = 10 * MS,
				 .code = IO_FAULTED | IO_PART | IO_SOURCE});
	window(&s, 100, 101, 1);
	finish(&s);
	assert_int_equal(slo_violation(s.slo, 0)->recorded_ios, 1);
	assert_int_equal(slo_violation(s.slo, 0)->overlapped_ios, 1);
	end(&s);
}

static void no_overlap_is_said(void **state)
{
	char text[SLO_CAUSE_TEXT];
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	fault(&s, 1, 100 * SECOND + 200 * MS);
	slow_io(&s, 100 * SECOND + 700 * MS, 10 * MS, 2);
	window(&s, 100, 101, 1);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_string_equal(slo_cause(slo_violation(s.slo, 0), s.session, text),
			    "no fault overlapped");
	end(&s);
}

static void slow_ios_that_were_only_counted_have_no_known_cause(void **state)
{
	char text[SLO_CAUSE_TEXT];
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS});
	fault(&s, 1, 100 * SECOND + 200 * MS);
	window(&s, 100, 101, 1);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_non_null(strstr(slo_cause(slo_violation(s.slo, 0), s.session, text), "one by one"));
	end(&s);
}

/*
 * I/Os behind faults, each alone on its queue, and later in the window `others` of both that have nothing to do with
 * each other: faults of queue 2, I/Os of queue 3.
 */
static void crowded_window(struct setup *s, const char *cause, __u64 dropped, __u32 others)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];

	begin(s, (struct slo_objective){.latency_target_ns = 5 * MS});
	for (__u32 i = 0; i < 4; i++) {
		fault(s, i + 1, 100 * SECOND + i * (100 * MS));
		slow_io(s, 100 * SECOND + i * (100 * MS) + 9 * MS, 10 * MS, 2);
	}
	for (__u32 i = 0; i < others; i++) {
		fault(s, i + 10, 100 * SECOND + 500 * MS + i * 5000ull);
		slow_io(s, 100 * SECOND + 511 * MS + i * 5000ull, 10 * MS, 3);
	}
	window(s, 100, others + 13, others + 4);
	finish(s);
	assert_int_equal(slo_violations(s->slo), 1);
	v = slo_violation(s->slo, 0);
	if (!strstr(slo_cause(v, s->session, text), cause))
		fail_msg("%s", text);
	assert_int_equal(slo_dropped(s->slo), dropped);
	assert_int_equal(v->not_kept_ios != 0, dropped);
	assert_int_equal(v->not_kept_faults != 0, dropped);
	end(s);
}

static void what_came_later_makes_no_fault_forgotten(void **state)
{
	struct setup s;

	(void)state;
	crowded_window(&s, "4 of 20004 slow I/Os overlapped 4 faults; resolve took 32.0ms of", 0,
		       20000);
}

/* Neither acquitted nor called not recorded, and the numbers are floors. */
static void what_was_not_kept_is_said(void **state)
{
	struct setup s;

	(void)state;
	crowded_window(&s,
		       "no fault that was kept overlapped the 65536 of 66004 slow I/Os that were "
		       "kept one by one; 468 slow I/Os and 468 faults that ended by ",
		       1, 66000);
}

/* Until it is judged, what a window or a burst began with is not forgotten, however long it lasts. */
static void long_windows_keep_their_causes(void **state)
{
	const struct slo_violation *v;
	char text[SLO_CAUSE_TEXT];
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.min_iops = 100,
					 .has_burst = true,
					 .burst = 5,
					 .latency_target_ns = 5 * MS,
					 .window_ns = 50 * SECOND});
	window(&s, 49, 1, 0);
	for (__u32 i = 0; i < 1000; i++)
		fault(&s, i + 1, 50 * SECOND + i * (100 * MS));
	slow_io(&s, 151 * SECOND, 100 * SECOND, 2);
	window(&s, 150, 101, 1);
	window(&s, 200, 101, 0);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 4);
	assert_null(slo_violation(s.slo, 4));
	for (size_t i = 0; i < 4; i++) {
		v = slo_violation(s.slo, i);
		slo_cause(v, s.session, text);
		if (v->metric == SLO_BURST || v->from_ns == 50 * SECOND)
			assert_int_equal(v->faults, 1000);
		else if (v->metric == SLO_LATENCY) /* most of it long before its window */
			assert_int_equal(v->overlapped_ios, 1);
		assert_int_equal(strstr(text, "at least") != NULL, v->not_kept_faults != 0);
	}
	end(&s);
}

static void a_window_within_its_percentile_is_kept(void **state)
{
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.latency_target_ns = 5 * MS, .latency_percentile = 99});
	window(&s, 100, 1009, 10);
	window(&s, 101, 1009, 11);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_int_equal(slo_violation(s.slo, 0)->from_ns, 101 * SECOND);
	end(&s);
}

/* The device did I/O before and after: the silence between is one violation as long as it was. */
static void a_freeze_is_a_window_without_io(void **state)
{
	const struct slo_violation *v;
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.min_iops = 100});
	window(&s, 100, 3, 0);
	window(&s, 101, 101, 0);
	window(&s, 102, 97, 0);
	fault(&s, 1, 104 * SECOND);
	window(&s, 106, 101, 0);
	window(&s, 107, 2, 0);
	finish(&s);
	/* The first and the last second are not whole and not judged. */
	assert_int_equal(slo_violations(s.slo), 2);
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
	end(&s);
}

static void bandwidth_is_bytes_a_second(void **state)
{
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){.min_bandwidth = 4096ull * 50, .window_ns = 2 * SECOND});
	for (__u64 w = 99; w < 107; w++)
		window(&s, w, w == 102 || w == 103 ? 49 : 50, 0);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 1);
	assert_int_equal(slo_violation(s.slo, 0)->metric, SLO_BANDWIDTH);
	assert_int_equal(slo_violation(s.slo, 0)->from_ns, 102 * SECOND);
	assert_true(slo_violation(s.slo, 0)->measured == 4096.0 * 49);
	end(&s);
}

static void fault_rate_and_burst_count_faults(void **state)
{
	struct setup s;

	(void)state;
	begin(&s, (struct slo_objective){
			  .has_fault_rate = true, .fault_rate = 3, .has_burst = true, .burst = 5});
	/* Seven within a second over two windows: a burst, and four in the second window. */
	for (__u32 i = 0; i < 7; i++)
		fault(&s, i + 1, 100 * SECOND + 700 * MS + i * (110 * MS));
	fault(&s, 20, 105 * SECOND);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 2);
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
	end(&s);
}

/* Told after faults that began later: each counts in the window and the burst in which it began. */
static void held_back_faults_count_when_they_began(void **state)
{
	static const struct {
		__u64 told, found;
	} faults[] = {{99800, 0},      {99900, 0},	 {100100, 0}, {100300, 99600},
		      {101200, 99700}, {102300, 100050}, {106000, 0}};
	struct setup s;
	struct event e = {.kind = EVENT_FAULT_DETECT, .device = 1};

	(void)state;
	begin(&s, (struct slo_objective){
			  .has_fault_rate = true, .fault_rate = 3, .has_burst = true, .burst = 5});
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		e.time_ns = faults[i].told * MS;
		e.value = faults[i].found * MS;
		e.instance++;
		push(&s, &e);
	}
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct slo_violation *v = slo_violation(s.slo, i);

		assert_int_equal(v->from_ns, (v->metric == SLO_BURST ? 99600 : 99000) * MS);
		assert_int_equal(v->to_ns, (v->metric == SLO_BURST ? 100100 : 100000) * MS);
		assert_true(v->measured == (v->metric == SLO_BURST ? 6 : 4));
	}
	assert_int_equal(slo_dropped(s.slo), 0);
	end(&s);
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

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slo_objective objective = cases[i].objective;
		char text[SLO_UNMEASURED_TEXT];
		struct setup s;

		strcpy(objective.device, cases[i].device);
		begin(&s, objective);
		if (cases[i].io)
			window(&s, 100, 10, 0);
		finish(&s);
		assert_int_equal(slo_violations(s.slo), 0);
		assert_int_equal(slo_fits(s.slo, 0), cases[i].device[0] == '*');
		if (!cases[i].said)
			assert_null(slo_unmeasured(s.slo, 0, text));
		else
			assert_non_null(strstr(slo_unmeasured(s.slo, 0, text), cases[i].said));
		end(&s);
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

	(void)state;
	for (size_t n = 0; n < 3 * sizeof(cases) / sizeof(cases[0]); n++) {
		const struct device_info device = {.handle = 1, .kind = cases[n / 3].device};
		char text[SLO_UNMEASURED_TEXT];
		struct host_info host = {0};
		struct setup s;
		struct stream faults;

		begin(&s, objectives[n % 3]);
		faults = faults_stream(s.faults);
		strcpy(host.kinds, cases[n / 3].kinds);
		faults.ops->host(faults.self, &host);
		for (size_t k = 0; k < 3; k++)
			faults.ops->probe(faults.self, &cases[n / 3].probes[k]);
		faults.ops->device(faults.self, &device);
		window(&s, 100, 10, 0);
		finish(&s);
		assert_int_equal(slo_measured(s.slo, 1), cases[n / 3].watched);
		if (cases[n / 3].watched) {
			assert_null(slo_unmeasured(s.slo, 0, text));
			assert_null(slo_unwatched(s.slo, 0, text));
		} else {
			assert_non_null(strstr(slo_unmeasured(s.slo, 0, text),
					       "the faults of '*' were not watched; its "));
			assert_non_null(slo_unwatched(s.slo, 0, text));
		}
		end(&s);
	}
}

static void other_devices_are_not_judged(void **state)
{
	struct setup s;
	struct slo_objective objective = {.latency_target_ns = MS, .device = "tenant1/*"};

	(void)state;
	begin(&s, objective);
	window(&s, 100, 101, 1);
	finish(&s);
	assert_int_equal(slo_violations(s.slo), 0);
	assert_false(slo_measured(s.slo, 1));
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fault_that_stood_in_the_way_is_the_cause),
		cmocka_unit_test(no_overlap_is_said),
		cmocka_unit_test(ios_between_target_and_recording_count_as_slow),
		cmocka_unit_test(a_part_of_an_io_is_no_slow_io),
		cmocka_unit_test(slow_ios_that_were_only_counted_have_no_known_cause),
		cmocka_unit_test(a_window_within_its_percentile_is_kept),
		cmocka_unit_test(what_came_later_makes_no_fault_forgotten),
		cmocka_unit_test(what_was_not_kept_is_said),
		cmocka_unit_test(long_windows_keep_their_causes),
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
