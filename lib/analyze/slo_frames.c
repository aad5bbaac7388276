// SPDX-License-Identifier: GPL-2.0
/*
 * Objectives of a NIC's frames. Rings and stalls tell when they have read a batch of events, of which objectives
 * have read nothing then: what they tell waits until the stream is there, so that how events were cut
 * into batches changes nothing. A violation waits for SLO_LATE_NS more, for runs and faults that are told late.
 */
#include <string.h>

#include "lib/analyze/frames.h"
#include "lib/analyze/slo_private.h"
#include "lib/analyze/throughput.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"

static __u64 run_until_ns(const void *item)
{
	return ((const struct lost_run *)item)->to_ns;
}

static __u64 told_until_ns(const void *item)
{
	return ((const struct told_frames *)item)->window.to_ns;
}

static __u64 low_until_ns(const void *item)
{
	return ((const struct low_frames *)item)->to_ns;
}

void slo_frames_init(struct device_slo *d)
{
	d->told.size = d->stalls.size = sizeof(struct told_frames);
	d->told.until_ns = d->stalls.until_ns = told_until_ns;
	d->runs.size = sizeof(struct lost_run);
	d->runs.until_ns = run_until_ns;
	d->low.size = sizeof(struct low_frames);
	d->low.until_ns = low_until_ns;
	d->stalled_ns = d->low_ns = d->told_ns = d->judged_ns = UINT64_MAX;
}

void slo_frames_free(struct device_slo *d)
{
	for (__u64 i = d->told.head; i < d->told.tail; i++)
		memory_free(((struct told_frames *)memory_at(&d->told, i))->stalled);
	for (__u64 i = d->low.head; i < d->low.tail; i++)
		memory_free(((struct low_frames *)memory_at(&d->low, i))->stalled);
	memory_free(d->told.items);
	memory_free(d->stalls.items);
	memory_free(d->runs.items);
	memory_free(d->low.items);
}

bool slo_is_of_frames(enum slo_metric metric)
{
	return metric == SLO_LOSS || metric == SLO_STALL || metric == SLO_THROUGHPUT;
}

__u64 slo_frames_wanted(const struct device_slo *d)
{
	__u64 since = d->stalled_ns < d->low_ns ? d->stalled_ns : d->low_ns;

	since = d->told_ns < since ? d->told_ns : since;
	since = d->judged_ns < since ? d->judged_ns : since;
	for (size_t i = 0; i < d->count; i++) {
		const struct judged *j = &d->judged[i];
		__u64 oldest = j->frame_window * j->objective->window_ns;

		if (j->low.to_ns && j->low.from_ns < since)
			since = j->low.from_ns;
		if (j->objective->has_loss && oldest < since)
			since = oldest;
	}
	return since;
}

static void judge_low(struct slo *slo, struct device_slo *d)
{
	const struct low_frames *low = memory_at(&d->low, d->low.head++);
	struct stalled *stalled = low->stalled;
	struct judged *j = &d->judged[low->judged];
	bool stall = low->metric == SLO_STALL;

	slo->stalled = stalled;
	slo_violate(slo, d, j,
		    (struct slo_violation){.metric = low->metric,
					   .from_ns = low->from_ns,
					   .to_ns = low->to_ns,
					   .measured = low->measured,
					   .target = stall ? (double)j->objective->max_stall_ns
							   : (double)j->objective->min_throughput,
					   .flow = low->flow,
					   .open = low->open});
	slo->stalled = NULL;
	memory_free(stalled);
	if (d->low.head == d->low.tail)
		d->low_ns = UINT64_MAX;
}

static void slo_frames_wait(struct slo *slo, struct device_slo *d, struct low_frames item)
{
	struct low_frames *low;

	/* More than can wait: the oldest is judged by what is known now. */
	if (d->low.tail - d->low.head >= SLO_MEMORY_MAX)
		judge_low(slo, d);
	low = memory_push(&d->low);
	if (!low) {
		slo->dropped++;
		memory_free(item.stalled);
		return;
	}
	*low = item;
	if (item.from_ns < d->low_ns)
		d->low_ns = item.from_ns;
}

