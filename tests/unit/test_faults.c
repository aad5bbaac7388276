// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/stage_bar.h"
#include "tests/unit/synthetic.h"

struct found {
	struct fault *faults;
	size_t count, capacity;
	size_t began;
};

static void on_began(void *self, const struct fault *fault)
{
	struct found *found = self;

	(void)fault;
	found->began++;
}

static void on_finished(void *self, const struct fault *fault)
{
	struct found *found = self;

	if (found->count == found->capacity) {
		found->capacity = found->capacity ? 2 * found->capacity : 1024;
		found->faults = realloc(found->faults, found->capacity * sizeof(*fault));
	}
	found->faults[found->count++] = *fault;
}

static int by_identity(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct faults_counts reconstruct(const struct synthetic *s, struct found *found,
					size_t chunk, const struct faults_config *config)
{
	struct faults_counts counts;
	struct faults *faults;

	memset(found, 0, sizeof(*found));
	assert_int_equal(faults_create(&faults, config), 0);
	assert_int_equal(
		faults_subscribe(faults, (struct fault_sink){on_began, on_finished, found}), 0);
	/* The generator tells everything; the reconstruction takes what concerns it. */
	for (size_t i = 0; i < s->device_count; i++)
		faults_stream(faults).ops->device(faults, &s->devices[i]);
	for (size_t at = 0; at < s->event_count;) {
		size_t n = chunk && chunk < s->event_count - at ? chunk : s->event_count - at;

		assert_int_equal(stream_events(faults_stream(faults), s->events + at, n), 0);
		at += n;
	}
	faults_stream(faults).ops->end(faults, s->end_ns);
	faults_counts(faults, &counts);
	faults_destroy(faults);
	return counts;
}

static void assert_same(const struct fault *got, const struct fault *want)
{
	if (got->state != want->state || got->seen != want->seen)
		fail_msg("device %u group %u.%u address %llx: %s seen %02x, truth %s seen %02x",
			 want->device, want->group, want->instance, want->address,
			 fault_state_name(got->state), got->seen, fault_state_name(want->state),
			 want->seen);
	assert_int_equal(by_identity(got, want), 0);
	assert_memory_equal(got->at, want->at, sizeof(got->at));
	assert_int_equal(got->pasid, want->pasid);
	assert_int_equal(got->queue, want->queue);
	assert_int_equal(got->length, want->length);
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->code, want->code);
	assert_int_equal(got->pid, want->pid);
	assert_int_equal(got->handler_tid, want->handler_tid);
	assert_int_equal(got->handler_cpu, want->handler_cpu);
	assert_int_equal(got->overflows, want->overflows);
	assert_int_equal(got->cpu_faults, want->cpu_faults);
	assert_int_equal(got->cpu_fault_ns, want->cpu_fault_ns);
	assert_int_equal(got->repeats, 0);
}

static void assert_truth(const struct synthetic *s, const struct found *found)
{
	struct fault *truth = malloc(s->fault_count * sizeof(*truth));

	memcpy(truth, s->faults, s->fault_count * sizeof(*truth));
	qsort(truth, s->fault_count, sizeof(*truth), by_identity);
	qsort(found->faults, found->count, sizeof(*truth), by_identity);
	assert_int_equal(found->count, s->fault_count);
	assert_int_equal(found->began, s->fault_count);
	for (size_t i = 0; i < s->fault_count; i++)
		assert_same(&found->faults[i], &truth[i]);
	free(truth);
}

static void check_truth(const struct synthetic_config *config)
{
	struct synthetic s;
	struct found found;

	synthetic_make(&s, config);
	reconstruct(&s, &found, 0, NULL);
	assert_truth(&s, &found);
	free(found.faults);
	synthetic_free(&s);
}

static void every_fault_is_found_and_none_invented(void **state)
{
	check_truth(&(struct synthetic_config){.seed = 2, .groups = 4999});
}

static void a_group_holds_several_requests(void **state)
{
	check_truth(&(struct synthetic_config){.seed = 3, .requests_max = 7, .cpu_noise = 3});
}

/* Group numbers come round while others are open: the instance tells them apart. */
static void reused_group_numbers_are_kept_apart(void **state)
{
	check_truth(&(struct synthetic_config){
		.seed = 5, .devices = 2, .numbers = 2, .groups = 1999, .gap_ns = 200000});
}

static void late_events_find_their_fault(void **state)
{
	check_truth(&(struct synthetic_config){.seed = 7, .late = 300, .requests_max = 3});
}

static void missing_timestamps_are_marked_not_guessed(void **state)
{
	check_truth(&(struct synthetic_config){.seed = 11, .missing = 400});
}

