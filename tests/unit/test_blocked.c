// SPDX-License-Identifier: GPL-2.0
/* Blocked time by window: whatever the cuts, the windows of a fault add up to the fault. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/live.h"
#include "lib/analyze/queues.h"

#define START (50 * SECOND)
#define QUEUE 3

struct view {
	struct analysis *analysis;
	struct stream stream;
};

static struct view view_open(void)
{
	const struct device_info info = {.handle = 1, .kind = DEVICE_EMULATED, .name = "disk"};
	struct view v;

	assert_int_equal(analysis_create(&v.analysis, NULL), 0);
	v.stream = analysis_stream(v.analysis);
	v.stream.ops->device(v.stream.self, &info);
	return v;
}

static struct event event_of(unsigned int kind, __u32 group, __u64 time_ns)
{
	return (struct event){.time_ns = time_ns,
			      .kind = (__u16)kind,
			      .device = 1,
			      .pasid = PASID_NONE,
			      .group = group,
			      .instance = 1,
			      .queue = QUEUE,
			      .address = 4096};
}

static void tell(struct view *v, unsigned int kind, __u32 group, __u64 time_ns)
{
	const struct event event = event_of(kind, group, time_ns);

	assert_int_equal(stream_events(v->stream, &event, 1), 0);
}

static double blocked_ns(const struct view *v, __u64 from, __u64 to)
{
	__u16 queue;
	double part = queues_blocked_part(v->analysis->queues, 1, from, to, &queue);

	return part * (double)(to - from);
}

/*
 * One fault of 100 ms, told as it happens, looked at in windows of one length. `missing` timestamps
 * let it linger after its end for want of them; with none it is handed over at once.
 */
static void windows_add_up(__u64 window, bool missing, bool by_interval)
{
	static const unsigned int kinds[] = {EVENT_FAULT_DETECT,   EVENT_FAULT_REQUEST,
					     EVENT_FAULT_ISR,	   EVENT_FAULT_HANDLER,
					     EVENT_FAULT_RESOLVED, EVENT_FAULT_MAPPED,
					     EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME};
	static const __u64 at[] = {7, 8, 9, 10, 90, 91, 92, 107}; /* ms after START */
	struct view v = view_open();
	double sum = 0;
	size_t next = 0, shares = 0;

	for (__u64 now = START + window; now < START + SECOND; now += window) {
		struct live_device row;
		double blocked;

		for (; next < 8 && START + at[next] * MS <= now; next++)
			if (!missing || next == 0 || next == 7)
				tell(&v, kinds[next], 1, START + at[next] * MS);
		v.stream.ops->tick(v.stream.self, now);
		blocked = blocked_ns(&v, now - window, now);
		if (by_interval) {
			assert_int_equal(live_device(v.analysis, 1, now, window, &row), 0);
			blocked = row.blocked_percent / 100 * (double)window;
		}
		shares += blocked > 0;
		sum += blocked;
	}
	assert_int_equal(next, 8);
	/* As many windows as the fault touches have a share: none between them is empty. */
	assert_int_equal(shares, (107 * MS + window - 1) / window - 7 * MS / window);
	assert_true(fabs(sum - (double)(100 * MS)) < 1);
	analysis_destroy(v.analysis);
}

static void windows_of_one_fault_add_up_to_its_length(void **state)
{
	static const __u64 windows[] = {10 * MS, 13 * MS, 30 * MS, 60 * MS, 70 * MS, 200 * MS};

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		for (int missing = 0; missing < 2; missing++) {
			windows_add_up(windows[i], missing, false);
			windows_add_up(windows[i], missing, true);
		}
	}
}

/*
 * Far more pieces than are held one by one: those that were folded count in the window all the same. A
 * fault that is told only then and reaches back beyond them is missing, and that is said.
 */