/* What was too low so far ends here. */
static void low_ends(struct slo *slo, struct device_slo *d, struct judged *j)
{
	if (j->low.to_ns)
		slo_frames_wait(slo, d,
				(struct low_frames){.from_ns = j->low.from_ns,
						    .to_ns = j->low.to_ns,
						    .measured = (double)j->low.bytes,
						    .judged = (__u32)(j - d->judged),
						    .metric = SLO_THROUGHPUT});
	j->low = (struct ring_window){0};
}

static void take_window(struct slo *slo, struct device_slo *d, struct judged *j,
			const struct ring_window *window)
{
	__u64 rate = (__u64)throughput_of(window);

	if (!j->objective->min_throughput)
		return;
	/* Windows that are judged follow each other. */
	if (rate >= j->objective->min_throughput) {
		low_ends(slo, d, j);
		return;
	}
	if (!j->low.to_ns)
		j->low = (struct ring_window){.from_ns = window->from_ns, .bytes = rate};
	j->low.to_ns = window->to_ns;
	if (rate < j->low.bytes)
		j->low.bytes = rate;
}

static bool is_too_long(const struct judged *j, __u64 length)
{
	return j->objective->max_stall_ns && length > j->objective->max_stall_ns;
}

/* NULL without memory: that nothing is known of it is said then. */
static struct stalled *stalled_copy(const struct stalled *from)
{
	size_t size = from ? sizeof(*from) + from->count * sizeof(from->faults[0]) : 0;
	struct stalled *copy = from ? memory_calloc(1, size) : NULL;

	if (copy)
		memcpy(copy, from, size);
	return copy;
}

static void take_stall(struct slo *slo, struct device_slo *d, struct judged *j,
		       const struct told_frames *stall, bool open)
{
	__u64 length = stall->window.to_ns - stall->window.from_ns;

	if (is_too_long(j, length))
		slo_frames_wait(slo, d,
				(struct low_frames){.from_ns = stall->window.from_ns,
						    .to_ns = stall->window.to_ns,
						    .measured = (double)length,
						    .flow = stall->flow,
						    .judged = (__u32)(j - d->judged),
						    .metric = SLO_STALL,
						    .open = open,
						    .stalled = stalled_copy(stall->stalled)});
}

/* Counts frames in the window of that time; false if it was judged. */
static bool count_frames(struct judged *j, __u64 time_ns, __u64 delivered, __u64 lost)
{
	__u64 window = time_ns / j->objective->window_ns;

	if (window < j->frame_window)
		return false;
	j->delivered[window % SLO_WINDOWS] += delivered;
	j->lost[window % SLO_WINDOWS] += lost;
	return true;
}

static void judge_loss(struct slo *slo, struct device_slo *d, struct judged *j, __u64 window)
{
	const struct slo_objective *o = j->objective;
	__u64 *delivered = &j->delivered[window % SLO_WINDOWS];
	__u64 *lost = &j->lost[window % SLO_WINDOWS];
	__u64 from = window * o->window_ns, frames = *delivered + *lost;
	double percent = frames ? 100.0 * (double)*lost / (double)frames : 0;

	if (frames && from + o->window_ns > d->state.last_window)
		d->state.last_window = from + o->window_ns;
	j->frame_windows += frames && period_touches(&slo->period, from, from + o->window_ns);
	if (o->has_loss && percent > o->loss)
		slo_violate(slo, d, j,
			    (struct slo_violation){.metric = SLO_LOSS,
						   .from_ns = from,
						   .to_ns = from + o->window_ns,
						   .measured = percent,
						   .target = o->loss,
						   .frames = frames});
	*delivered = *lost = 0;
}

static void end_loss(struct slo *slo, struct device_slo *d, struct judged *j, __u64 now_ns)
{
	__u64 waits = now_ns > SLO_LATE_NS ? (now_ns - SLO_LATE_NS) / j->objective->window_ns : 0;
	__u64 first = j->frame_window;

	if (waits <= first)
		return;
	j->frame_window = waits;
	for (__u64 w = first; w < waits && w < first + SLO_WINDOWS; w++)
		judge_loss(slo, d, j, w);
}