static void overflowed_unfinished_inconsistent_are_listed(void **state)
{
	check_truth(&(struct synthetic_config){.seed = 13,
					       .overflowed = 100,
					       .unfinished = 50,
					       .given_up = 50,
					       .inconsistent = 100,
					       .requests_max = 3});
}

static void faults_cut_by_the_start_are_unfinished(void **state)
{
	const struct synthetic_config config = {.seed = 17, .cut = 13};
	struct faults_counts counts;
	struct synthetic s;
	struct found found;

	synthetic_make(&s, &config);
	counts = reconstruct(&s, &found, 0, NULL);
	assert_truth(&s, &found);
	assert_int_equal(counts.cut, 13);
	assert_int_equal(counts.inconsistent, 0);
	free(found.faults);
	synthetic_free(&s);
}

/* Whether a fault began before is not known where its first probe is off. */
static void a_beginning_that_nobody_watched_is_no_cut(void **state)
{
	static const struct probe_info probes[] = {
		{.name = "fault_detect", .state = PROBE_DISABLED},
		{.name = "fault_detect", .state = PROBE_ON},
		{.name = "fault_request", .state = PROBE_OFF},
		{.name = "iopf_report", .state = PROBE_OFF}};
	const struct event e = {.kind = EVENT_FAULT_REQUEST, .device = 1, .time_ns = 1};

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		struct faults_counts counts;
		struct faults *faults;
		struct stream stream;

		assert_int_equal(faults_create(&faults, NULL), 0);
		stream = faults_stream(faults);
		stream.ops->probe(stream.self, &probes[i]);
		stream_events(stream, &e, 1);
		stream.ops->end(stream.self, 2);
		faults_counts(faults, &counts);
		assert_int_equal(counts.unfinished, 1);
		assert_int_equal(counts.unwatched, i == 0);
		assert_int_equal(counts.cut, i != 0);
		faults_destroy(faults);
	}
}

/*
 * Of a kernel's fault the report is its beginning. Others that are on, of handlers or of other paths, tell
 * nothing of it.
 */
static void a_kernel_s_beginning_that_nobody_watched_is_no_cut(void **state)
{
	static const struct {
		__u32 device;
		struct probe_info probes[2];
		const char *kinds, *unwatched;
	} cases[] = {
		{DEVICE_PCI,
		 {{.name = "iopf_report", .state = PROBE_DISABLED},
		  {.name = "iopf_handler", .state = PROBE_ON}},
		 "",
		 "iopf_report"},
		{DEVICE_PCI,
		 {{.name = "odp_fault", .state = PROBE_ON},
		  {.name = "iopf_report", .state = PROBE_OFF}},
		 "",
		 "iopf_report"},
		{DEVICE_PCI,
		 {{.name = "prq_report", .state = PROBE_ON},
		  {.name = "iopf_report", .state = PROBE_OFF}},
		 "",
		 "iopf_report"},
		{DEVICE_PCI,
		 {{.name = "iopf_report", .state = PROBE_ON},
		  {.name = "iopf_handler", .state = PROBE_OFF}},
		 "",
		 NULL},
		{DEVICE_PCI, {{.name = "iopf_report", .state = PROBE_ON}}, "io, fault", NULL},
		{DEVICE_PCI,
		 {{.name = "iopf_report", .state = PROBE_ON}},
		 "fault_response",
		 "iopf_report"},
		{DEVICE_IB,
		 {{.name = "odp_fault", .state = PROBE_ON},
		  {.name = "iopf_report", .state = PROBE_OFF}},
		 "",
		 NULL},
		{DEVICE_IB,
		 {{.name = "odp_fault", .state = PROBE_OFF},
		  {.name = "iopf_report", .state = PROBE_ON}},
		 "",
		 "odp_fault"},
		{DEVICE_EMULATED,
		 {{.name = "fault_detect", .state = PROBE_ON}},
		 "fault_response",
		 "fault_detect"},
	};
	const struct event e = {.kind = EVENT_FAULT_RESPONSE, .device = 1, .time_ns = 1};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct device_info device = {.handle = 1, .kind = cases[i].device};
		struct host_info host = {0};
		struct faults_counts counts;
		struct faults *faults;
		struct stream stream;

		assert_int_equal(faults_create(&faults, NULL), 0);
		stream = faults_stream(faults);
		strcpy(host.kinds, cases[i].kinds);
		stream.ops->host(stream.self, &host);
		for (size_t k = 0; k < 2; k++)
			stream.ops->probe(stream.self, &cases[i].probes[k]);
		stream.ops->device(stream.self, &device);
		stream_events(stream, &e, 1);
		stream.ops->end(stream.self, 2);
		faults_counts(faults, &counts);
		assert_int_equal(counts.unfinished, 1);
		assert_int_equal(counts.unwatched, !!cases[i].unwatched);
		assert_int_equal(counts.cut, !cases[i].unwatched);
		if (cases[i].unwatched)
			assert_string_equal(counts.unwatched_probe, cases[i].unwatched);
		faults_destroy(faults);
	}
}

