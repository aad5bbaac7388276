// SPDX-License-Identifier: GPL-2.0
/* Probes that are attached and never hit while their path is used are told; no others are. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/unknown.h"
#include "lib/capture/paths.h"
#include "lib/capture/probes.h"

#define RXE 1
#define PCI 2
#define EMU 3

struct rig {
	struct analysis *analysis;
	struct stream stream;
	__u64 now_ns;
	__u32 instance;
	char *text;
};

static void tell_device(struct rig *rig, __u32 handle, __u32 kind, const char *name)
{
	struct device_info device = {.handle = handle, .kind = kind, .first_ns = 1};

	snprintf(device.name, sizeof(device.name), "%s", name);
	assert_int_equal(rig->stream.ops->device(rig->stream.self, &device), 0);
}

static void tell_missed(struct rig *rig, const char *name, __u32 state, __u64 hits, __u64 missed)
{
	struct probe_info probe = {.state = state, .hits = hits, .emitted = hits, .missed = missed};

	snprintf(probe.name, sizeof(probe.name), "%s", name);
	snprintf(probe.attach, sizeof(probe.attach), "function of_%s", name);
	if (state == PROBE_DISABLED)
		snprintf(probe.reason, sizeof(probe.reason), "%s", PROBE_LEFT_OUT);
	assert_int_equal(rig->stream.ops->probe(rig->stream.self, &probe), 0);
}

static void tell_probe(struct rig *rig, const char *name, __u32 state, __u64 hits)
{
	tell_missed(rig, name, state, hits, 0);
}

static void tell_loss(struct rig *rig)
{
	assert_int_equal(rig->stream.ops->loss(rig->stream.self, &(struct loss_info){0}), 0);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct host_info host = {.hostname = "h", .kernel = "k", .start_ns = 1};

	assert_non_null(rig);
	assert_int_equal(analysis_create(&rig->analysis, NULL), 0);
	rig->stream = analysis_stream(rig->analysis);
	rig->now_ns = 1000000;
	rig->stream.ops->host(rig->stream.self, &host);
	tell_device(rig, RXE, DEVICE_IB, "rxe0");
	tell_device(rig, PCI, DEVICE_PCI, "0000:00:02.0");
	tell_device(rig, EMU, DEVICE_EMULATED, "vm/disk");
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	analysis_destroy(rig->analysis);
	free(rig->text);
	free(rig);
	return 0;
}

static void push(struct rig *rig, __u32 device, __u16 kind, __u8 flags, __u8 code)
{
	struct event e = {.time_ns = rig->now_ns += 10 * US,
			  .kind = kind,
			  .device = device,
			  .pasid = PASID_NONE,
			  .group = 7,
			  .instance = rig->instance,
			  .address = 0x10000,
			  .length = 4096,
			  .queue = QUEUE_NONE,
			  .flags = flags,
			  .code = code};

	assert_int_equal(stream_events(rig->stream, &e, 1), 0);
}

/* Faults of soft-RoCE: handler, resolved (if it is seen), mapped. */
static void odp_faults(struct rig *rig, unsigned int count, bool resolved)
{
	for (; count; count--) {
		rig->instance++;
		push(rig, RXE, EVENT_FAULT_HANDLER, EVENT_GROUP | EVENT_READ, 0);
		if (resolved)
			push(rig, RXE, EVENT_FAULT_RESOLVED, EVENT_MAJOR, MM_SWAP);
		push(rig, RXE, EVENT_FAULT_MAPPED, EVENT_LAST, 0);
	}
	/* They linger for what may come late. */
	rig->now_ns += 1000000000;
	rig->stream.ops->tick(rig->stream.self, rig->now_ns);
}

