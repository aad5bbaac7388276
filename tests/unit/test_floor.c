// SPDX-License-Identifier: GPL-2.0
/* Every reason for which counts are floors, in every verb and form: it ends with 5 and says why. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stages.h"
#include "lib/base/fail.h"
#include "lib/capture/probes.h"
#include "lib/trace/trace.h"
#include "tests/unit/amount.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/verbs.h"

#define START  (100 * SECOND)
#define QUEUES (STAGES_GROUPS_MAX + 1)

/* Of the pairs of a reason and a form: in part, and with sanitizers, each reason and each form, not each pair. */
#ifdef __SANITIZE_ADDRESS__
#define EVERY amount(5, 11)
#else
#define EVERY amount(1, 5)
#endif

/* What a recording lacks. */
struct lack {
	const char *name; /* of the reason, as it is said */
	struct loss_info loss;
	bool no_end, incomplete, queues;
	__u64 went_on;	    /* the age at which a fault that was given up did */
	bool headless;	    /* of a fault only that it was dropped is there */
	bool goes_on;	    /* seconds beyond the account of loss */
	const char *report; /* what the probe of page requests is: nothing hits it */
	bool unseen;	    /* an unrecoverable fault of the IOMMU, or more */
};

static const struct lack lacks[] = {
	{.name = NULL},
	{.name = "events were lost", .loss.lost = 3},
	{.name = "runs of probes were skipped", .loss.missed = 1},
	{.name = "access records were lost", .loss.access_lost = 2},
	{.name = "emulated machines were not met", .loss.machines_missed = 1},
	{.name = "emulated machines reported no total of their I/Os", .loss.machines_unknown = 1},
	{.name = "the kernel's maps had no room", .loss.state_failed = 5},
	{.name = "counting ran out of counters", .incomplete = true},
	{.name = "the recorder had no room to write", .loss.unwritten_events = 6},
	{.name = "the recording has no end", .no_end = true},
	{.name = "tables of the analysis were full", .queues = true},
	{.name = "faults went on after they were given up", .went_on = 2000},
	{.name = "not each fault was watched", .report = "on"},
	{.name = "not each fault was watched", .report = "refused by the kernel"},
	{.name = NULL, .report = PROBE_LEFT_OUT},
	{.name = "not each fault of the IOMMU was seen", .unseen = true},
};
#define LACKS (sizeof(lacks) / sizeof(lacks[0]))

static char recording[64], objectives[64];

static void tell_fault(struct stream stream, __u16 queue, __u64 at)
{
	struct event e = {.time_ns = at,
			  .kind = EVENT_FAULT_DETECT,
			  .device = 1,
			  .pasid = PASID_NONE,
			  .group = queue,
			  .instance = 1,
			  .queue = queue,
			  .address = 4096};

	stream_events(stream, &e, 1);
	e.kind = EVENT_FAULT_RESUME;
	e.time_ns += 1000;
	stream_events(stream, &e, 1);
}

static void tell_given_up(struct stream stream, __u64 at, __u64 went_on)
{
	static const __u16 kinds[] = {EVENT_FAULT_DETECT, EVENT_FAULT_UNFINISHED,
				      EVENT_FAULT_RESUME};
	struct event e = {.device = 1, .pasid = PASID_NONE, .group = 9, .instance = 2};

	for (size_t i = 0; i < 3; i++) {
		e.time_ns = at + (__u64[]){0, 1000, went_on}[i];
		e.kind = kinds[i];
		stream_events(stream, &e, 1);
	}
}

/* Page requests of a kernel's device, of which handler and response were seen. */
static void tell_unwatched(struct stream stream, const char *report)
{
	static const struct device_info device = {
		.handle = 2, .kind = DEVICE_PCI, .name = "0000:1"};
	struct probe_info probes[] = {
		{.name = "iopf_handler", .state = PROBE_ON, .hits = 30},
		{.name = "iopf_response", .state = PROBE_ON, .hits = 30},
		{.name = "iopf_report", .state = PROBE_OFF},
	};

	if (!strcmp(report, "on"))
		probes[2].state = PROBE_ON;
	else
		snprintf(probes[2].reason, sizeof(probes[2].reason), "%s", report);
	if (!strcmp(report, PROBE_LEFT_OUT))
		probes[2].state = PROBE_DISABLED;
	stream.ops->device(stream.self, &device);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		stream.ops->probe(stream.self, &probes[i]);
}