/* Long after the start a missing beginning is no cut: something was lost. */
static void a_beginning_missing_later_is_inconsistent(void **state)
{
	const struct synthetic_config config = {.seed = 17, .cut = 13};
	const struct faults_config strict = {.start_ns = 1};
	struct faults_counts counts;
	struct synthetic s;
	struct found found;

	synthetic_make(&s, &config);
	counts = reconstruct(&s, &found, 0, &strict);
	assert_int_equal(counts.inconsistent + counts.cut, 13);
	assert_true(counts.inconsistent >= 12);
	free(found.faults);
	synthetic_free(&s);
}

static void everything_at_once_in_batches_of_any_size(void **state)
{
	const struct synthetic_config config = {.seed = 19,
						.groups = 2003,
						.requests_max = 5,
						.late = 50,
						.missing = 50,
						.overflowed = 30,
						.unfinished = 10,
						.given_up = 10,
						.inconsistent = 30,
						.cpu_noise = 2,
						.cut = 5};
	const size_t chunks[] = {0, 1, 7, 4096};
	struct synthetic s;
	struct found found, whole;

	synthetic_make(&s, &config);
	reconstruct(&s, &whole, 0, NULL);
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		reconstruct(&s, &found, chunks[i], NULL);
		/* The same faults in the same order, not only the same set. */
		assert_int_equal(found.count, whole.count);
		assert_memory_equal(found.faults, whole.faults, whole.count * sizeof(struct fault));
		assert_truth(&s, &found);
		free(found.faults);
	}
	free(whole.faults);
	synthetic_free(&s);
}

static void open_faults_are_bounded_and_the_oldest_goes(void **state)
{
	const struct synthetic_config config = {.seed = 23, .unfinished = 1000, .groups = 97};
	const struct faults_config bounded = {.open_max = 10};
	struct faults_counts counts;
	struct synthetic s;
	struct found found;

	synthetic_make(&s, &config);
	counts = reconstruct(&s, &found, 0, &bounded);
	/* All 97 are handed over; those given up while events were to come appear again. */
	assert_true(found.count >= 97);
	assert_true(counts.given_up >= 87);
	assert_int_equal(counts.open, 0);
	assert_int_equal(counts.began, found.count);
	free(found.faults);
	synthetic_free(&s);
}

static void time_alone_gives_up_and_releases(void **state)
{
	const struct event detect = {.time_ns = 1000,
				     .kind = EVENT_FAULT_DETECT,
				     .device = 1,
				     .address = 4096,
				     .queue = 0};
	struct event resume = {.time_ns = 2000,
			       .kind = EVENT_FAULT_RESUME,
			       .device = 1,
			       .flags = EVENT_GROUP,
			       .queue = 0,
			       .group = 1};
	struct found found = {0};
	struct faults *faults;
	struct stream stream;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
	stream = faults_stream(faults);
	stream_events(stream, &detect, 1);
	stream_events(stream, &resume, 1);
	assert_int_equal(found.count, 0);
	stream.ops->tick(stream.self, 200002000ull);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.faults[0].group, 1);
	stream.ops->tick(stream.self, 121000000000ull);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.faults[1].state, FAULT_UNFINISHED);
	faults_destroy(faults);
	free(found.faults);
}

/*
 * A fault that was given up, by capture or by its age, and goes on is told once: its stages are left and
 * it is counted. Where its number begins a fault again, that one is told.
 */