static const char *print(struct rig *rig)
{
	struct writer *writer;
	size_t size;
	FILE *file = open_memstream(&rig->text, &size);
	const struct writer_config config = {.format = OUTPUT_TEXT, .file = file};

	assert_int_equal(rig->stream.ops->end(rig->stream.self, rig->now_ns), 0);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(analysis_write_findings(rig->analysis, writer), 0);
	silent_write_probes(rig->analysis, writer, &(struct table_wish){0});
	odp_write(rig->analysis, writer, &(struct table_wish){0});
	assert_int_equal(writer_close(writer), 0);
	fclose(file);
	/* Lines are wrapped where words fit: what is looked for may be on two. */
	for (char *c = rig->text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return rig->text;
}

static void a_silent_probe_is_a_finding(void **state)
{
	struct rig *rig = *state;
	const char *text;

	tell_probe(rig, "odp_fault", PROBE_ON, 0);
	tell_probe(rig, "odp_resolved", PROBE_ON, 0);
	odp_faults(rig, 11, false);
	tell_probe(rig, "odp_fault", PROBE_ON, 22);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
	text = print(rig);
	assert_non_null(strstr(text, "Probe odp_resolved is attached (function of_odp_resolved)"));
	assert_non_null(strstr(text, "was never hit, while 11 faults passed"));
	assert_non_null(strstr(text, "Stage resolve is merged into the next one seen"));
	assert_non_null(strstr(text, "Worst stage: resolve+map"));
	assert_null(strstr(text, "minor"));
	assert_int_equal(odp_of_device(rig->analysis->odp, RXE)->unknown, 11);
	assert_null(stages_of_kind(rig->analysis->stages, RXE, FAULT_MINOR_READ));
	assert_int_equal(stages_of_kind(rig->analysis->stages, RXE, FAULT_UNKNOWN_READ)->faults,
			 11);
}

/* What was counted last is from before the faults: hits of these were told by nobody. */
static void a_recording_without_its_end_accuses_nobody(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 0);
	tell_probe(rig, "odp_resolved", PROBE_ON, 0);
	tell_loss(rig);
	odp_faults(rig, 11, true);
	assert_int_equal(rig->stream.ops->loss(rig->stream.self, &(struct loss_info){.cut = true}),
			 0);
	assert_null(strstr(print(rig), "never hit"));
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	assert_int_equal(odp_of_device(rig->analysis->odp, RXE)->major, 11);
}

static void a_probe_that_is_hit_is_none(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 0);
	tell_probe(rig, "odp_resolved", PROBE_ON, 0);
	odp_faults(rig, 11, true);
	/* Counters come once a second, events before: until then nothing is known. */
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	tell_probe(rig, "odp_fault", PROBE_ON, 22);
	tell_probe(rig, "odp_resolved", PROBE_ON, 11);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	assert_null(strstr(print(rig), "never hit"));
	assert_int_equal(odp_of_device(rig->analysis->odp, RXE)->major, 11);
}

static void one_that_is_off_or_disabled_is_none(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 22);
	tell_probe(rig, "odp_resolved", PROBE_OFF, 0);
	odp_faults(rig, 11, false);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	tell_probe(rig, "odp_resolved", PROBE_DISABLED, 0);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
}

static void few_faults_say_nothing(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 4);
	tell_probe(rig, "odp_resolved", PROBE_ON, 0);
	odp_faults(rig, SILENT_FAULTS - 1, false);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	odp_faults(rig, 1, false);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
}

/* Who fails has not passed: a region whose process is gone never asks for its pages. */
static void faults_that_failed_prove_nothing(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 22);
	tell_probe(rig, "odp_resolved", PROBE_ON, 0);
	for (int i = 0; i < 11; i++) {
		rig->instance++;
		push(rig, RXE, EVENT_FAULT_HANDLER, EVENT_GROUP | EVENT_READ, 0);
		push(rig, RXE, EVENT_FAULT_RESPONSE, EVENT_LAST, RESPONSE_INVALID);
	}
	rig->now_ns += 1000000000;
	rig->stream.ops->tick(rig->stream.self, rig->now_ns);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
}

/* What only some faults pass, such as those that read swap, may well be silent. */
static void conditional_probes_may_be_silent(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "odp_fault", PROBE_ON, 22);
	tell_probe(rig, "odp_resolved", PROBE_ON, 11);
	tell_probe(rig, "mm_swap", PROBE_ON, 0);
	tell_probe(rig, "mm_userfault", PROBE_ON, 0);
	tell_probe(rig, "rxe_invalidate", PROBE_ON, 0);
	odp_faults(rig, 11, true);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
}

/* A page request of user space's through iommufd has no worker, one of a process has. */
static void core_faults(struct rig *rig, __u8 consumer, bool worker)
{
	for (int i = 0; i < 5; i++) {
		rig->instance++;
		push(rig, PCI, EVENT_FAULT_ISR, EVENT_READ | EVENT_LAST, 0);
		push(rig, PCI, EVENT_FAULT_QUEUED, EVENT_GROUP, consumer);
		if (worker)
			push(rig, PCI, EVENT_FAULT_HANDLER, EVENT_GROUP, 0);
		push(rig, PCI, EVENT_FAULT_RESPONSE, EVENT_GROUP | EVENT_LAST, 0);
	}
	rig->now_ns += 1000000000;
	rig->stream.ops->tick(rig->stream.self, rig->now_ns);
	tell_loss(rig);
}

