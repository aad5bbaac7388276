// SPDX-License-Identifier: GPL-2.0
/* A part of a recording: what has state before it, and what lies across its borders. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/footprint.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/left_out.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/vfio.h"

/* Asked for are [20 s, 30 s). */
#define SINCE (20 * SECOND)
#define UNTIL (30 * SECOND)

static struct analysis *analysis;
static struct stream stream;
static struct slo_set objectives;

static int setup(void **state)
{
	const struct analysis_config config = {.period = {SINCE, UNTIL}, .slos = &objectives};
	const struct device_info devices[] = {
		{.handle = 1, .kind = DEVICE_EMULATED, .name = "vm/disk"},
		{.handle = 2, .kind = DEVICE_IB, .name = "rxe0"}};

	objectives.count = 1;
	objectives.objectives[0] = (struct slo_objective){.device = "*",
							  .window_ns = SECOND,
							  .latency_percentile = 100,
							  .has_burst = true,
							  .burst = 2};
	assert_int_equal(analysis_create(&analysis, &config), 0);
	stream = analysis_stream(analysis);
	for (size_t i = 0; i < 2; i++)
		stream.ops->device(stream.self, &devices[i]);
	return 0;
}

static int teardown(void **state)
{
	analysis_destroy(analysis);
	return 0;
}

static void push(struct event event)
{
	assert_int_equal(stream.ops->events(stream.self, &event, 1), 0);
}

static void count(__u64 window, struct aggregate_row row, struct aggregate_page page)
{
	const struct aggregate_frame frame = {.window = window,
					      .rows = &row,
					      .row_count = row.key.kind != EVENT_NONE,
					      .pages = &page,
					      .page_count = page.reads != 0};

	row.key.window = window;
	assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
}

static void end(void)
{
	assert_int_equal(stream.ops->end(stream.self, 60 * SECOND), 0);
}

/* All eight timestamps, a millisecond from one to the next. */
static void fault(__u32 instance, __u64 detect_ns)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++)
		push((struct event){.time_ns = detect_ns + k * MS,
				    .kind = (__u16)(EVENT_FAULT_DETECT + k),
				    .device = 1,
				    .instance = instance,
				    .address = 4096});
}

static struct fault whole;

static void take(void *self, const struct fault *finished)
{
	(void)self;
	whole = *finished;
}

static void faults_belong_to_where_they_began(void **state)
{
	struct faults_counts counts;
	char text[LEFT_OUT_TEXT];

	faults_subscribe(analysis->faults, (struct fault_sink){NULL, take, NULL});
	fault(1, SINCE - 3 * MS);
	fault(2, SINCE - 9 * MS);
	fault(3, UNTIL - 3 * MS);
	fault(4, UNTIL);
	end();
	faults_counts(analysis->faults, &counts);
	assert_int_equal(counts.began, 1);
	assert_int_equal(counts.complete, 1);
	assert_int_equal(counts.left_before, 2);
	assert_int_equal(counts.left_across, 1);
	assert_int_equal(counts.left_after, 1);
	assert_int_equal(whole.instance, 3);
	assert_int_equal(whole.state, FAULT_COMPLETE);
	assert_int_equal(whole.at[FAULT_STAGES - 1], UNTIL + 4 * MS);
	assert_int_equal(recent_counts(analysis->recent, 1).began, 1);
	assert_string_equal(
		left_out_text(analysis, text),
		"Left out: 2 faults that began before 20.000 s after boot (1 of them went "
		"on after it), 1 fault that began at 30.000 s after boot or later.");
}

static void invalidations_belong_to_where_they_began(void **state)
{
	static const __u64 begins[] = {SINCE - 2 * MS, SINCE, UNTIL - 2 * MS, UNTIL};
	const struct invalidation_totals *all;

	for (__u64 i = 0; i < 4; i++)
		for (__u16 step = 0; step < INVALIDATION_STEPS; step++)
			push((struct event){.time_ns = begins[i] + step * MS,
					    .kind = (__u16)(EVENT_INVALIDATE_START + step),
					    .device = 1,
					    .value = 7 + i,
					    .length = 4096});
	end();
	all = invalidations_all(analysis->invalidations);
	assert_int_equal(all->counts.began, 2);
	assert_int_equal(all->counts.complete, 2);
	assert_int_equal(all->counts.bytes, 8192);
}

