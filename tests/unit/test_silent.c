// SPDX-License-Identifier: GPL-2.0
/* Probes that are attached and never hit while their path is used are told; no others are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/findings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/stages.h"
#include "lib/capture/probes.h"

#define US  1000ull
#define RXE 1
#define PCI 2
#define EMU 3

struct rig {
	struct analysis *analysis;
	struct findings *findings;
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

static void tell_probe(struct rig *rig, const char *name, __u32 state, __u64 hits)
{
	struct probe_info probe = {.state = state, .hits = hits, .emitted = hits};

	snprintf(probe.name, sizeof(probe.name), "%s", name);
	snprintf(probe.attach, sizeof(probe.attach), "function of_%s", name);
	assert_int_equal(rig->stream.ops->probe(rig->stream.self, &probe), 0);
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
	assert_int_equal(findings_create(&rig->findings, rig->analysis), 0);
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

	findings_destroy(rig->findings);
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
	assert_int_equal(findings_write(rig->findings, writer), 0);
	assert_int_equal(silent_write_probes(rig->analysis->silent, writer), 0);
	assert_int_equal(odp_write(rig->analysis->odp, LATENCY_SINCE_START, writer, 0), 0);
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

/* The rows' declarations name what exists. */
static void declarations_name_rows(void **state)
{
	unsigned int every = 0, with = 0;

	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		every += row->every != 0;
		assert_true(row->every < 1u << FAULT_ORIGINS);
		if (!row->with)
			continue;
		with++;
		assert_non_null(probe_row_named(row->with));
		assert_string_not_equal(row->with, row->name);
	}
	assert_true(every >= 10 && with >= 3);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_silent_probe_is_a_finding),
		CASE(a_probe_that_is_hit_is_none),
		CASE(one_that_is_off_or_disabled_is_none),
		CASE(few_faults_say_nothing),
		CASE(faults_that_failed_prove_nothing),
		CASE(conditional_probes_may_be_silent),
		CASE(what_must_pass_depends_on_who_is_served),
		CASE(without_the_worker_what_resolves_is_not_expected),
		CASE(a_neighbour_s_hits_tell_where_faults_do_not),
		cmocka_unit_test(declarations_name_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
