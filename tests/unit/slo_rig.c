// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <string.h>

#include "lib/analyze/histogram.h"
#include "tests/unit/slo_rig.h"

void slo_rig_begin(struct slo_rig *s, struct slo_objective objective)
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

void slo_rig_push(struct slo_rig *s, const struct event *e)
{
	stream_events(faults_stream(s->faults), e, 1);
	stream_events(slo_stream(s->slo), e, 1);
}

void slo_rig_fault(struct slo_rig *s, __u32 instance, __u64 at)
{
	struct event e = {.device = 1, .queue = 2, .instance = instance, .address = 4096};

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		e.kind = (__u16)(EVENT_FAULT_DETECT + k);
		e.time_ns = at + k * 1000ull + (k >= 4 ? 8 * MS : 0);
		slo_rig_push(s, &e);
	}
}

void slo_rig_slow_io(struct slo_rig *s, __u64 done, __u64 latency, __u16 queue)
{
	slo_rig_push(s, &(struct event){.time_ns = done,
					.kind = EVENT_IO_COMPLETE,
					.device = 1,
					.queue = queue,
					.value = latency,
					.code = IO_FAULTED});
}

void slo_rig_window(struct slo_rig *s, __u64 number, __u32 count, __u32 slow)
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

void slo_rig_finish(struct slo_rig *s)
{
	faults_stream(s->faults).ops->end(s->faults, 0);
	assert_int_equal(slo_stream(s->slo).ops->end(s->slo, 0), 0);
}

void slo_rig_end(struct slo_rig *s)
{
	slo_destroy(s->slo);
	faults_destroy(s->faults);
	session_destroy(s->session);
}