static void take_told(struct slo *slo, struct device_slo *d, struct told_frames *told)
{
	struct told_frames *kept;
	bool late = false;

	for (size_t i = 0; i < d->count; i++) {
		struct judged *j = &d->judged[i];

		if (told->what == TOLD_STALL) {
			take_stall(slo, d, j, told, false);
		} else if (told->what == TOLD_WINDOW) {
			take_window(slo, d, j, &told->window);
		} else {
			end_loss(slo, d, j, told->window.to_ns);
			late |= !count_frames(j, told->window.to_ns - 1, told->window.frames, 0) &&
				j->objective->has_loss;
		}
	}
	slo->dropped += late;
	if (told->what == TOLD_WINDOW || (d->judged_ns == UINT64_MAX && told->window.frames))
		d->judged_ns = told->window.to_ns;
	if (told->what != TOLD_STALL)
		return;
	memory_free(told->stalled);
	told->stalled = NULL;
	memory_expire(&d->stalls, slo_wanted_since(d, told->window.to_ns));
	kept = memory_push(&d->stalls);
	if (kept)
		*kept = *told;
}

static void take_until(struct slo *slo, struct device_slo *d, __u64 now_ns)
{
	while (d->told.head < d->told.tail) {
		struct told_frames told =
			*(const struct told_frames *)memory_at(&d->told, d->told.head);

		if (told.window.to_ns > now_ns)
			return;
		d->told.head++;
		take_told(slo, d, &told);
	}
	d->told_ns = UINT64_MAX;
}

static void tell_later(struct slo *slo, __u32 device, const struct told_frames *told)
{
	struct device_slo *d = slo_find(slo, device);
	struct told_frames *slot;

	if (d->told.tail - d->told.head >= SLO_MEMORY_MAX) {
		struct told_frames oldest =
			*(const struct told_frames *)memory_at(&d->told, d->told.head++);

		take_told(slo, d, &oldest);
	}
	if (told->what == TOLD_STALL && told->window.from_ns < d->told_ns)
		d->told_ns = told->window.from_ns;
	slot = memory_push(&d->told);
	if (slot)
		*slot = *told;
	else
		slo->dropped++;
	if (!slot)
		memory_free(told->stalled);
}

static bool wants_frames(const struct slo *slo, __u32 device)
{
	const struct device_slo *d = slo_find(slo, device);

	return d && d->has_frames;
}

static void slo_on_round(void *self, __u32 device, const struct ring_window *window)
{
	if (wants_frames(self, device))
		tell_later(self, device,
			   &(struct told_frames){.what = TOLD_ROUND, .window = *window});
}

static void slo_on_window(void *self, __u32 device, const struct ring_window *window)
{
	if (wants_frames(self, device))
		tell_later(self, device,
			   &(struct told_frames){.what = TOLD_WINDOW, .window = *window});
}

/* What it lost, if that will be asked: it may be forgotten before it is judged. */
static struct stalled *stalled_of(const struct device_slo *d, const struct stall *stall,
				  __u64 length)
{
	struct stalled *stalled;
	bool asked = false;

	for (size_t i = 0; i < d->count; i++)
		asked |= is_too_long(&d->judged[i], length);
	if (!asked)
		return NULL;
	stalled =
		memory_calloc(1, sizeof(*stalled) + stall->blamed.count * sizeof(struct blame_key));
	if (!stalled)
		return NULL;
	memcpy(stalled->lost, stall->lost, sizeof(stalled->lost));
	stalled->count = stall->blamed.count;
	blamed_keys(&stall->blamed, stalled->faults);
	return stalled;
}

static struct told_frames told_stall(const struct device_slo *d, const struct stall *stall,
				     __u64 to_ns)
{
	__u64 to = to_ns > stall->from_ns ? to_ns : stall->from_ns;

	return (struct told_frames){
		.what = TOLD_STALL,
		.window = {.from_ns = stall->from_ns, .to_ns = to},
		.flow = stall->flow,
		.stalled = stalled_of(d, stall, to - stall->from_ns),
	};
}

