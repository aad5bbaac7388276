// SPDX-License-Identifier: GPL-2.0
/* Whatever comes either one by one or in frames is counted from both, once. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/counts.h"
#include "lib/base/fail.h"
#include "lib/base/stream.h"

/* Kinds that a probe counts in frames, unless somebody asked for each of them. */
static const __u16 kinds[] = {
	EVENT_CPU_FAULT,  EVENT_IOMMU_MAP,  EVENT_DMA_MAP,     EVENT_VFIO_IRQ,	EVENT_MM_INVALIDATE,
	EVENT_MM_RECLAIM, EVENT_MM_MIGRATE, EVENT_MM_COLLAPSE, EVENT_KVM_UNMAP,
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void events_and_frames_add_up(void **state)
{
	struct aggregate_row row = {.key = {.pid = 7, .queue = QUEUE_NONE},
				    .counts = {.count = 11}};
	struct aggregate_frame frame = {.window = 3, .rows = &row, .row_count = 1};
	struct analysis *analysis;
	struct stream stream;

	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	for (size_t i = 0; i < KINDS; i++) {
		struct event events[3] = {
			{.time_ns = 1000000000ull + i, .kind = kinds[i], .pid = 7},
			{.time_ns = 1000000000ull + i, .kind = kinds[i], .pid = 9},
			{.time_ns = 2000000000ull + i, .kind = kinds[i], .pid = 9}};

		assert_int_equal(stream_events(stream, events, 3), 0);
		assert_int_equal(counts_of_kind(analysis->counts, kinds[i]), 3);
		row.key.kind = kinds[i];
		assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
		assert_int_equal(counts_of_kind(analysis->counts, kinds[i]), 14);
	}
	analysis_destroy(analysis);
}

static void kinds_of_no_version_are_passed_over(void **state)
{
	struct event events[] = {
		{.kind = EVENT_KIND_MAX}, {.kind = UINT16_MAX}, {.kind = 64 + EVENT_CPU_FAULT}};
	struct analysis *analysis;

	assert_int_equal(analysis_create(&analysis, NULL), 0);
	assert_int_equal(stream_events(analysis_stream(analysis), events, 3), 0);
	assert_int_equal(counts_of_kind(analysis->counts, EVENT_CPU_FAULT), 0);
	analysis_destroy(analysis);
}

static int count_events(void *self, const struct event *events, size_t count)
{
	(void)events;
	*(size_t *)self += count;
	return 0;
}

static void a_fan_takes_no_more_than_it_holds(void **state)
{
	static const struct stream_ops ops = {.events = count_events};
	struct {
		struct stream_fan fan;
		char behind[sizeof(struct stream)];
	} guarded = {};
	char untouched[sizeof(guarded.behind)];
	size_t sum = 0;

	memset(guarded.behind, 0x5a, sizeof(guarded.behind));
	memset(untouched, 0x5a, sizeof(untouched));
	for (int i = 0; i < STREAM_FANOUT; i++)
		assert_int_equal(stream_fan_add(&guarded.fan, (struct stream){&ops, &sum}), 0);
	assert_int_equal(stream_fan_add(&guarded.fan, (struct stream){&ops, &sum}), -ENOSPC);
	assert_memory_equal(guarded.behind, untouched, sizeof(untouched));
	assert_int_equal(stream_events(stream_fan(&guarded.fan), NULL, 3), 0);
	assert_int_equal(sum, 3 * STREAM_FANOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_frames_add_up),
		cmocka_unit_test(kinds_of_no_version_are_passed_over),
		cmocka_unit_test(a_fan_takes_no_more_than_it_holds),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