/* It gives no stage of its own: what only it tells is said instead. */
static void a_silent_probe_that_no_stage_rests_on_says_what_it_lacks(void **state)
{
	struct rig *rig = *state;
	const char *text;

	tell_probe(rig, "iopf_report", PROBE_ON, 40);
	tell_probe(rig, "iopf_response", PROBE_ON, 40);
	tell_probe(rig, "iopf_free", PROBE_ON, 0);
	core_faults(rig, CONSUMER_SVA, true);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
	text = print(rig);
	assert_non_null(strstr(text, "Probe iopf_free is attached"));
	assert_null(strstr(text, "merged into"));
	assert_non_null(strstr(text, "Probe iopf_free is silent: kernel page requests that went"));
}

static void what_must_pass_depends_on_who_is_served(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "iopf_report", PROBE_ON, 5);
	tell_probe(rig, "mm_fault", PROBE_ON, 0);
	tell_probe(rig, "iopf_handler", PROBE_ON, 0);
	core_faults(rig, CONSUMER_IOMMUFD, false);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	core_faults(rig, CONSUMER_SVA, true);
	assert_int_equal(silent_count(rig->analysis->silent), 2);
}

/* What resolves is looked at within a worker that was seen, and nowhere else. */
static void without_the_worker_what_resolves_is_not_expected(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "iopf_report", PROBE_ON, 5);
	tell_probe(rig, "mm_fault", PROBE_ON, 0);
	tell_probe(rig, "iopf_handler", PROBE_DISABLED, 0);
	core_faults(rig, CONSUMER_SVA, false);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
}

static void a_neighbour_s_hits_tell_where_faults_do_not(void **state)
{
	struct rig *rig = *state;

	tell_probe(rig, "iommu_map", PROBE_ON, SILENT_HITS - 1);
	tell_probe(rig, "iommu_map_domain", PROBE_ON, 0);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	tell_probe(rig, "iommu_map", PROBE_ON, SILENT_HITS);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
	assert_non_null(strstr(print(rig), "its neighbour iommu_map was hit 16 times"));
}

/* No fault begins without its report, and none is complete without its response. */
static void the_first_and_the_last_probe_are_judged_by_the_other(void **state)
{
	struct rig *rig = *state;
	const char *text;

	tell_probe(rig, "iopf_report", PROBE_ON, 0);
	tell_probe(rig, "iopf_handler", PROBE_ON, 0);
	tell_probe(rig, "iopf_response", PROBE_ON, SILENT_HITS - 1);
	for (int i = 0; i < 30; i++) {
		rig->instance++;
		push(rig, PCI, EVENT_FAULT_RESPONSE, EVENT_GROUP | EVENT_LAST, 0);
	}
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 0);
	tell_probe(rig, "iopf_handler", PROBE_ON, 30);
	tell_probe(rig, "iopf_response", PROBE_ON, 30);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
	assert_int_equal(unknown_numbers(rig->analysis->session, PCI),
			 UNKNOWN_BLOCKED | UNKNOWN_DISCARDED | UNKNOWN_FAULTS);
	assert_int_equal(unknown_numbers(rig->analysis->session, EMU), 0);
	text = print(rig);
	assert_non_null(strstr(text, "its neighbour iopf_response was hit 30 times"));
	assert_non_null(strstr(text, "Probe iopf_report is silent: kernel page requests are not"));
	assert_non_null(strstr(text, "at least 30 I/O page faults"));
	assert_non_null(strstr(text, "of 30 the beginning was not seen (probe iopf_report is"));
	assert_null(strstr(text, "began before"));
	/* The other end. */
	tell_probe(rig, "iopf_report", PROBE_ON, 78);
	tell_probe(rig, "iopf_response", PROBE_ON, 0);
	tell_loss(rig);
	assert_int_equal(silent_count(rig->analysis->silent), 1);
	assert_int_equal(unknown_numbers(rig->analysis->session, PCI),
			 UNKNOWN_BLOCKED | UNKNOWN_DISCARDED | UNKNOWN_STATES);
	free(rig->text);
	text = print(rig);
	assert_non_null(strstr(text, "its neighbour iopf_handler was hit 30 times"));
	assert_non_null(strstr(text, "Probe iopf_response is silent: whether and when"));
}

static void tell_live(struct rig *rig, __u64 count)
{
	struct aggregate_row row = {
		.key = {.window = 1, .device = PCI, .kind = EVENT_DMA_LIVE, .code = LIVE_ALL},
		.counts = {.count = count, .bytes = count * 4096}};
	const struct aggregate_frame frame = {.window = 1, .rows = &row, .row_count = 1};

	assert_int_equal(rig->stream.ops->aggregate(rig->stream.self, &frame), 0);
}