static void many_short_faults_fill_a_long_window(void **state)
{
	struct view v = view_open();
	__u64 now = START;

	tell(&v, EVENT_FAULT_DETECT, 1, START - 3 * MS);
	tell(&v, EVENT_FAULT_REQUEST, 1, START - 2 * MS);
	tell(&v, EVENT_FAULT_ABANDON, 1, START - MS);
	for (__u32 i = 0; i < 70001; i++) {
		tell(&v, EVENT_FAULT_DETECT, 100 + i, now);
		tell(&v, EVENT_FAULT_RESUME, 100 + i, now + MS / 2);
		now += MS;
	}
	v.stream.ops->tick(v.stream.self, now + SECOND);
	/* Half of any time, to within a step at either end. */
	for (__u64 window = 500 * MS; window <= 60 * SECOND; window += 1700 * MS)
		assert_true(fabs(blocked_ns(&v, now - window, now) - (double)window / 2) < 10 * MS);
	assert_true(fabs(blocked_ns(&v, now - 50 * SECOND, now - 49 * SECOND) - 500 * MS) <
		    10 * MS);
	assert_true(blocked_ns(&v, now + SECOND, now + 2 * SECOND) == 0);
	assert_int_equal(queues_dropped(v.analysis->queues), 0);
	tell(&v, EVENT_FAULT_RESPONSE, 1, now + SECOND);
	v.stream.ops->end(v.stream.self, now + 2 * SECOND);
	assert_int_equal(queues_dropped(v.analysis->queues), 1);
	assert_true(floor_of(v.analysis) & 1u << FLOOR_TABLES);
	analysis_destroy(v.analysis);
}

/* After a minute without faults what was folded long ago is not found at the same place again. */
static void what_was_folded_is_forgotten_in_time(void **state)
{
	struct view v = view_open();
	__u64 now = START, folded = 0;

	for (__u32 i = 0; i < 99000; i++) {
		now += i == 33000 ? 61440 * MS + 17 : MS; /* the steps come round once */
		tell(&v, EVENT_FAULT_DETECT, i, now);
		tell(&v, EVENT_FAULT_RESUME, i, now + MS / 2);
		folded = i == 65000 ? now : folded;
	}
	v.stream.ops->tick(v.stream.self, now + SECOND);
	assert_true(fabs(blocked_ns(&v, folded - 10 * SECOND, folded) - 5000 * MS) < 10 * MS);
	/* Beyond the minute only the sum is known, and all of it is in this window. */
	assert_true(fabs(blocked_ns(&v, START - SECOND, now + SECOND) - 49500 * MS) < 10 * MS);
	analysis_destroy(v.analysis);
}

struct span {
	__u64 from, to;
};

static int by_time(const void *a, const void *b)
{
	const __u64 *x = a, *y = b; /* the first member of an event and of a span */

	return *x < *y ? -1 : *x > *y;
}

static struct queue_blocked union_of(struct span *spans, size_t count)
{
	struct queue_blocked all = {.faults = count};
	__u64 from = 0, to = 0;

	qsort(spans, count, sizeof(*spans), by_time);
	for (size_t i = 0; i < count; i++) {
		if (!i || spans[i].from > to) {
			from = spans[i].from;
			to = from;
			all.pieces++;
		}
		if (spans[i].to > to) {
			all.blocked_ns += spans[i].to - to;
			to = spans[i].to;
		}
		all.longest_ns = to - from > all.longest_ns ? to - from : all.longest_ns;
	}
	return all;
}

/* Whichever way a fault ends and however late it is told, it is in the union, from its beginning on. */
static void late_faults_are_in_the_union(void **state)
{
	enum { FAULTS = 5003, EVENTS = 4 * FAULTS };
	struct event *events = calloc(EVENTS, sizeof(*events));
	struct span *spans = calloc(FAULTS, sizeof(*spans));
	struct queue_blocked got, want;
	size_t count = 0, late = 0;

	assert_true(events && spans);
	for (unsigned int seed = 1; seed < 4; seed++, count = 0) {
		struct view v = view_open();

		srandom(seed);
		for (__u32 i = 0; i < FAULTS; i++) {
			__u64 from = START + (__u64)random() % 60000 * MS;
			__u64 to = from + 1 + (__u64)random() % (9 * MS);
			bool given_up = random() % 4 == 0;

			spans[i] = (struct span){from, to};
			events[count++] = event_of(EVENT_FAULT_DETECT, i, from);
			if (given_up && random() % 2)
				events[count++] = event_of(EVENT_FAULT_RESPONSE, i,
							   to + (__u64)random() % 50000 * MS);
			if (given_up)
				events[count++] = event_of(EVENT_FAULT_REQUEST, i, from + 1);
			events[count++] = event_of(
				given_up ? EVENT_FAULT_ABANDON : EVENT_FAULT_RESUME, i, to);
			late += given_up;
		}
		qsort(events, count, sizeof(*events), by_time);
		assert_int_equal(stream_events(v.stream, events, count), 0);
		v.stream.ops->end(v.stream.self, START + 200 * SECOND);
		want = union_of(spans, FAULTS);
		assert_int_equal(queues_get(v.analysis->queues, 1, QUEUE, &got), 0);
		assert_int_equal(got.faults, want.faults);
		assert_int_equal(got.blocked_ns, want.blocked_ns);
		assert_int_equal(got.longest_ns, want.longest_ns);
		assert_int_equal(got.pieces, want.pieces);
		assert_int_equal(queues_dropped(v.analysis->queues), 0);
		analysis_destroy(v.analysis);
	}
	assert_true(late > FAULTS / 2);
	free(spans);
	free(events);
}