static void record(const struct lack *lack)
{
	const struct trace_writer_config config = {.path = recording, .overwrite = true};
	const struct aggregate_row row = {
		.key = {.window = START / SECOND, .device = 1, .kind = EVENT_IO_COMPLETE},
		.counts.count = 7};
	const struct aggregate_page page = {
		.device = 1, .page = 3, .reads = 2, .pasid = PASID_NONE};
	const struct aggregate_frame frame = {.window = START / SECOND,
					      .incomplete = lack->incomplete,
					      .rows = &row,
					      .row_count = 1,
					      .pages = &page,
					      .page_count = 1};
	const struct event dropped = {.time_ns = START + 50000,
				      .kind = EVENT_FAULT_OVERFLOW,
				      .device = 1,
				      .pasid = PASID_NONE,
				      .address = 8192};
	const struct event unseen = {.time_ns = START + 60000,
				     .kind = EVENT_IOMMU_UNSEEN,
				     .code = UNSEEN_AT_LEAST,
				     .value = 1};
	struct trace_writer *writer;
	struct stream stream = recording_begin(&writer, &config, START, 1795269600ull * SECOND);

	for (__u32 i = 0; i < (lack->queues ? QUEUES : 3); i++)
		tell_fault(stream, (__u16)i, START + i * 10000);
	if (lack->headless)
		stream_events(stream, &dropped, 1);
	if (lack->unseen)
		stream_events(stream, &unseen, 1);
	if (lack->went_on)
		tell_given_up(stream, START + SECOND, lack->went_on);
	if (lack->report)
		tell_unwatched(stream, lack->report);
	stream.ops->aggregate(stream.self, &frame);
	stream.ops->loss(stream.self, &lack->loss);
	if (lack->goes_on)
		tell_fault(stream, 7, START + 3 * SECOND);
	if (!lack->no_end)
		stream.ops->end(stream.self, START + 4 * SECOND);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void write_objective(const char *objective)
{
	FILE *file = fopen(objectives, "w");

	fprintf(file, "[slo all]\n%s\n", objective);
	fclose(file);
}

static int setup(void **state)
{
	if (scratch_make(state))
		return -1;
	snprintf(recording, sizeof(recording), "%s/run.flt", scratch);
	snprintf(objectives, sizeof(objectives), "%s/slo.ini", scratch);
	write_objective("latency_target = 1s");
	return 0;
}

/* Sentences are cut into lines. */
static void unwrap(char *text)
{
	while ((text = strchr(text, '\n')))
		*text = ' ';
}

/* The verb in one form; what it says on `out` or `err`, and how it ends. */
static void check(const struct lack *lack, const char *form, bool by_err)
{
	char line[256], said[128] = "";
	struct verb_run run;

	snprintf(line, sizeof(line), form, recording, objectives);
	if (lack->name)
		snprintf(said, sizeof(said), "%s", lack->name);
	run = verb_run(line);
	unwrap(run.out);
	if (run.status != (lack->name ? EXIT_LOSS : EXIT_OK))
		fail_msg("%s, '%s': ends with %d: %s", line, said, run.status, run.err);
	if (lack->name && !strstr(by_err ? run.err : run.out, said))
		fail_msg("%s: does not say '%s': %s%s", line, said, run.out, run.err);
	if (!lack->name && (strstr(run.out, "loors") || strstr(run.err, "loors")))
		fail_msg("%s: speaks of floors: %s%s", line, run.out, run.err);
	verb_run_free(&run);
}

static void every_reason_in_every_verb_and_form(void **state)
{
	static const struct {
		const char *form; /* of the command: the recording, then the objectives */
		bool by_err;	  /* said on standard error: nobody reads notes beside tables */
	} forms[] = {
		{"slo %s -c %s"},
		{"slo %s -c %s --json"},
		{"slo %s -c %s --csv=- --table slo", true},
		{"timeline %s"},
		{"timeline %s --all"},
		{"timeline %s --csv=-", true},
		{"timeline %s --json"},
		{"footprint %s"},
		{"footprint %s --json"},
		{"footprint %s --csv=- --table footprint", true},
		{"report %s --json"},
		{"report %s --csv=- --table summary", true},
		{"report %s --table summary"},
		{"report %s --json --table summary"},
		{"footprint %s --table footprint"},
		{"slo %s -c %s --table slo"},
		{"report %s"},
		{"doctor %s"},
		{"doctor %s --json"},
		{"doctor %s --csv=- --table probes", true},
		{"top -b -i %s --json 1"},
		{"top -b -i %s --csv 1"},
		{"top -b -i %s 1"},
		{"top -b -i %s 1", true},
		{"top -b -i %s --csv 1", true},
		{"top -b -i %s --json 1", true},
		{"top -b --view dma -i %s --csv 1", true},
	};

	for (size_t i = 0; i < LACKS; i++) {
		record(&lacks[i]);
		for (size_t k = i % EVERY; k < sizeof(forms) / sizeof(forms[0]); k += EVERY)
			check(&lacks[i], forms[k].form, forms[k].by_err);
	}
}

/* A recorder that was killed while it wrote the end; also without an analysis. */
static void the_last_bytes_are_missed_by_every_verb(void **state)
{
	static const struct lack whole = {.name = NULL},
				 cut = {.name = "parts of the recording are unreadable"};
	static const char *const forms[] = {
		"report %s --csv --table summary",
		"doctor %s --csv=- --table probes",
		"accesses --trace %s --tenants 1 --set trace.requests=1",
		"sim --trace %s --tenants 1 --set trace.requests=1",
	};
	FILE *file;
	long size;

	record(&whole);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		check(&whole, forms[i], true);
	file = fopen(recording, "r");
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	fclose(file);
	for (long bytes = 1; bytes < 8; bytes++) {
		assert_int_equal(truncate(recording, size - bytes), 0);
		for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
			check(&cut, forms[i], true);
	}
}

/* Of a killed recorder: the counters are an older snapshot, and say so wherever they are. */
static void an_account_says_of_when_it_is(void **state)
{
	static const struct lack killed = {.no_end = true, .goes_on = true},
				 ended = {.goes_on = true};
	static const struct {
		const char *form, *said;
		bool by_err;
	} forms[] = {
		{"report %s",
		 "as of 2026-11-21 14:00:00.000 UTC, 3.00s before the last event that is there:"},
		{"report %s --table loss", ", 3.00s before the last event"},
		{"report %s --table probes", ", 3.00s before the last event"},
		{"report %s --json --table loss", "\"unaccounted_ns\":\"2999980000\""},
		{"report %s --json", "\"counters_as_of\":\"2026-11-21T14:00:00.00002"},
		{"report %s --csv=- --table loss", "unaccounted_ns,2999980000"},
		{"report %s --csv=- --table loss", ", 3.00s before the last event", true},
		{"timeline %s", ", 3.00s before the last event"},
	};

	for (size_t i = 0; i < 2 * sizeof(forms) / sizeof(forms[0]); i++) {
		const struct lack *lack = i % 2 ? &ended : &killed;
		struct verb_run run;
		char line[256], *said;

		record(lack);
		snprintf(line, sizeof(line), forms[i / 2].form, recording);
		run = verb_run(line);
		unwrap(run.out);
		said = forms[i / 2].by_err ? run.err : run.out;
		assert_int_equal(run.status, lack->no_end ? EXIT_LOSS : EXIT_OK);
		if (!strstr(said, forms[i / 2].said) == lack->no_end)
			fail_msg("%s: '%s': %s", line, forms[i / 2].said, said);
		verb_run_free(&run);
	}
}

/* What a window leaves out is said with every table, too. */
/* Of what was lost a part may be beginnings: then nobody says that those faults were older. */
static void a_missing_beginning_may_have_been_lost(void **state)
{
	const struct lack cases[] = {
		{.headless = true},
		{.headless = true, .loss.access_lost = 2},
		{.headless = true, .loss.lost = 3},
		{.headless = true, .loss.missed = 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool lost = cases[i].loss.lost || cases[i].loss.missed;
		struct verb_run run;
		char line[128];

		record(&cases[i]);
		snprintf(line, sizeof(line), "report %s", recording);
		run = verb_run(line);
		unwrap(run.out);
		if (!strstr(run.out,
			    lost ? "; 1 began before the recording, or their beginning was lost."
				 : "; 1 began before the recording."))
			fail_msg("%zu: %s", i, run.out);
		verb_run_free(&run);
	}
}

static void what_is_left_out_is_said_beside_a_table(void **state)
{
	static const struct lack whole = {.name = NULL};
	static const struct {
		const char *form, *said;
		bool by_err;
	} forms[] = {
		{"report %s --since +5us --table summary", "Left out: 1 fault that began before"},
		{"report %s --since +5us --json --table summary", "\"left_out_before\":\"1\""},
		{"timeline %s --since +5us --json", "\"left_out_before\":\"1\""},
		{"slo %s --since +5us -c %s --table slo", "Left out: 1 fault that"},
		{"footprint %s --since +5us --table footprint", "Left out: 1 fault that"},
		{"report %s --since +5us --csv --table summary", "Left out: 1 fault that", true},
	};

	write_objective("latency_target = 1s");
	record(&whole);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct verb_run run;
		char line[256];

		snprintf(line, sizeof(line), forms[i].form, recording, objectives);
		run = verb_run(line);
		unwrap(run.out);
		assert_int_equal(run.status, EXIT_OK);
		if (!strstr(forms[i].by_err ? run.err : run.out, forms[i].said))
			fail_msg("%s: %s", line, run.out);
		verb_run_free(&run);
	}
}

/* More faults than allowed were seen, whatever was lost; why that is not all is said beside it. */
static void a_violation_on_floors_is_one(void **state)
{
	static const struct lack lost = {.loss.lost = 3};
	static const struct {
		const char *form;
		bool by_err;
	} forms[] = {{"slo %s -c %s"},
		     {"slo %s -c %s --json"},
		     {"slo %s -c %s --csv=- --table slo", true}};
	char line[256];

	record(&lost);
	write_objective("burst = 1");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct verb_run run;

		snprintf(line, sizeof(line), forms[i].form, recording, objectives);
		run = verb_run(line);
		assert_int_equal(run.status, EXIT_EXPECT);
		unwrap(run.out);
		assert_non_null(strstr(forms[i].by_err ? run.err : run.out, "events were lost"));
		verb_run_free(&run);
	}
}