static void what_goes_on_after_it_was_given_up_is_counted(void **state)
{
	enum { BY_CAPTURE, BY_AGE, BY_NUMBERS, WAYS };

	for (int way = 0; way < WAYS; way++) {
		const struct faults_config config = {.open_max = way == BY_NUMBERS ? 1 : 0};
		struct event e = {.time_ns = 1000, .device = 1, .address = 8192, .instance = 7};
		struct faults_counts counts;
		struct found found = {0};
		struct faults *faults;
		struct stream stream;

		assert_int_equal(faults_create(&faults, &config), 0);
		faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
		stream = faults_stream(faults);
		e.kind = EVENT_FAULT_DETECT;
		stream_events(stream, &e, 1);
		e.time_ns += way == BY_CAPTURE ? 61000000000ull : 121000000000ull;
		e.kind = EVENT_FAULT_UNFINISHED;
		if (way == BY_CAPTURE)
			stream_events(stream, &e, 1);
		e.kind = EVENT_FAULT_DETECT;
		e.instance = 8;
		if (way == BY_NUMBERS)
			e.time_ns = 2000;
		stream_events(stream, &e, 1);
		assert_int_equal(found.count, 1);
		e.instance = 7;
		for (unsigned int k = EVENT_FAULT_REQUEST; k <= EVENT_FAULT_RESUME; k++) {
			e.kind = (__u16)k;
			e.time_ns += 100;
			e.flags = k == EVENT_FAULT_HANDLER || k > EVENT_FAULT_MAPPED ? EVENT_GROUP
										     : 0;
			stream_events(stream, &e, 1);
		}
		/* Told again as its number was taken; then from the beginning. */
		e.kind = EVENT_FAULT_UNFINISHED;
		stream_events(stream, &e, 1);
		faults_counts(faults, &counts);
		assert_int_equal(found.count, 1);
		assert_int_equal(counts.began, 2);
		assert_int_equal(counts.went_on, 1);
		assert_int_equal(counts.went_on_late, way == BY_AGE);
		for (unsigned int k = EVENT_FAULT_DETECT; k <= EVENT_FAULT_RESUME; k++) {
			e.kind = (__u16)k;
			e.time_ns += 100;
			stream_events(stream, &e, 1);
		}
		stream.ops->end(stream.self, e.time_ns);
		faults_counts(faults, &counts);
		assert_int_equal(found.count, 3);
		assert_int_equal(counts.began, 3);
		assert_int_equal(counts.complete, 1);
		assert_int_equal(counts.unfinished, 2);
		assert_int_equal(counts.inconsistent, 0);
		assert_int_equal(counts.went_on, 1);
		faults_destroy(faults);
		free(found.faults);
	}
}

/* The device asks twice for one page in one group: counted, and the first time stands. */
static void repeated_timestamps_are_counted(void **state)
{
	struct event e = {.time_ns = 1000, .device = 1, .address = 8192, .queue = 3};
	struct found found = {0};
	struct faults *faults;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
	for (unsigned int k = EVENT_FAULT_DETECT; k <= EVENT_FAULT_RESUME; k++) {
		e.kind = (__u16)k;
		e.time_ns += 100;
		stream_events(faults_stream(faults), &e, 1);
		if (k == EVENT_FAULT_REQUEST) {
			e.time_ns += 5;
			stream_events(faults_stream(faults), &e, 1);
		}
	}
	assert_int_equal(found.count, 1);
	assert_int_equal(found.faults[0].state, FAULT_COMPLETE);
	assert_int_equal(found.faults[0].repeats, 1);
	assert_int_equal(found.faults[0].at[1], 1200);
	faults_destroy(faults);
	free(found.faults);
}

/* A request dropped by a full queue and accepted when the device asked again. */
static void an_overflow_that_was_retried_completes(void **state)
{
	const __u16 kinds[] = {EVENT_FAULT_DETECT, EVENT_FAULT_OVERFLOW, EVENT_FAULT_REQUEST,
			       EVENT_FAULT_ISR,	   EVENT_FAULT_HANDLER,	 EVENT_FAULT_RESOLVED,
			       EVENT_FAULT_MAPPED, EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME};
	struct event e = {.time_ns = 1000, .device = 1, .address = 8192, .queue = 3};
	struct found found = {0};
	struct faults *faults;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		e.kind = kinds[i];
		e.time_ns += 100;
		stream_events(faults_stream(faults), &e, 1);
	}
	assert_int_equal(found.count, 1);
	assert_int_equal(found.faults[0].state, FAULT_COMPLETE);
	assert_int_equal(found.faults[0].overflows, 1);
	assert_int_equal(fault_total_ns(&found.faults[0]), 800);
	faults_destroy(faults);
	free(found.faults);
}

/* One event of a group of two pages: page 0 or 1, or EVENT_GROUP. */
struct step {
	__u64 time_ns;
	__u16 kind;
	__u8 page, flags, code;
};

static struct faults_counts play(const struct step *steps, size_t count, struct found *found)
{
	struct faults_counts counts;
	struct faults *faults;

	*found = (struct found){0};
	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, found});
	for (size_t i = 0; i < count; i++) {
		const struct event e = {.time_ns = steps[i].time_ns,
					.device = 1,
					.address = 8192 + 4096ull * steps[i].page,
					.kind = steps[i].kind,
					.flags = steps[i].flags,
					.code = steps[i].code};

		stream_events(faults_stream(faults), &e, 1);
	}
	faults_counts(faults, &counts);
	faults_destroy(faults);
	return counts;
}

