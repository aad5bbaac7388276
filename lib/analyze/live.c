// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/live.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/footprint.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/stage_window.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/vfio.h"

#define INTERVAL_MIN 10000000ull

static void fill_latency(struct live_latency *row, const struct stage_group *group)
{
	__u64 sum = 0;

	row->slowest_stage = STAGES;
	if (!group)
		return;
	row->slowest_stage = stage_group_slowest(group, NULL);
	row->count = group->faults;
	row->mean_ns = (__u64)histogram_mean(&group->total);
	row->p50_ns = histogram_percentile(&group->total, 50);
	row->p99_ns = histogram_percentile(&group->total, 99);
	row->p999_ns = histogram_percentile(&group->total, 99.9);
	row->max_ns = group->total.max;
	for (unsigned int s = 0; s < STAGES; s++)
		sum += group->stages[s].sum;
	for (unsigned int s = 0; s < STAGES; s++) {
		const struct histogram *h = &group->stages[s];

		row->stages[s] = (struct live_stage){
			.count = h->count,
			.merged = group->merged[s],
			.mean_ns = (__u64)histogram_mean(h),
			.p50_ns = histogram_percentile(h, 50),
			.p99_ns = histogram_percentile(h, 99),
			.max_ns = h->max,
			.share = sum ? (double)h->sum / (double)sum : 0,
		};
	}
}

static const unsigned int io_kinds[] = {EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE};

static void fill_ios(const struct analysis *a, struct live_device *row)
{
	const struct io_device *slow = ios_device(a->ios, row->handle);

	for (size_t k = 0; k < sizeof(io_kinds) / sizeof(io_kinds[0]); k++) {
		struct counts_point all = counts_device(a->counts, io_kinds[k], row->handle);

		row->ios += all.count;
		row->io_bytes += all.bytes;
	}
	if (slow) {
		row->slow_ios = slow->events;
		row->faulted_ios = slow->faulted;
	}
}

__u64 live_ios_before(const struct analysis *a, __u32 handle, __u64 time_ns)
{
	__u64 count = 0;

	for (size_t k = 0; k < sizeof(io_kinds) / sizeof(io_kinds[0]); k++)
		count += counts_before(a->counts, io_kinds[k], handle,
				       time_ns / AGGREGATE_WINDOW_NS);
	return count;
}

static void fill_footprint(const struct analysis *a, struct live_device *row)
{
	struct footprint_device footprint;

	row->footprint_percent = NAN;
	if (!a->footprint)
		return;
	footprint = footprint_device(a->footprint, row->handle);
	row->footprint_bytes = footprint.bytes;
	row->footprint_huge_bytes = footprint.huge_bytes;
	row->footprint_percent = footprint_percent(a->session, row->handle, footprint.bytes);
}

static void fill_slo(const struct analysis *a, struct live_device *row)
{
	struct slo_device_state state;

	if (!a->slo)
		return;
	state = slo_device(a->slo, row->handle);
	row->slo_violations = state.violations;
	if (!state.violations)
		row->slo = slo_measured(a->slo, row->handle) ? LIVE_SLO_OK : LIVE_SLO_NONE;
	else if (state.last_violation < state.last_window)
		row->slo = LIVE_SLO_WARNED;
	else
		row->slo = LIVE_SLO_VIOLATED;
}

static void fill(const struct analysis *a, const struct device_info *info, __u64 now_ns,
		 __u64 interval_ns, struct live_device *row)
{
	struct recent_counts counts = recent_counts(a->recent, info->handle);
	struct device_rate rate = rates_device(a->rates, info->handle);

	memset(row, 0, sizeof(*row));
	row->handle = info->handle;
	row->info = info;
	row->faults = counts.began;
	row->complete = counts.complete;
	row->open = counts.began - counts.finished;
	row->unfinished = counts.unfinished;
	row->inconsistent = counts.inconsistent;
	row->overflowed = counts.overflowed;
	row->discarded = counts.discarded;
	row->abandoned = counts.abandoned;
	row->bursts = rate.bursts;
	row->peak = rate.peak;
	row->last_fault_ns = rate.last_ns;
	row->rate = rates_now(a->rates, info->handle, now_ns, interval_ns);
	fill_latency(&row->latency[LATENCY_SINCE_START], stages_of_device(a->stages, info->handle));
	fill_latency(&row->latency[LATENCY_WINDOW],
		     a->stage_window ? stage_window_of(a->stage_window, info->handle) : NULL);
	row->blocked_percent =
		100 * queues_blocked_part(a->queues, info->handle,
					  now_ns > interval_ns ? now_ns - interval_ns : 0, now_ns,
					  &row->blocked_queue);
	row->unknown = unknown_numbers(a->session, info->handle);
	if (row->unknown & UNKNOWN_FAULTS)
		row->rate = NAN;
	if (row->unknown & UNKNOWN_BLOCKED)
		row->blocked_percent = NAN;
	fill_footprint(a, row);
	fill_ios(a, row);
	fill_slo(a, row);
}