/* Each field of the account is a reason of its own, and no reason is without a word. */
static void every_loss_is_a_reason(void **state)
{
	unsigned int all = 0;
	char text[FLOOR_TEXT];

	for (size_t i = 0; i < LACKS; i++) {
		const struct lack *lack = &lacks[i];
		struct loss_info loss = lack->loss;
		unsigned int reasons;

		loss.cut = lack->no_end;
		reasons = floor_of_loss(&loss, lack->incomplete);
		all |= reasons;
		assert_int_equal(__builtin_popcount(reasons),
				 lack->name && !lack->queues && !lack->went_on && !lack->report &&
					 !lack->unseen);
		if (reasons)
			assert_string_equal(floor_text(reasons, text), lack->name);
	}
	assert_int_equal(floor_of_loss(&(struct loss_info){.damaged_frames = 1}, 0),
			 1u << FLOOR_DAMAGED);
	all |= 1u << FLOOR_DAMAGED | 1u << FLOOR_TABLES | 1u << FLOOR_MEMORY | 1u << FLOOR_WENT_ON |
	       1u << FLOOR_UNWATCHED | 1u << FLOOR_UNSEEN;
	assert_int_equal(all, (1u << FLOOR_REASONS) - 1);
	assert_true(strlen(floor_text(all, text)) < FLOOR_TEXT - 1);
	assert_string_equal(floor_text(0, text), "");
}