/*
 * The first request is in the queue, the last was dropped: the IOMMU answers, and the host comes
 * across the first one ten seconds later, when the device has long gone on.
 */
static void what_the_iommu_answered_alone_is_neither_complete_nor_cut(void **state)
{
	const struct step steps[] = {
		{1000, EVENT_FAULT_DETECT, 0, 0, 0},
		{1100, EVENT_FAULT_DETECT, 1, 0, 0},
		{1200, EVENT_FAULT_REQUEST, 0, 0, 0},
		{1300, EVENT_FAULT_OVERFLOW, 1, EVENT_LAST, 0},
		{1400, EVENT_FAULT_RESUME, 0, EVENT_GROUP, RESPONSE_AUTOMATIC},
		{10000001500, EVENT_FAULT_ISR, 0, 0, 0},
		{10000001600, EVENT_FAULT_VOID, 0, 0, 0},
	};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, sizeof(steps) / sizeof(steps[0]), &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(counts.began, 2);
	assert_int_equal(counts.complete, 0);
	assert_int_equal(counts.cut, 0);
	assert_int_equal(counts.discarded, 1);
	assert_int_equal(counts.overflowed, 1);
	assert_int_equal(counts.automatic, 1);
	assert_int_equal(found.faults[0].state, FAULT_DISCARDED);
	assert_string_equal(fault_response_name(&found.faults[0]), "automatic");
	assert_int_equal(found.faults[0].seen, 0x87);
	assert_int_equal(found.faults[1].state, FAULT_OVERFLOWED);
	assert_int_equal(found.faults[1].seen, 0x81);
	free(found.faults);
}

/*
 * The response was lost: the device gives the group up. Its first request was dropped on the way, and
 * stays that. The device's next group, of the same number, is another fault.
 */
static void what_the_device_gave_up_is_over(void **state)
{
	const struct step steps[] = {
		{1000, EVENT_FAULT_DETECT, 0, 0, 0},
		{1000, EVENT_FAULT_DETECT, 1, 0, 0},
		{1100, EVENT_FAULT_OVERFLOW, 0, 0, 0},
		{1100, EVENT_FAULT_REQUEST, 1, EVENT_LAST, 0},
		{1200, EVENT_FAULT_ISR, 1, EVENT_LAST, 0},
		{1300, EVENT_FAULT_HANDLER, 1, EVENT_GROUP, 0},
		{1400, EVENT_FAULT_RESOLVED, 1, EVENT_MAJOR, 0},
		{1500, EVENT_FAULT_MAPPED, 1, 0, 0},
		{1600, EVENT_FAULT_RESPONSE, 0, EVENT_GROUP, RESPONSE_SUCCESS},
		{9000, EVENT_FAULT_ABANDON, 0, EVENT_GROUP, 0},
	};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, sizeof(steps) / sizeof(steps[0]), &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(counts.open, 0);
	assert_int_equal(counts.abandoned, 1);
	assert_int_equal(counts.overflowed, 1);
	assert_int_equal(found.faults[1].state, FAULT_ABANDONED);
	assert_string_equal(fault_effort_name(&found.faults[1]), "-");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fault_end_ns(&found.faults[i]), 9000);
	free(found.faults);
}

/* The host is later than the device waits: what it does then belongs to the same fault. */
static void what_was_given_up_waits_for_the_host(void **state)
{
	const struct step steps[] = {
		{1000, EVENT_FAULT_DETECT, 0, 0, 0},
		{1100, EVENT_FAULT_REQUEST, 0, EVENT_LAST, 0},
		{9000, EVENT_FAULT_ABANDON, 0, EVENT_GROUP, 0},
		{10000001200, EVENT_FAULT_ISR, 0, EVENT_LAST, 0},
		{10000001300, EVENT_FAULT_HANDLER, 0, EVENT_GROUP, 0},
		{10000001400, EVENT_FAULT_RESOLVED, 0, 0, 0},
		{10000001500, EVENT_FAULT_MAPPED, 0, 0, 0},
		{10000001600, EVENT_FAULT_RESPONSE, 0, EVENT_GROUP, RESPONSE_SUCCESS},
	};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, 3, &found);
	assert_int_equal(counts.open, 1);
	free(found.faults);
	counts = play(steps, sizeof(steps) / sizeof(steps[0]), &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(counts.open, 0);
	assert_int_equal(counts.abandoned, 1);
	assert_int_equal(found.faults[0].seen, 0x7f);
	assert_int_equal(fault_end_ns(&found.faults[0]), 9000);
	free(found.faults);
}