static void slo_on_stall(void *self, const struct stall *stall)
{
	struct slo *slo = self;
	struct told_frames told;

	if (!wants_frames(slo, stall->device))
		return;
	told = told_stall(slo_find(slo, stall->device), stall, stall->to_ns);
	tell_later(slo, stall->device, &told);
}

int slo_watch_frames(struct slo *slo, struct rings *rings, struct stalls *stalls)
{
	int err = stalls_subscribe(stalls, (struct stall_sink){slo_on_stall, slo});

	slo->stalls = stalls;
	return err ?: rings_subscribe(rings, (struct ring_sink){slo_on_round, slo_on_window, slo});
}

void slo_frames_take(struct slo *slo, struct device_slo *d, const struct event *e)
{
	bool lost = e->kind == EVENT_FRAMES_LOST, late = false;
	struct lost_run *run;

	slo_frames_end(slo, d, e->time_ns);
	if (!lost && e->kind != EVENT_FRAMES_HELD)
		return;
	for (size_t i = 0; lost && i < d->count; i++)
		late |= !count_frames(&d->judged[i], frames_since(e), 0, frames_count(e)) &&
			d->judged[i].objective->has_loss;
	slo->dropped += late;
	memory_expire(&d->runs, slo_wanted_since(d, e->time_ns));
	run = memory_push(&d->runs);
	if (run)
		*run = (struct lost_run){
			.from_ns = frames_since(e),
			.to_ns = e->time_ns,
			.flow = e->tid,
			.frames = (__u32)frames_count(e),
			.pasid = e->pasid,
			.group = e->group,
			.instance = lost && frames_name_fault(e) ? e->instance : 0,
			.reason = lost ? frames_reason(e) : LOSS_REASONS,
		};
}

struct oldest_stall {
	__u32 device;
	__u64 from_ns;
};

static void find_oldest(void *argument, const struct stall *stall)
{
	struct oldest_stall *oldest = argument;

	if (stall->device == oldest->device && stall->from_ns < oldest->from_ns)
		oldest->from_ns = stall->from_ns;
}

void slo_frames_end(struct slo *slo, struct device_slo *d, __u64 now_ns)
{
	struct oldest_stall oldest = {d->device, UINT64_MAX};

	take_until(slo, d, now_ns);
	for (size_t i = 0; i < d->count; i++)
		end_loss(slo, d, &d->judged[i], now_ns);
	while (d->low.head < d->low.tail) {
		const struct low_frames *low = memory_at(&d->low, d->low.head);

		if (now_ns < SLO_LATE_NS || low->to_ns > now_ns - SLO_LATE_NS)
			break;
		judge_low(slo, d);
	}
	if (now_ns == UINT64_MAX || now_ns < d->stalled_looked_ns + NSEC_PER_SEC)
		return;
	stalls_each_open(slo->stalls, find_oldest, &oldest);
	d->stalled_ns = oldest.from_ns;
	d->stalled_looked_ns = now_ns;
	memory_expire(&d->faults, slo_wanted_since(d, now_ns));
}

struct stream_end {
	struct slo *slo;
	__u64 end_ns;
};

static void take_open_stalls(void *argument, const struct stall *stall)
{
	const struct stream_end *ending = argument;
	struct device_slo *d = slo_find(ending->slo, stall->device);
	struct told_frames told;

	if (!wants_frames(ending->slo, stall->device))
		return;
	told = told_stall(d, stall, ending->end_ns);
	for (size_t i = 0; i < d->count; i++)
		take_stall(ending->slo, d, &d->judged[i], &told, true);
	memory_free(told.stalled);
}

void slo_frames_end_all(struct slo *slo, __u64 end_ns)
{
	struct stream_end ending = {slo, end_ns};

	if (!slo->stalls)
		return;
	for (__u32 h = 0; h < slo->devices.end; h = slots_next(&slo->devices, h)) {
		struct device_slo *d = slo_find(slo, h);

		if (!d || !d->has_frames)
			continue;
		take_until(slo, d, UINT64_MAX);
		for (size_t i = 0; i < d->count; i++)
			low_ends(slo, d, &d->judged[i]);
	}
	stalls_each_open(slo->stalls, take_open_stalls, &ending);
}
