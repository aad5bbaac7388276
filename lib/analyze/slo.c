// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/slo.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/ios.h"
#include "lib/analyze/slo_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct device_slo *slo_find(const struct slo *slo, __u32 device)
{
	struct device_slo *d = slots_find(&slo->devices, device);

	return d && d->known && d->count ? d : NULL;
}

void slo_violate(struct slo *slo, struct device_slo *d, struct judged *j, struct slo_violation v)
{
	v.objective = j->objective;
	v.device = d->device;
	if (!period_touches(&slo->period, v.from_ns, v.to_ns))
		return;
	j->violations[v.metric]++;
	slo->total++;
	d->state.violations++;
	if (v.to_ns > d->state.last_violation)
		d->state.last_violation = v.to_ns;
	if (v.to_ns > d->state.last_window)
		d->state.last_window = v.to_ns;
	if (slo->kept == SLO_VIOLATIONS_KEPT)
		return;
	if (!array_grow(&slo->violations, &slo->capacity, slo->kept + 1, sizeof(*slo->violations),
			ARRAY_LIMITED)) {
		slo->error = failed(-ENOMEM, "no memory for another SLO violation");
		return;
	}
	slo_explain(slo, d, &v);
	slo->dropped += v.not_kept_ios || v.not_kept_faults || v.not_kept_runs;
	slo->violations[slo->kept++] = v;
}

static __u64 window_start(const struct judged *j, __u64 window)
{
	return window * j->objective->window_ns;
}

/* Throughput of whole windows only: the device had I/O before and after. */
static void judge_throughput(struct slo *slo, struct device_slo *d, struct judged *j, __u64 from,
			     __u64 to)
{
	const struct slo_objective *o = j->objective;
	double seconds = (double)(to - from) / 1e9;
	double iops = (double)j->ios / seconds, bandwidth = (double)j->bytes / seconds;

	if (from <= j->first_io_ns || from >= to)
		return;
	if (o->min_iops > 0 && iops < o->min_iops)
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_IOPS,
						   .from_ns = from,
						   .to_ns = to,
						   .measured = iops,
						   .target = o->min_iops,
						   .ios = j->ios});
	if (o->min_bandwidth && bandwidth < (double)o->min_bandwidth)
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_BANDWIDTH,
						   .from_ns = from,
						   .to_ns = to,
						   .measured = bandwidth,
						   .target = (double)o->min_bandwidth,
						   .ios = j->ios});
}

/*
 * I/Os slower than the target, from all that completed: buckets above the target's count. Those in
 * its own bucket are on either side of it; the slowest is known exactly.
 */
static __u64 count_slow(const struct judged *j, bool *floor)
{
	unsigned int own = histogram_bucket(j->objective->latency_target_ns);
	__u64 slow = 0;

	for (unsigned int i = own + 1; i < HISTOGRAM_BUCKETS; i++)
		slow += j->latency.buckets[i];
	*floor = j->latency.buckets[own];
	if (!slow && j->latency_max_ns > j->objective->latency_target_ns) {
		slow = 1;
		*floor = j->latency.buckets[own] > 1;
	}
	return slow;
}

static void judge_latency(struct slo *slo, struct device_slo *d, struct judged *j)
{
	const struct slo_objective *o = j->objective;
	__u64 measured, slow;
	bool floor;

	if (!o->latency_target_ns)
		return;
	measured = o->latency_percentile >= 100
			   ? j->latency_max_ns
			   : histogram_percentile(&j->latency, o->latency_percentile);
	slow = count_slow(j, &floor);
	if (measured > o->latency_target_ns)
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_LATENCY,
						   .from_ns = window_start(j, j->window),
						   .to_ns = window_start(j, j->window + 1),
						   .measured = (double)measured,
						   .target = (double)o->latency_target_ns,
						   .ios = j->ios,
						   .slow_ios = slow,
						   .slow_floor = floor});
	histogram_init(&j->latency);
	j->latency_max_ns = 0;
}