/* It began before: neither made up nor taken for a contradiction. */
static void what_was_given_up_without_a_beginning_is_cut(void **state)
{
	const struct step steps[] = {{9000, EVENT_FAULT_ABANDON, 0, EVENT_GROUP, 0}};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, 1, &found);
	assert_int_equal(counts.began, 1);
	assert_int_equal(counts.abandoned, 0);
	free(found.faults);
}

/* Of every outcome: a reader is told how many began before the recording. */
static void what_was_dropped_without_a_beginning_is_cut(void **state)
{
	static const struct event events[] = {
		{.time_ns = 9000, .kind = EVENT_FAULT_OVERFLOW, .device = 1, .address = 4096},
		{.time_ns = 9100, .kind = EVENT_FAULT_VOID, .device = 1, .address = 8192},
		{.time_ns = 9200,
		 .kind = EVENT_FAULT_RESUME,
		 .device = 1,
		 .flags = EVENT_GROUP,
		 .code = RESPONSE_AUTOMATIC},
	};
	struct faults_counts counts;
	struct faults *faults;

	assert_int_equal(faults_create(&faults, NULL), 0);
	stream_events(faults_stream(faults), events, 3);
	faults_stream(faults).ops->end(faults, 10000);
	faults_counts(faults, &counts);
	assert_int_equal(counts.overflowed, 1);
	assert_int_equal(counts.discarded, 1);
	assert_int_equal(counts.cut, 2);
	faults_destroy(faults);
}

/* Nothing had to be brought: what CPU faults there were are the handler's own. */
static void a_page_that_lacked_the_permission_has_no_cpu_fault(void **state)
{
	const struct step steps[] = {
		{1000, EVENT_FAULT_DETECT, 0, EVENT_WRITE, 0},
		{1100, EVENT_FAULT_REQUEST, 0, EVENT_WRITE | EVENT_LAST, 0},
		{1200, EVENT_FAULT_ISR, 0, EVENT_WRITE | EVENT_LAST, 0},
		{1300, EVENT_FAULT_HANDLER, 0, EVENT_GROUP, 0},
		{1400, EVENT_CPU_FAULT, 77, 0, 0},
		{1500, EVENT_FAULT_RESOLVED, 0, EVENT_WRITE, MM_PERMISSION},
		{1600, EVENT_FAULT_MAPPED, 0, EVENT_WRITE, 0},
		{1700, EVENT_FAULT_RESPONSE, 0, EVENT_GROUP, RESPONSE_SUCCESS},
		{1800, EVENT_FAULT_RESUME, 0, EVENT_GROUP, RESPONSE_SUCCESS},
	};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, sizeof(steps) / sizeof(steps[0]), &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.faults[0].state, FAULT_COMPLETE);
	assert_string_equal(fault_cause_name(&found.faults[0]), "permission");
	assert_int_equal(found.faults[0].cpu_faults, 0);
	assert_int_equal(counts.cpu_faults_unmatched, 1);
	free(found.faults);
}

/*
 * As seen with sanitizers: the handler's first instruction behind the probe is on a page of its own
 * program that has the offset in 2 MiB of the page wanted. Where the memory is mapped tells them apart,
 * and that an own fault does not stand for a page that was there.
 */
static void a_handler_s_own_cpu_fault_is_nobody_s(void **state)
{
	const struct device_info device = {
		.handle = 1, .kind = DEVICE_EMULATED, .mapped_at = 0x7f655bc00000};
	const struct event events[] = {
		{.time_ns = 1000, .kind = EVENT_FAULT_DETECT, .address = 0x1c000},
		{.time_ns = 1001, .kind = EVENT_FAULT_DETECT, .address = 0x1d000},
		{.time_ns = 1100, .kind = EVENT_FAULT_REQUEST, .address = 0x1c000},
		{.time_ns = 1101,
		 .kind = EVENT_FAULT_REQUEST,
		 .address = 0x1d000,
		 .flags = EVENT_LAST},
		{.time_ns = 1300, .kind = EVENT_FAULT_HANDLER, .flags = EVENT_GROUP},
		{.time_ns = 1400, .kind = EVENT_CPU_FAULT, .address = 0x7f656241cda0},
		{.time_ns = 1500, .kind = EVENT_CPU_FAULT, .address = 0x7f655bc1c000},
		{.time_ns = 1600, .kind = EVENT_FAULT_RESOLVED, .address = 0x1c000},
		{.time_ns = 1700, .kind = EVENT_CPU_FAULT, .address = 0x7f6562433000},
		{.time_ns = 1800, .kind = EVENT_FAULT_RESOLVED, .address = 0x1d000},
		{.time_ns = 1900, .kind = EVENT_FAULT_RESUME, .flags = EVENT_GROUP},
	};
	struct faults_counts counts;
	struct found found = {0};
	struct faults *faults;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){NULL, on_finished, &found});
	faults_stream(faults).ops->device(faults, &device);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct event e = events[i];

		e.device = 1;
		stream_events(faults_stream(faults), &e, 1);
	}
	faults_stream(faults).ops->end(faults, 2000);
	faults_counts(faults, &counts);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.faults[0].cpu_faults, 1);
	assert_int_equal(found.faults[0].cpu_fault_ns, 1500);
	assert_int_equal(found.faults[1].cpu_faults, 0);
	assert_int_equal(counts.cpu_faults, 1);
	assert_int_equal(counts.cpu_faults_unmatched, 2);
	faults_destroy(faults);
	free(found.faults);
}