/* The fault outside has the owner that follows it; the one inside has its own. */
static void owners_stay_with_their_faults(void **state)
{
	static const __u64 times[] = {SINCE - 1, SINCE, UNTIL - 1, UNTIL};
	struct iommu_faults_counts counts;
	const struct iommu_fault *last;
	__u64 of_device;

	for (__u32 i = 0; i < 4; i++) {
		push((struct event){
			.time_ns = times[i], .kind = EVENT_IOMMU_FAULT, .device = 1, .cpu = 3});
		if (i != 2)
			push((struct event){.time_ns = times[i],
					    .kind = EVENT_FAULT_OWNER,
					    .device = 1,
					    .cpu = 3,
					    .pid = 100 + i});
	}
	iommu_faults_counts(analysis->iommu_faults, &counts);
	assert_int_equal(counts.seen, 2);
	assert_int_equal(counts.owned, 1);
	last = iommu_faults_worst(analysis->iommu_faults, &of_device);
	assert_int_equal(of_device, 2);
	assert_int_equal(last->owner.kind, EVENT_NONE);
}

static void live(__u64 window, __u64 count_now, __u64 refused)
{
	count(window,
	      (struct aggregate_row){.key = {.kind = EVENT_DMA_LIVE, .code = LIVE_ALL, .device = 1},
				     .counts = {.count = count_now, .bytes = 4096 * count_now}},
	      (struct aggregate_page){0});
	count(window,
	      (struct aggregate_row){
		      .key = {.kind = EVENT_DMA_LIVE, .code = LIVE_REFUSED, .device = 1},
		      .counts = {.count = refused}},
	      (struct aggregate_page){0});
}

static void mappings_that_live_are_told(void **state)
{
	struct mappings_device d;

	live(10, 90, 1);
	live(18, 50, 1);
	d = mappings_device(analysis->mappings, 1);
	assert_int_equal(d.live, 50);
	assert_int_equal(d.peak_bytes, 50 * 4096);
	live(25, 60, 1);
	live(31, 70, 1);
	d = mappings_device(analysis->mappings, 1);
	assert_int_equal(d.live, 60);
	assert_int_equal(d.peak_bytes, 60 * 4096);
	assert_int_equal(d.refused, 1);
}

static void limits_stand_from_before(void **state)
{
	const struct vfio_container *c;

	for (__u64 t = 10; t <= 40; t += 15)
		push((struct event){.time_ns = t * SECOND,
				    .kind = EVENT_VFIO_MAP,
				    .device = 3,
				    .length = 4096});
	push((struct event){.time_ns = 11 * SECOND,
			    .kind = EVENT_VFIO_LIMIT,
			    .device = 3,
			    .value = 9,
			    .length = 10});
	push((struct event){.time_ns = 12 * SECOND,
			    .kind = EVENT_VFIO_LIMIT,
			    .device = 3,
			    .value = 4,
			    .length = 10});
	push((struct event){.time_ns = 41 * SECOND,
			    .kind = EVENT_VFIO_LIMIT,
			    .device = 3,
			    .value = 8,
			    .length = 10});
	c = vfio_container(analysis->vfio, 3);
	assert_non_null(c);
	assert_int_equal(c->maps, 1);
	assert_int_equal(c->mapped, 4096);
	assert_int_equal(c->limits[0].used, 4);
	assert_int_equal(c->limits[0].peak, 4);
}

static void touch(__u64 window, __u64 page)
{
	count(window, (struct aggregate_row){0},
	      (struct aggregate_page){.device = 1, .page = page, .reads = 1, .pasid = PASID_NONE});
}

static void pauses_begin_before(void **state)
{
	const struct histogram *intervals;

	touch(13, 1);
	touch(14, 600);
	touch(22, 1);
	touch(25, 1);
	touch(40, 1);
	assert_int_equal(footprint_device(analysis->footprint, 1).accesses, 2);
	assert_int_equal(footprint_device(analysis->footprint, 1).huge_bytes, 2048 * 1024);
	intervals = footprint_intervals(analysis->footprint, 1);
	assert_int_equal(intervals->count, 2);
	assert_int_equal(intervals->max, 9);
	assert_int_equal(intervals->min, 3);
}

/* A burst that the border goes through is one, with all of its faults. */
static void objectives_judge_whole_windows(void **state)
{
	for (__u32 i = 0; i < 5; i++)
		fault(10 + i, 5 * SECOND + i * 50 * MS);
	for (__u32 i = 0; i < 5; i++)
		fault(20 + i, SINCE - 110 * MS + i * 50 * MS);
	end();
	assert_int_equal(slo_violations(analysis->slo), 1);
	assert_int_equal(slo_violation(analysis->slo, 0)->measured, 5);
	assert_int_equal(slo_violation(analysis->slo, 0)->faults, 5);
}