/* The window is over for its latencies; its throughput waits for the device's next I/O. */
static void end_latency_window(struct slo *slo, struct device_slo *d, struct judged *j)
{
	__u64 end = window_start(j, j->window + 1);

	if (end > d->state.last_window)
		d->state.last_window = end;
	judge_latency(slo, d, j);
}

static void to_window(struct slo *slo, struct device_slo *d, struct judged *j, __u64 window)
{
	if (j->gathering && window <= j->window)
		return;
	if (j->gathering) {
		__u64 from = window_start(j, j->window), to = window_start(j, j->window + 1);

		end_latency_window(slo, d, j);
		judge_throughput(slo, d, j, from, to);
		/* Windows without any I/O in between: one violation, as long as the silence. */
		j->ios = 0;
		j->bytes = 0;
		judge_throughput(slo, d, j, to, window_start(j, window));
	}
	j->gathering = true;
	j->window = window;
	j->windows +=
		period_touches(&slo->period, window_start(j, window), window_start(j, window + 1));
}

static void slo_add_row(struct slo *slo, struct device_slo *d, struct judged *j,
			const struct aggregate_frame *frame, const struct aggregate_row *row)
{
	__u64 start = frame->window * AGGREGATE_WINDOW_NS;

	if (!j->gathering)
		j->first_io_ns = start;
	to_window(slo, d, j, start / j->objective->window_ns);
	j->ios += row->counts.count;
	j->bytes += row->counts.bytes;
	if (row->counts.latency_max_ns > j->latency_max_ns)
		j->latency_max_ns = row->counts.latency_max_ns;
	if (row->histogram > frame->bin_count || row->bins > frame->bin_count - row->histogram)
		return;
	for (__u32 i = 0; i < row->bins; i++) {
		const struct aggregate_bin *bin = &frame->bins[row->histogram + i];

		histogram_add_bucket(&j->latency, bin->bucket, bin->count);
	}
}

static void judge_faults(struct slo *slo, struct device_slo *d, struct judged *j, __u64 window)
{
	const struct slo_objective *o = j->objective;
	__u64 *faults = &j->window_faults[window % SLO_WINDOWS], from = window_start(j, window);
	double rate = (double)*faults * 1e9 / (double)o->window_ns;

	if (o->has_fault_rate && rate > o->fault_rate)
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_FAULT_RATE,
						   .from_ns = from,
						   .to_ns = from + o->window_ns,
						   .measured = rate,
						   .target = o->fault_rate});
	*faults = 0;
}

/* It is `now_ns`: what ended longer ago than a fault may be late is judged. */
static void end_faults(struct slo *slo, struct device_slo *d, struct judged *j, __u64 now_ns)
{
	__u64 waits = now_ns > SLO_LATE_NS ? (now_ns - SLO_LATE_NS) / j->objective->window_ns : 0;
	__u64 first = j->fault_window;
	struct burst burst;

	if (waits > first) {
		j->fault_window = waits;
		for (__u64 w = first; w < waits && w < first + SLO_WINDOWS; w++)
			judge_faults(slo, d, j, w);
	}
	while (j->objective->has_burst && bursts_take_over(&j->bursts, now_ns, &burst))
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_BURST,
						   .from_ns = burst.from_ns,
						   .to_ns = burst.to_ns,
						   .measured = (double)burst.faults,
						   .target = j->objective->burst});
}

static void slo_on_began(void *self, const struct fault *fault)
{
	struct slo *slo = self;
	struct device_slo *d = slo_find(slo, fault->device);
	__u64 time_ns = fault_first_ns(fault);
	bool dropped = false;

	for (size_t i = 0; d && time_ns && i < d->count; i++) {
		struct judged *j = &d->judged[i];
		__u64 window = time_ns / j->objective->window_ns;
		struct burst *burst;

		end_faults(slo, d, j, time_ns);
		if (window >= j->fault_window)
			j->window_faults[window % SLO_WINDOWS]++;
		else
			dropped |= j->objective->has_fault_rate;
		if (j->objective->has_burst)
			dropped |= !bursts_add(&j->bursts, time_ns, &burst);
	}
	slo->dropped += dropped;
}