/* A mapping need not be unmapped; the IOMMU's unmaps must be somebody's. */
static void unmaps_of_nobody_are_those_of_a_silent_probe(void **state)
{
	struct rig *rig = *state;
	const struct {
		__u64 maps, lists, iommu, vfio;
		__u32 list_state;
		bool silent;
		__u64 missed; /* runs of the list's probe that the kernel skipped */
	} cases[] = {
		{53, 0, 53, 0, PROBE_ON, true},	      {53, 0, 0, 0, PROBE_ON, false},
		{53, 0, 15, 0, PROBE_ON, false},      {0, 0, 53, 0, PROBE_ON, false},
		{53, 53, 53, 0, PROBE_ON, false},     {53, 20, 73, 0, PROBE_ON, true},
		{53, 36, 72, 0, PROBE_ON, true},      {53, 36, 71, 0, PROBE_ON, false},
		{53, 1000, 1053, 0, PROBE_ON, false}, {53, 0, 53, 0, PROBE_ON, false, 30},
		{53, 0, 53, 1, PROBE_ON, false},      {53, 0, 53, 0, PROBE_DISABLED, false},
	};

	tell_live(rig, 53);
	tell_probe(rig, "dma_unmap", PROBE_ON, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tell_probe(rig, "dma_map", PROBE_ON, cases[i].maps);
		tell_missed(rig, "dma_unmap_sg", cases[i].list_state, cases[i].lists,
			    cases[i].missed);
		tell_probe(rig, "iommu_unmap", PROBE_ON, cases[i].iommu);
		tell_probe(rig, "vfio_remove", PROBE_ON, cases[i].vfio);
		tell_loss(rig);
		assert_int_equal(silent_count(rig->analysis->silent), cases[i].silent);
		assert_int_equal(mappings_unknown(rig->analysis->mappings),
				 cases[i].silent || cases[i].list_state != PROBE_ON);
	}
	tell_probe(rig, "dma_unmap_sg", PROBE_ON, 0);
	tell_loss(rig);
	assert_non_null(strstr(print(rig), "its neighbour iommu_unmap was hit 53 times"));
	assert_null(strstr(rig->text, "live at the end"));
	free(rig->text);
	tell_probe(rig, "dma_unmap", PROBE_ON, 1);
	tell_loss(rig);
	assert_non_null(strstr(print(rig), "53 DMA mappings live at the end"));
}

/* The rows' declarations name what exists, and each row has one or has a reason. */
static void every_row_is_judged_or_has_a_reason(void **state)
{
	unsigned int every = 0, with = 0, excused = 0;

	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		every += row->every != 0;
		with += row->with != NULL;
		assert_true(row->every < 1u << FAULT_ORIGINS);
		for (const char *name = row->with; name && *name;) {
			char one[NAME_TEXT];
			size_t length = strcspn(name, " ");

			snprintf(one, sizeof(one), "%.*s", (int)length, name);
			assert_non_null(probe_row_named(one));
			assert_string_not_equal(one, row->name);
			name += length;
			name += strspn(name, " ");
		}
		assert_true(!row->shares || probe_row_named(row->shares));
		excused += row->unaccused != NULL;
		if (row->unaccused && (row->every || row->with || row->optional))
			fail_msg("%s: judged or optional, and excused", row->name);
		if (!row->unaccused && !row->every && !row->with && !row->optional)
			fail_msg("%s: nothing tells that it is silent: .every, .with or .unaccused",
				 row->name);
	}
	assert_true(every >= 10 && with >= 20 && excused >= 60);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_silent_probe_is_a_finding),
		CASE(a_recording_without_its_end_accuses_nobody),
		CASE(a_probe_that_is_hit_is_none),
		CASE(one_that_is_off_or_disabled_is_none),
		CASE(few_faults_say_nothing),
		CASE(faults_that_failed_prove_nothing),
		CASE(conditional_probes_may_be_silent),
		CASE(a_silent_probe_that_no_stage_rests_on_says_what_it_lacks),
		CASE(what_must_pass_depends_on_who_is_served),
		CASE(without_the_worker_what_resolves_is_not_expected),
		CASE(a_neighbour_s_hits_tell_where_faults_do_not),
		CASE(the_first_and_the_last_probe_are_judged_by_the_other),
		CASE(unmaps_of_nobody_are_those_of_a_silent_probe),
		cmocka_unit_test(every_row_is_judged_or_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