/* Thrown away in the middle of its group: what the host then did with the rest is not its own. */
static void a_discarded_request_has_nothing_of_what_became_of_its_group(void **state)
{
	const struct step steps[] = {
		{1000, EVENT_FAULT_DETECT, 0, 0, 0},
		{1100, EVENT_FAULT_DETECT, 1, 0, 0},
		{1200, EVENT_FAULT_REQUEST, 0, 0, 0},
		{1300, EVENT_FAULT_ISR, 0, 0, 0},
		{1400, EVENT_FAULT_VOID, 0, 0, 0},
		{1500, EVENT_FAULT_REQUEST, 1, EVENT_LAST, 0},
		{1600, EVENT_FAULT_ISR, 1, EVENT_LAST, 0},
		{1700, EVENT_FAULT_HANDLER, 1, EVENT_GROUP, 0},
		{1800, EVENT_FAULT_RESOLVED, 1, 0, 0},
		{1900, EVENT_FAULT_MAPPED, 1, 0, 0},
		{2000, EVENT_FAULT_RESPONSE, 1, EVENT_GROUP, RESPONSE_SUCCESS},
		{2100, EVENT_FAULT_RESUME, 0, EVENT_GROUP, RESPONSE_SUCCESS},
	};
	struct faults_counts counts;
	struct found found;

	counts = play(steps, sizeof(steps) / sizeof(steps[0]), &found);
	/* All there is has been seen: nobody waits for more. */
	assert_int_equal(found.count, 2);
	assert_int_equal(counts.open, 0);
	assert_int_equal(counts.complete, 1);
	assert_int_equal(counts.discarded, 1);
	assert_int_equal(found.faults[0].seen, 0x87);
	assert_int_equal(found.faults[1].state, FAULT_COMPLETE);
	assert_int_equal(found.faults[1].seen, 0xff);
	free(found.faults);
}

/* Several pages in one group, the CPU fault's address is no IOVA: the page resolved next. */
static void a_cpu_fault_belongs_to_the_page_resolved_next(void **state)
{
	struct event e = {.device = 1, .queue = 0, .group = 4, .instance = 9};
	struct found found = {0};
	struct faults *faults;
	struct stream stream;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
	stream = faults_stream(faults);
	for (unsigned int page = 1; page <= 2; page++) {
		e.kind = EVENT_FAULT_DETECT;
		e.time_ns = 10ull * page;
		e.address = page << 12;
		stream_events(stream, &e, 1);
	}
	for (unsigned int page = 2; page >= 1; page--) {
		e.kind = EVENT_CPU_FAULT;
		e.time_ns += 100;
		e.address = 0x7f0000000000;
		stream_events(stream, &e, 1);
		e.kind = EVENT_FAULT_RESOLVED;
		e.time_ns += 100;
		e.address = page << 12;
		stream_events(stream, &e, 1);
	}
	stream.ops->end(stream.self, 1000);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.faults[0].cpu_faults, 1);
	assert_int_equal(found.faults[1].cpu_faults, 1);
	assert_int_equal(found.faults[1].cpu_fault_ns, 120);
	assert_int_equal(found.faults[0].cpu_fault_ns, 320);
	faults_destroy(faults);
	free(found.faults);
}

static void a_missing_stage_goes_to_the_next_seen(void **state)
{
	const struct fault fault = {
		.at = {100, 110, 0, 0, 150, 160, 170, 200},
		.seen = 0xf3,
	};
	struct stage_times times;

	stage_times(&fault, &times);
	assert_int_equal(times.ns[STAGE_REQUEST], 10);
	assert_int_equal(times.ns[STAGE_DELIVERY], 0);
	assert_int_equal(times.ns[STAGE_RESOLVE], 40);
	assert_int_equal(times.ns[STAGE_RESUME], 30);
	assert_int_equal(times.measured, 1 << STAGE_REQUEST | 1 << STAGE_RESOLVE | 1 << STAGE_MAP |
						 1 << STAGE_RESPOND | 1 << STAGE_RESUME);
	assert_int_equal(times.merged, 1 << STAGE_RESOLVE);
	assert_int_equal(fault_slowest_stage(&fault), STAGE_RESOLVE);
	assert_int_equal(fault_total_ns(&fault), 100);
}