static void detect(struct analysis *a, __u32 number, __u64 at, __u64 found)
{
	const struct event e = {.time_ns = at,
				.kind = EVENT_FAULT_DETECT,
				.device = 1,
				.pasid = PASID_NONE,
				.group = number,
				.instance = number + 1,
				.queue = (__u16)number,
				.value = found};

	stream_events(analysis_stream(a), &e, 1);
}

static void too_many_open(struct analysis *a)
{
	for (__u32 i = 0; i < 18; i++)
		detect(a, i % 9, START + i, 0);
}

static void too_many_stages(struct analysis *a)
{
	for (__u32 i = 0; i < QUEUES; i++)
		tell_fault(analysis_stream(a), (__u16)i, START + i * 10000);
}

/* Faults without an end have no stages. */
static void too_many_queues(struct analysis *a)
{
	struct event e = {.device = 1, .kind = EVENT_FAULT_UNFINISHED, .pasid = PASID_NONE};

	for (__u32 i = 0; i <= QUEUES_MAX; i++) {
		detect(a, i, START + i, 0);
		e.group = i;
		e.instance = i + 1;
		e.time_ns = START + i;
		stream_events(analysis_stream(a), &e, 1);
	}
}

static void too_many_regions(struct analysis *a)
{
	struct event e = {.device = 1, .kind = EVENT_ODP_PREFETCH};

	for (e.group = 0; e.group <= 4096; e.group++) {
		e.time_ns = START + e.group;
		stream_events(analysis_stream(a), &e, 1);
	}
}