/* A queue stands still until its device gives up, whether the host ever answers, and no longer. */
static void a_fault_given_up_blocks_until_then(void **state)
{
	struct view v = view_open();
	struct queue_blocked blocked;
	struct live_device row;

	tell(&v, EVENT_FAULT_DETECT, 1, START);
	tell(&v, EVENT_FAULT_REQUEST, 1, START + MS);
	tell(&v, EVENT_FAULT_ABANDON, 1, START + 20 * MS);
	v.stream.ops->tick(v.stream.self, START + SECOND);
	assert_true(fabs(blocked_ns(&v, START, START + SECOND) - 20 * MS) < 1);
	assert_int_equal(live_device(v.analysis, 1, START + SECOND, SECOND, &row), 0);
	assert_true(fabs(row.blocked_percent - 2) < 1e-6);
	tell(&v, EVENT_FAULT_RESPONSE, 1, START + SECOND);
	v.stream.ops->end(v.stream.self, START + 2 * SECOND);
	assert_int_equal(queues_get(v.analysis->queues, 1, QUEUE, &blocked), 0);
	assert_int_equal(blocked.blocked_ns, 20 * MS);
	assert_int_equal(blocked.longest_ns, 20 * MS);
	analysis_destroy(v.analysis);
}

/* A recording from START on; its device was met `met` after that. */
static struct view recording_open(__u64 met)
{
	const struct host_info host = {.start_ns = START};
	const struct device_info info = {
		.handle = 1, .kind = DEVICE_EMULATED, .first_ns = START + met, .name = "disk"};
	struct view v = view_open();

	v.stream.ops->host(v.stream.self, &host);
	v.stream.ops->device(v.stream.self, &info);
	return v;
}

static void total_is(struct view *v, __u64 blocked_ns, __u64 longest_ns, __u64 pieces)
{
	struct queue_blocked blocked;
	__u64 sum, worst;

	assert_int_equal(queues_get(v->analysis->queues, 1, QUEUE, &blocked), 0);
	assert_int_equal(blocked.blocked_ns, blocked_ns);
	assert_int_equal(blocked.longest_ns, longest_ns);
	assert_int_equal(blocked.pieces, pieces);
	queues_device(v->analysis->queues, 1, &sum, &worst);
	assert_int_equal(worst, blocked_ns);
	analysis_destroy(v->analysis);
}