/* More pages than any device asks for in one group: handed over, and searched no longer. */
static void an_endless_group_is_cut_into_bounded_ones(void **state)
{
	struct event e = {.device = 1, .kind = EVENT_FAULT_DETECT, .time_ns = 5};
	struct faults_counts counts;
	struct found found = {0};
	struct faults *faults;

	assert_int_equal(faults_create(&faults, NULL), 0);
	faults_subscribe(faults, (struct fault_sink){on_began, on_finished, &found});
	for (__u64 page = 0; page < 100003; page++) {
		e.address = page << 12;
		assert_int_equal(stream_events(faults_stream(faults), &e, 1), 0);
	}
	assert_true(found.count >= 100003 - 4096);
	faults_stream(faults).ops->end(faults, 6);
	faults_counts(faults, &counts);
	assert_int_equal(counts.unfinished, 100003);
	assert_int_equal(counts.given_up, 100003 / 4096);
	faults_destroy(faults);
	free(found.faults);
}

static void bars_lie_where_their_stage_lies(void **state)
{
	const struct stage_times times = {.ns = {10, 0, 20, 0, 69, 0, 1}, .measured = 0x55};
	char text[STAGE_BAR_MAX + 1];

	stage_bar(&times, STAGE_REQUEST, 10, text);
	assert_string_equal(text, "#");
	stage_bar(&times, STAGE_DELIVERY, 10, text);
	assert_string_equal(text, "");
	stage_bar(&times, STAGE_DISPATCH, 10, text);
	assert_string_equal(text, " ##");
	stage_bar(&times, STAGE_MAP, 10, text);
	assert_string_equal(text, "   ######");
	/* Too short for a column of its own, and still there. */
	stage_bar(&times, STAGE_RESUME, 10, text);
	assert_string_equal(text, "         #");
	stage_bar(&times, STAGE_RESUME, 1000, text);
	assert_true(strlen(text) <= STAGE_BAR_MAX);
	stage_bar(&times, STAGES, 10, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_found_and_none_invented),
		cmocka_unit_test(a_group_holds_several_requests),
		cmocka_unit_test(reused_group_numbers_are_kept_apart),
		cmocka_unit_test(late_events_find_their_fault),
		cmocka_unit_test(missing_timestamps_are_marked_not_guessed),
		cmocka_unit_test(overflowed_unfinished_inconsistent_are_listed),
		cmocka_unit_test(what_goes_on_after_it_was_given_up_is_counted),
		cmocka_unit_test(faults_cut_by_the_start_are_unfinished),
		cmocka_unit_test(a_beginning_that_nobody_watched_is_no_cut),
		cmocka_unit_test(a_kernel_s_beginning_that_nobody_watched_is_no_cut),
		cmocka_unit_test(a_beginning_missing_later_is_inconsistent),
		cmocka_unit_test(everything_at_once_in_batches_of_any_size),
		cmocka_unit_test(open_faults_are_bounded_and_the_oldest_goes),
		cmocka_unit_test(time_alone_gives_up_and_releases),
		cmocka_unit_test(repeated_timestamps_are_counted),
		cmocka_unit_test(an_overflow_that_was_retried_completes),
		cmocka_unit_test(what_the_iommu_answered_alone_is_neither_complete_nor_cut),
		cmocka_unit_test(what_the_device_gave_up_is_over),
		cmocka_unit_test(what_was_given_up_waits_for_the_host),
		cmocka_unit_test(what_was_given_up_without_a_beginning_is_cut),
		cmocka_unit_test(a_discarded_request_has_nothing_of_what_became_of_its_group),
		cmocka_unit_test(what_was_dropped_without_a_beginning_is_cut),
		cmocka_unit_test(a_page_that_lacked_the_permission_has_no_cpu_fault),
		cmocka_unit_test(a_handler_s_own_cpu_fault_is_nobody_s),
		cmocka_unit_test(a_cpu_fault_belongs_to_the_page_resolved_next),
		cmocka_unit_test(a_missing_stage_goes_to_the_next_seen),
		cmocka_unit_test(an_endless_group_is_cut_into_bounded_ones),
		cmocka_unit_test(bars_lie_where_their_stage_lies),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