/* Held back for longer than seconds are open. */
static void told_late_for_rates(struct analysis *a)
{
	detect(a, 0, START, 0);
	detect(a, 1, START + 1, START - 70 * SECOND);
}

static void too_many_devices(struct analysis *a)
{
	const struct device_info device = {.handle = SLOTS_MAX, .kind = DEVICE_EMULATED};

	analysis_stream(a).ops->device(analysis_stream(a).self, &device);
}

static void told_late_for_objectives(struct analysis *a)
{
	detect(a, 0, START, 0);
	detect(a, 1, START + 1, START - 10 * SECOND);
}

/* Each table that can be full is a reason, also if no other is. */
static void every_full_table_is_a_reason(void **state)
{
	static void (*const fill[])(struct analysis * a) = {
		too_many_open,	     too_many_stages,  too_many_queues,		 too_many_regions,
		told_late_for_rates, too_many_devices, told_late_for_objectives,
	};
	static const struct slo_set set = {.objectives[0] = {.device = "*",
							     .window_ns = SECOND,
							     .burst = 5,
							     .has_burst = true},
					   .count = 1};

	for (size_t i = 0; i < sizeof(fill) / sizeof(fill[0]); i++) {
		const struct analysis_config config = {
			.open_faults = fill[i] == too_many_open ? 8 : 0,
			.slos = fill[i] == told_late_for_objectives ? &set : NULL};
		const struct device_info device = {
			.handle = 1, .kind = DEVICE_EMULATED, .name = "t/d"};
		struct faults_counts faults;
		struct analysis *a;
		struct stream stream;

		assert_int_equal(analysis_create(&a, &config), 0);
		stream = analysis_stream(a);
		stream.ops->device(stream.self, &device);
		assert_int_equal(floor_of(a), 0);
		fill[i](a);
		stream.ops->end(stream.self, START + SECOND);
		faults_counts(a->faults, &faults);
		assert_int_equal(!!faults.given_up, i == 0);
		assert_int_equal(!!stages_dropped(a->stages), i == 1);
		assert_int_equal(!!queues_dropped(a->queues), i == 2);
		assert_int_equal(!!odp_regions_dropped(a->odp), i == 3);
		assert_int_equal(!!rates_dropped(a->rates), i == 4);
		assert_int_equal(!!session_dropped(a->session), i == 5);
		assert_int_equal(a->slo && slo_dropped(a->slo), i == 6);
		assert_int_equal(floor_of(a), 1u << FLOOR_TABLES);
		analysis_destroy(a);
	}
}

/* What a report itself does not wait for no option of the recorder gives back. */
static void what_does_not_help_is_not_advised(void **state)
{
	static const char longer[] = "1 went on after that: record with a longer --unfinished",
			  late[] = "1 went on when older than 120 s";

	for (int old = 0; old < 2; old++) {
		const struct lack lack = {.went_on = (old ? 121 : 119) * SECOND};
		char line[256];
		struct verb_run run;

		record(&lack);
		snprintf(line, sizeof(line), "report %s", recording);
		run = verb_run(line);
		unwrap(run.out);
		assert_int_equal(run.status, EXIT_LOSS);
		assert_int_equal(strstr(run.out, longer) != NULL, !old);
		assert_int_equal(strstr(run.out, late) != NULL, old);
		verb_run_free(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loss_is_a_reason),
		cmocka_unit_test(every_full_table_is_a_reason),
		cmocka_unit_test(every_reason_in_every_verb_and_form),
		cmocka_unit_test(the_last_bytes_are_missed_by_every_verb),
		cmocka_unit_test(a_violation_on_floors_is_one),
		cmocka_unit_test(an_account_says_of_when_it_is),
		cmocka_unit_test(what_does_not_help_is_not_advised),
		cmocka_unit_test(a_missing_beginning_may_have_been_lost),
		cmocka_unit_test(what_is_left_out_is_said_beside_a_table),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