static __u64 clamp_interval(__u64 interval_ns)
{
	return interval_ns < INTERVAL_MIN ? INTERVAL_MIN : interval_ns;
}

bool live_look(const struct analysis *a, __u64 now_ns, __u64 length_ns)
{
	stage_window_look(a->stage_window, now_ns, length_ns);
	odp_look(a->odp, now_ns, length_ns);
	vfio_look(a->vfio, now_ns, length_ns);
	return stage_window_is_cut(a->stage_window);
}

size_t live_devices(const struct analysis *a, __u64 now_ns, __u64 interval_ns,
		    struct live_device *rows, size_t max)
{
	__u32 h = 0;
	size_t count = 0;

	interval_ns = clamp_interval(interval_ns);
	while ((h = session_device_next(a->session, h)) < SESSION_DEVICES) {
		const struct device_info *info = session_device(a->session, h);

		if (!info)
			continue;
		if (count < max)
			fill(a, info, now_ns, interval_ns, &rows[count]);
		count++;
	}
	return count;
}

int live_device(const struct analysis *a, __u32 handle, __u64 now_ns, __u64 interval_ns,
		struct live_device *row)
{
	const struct device_info *info = session_device(a->session, handle);

	if (!info)
		return -ENOENT;
	fill(a, info, now_ns, clamp_interval(interval_ns), row);
	return 0;
}

size_t live_faults(const struct analysis *a, __u32 handle, struct fault *faults, size_t max)
{
	return recent_faults(a->recent, handle, faults, max);
}

struct open_query {
	__u32 device;
	struct fault *faults;
	size_t max, count;
};

static void take_open(void *argument, const struct fault *fault)
{
	struct open_query *query = argument;

	if (fault->device == query->device && !fault_over(fault) && query->count < query->max)
		query->faults[query->count++] = *fault;
}

size_t live_open_faults(const struct analysis *a, __u32 handle, struct fault *faults, size_t max)
{
	struct open_query query = {handle, faults, max, 0};

	faults_each_open(a->faults, take_open, &query);
	return query.count;
}

void live_summary(const struct analysis *a, struct live_summary *summary)
{
	struct faults_counts counts;

	faults_counts(a->faults, &counts);
	*summary = (struct live_summary){
		.host = session_host(a->session),
		.clock = session_clock(a->session),
		.loss = *session_loss(a->session),
		.first_ns = session_first_ns(a->session),
		.last_ns = session_last_ns(a->session),
		.events = session_events(a->session),
		.cpu_faults = counts_of_kind(a->counts, EVENT_CPU_FAULT),
		.faults = counts.began,
		.open = counts.open,
		.unfinished = counts.unfinished,
		.inconsistent = counts.inconsistent,
		.overflowed = counts.overflowed,
		.discarded = counts.discarded,
		.abandoned = counts.abandoned,
		.slo_violations = a->slo ? slo_violations(a->slo) : 0,
		.devices = session_device_count(a->session),
		.floor = floor_of(a),
		.probes_silent = silent_count(a->silent),
	};
	for (size_t i = 0; i < session_probe_count(a->session); i++) {
		if (session_probe(a->session, i)->state == PROBE_ON)
			summary->probes_on++;
		else if (session_probe(a->session, i)->state == PROBE_OFF)
			summary->probes_off++;
	}
}

size_t live_probes(const struct analysis *a, struct probe_info *probes, size_t max)
{
	size_t count = session_probe_count(a->session);

	for (size_t i = 0; i < count && i < max; i++)
		probes[i] = *session_probe(a->session, i);
	return count;
}
