// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/stage_window.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/window.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define TOTAL STAGES /* the series after the stages' */

struct stage_window {
	struct window *window;
	struct slots devices; /* struct stage_group * */
};

static void stage_window_on_finished(void *self, const struct fault *fault)
{
	struct stage_window *s = self;
	struct window_sample *sample;
	struct stage_times times;

	if (fault->state != FAULT_COMPLETE)
		return;
	sample = window_add(s->window);
	if (!sample)
		return;
	stage_times(fault, &times);
	memcpy(sample->ns, times.ns, sizeof(times.ns));
	sample->ns[TOTAL] = fault_total_ns(fault);
	sample->measured = times.measured;
	sample->merged = times.merged;
	sample->seen = fault->seen;
	sample->owner = fault->device;
}

static int create_stage_window(struct analysis *a, const struct analysis_config *config)
{
	struct stage_window *s;

	_Static_assert(TOTAL < WINDOW_SERIES, "a sample holds all stages and the total");
	if (!config->windowed)
		return 0;
	a->stage_window = s = memory_calloc(1, sizeof(*s));
	if (s)
		s->window = window_create();
	if (!s || !s->window)
		return failed(-ENOMEM, "no memory for the newest latencies");
	slots_init(&s->devices, sizeof(struct stage_group *));
	return faults_subscribe(a->faults, (struct fault_sink){NULL, stage_window_on_finished, s});
}

static struct stage_group *group_find(const struct stage_window *s, __u32 device)
{
	struct stage_group *const *slot = slots_find(&s->devices, device);

	return slot ? *slot : NULL;
}

static struct stage_group *group_make(struct stage_window *s, __u32 device)
{
	struct stage_group **slot = slots_make(&s->devices, device);

	if (slot && !*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (*slot)
			stage_group_init(*slot);
	}
	return slot ? *slot : NULL;
}

static void stage_window_destroy(struct stage_window *s)
{
	if (!s)
		return;
	for (__u32 h = 0; h < s->devices.end; h = slots_next(&s->devices, h))
		memory_free(group_find(s, h));
	slots_free(&s->devices);
	window_destroy(s->window);
	memory_free(s);
}

/* From now on the groups are of what the length_ns before now_ns (both CLOCK_MONOTONIC) have. */
static void stage_window_look(const struct analysis *a, __u64 now_ns, __u64 length_ns)
{
	struct stage_window *s = a->stage_window;

	window_look(s->window, now_ns, length_ns);
	for (__u32 h = 0; h < s->devices.end; h = slots_next(&s->devices, h)) {
		struct stage_group *group = group_find(s, h);

		if (group && group->faults)
			stage_group_init(group);
	}
	for (size_t i = 0; i < window_count(s->window); i++) {
		const struct window_sample *sample = window_at(s->window, i);
		struct stage_group *group = group_make(s, sample->owner);
		struct stage_times times = {.measured = sample->measured, .merged = sample->merged};

		memcpy(times.ns, sample->ns, sizeof(times.ns));
		if (group)
			stage_group_add(group, sample->seen, &times, sample->ns[TOTAL]);
	}
}

/* NULL if no fault of the device completed in the window of the last look. */
static const struct stage_group *stage_window_of(const struct stage_window *s, __u32 device)
{
	const struct stage_group *group = group_find(s, device);

	return group && group->faults ? group : NULL;
}

bool stage_window_is_cut(const struct stage_window *s)
{
	return window_is_cut(s->window);
}

static void stage_window_live(const struct analysis *a, struct live_device *row)
{
	stage_group_latency(a->stage_window ? stage_window_of(a->stage_window, row->handle) : NULL,
			    &row->latency[LATENCY_WINDOW]);
}

DEFINE_ANALYZER_OF_FAULTS(stage_window, .look = stage_window_look, .device = stage_window_live)