static __u64 io_until_ns(const void *item)
{
	return ((const struct slow_io *)item)->to_ns;
}

/* One that was given up may have stood in the way for as long as somebody saw it open. */
static __u64 fault_until_ns(const void *item)
{
	const struct fault *fault = item;
	__u64 end = fault_end_ns(fault);
	bool waited = !fault_over(fault) && fault->waited_ns != WAITED_TO_END;

	return waited && fault->waited_ns > end ? fault->waited_ns : end;
}

__u64 slo_wanted_since(const struct device_slo *d, __u64 now_ns)
{
	__u64 since = now_ns > SLO_MEMORY_NS ? now_ns - SLO_MEMORY_NS : 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct judged *j = &d->judged[i];

		if (j->gathering && window_start(j, j->window) < since)
			since = window_start(j, j->window);
		if (j->objective->has_fault_rate && window_start(j, j->fault_window) < since)
			since = window_start(j, j->fault_window);
		if (j->bursts.open_count && j->bursts.open[0].from_ns < since)
			since = j->bursts.open[0].from_ns;
	}
	if (d->has_frames && slo_frames_wanted(d) < since)
		since = slo_frames_wanted(d);
	return since;
}

static void slo_on_finished(void *self, const struct fault *fault)
{
	struct slo *slo = self;
	struct device_slo *d = slo_find(slo, fault->device);
	__u64 now = fault_end_ns(fault);
	struct fault *slot;

	if (!d || !now)
		return;
	/* Faults are told of a whole batch ahead: stalls that they cost may be as long as that. */
	if (!d->has_frames || !slo->stalls)
		memory_expire(&d->faults, slo_wanted_since(d, now));
	slot = memory_push(&d->faults);
	if (slot)
		*slot = *fault;
}

static int slo_on_device(void *self, const struct device_info *info)
{
	struct slo *slo = self;
	struct device_slo *d = slots_make(&slo->devices, info->handle);

	if (!d || d->known)
		return 0;
	d->known = true;
	d->device = info->handle;
	d->latency_floor = UINT64_MAX;
	d->ios.size = sizeof(struct slow_io);
	d->ios.until_ns = io_until_ns;
	d->faults.size = sizeof(struct fault);
	d->faults.until_ns = fault_until_ns;
	d->judged = memory_calloc(slo->set->count, sizeof(*d->judged));
	if (!d->judged)
		return failed(-ENOMEM, "no memory for the objectives of %s", info->name);
	for (size_t i = 0; i < slo->set->count; i++) {
		const struct slo_objective *o = &slo->set->objectives[i];
		struct judged *j = &d->judged[d->count];

		if (!device_name_fits(info, o->device))
			continue;
		j->objective = o;
		histogram_init(&j->latency);
		bursts_init(&j->bursts, o->burst, SLO_LATE_NS);
		d->has_frames |= o->has_loss || o->max_stall_ns || o->min_throughput;
		if (o->latency_target_ns && o->latency_target_ns < d->latency_floor)
			d->latency_floor = o->latency_target_ns;
		d->count++;
	}
	slo_frames_init(d);
	return 0;
}

static int slo_on_events(void *self, const struct event *events, size_t count)
{
	struct slo *slo = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		struct device_slo *d;
		struct slow_io *io;

		if (e->kind >= EVENT_FRAMES_LOST && e->kind <= EVENT_RING_STATE && slo->stalls) {
			d = slo_find(slo, e->device);
			if (d && d->has_frames)
				slo_frames_take(slo, d, e);
		}
		if (!event_is_io(e))
			continue;
		d = slo_find(slo, e->device);
		if (!d || e->value <= d->latency_floor)
			continue;
		memory_expire(&d->ios, slo_wanted_since(d, e->time_ns));
		io = memory_push(&d->ios);
		if (io)
			*io = (struct slow_io){e->time_ns > e->value ? e->time_ns - e->value : 0,
					       e->time_ns, e->queue};
	}
	return slo->error;
}