/* Whatever is seen of its end, and whichever stages before: its queue stood still since it was watched. */
static void a_fault_begun_before_blocks_from_the_beginning(void **state)
{
	static const struct {
		unsigned int kinds[3];
		__u64 met, minutes;
	} cases[] = {
		{{EVENT_FAULT_RESUME}, 0, 0},
		{{EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME}, 0, 0},
		{{EVENT_FAULT_ABANDON}, 0, 0},
		{{EVENT_FAULT_OVERFLOW, EVENT_FAULT_RESUME}, 0, 0},
		{{EVENT_FAULT_VOID, EVENT_FAULT_RESUME}, 0, 0},
		{{EVENT_FAULT_ISR, EVENT_FAULT_ABANDON, EVENT_FAULT_RESPONSE}, 0, 0},
		{{EVENT_FAULT_RESUME}, 5 * MS, 0},
		{{EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME}, 0, 3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct view v = recording_open(cases[i].met);
		__u64 now = START + cases[i].minutes * 60 * SECOND + 50 * MS, blocked = 0;
		struct live_device row;

		for (size_t k = 0; k < 3 && cases[i].kinds[k]; k++, now += MS) {
			tell(&v, cases[i].kinds[k], 1, now);
			if (cases[i].kinds[k] == EVENT_FAULT_RESUME ||
			    cases[i].kinds[k] == EVENT_FAULT_ABANDON)
				blocked = now - START - cases[i].met;
		}
		tell(&v, EVENT_FAULT_DETECT, 2, START + 200 * SECOND);
		tell(&v, EVENT_FAULT_RESUME, 2, START + 200 * SECOND + 3 * MS);
		if (!cases[i].minutes) {
			assert_int_equal(live_device(v.analysis, 1, START + SECOND, SECOND, &row),
					 0);
			assert_true(fabs(row.blocked_percent - (double)blocked / 1e7) < 1e-6);
		}
		v.stream.ops->end(v.stream.self, START + 300 * SECOND);
		total_is(&v, blocked + 3 * MS, blocked, 2);
	}
}

/* The on-call case: hung before the recorder came, and still. Only one stage of the fault is seen, if any. */
static void a_queue_hung_all_the_time_is_blocked_all_the_time(void **state)
{
	struct view v = recording_open(0);
	struct live_device row;

	tell(&v, EVENT_FAULT_ISR, 1, START + 5 * MS);
	v.stream.ops->tick(v.stream.self, START + SECOND);
	assert_int_equal(live_device(v.analysis, 1, START + SECOND, SECOND, &row), 0);
	assert_true(fabs(row.blocked_percent - 100) < 1e-6);
	v.stream.ops->end(v.stream.self, START + 2 * SECOND);
	total_is(&v, 2 * SECOND, 2 * SECOND, 1);
}

static void a_fault_open_at_the_end_blocks_until_then(void **state)
{
	struct view v = recording_open(0);

	tell(&v, EVENT_FAULT_DETECT, 1, START + SECOND);
	tell(&v, EVENT_FAULT_RESUME, 1, START + SECOND + MS);
	tell(&v, EVENT_FAULT_DETECT, 2, START + 2 * SECOND);
	tell(&v, EVENT_FAULT_DETECT, 3, START + 2 * SECOND + MS);
	tell(&v, EVENT_FAULT_REQUEST, 2, START + 2 * SECOND + 2 * MS);
	v.stream.ops->end(v.stream.self, START + 5 * SECOND);
	total_is(&v, 3 * SECOND + MS, 3 * SECOND, 2);
}

/* The recorder's word that it was open still; of the kernel side's that its number was taken again it is not. */
static void one_given_up_blocks_on_if_it_was_open(void **state)
{
	for (__u32 tid = 0; tid < 2; tid++) {
		struct view v = recording_open(0);
		struct event event = event_of(EVENT_FAULT_UNFINISHED, 1, START + 61 * SECOND);

		event.flags = EVENT_GROUP;
		event.tid = tid;
		tell(&v, EVENT_FAULT_DETECT, 1, START + SECOND);
		tell(&v, EVENT_FAULT_REQUEST, 1, START + SECOND + MS);
		assert_int_equal(stream_events(v.stream, &event, 1), 0);
		v.stream.ops->end(v.stream.self, START + 70 * SECOND);
		total_is(&v, tid ? MS : 69 * SECOND, tid ? MS : 69 * SECOND, 1);
	}
}

/* What comes `after` a hang, and until when its queue was blocked by it: from START + SECOND on. */
struct sequel {
	const char *name;
	struct event event;
	__u64 window;	  /* or a second of I/Os that were neither slow nor faulted */
	__u64 blocked_ns; /* in all */
	__u64 assumed_ns; /* of these */
	bool lost;
	__u64 other_queue;
};

static struct event later(unsigned int kind, __u64 at, __u32 group)
{
	return event_of(kind, group, START + at * SECOND);
}

static void tell_window(struct view *v, __u64 window, __u16 queue)
{
	const struct aggregate_row row = {
		.key = {.window = window, .device = 1, .kind = EVENT_IO_COMPLETE, .queue = queue},
		.counts = {.count = 7, .bytes = 7 * 4096}};
	const struct aggregate_frame frame = {.window = window, .row_count = 1, .rows = &row};

	assert_int_equal(v->stream.ops->aggregate(v->stream.self, &frame), 0);
}

/*
 * A fault that was given up after a minute still blocks: until its end comes after all, its number is taken
 * again, its queue goes on or its device is gone, else to the end of the recording; live and afterwards.
 */
static void a_hang_goes_on_after_it_was_given_up(void **state)
{
	const __u64 end = 200, hung = end - 1;
	const struct sequel sequels[] = {
		{"nothing", {0}, 0, hung, end - 61},
		{"its resume", later(EVENT_FAULT_RESUME, 90, 1), 0, 89, 0},
		{"its device gives up", later(EVENT_FAULT_ABANDON, 90, 1), 0, 89, 0},
		{"its response: the device waits on", later(EVENT_FAULT_RESPONSE, 90, 1), 0, hung,
		 end - 61},
		{"its number again", later(EVENT_FAULT_UNFINISHED, 90, 1), 0, 89, 29},
		{"a fault of the queue", later(EVENT_FAULT_OVERFLOW, 90, 2), 0, hung, end - 61},
		{"a fault of the queue", later(EVENT_FAULT_DETECT, 90, 2), 0, hung, 29},
		{"an I/O of the queue", later(EVENT_IO_COMPLETE, 90, 0), 0, 89, 29},
		{"fast I/Os of the queue", {0}, 50 + 90, 89, 29},
		{"its device is gone", later(EVENT_DEVICE_GONE, 90, 0), 0, 89, 0},
		{"nothing, but a loss", {0}, 0, 60, 0, .lost = true},
		{"its resume, and a loss", later(EVENT_FAULT_RESUME, 90, 1), 0, 60, 0,
		 .lost = true},
		{"others of the device", later(EVENT_IO_COMPLETE, 90, 0), 0, hung, end - 61,
		 .other_queue = 1},
		{"others of the device", later(EVENT_FAULT_DETECT, 90, 2), 0, hung, end - 61,
		 .other_queue = 1},
	};

	for (size_t i = 0; i < sizeof(sequels) / sizeof(sequels[0]); i++) {
		const struct sequel *sequel = &sequels[i];
		const struct loss_info loss = {.lost = 1};
		struct event given_up = later(EVENT_FAULT_UNFINISHED, 61, 1), event = sequel->event;
		bool hangs_on = sequel->blocked_ns == hung;
		struct view v = recording_open(0);
		struct queue_blocked blocked;

		given_up.flags = EVENT_GROUP;
		tell(&v, EVENT_FAULT_DETECT, 1, START + SECOND);
		tell(&v, EVENT_FAULT_REQUEST, 1, START + SECOND + MS);
		assert_int_equal(stream_events(v.stream, &given_up, 1), 0);
		if (sequel->lost)
			v.stream.ops->loss(v.stream.self, &loss);
		v.stream.ops->tick(v.stream.self, START + 80 * SECOND);
		assert_true(fabs(blocked_ns(&v, START + 70 * SECOND, START + 80 * SECOND) -
				 (sequel->lost ? 0 : 10 * SECOND)) < 1);
		event.tid = event.kind == EVENT_FAULT_UNFINISHED; /* by the kernel side */
		event.queue += sequel->other_queue;
		if (event.kind)
			assert_int_equal(stream_events(v.stream, &event, 1), 0);
		if (sequel->window)
			tell_window(&v, sequel->window, QUEUE);
		v.stream.ops->tick(v.stream.self, START + 100 * SECOND);
		assert_true(fabs(blocked_ns(&v, START + 95 * SECOND, START + 100 * SECOND) -
				 (hangs_on ? 5 * SECOND : 0)) < 1);
		v.stream.ops->end(v.stream.self, START + end * SECOND);
		assert_int_equal(queues_get(v.analysis->queues, 1, QUEUE, &blocked), 0);
		if (blocked.blocked_ns != sequel->blocked_ns * SECOND ||
		    blocked.assumed_ns != sequel->assumed_ns * SECOND)
			fail_msg("%s: %g s blocked, %g s of it assumed", sequel->name,
				 (double)blocked.blocked_ns / SECOND,
				 (double)blocked.assumed_ns / SECOND);
		analysis_destroy(v.analysis);
	}
}

/* One of two faults that hang ends: the other still blocks. One that was settled ends nothing of the next. */
static void hangs_of_a_queue_end_one_by_one(void **state)
{
	struct view v = recording_open(0);
	struct event event;

	for (__u32 group = 1; group <= 2; group++)
		tell(&v, EVENT_FAULT_DETECT, group, START + group * SECOND);
	for (__u32 group = 1; group <= 2; group++) {
		event = later(EVENT_FAULT_UNFINISHED, 61, group);
		assert_int_equal(stream_events(v.stream, &event, 1), 0);
	}
	tell(&v, EVENT_FAULT_RESUME, 1, START + 70 * SECOND);
	assert_true(fabs(blocked_ns(&v, START + 70 * SECOND, START + 80 * SECOND) - 10 * SECOND) <
		    1);
	event = later(EVENT_IO_COMPLETE, 80, 0);
	assert_int_equal(stream_events(v.stream, &event, 1), 0);
	tell(&v, EVENT_FAULT_DETECT, 3, START + 81 * SECOND);
	event = later(EVENT_FAULT_UNFINISHED, 141, 3);
	assert_int_equal(stream_events(v.stream, &event, 1), 0);
	tell(&v, EVENT_FAULT_RESUME, 2, START + 142 * SECOND);
	v.stream.ops->end(v.stream.self, START + 151 * SECOND);
	total_is(&v, (79 + 70) * SECOND, 79 * SECOND, 2);
}

/* Without a recorder that tells, as of an older one: 120 s after it began. */
static void a_fault_too_old_to_wait_for_hangs_on(void **state)
{
	struct view v = recording_open(0);

	tell(&v, EVENT_FAULT_DETECT, 1, START + SECOND);
	v.stream.ops->tick(v.stream.self, START + 300 * SECOND);
	assert_true(fabs(blocked_ns(&v, START + 299 * SECOND, START + 300 * SECOND) - SECOND) < 1);
	v.stream.ops->end(v.stream.self, START + 301 * SECOND);
	total_is(&v, 300 * SECOND, 300 * SECOND, 1);
}

/* After a loss the beginning or the end may be among what was lost: only what was seen counts, a floor. */
static void a_lost_beginning_or_end_is_not_made_up(void **state)
{
	const struct loss_info loss = {.lost = 1};
	struct view v = recording_open(0);

	tell(&v, EVENT_FAULT_RESPONSE, 1, START + 50 * MS);
	tell(&v, EVENT_FAULT_RESUME, 1, START + 51 * MS);
	tell(&v, EVENT_FAULT_DETECT, 2, START + 60 * MS);
	tell(&v, EVENT_FAULT_REQUEST, 2, START + 62 * MS);
	v.stream.ops->loss(v.stream.self, &loss);
	v.stream.ops->end(v.stream.self, START + SECOND);
	assert_true(floor_of(v.analysis));
	total_is(&v, 3 * MS, 2 * MS, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_one_fault_add_up_to_its_length),
		cmocka_unit_test(many_short_faults_fill_a_long_window),
		cmocka_unit_test(what_was_folded_is_forgotten_in_time),
		cmocka_unit_test(late_faults_are_in_the_union),
		cmocka_unit_test(a_fault_given_up_blocks_until_then),
		cmocka_unit_test(a_fault_begun_before_blocks_from_the_beginning),
		cmocka_unit_test(a_queue_hung_all_the_time_is_blocked_all_the_time),
		cmocka_unit_test(a_fault_open_at_the_end_blocks_until_then),
		cmocka_unit_test(one_given_up_blocks_on_if_it_was_open),
		cmocka_unit_test(a_hang_goes_on_after_it_was_given_up),
		cmocka_unit_test(hangs_of_a_queue_end_one_by_one),
		cmocka_unit_test(a_fault_too_old_to_wait_for_hangs_on),
		cmocka_unit_test(a_lost_beginning_or_end_is_not_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