static void pages_of_a_fault_count_with_it(void **state)
{
	static const __u64 begins[] = {SINCE - 2 * MS, SINCE + 1, UNTIL - 2 * MS, UNTIL};

	for (__u32 i = 0; i < 4; i++) {
		push((struct event){.time_ns = begins[i],
				    .kind = EVENT_FAULT_HANDLER,
				    .device = 2,
				    .instance = 1 + i});
		push((struct event){.time_ns = begins[i] + 4 * MS,
				    .kind = EVENT_FAULT_MAPPED,
				    .device = 2,
				    .instance = 1 + i,
				    .value = 3ull << 32,
				    .flags = EVENT_LAST});
	}
	end();
	assert_int_equal(odp_of_device(analysis->odp, 2)->faults, 2);
	assert_int_equal(odp_of_device(analysis->odp, 2)->pages, 6);
}

struct passed {
	size_t events, calls, ticks, frames, devices;
	__u64 end_ns;
};

static int pass_events(void *self, const struct event *events, size_t count)
{
	struct passed *passed = self;

	(void)events;
	passed->events += count;
	passed->calls++;
	return 0;
}

static int pass_tick(void *self, __u64 now_ns)
{
	(void)now_ns;
	((struct passed *)self)->ticks++;
	return 0;
}

static int pass_frame(void *self, const struct aggregate_frame *frame)
{
	(void)frame;
	((struct passed *)self)->frames++;
	return 0;
}

static int pass_device(void *self, const struct device_info *device)
{
	(void)device;
	((struct passed *)self)->devices++;
	return 0;
}

static int pass_end(void *self, __u64 end_ns)
{
	((struct passed *)self)->end_ns = end_ns;
	return 0;
}

/* Parts side by side have every event and tick once, and each has all devices. */
static void parts_have_everything_once(void **state)
{
	static const struct stream_ops ops = {.events = pass_events,
					      .tick = pass_tick,
					      .aggregate = pass_frame,
					      .device = pass_device,
					      .end = pass_end};
	static const struct period periods[] = {{0, SINCE}, {SINCE, UNTIL}, {UNTIL, 0}, {0, 0}};
	static const size_t within[] = {200, 100, 100, 400};
	static const __u64 ends[] = {SINCE, UNTIL, 40 * SECOND, 40 * SECOND};
	const struct device_info device = {.handle = 1};
	struct event events[400];

	for (size_t i = 0; i < 400; i++)
		events[i] = (struct event){.time_ns = i * SECOND / 10};
	for (size_t p = 0; p < 4; p++) {
		struct passed passed = {0};
		struct period_filter filter = {periods[p], {&ops, &passed}};
		struct stream part = period_stream(&filter);

		part.ops->device(part.self, &device);
		part.ops->events(part.self, events, 400);
		for (__u64 window = 0; window < 40; window++) {
			part.ops->tick(part.self, window * SECOND);
			part.ops->aggregate(part.self, &(struct aggregate_frame){.window = window});
		}
		part.ops->end(part.self, 40 * SECOND);
		assert_int_equal(passed.events, within[p]);
		assert_int_equal(passed.calls, 1);
		assert_int_equal(passed.ticks, within[p] / 10);
		assert_int_equal(passed.frames, within[p] / 10);
		assert_int_equal(passed.devices, 1);
		assert_int_equal(passed.end_ns, ends[p]);
	}
}

static void seconds_count_with_any_part(void **state)
{
	const struct period period = {SINCE + 1, UNTIL + 1};

	assert_false(period_has(&period, SINCE));
	assert_true(period_has(&period, UNTIL));
	assert_false(period_has_window(&period, 19));
	assert_true(period_has_window(&period, 20));
	assert_true(period_has_window(&period, 30));
	assert_false(period_has_window(&period, 31));
	assert_true(period_has_window(&(struct period){0}, 1u << 30));
}

#define with_part(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_part(faults_belong_to_where_they_began),
		with_part(invalidations_belong_to_where_they_began),
		with_part(owners_stay_with_their_faults),
		with_part(mappings_that_live_are_told),
		with_part(limits_stand_from_before),
		with_part(pauses_begin_before),
		with_part(objectives_judge_whole_windows),
		with_part(pages_of_a_fault_count_with_it),
		cmocka_unit_test(parts_have_everything_once),
		cmocka_unit_test(seconds_count_with_any_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