/* Ends what a frame of window `now_ns` shows to be over, of every device. */
static void end_windows(struct slo *slo, __u64 now_ns)
{
	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		struct device_slo *d = slo_find(slo, h);

		for (size_t i = 0; d && i < d->count; i++) {
			struct judged *j = &d->judged[i];

			if (j->gathering && window_start(j, j->window + 1) <= now_ns)
				end_latency_window(slo, d, j);
			end_faults(slo, d, j, now_ns);
		}
		if (d && d->has_frames && slo->stalls)
			slo_frames_end(slo, d, now_ns);
	}
}

static int slo_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct slo *slo = self;

	end_windows(slo, frame->window * AGGREGATE_WINDOW_NS);
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		struct device_slo *d = slo_find(slo, row->key.device);

		if (row->key.kind != EVENT_IO_COMPLETE && row->key.kind != EVENT_BLOCK_COMPLETE)
			continue;
		for (size_t k = 0; d && k < d->count; k++)
			slo_add_row(slo, d, &d->judged[k], frame, row);
	}
	return slo->error;
}

static int slo_on_end(void *self, __u64 end_ns)
{
	struct slo *slo = self;

	slo_frames_end_all(slo, end_ns);
	end_windows(slo, UINT64_MAX);
	return slo->error;
}

int slo_create(struct slo **slo, const struct slo_set *set, struct faults *faults,
	       const struct period *period)
{
	struct slo *s = memory_calloc(1, sizeof(*s));

	*slo = s;
	if (!s)
		return failed(-ENOMEM, "no memory for the objectives");
	s->set = set;
	s->reconstruction = faults;
	if (period)
		s->period = *period;
	slots_init(&s->devices, sizeof(struct device_slo));
	/* Whole windows are judged, and what stood in the way of an I/O may have begun before. */
	return faults_subscribe(faults,
				(struct fault_sink){slo_on_began, slo_on_finished, s, true});
}

void slo_subscribe(struct slo *slo, struct slo_sink sink)
{
	slo->sink = sink;
}

struct stream slo_stream(struct slo *slo)
{
	static const struct stream_ops ops = {
		.device = slo_on_device,
		.events = slo_on_events,
		.aggregate = slo_on_aggregate,
		.end = slo_on_end,
	};

	return (struct stream){&ops, slo};
}

void slo_destroy(struct slo *slo)
{
	if (!slo)
		return;
	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		struct device_slo *d = slots_find(&slo->devices, h);

		if (!d || !d->known)
			continue;
		for (size_t i = 0; d->judged && i < d->count; i++)
			bursts_free(&d->judged[i].bursts);
		memory_free(d->judged);
		memory_free(d->ios.items);
		memory_free(d->faults.items);
		slo_frames_free(d);
	}
	slots_free(&slo->devices);
	memory_free(slo->violations);
	memory_free(slo);
}

__u64 slo_violations(const struct slo *slo)
{
	return slo->total;
}

const struct slo_violation *slo_violation(const struct slo *slo, size_t index)
{
	return index < slo->kept ? &slo->violations[index] : NULL;
}

__u64 slo_violations_like(const struct slo *slo, const struct slo_violation *violation)
{
	const struct device_slo *d = slo_find(slo, violation->device);
	__u64 count = 0;

	for (size_t i = 0; d && i < d->count; i++)
		if (d->judged[i].objective == violation->objective)
			count += d->judged[i].violations[violation->metric];
	return count;
}

struct slo_device_state slo_device(const struct slo *slo, __u32 device)
{
	const struct device_slo *d = slo_find(slo, device);

	return d ? d->state : (struct slo_device_state){0};
}

__u64 slo_dropped(const struct slo *slo)
{
	return slo->dropped;
}
