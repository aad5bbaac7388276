// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/counts.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/counts_private.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"

/* Kinds of which every event is counted here, because frames do not bring them twice. */
#define EVENT_KIND(c_name, number, name, group, counting, ...) [number] = EVENT_##counting,
static const bool counted[EVENT_KIND_MAX] = {
#include "bpf/event_kinds.def"
};
#undef EVENT_KIND

#define WINDOWS_BACK 128

static struct series *find_series(const struct counts *c, unsigned int kind, __u32 device)
{
	struct series_key key = {device, kind};
	struct series *series;

	HASH_FIND(hh, c->series, &key, sizeof(key), series);
	return series;
}

static struct series *make_series(struct counts *c, unsigned int kind, __u32 device)
{
	struct series *series = find_series(c, kind, device);

	if (series)
		return series;
	series = memory_calloc(1, sizeof(*series));
	if (!series)
		return NULL;
	series->key = (struct series_key){device, kind};
	HASH_ADD(hh, c->series, key, sizeof(series->key), series);
	if (!series->hh.tbl) {
		memory_free(series);
		return NULL;
	}
	return series;
}

/*
 * The point of a window, inserted in order; NULL without memory. What is late by more windows than
 * WINDOWS_BACK counts in the oldest of them: only a damaged stream has such.
 */
static struct counts_point *counts_point_at(struct counts *c, struct series *series, __u64 window)
{
	size_t i = series->count;

	while (i > 0 && series->points[i - 1].window > window && series->count - i < WINDOWS_BACK)
		i--;
	if (i > 0 && series->points[i - 1].window >= window)
		return &series->points[i - 1];
	if (c->history && series->count >= 2 * c->history) {
		memmove(series->points, series->points + c->history,
			c->history * sizeof(series->points[0]));
		series->count -= c->history;
		i = i > c->history ? i - c->history : 0;
	}
	if (!array_grow(&series->points, &series->capacity, series->count + 1,
			sizeof(*series->points), ARRAY_LIMITED))
		return NULL;
	memmove(&series->points[i + 1], &series->points[i],
		(series->count - i) * sizeof(series->points[0]));
	series->points[i] = (struct counts_point){.window = window};
	series->count++;
	return &series->points[i];
}

static void add_point(struct counts_point *point, const struct aggregate_counts *by)
{
	point->count += by->count;
	point->bytes += by->bytes;
	point->latency_sum_ns += by->latency_sum_ns;
	if (by->latency_max_ns > point->latency_max_ns)
		point->latency_max_ns = by->latency_max_ns;
}

static struct series *add_series(struct counts *c, unsigned int kind, __u32 device, __u64 window,
				 const struct aggregate_counts *by)
{
	struct series *series = make_series(c, kind, device);
	struct counts_point *point = series ? counts_point_at(c, series, window) : NULL;

	if (!point) {
		c->error = failed(-ENOMEM, "no memory for the counts of another second");
		return NULL;
	}
	add_point(point, by);
	add_point(&series->total, by);
	return series;
}

static void add_total(struct counts *c, struct total_key key, const struct aggregate_counts *by)
{
	struct total *total;

	HASH_FIND(hh, c->totals, &key, sizeof(key), total);
	if (!total && HASH_COUNT(c->totals) >= COUNTS_KEYS_MAX) {
		key = (struct total_key){key.kind, DEVICE_NONE, 0, 0};
		HASH_FIND(hh, c->totals, &key, sizeof(key), total);
	}
	if (!total) {
		total = memory_calloc(1, sizeof(*total));
		if (!total)
			return;
		total->key = key;
		HASH_ADD(hh, c->totals, key, sizeof(total->key), total);
		if (!total->hh.tbl) {
			memory_free(total);
			return;
		}
	}
	total->count += by->count;
	total->bytes += by->bytes;
}

/* A run of events that count alike: the storm costs one comparison an event. */
struct event_run {
	const struct event *first;
	__u64 window;
	struct aggregate_counts counts;
};

static void end_run(struct counts *c, const struct event_run *run)
{
	const struct event *e = run->first;

	if (!e)
		return;
	add_series(c, e->kind, e->device, run->window, &run->counts);
	add_total(c, (struct total_key){e->kind, e->device, e->pid, 0}, &run->counts);
}

static int counts_on_events(void *self, const struct event *events, size_t count)
{
	struct counts *c = self;
	struct event_run run = {0};

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind >= EVENT_KIND_MAX || !counted[e->kind])
			continue;
		if (!run.first || e->kind != run.first->kind || e->pid != run.first->pid ||
		    e->device != run.first->device ||
		    e->time_ns - run.window * AGGREGATE_WINDOW_NS >= AGGREGATE_WINDOW_NS) {
			end_run(c, &run);
			run = (struct event_run){e, e->time_ns / AGGREGATE_WINDOW_NS, {0}};
		}
		run.counts.count++;
		run.counts.bytes += e->length;
	}
	end_run(c, &run);
	return c->error;
}

static void counts_add_bins(struct series *series, const struct aggregate_frame *frame,
			    const struct aggregate_row *row)
{
	if (!row->bins || row->histogram > frame->bin_count ||
	    row->bins > frame->bin_count - row->histogram)
		return;
	if (!series->latency) {
		series->latency = memory_calloc(1, sizeof(*series->latency));
		if (!series->latency)
			return;
		histogram_init(series->latency);
	}
	for (__u32 i = 0; i < row->bins; i++) {
		const struct aggregate_bin *bin = &frame->bins[row->histogram + i];

		histogram_add_bucket(series->latency, bin->bucket, bin->count);
	}
	/* Buckets know the maximum only to 1.6%; the counter knows it exactly. */
	if (series->total.latency_max_ns)
		series->latency->max = series->total.latency_max_ns;
}

static int counts_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct counts *c = self;

	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		const struct aggregate_key *key = &row->key;
		__u16 kind = key->kind < EVENT_KIND_MAX ? key->kind : EVENT_NONE;
		struct series *series;

		/* Gauges, which do not add up over time (lib/analyze/mappings.h). */
		if (kind == EVENT_DMA_LIVE)
			continue;
		series = add_series(c, kind, key->device, frame->window, &row->counts);
		if (series)
			counts_add_bins(series, frame, row);
		add_total(c, (struct total_key){kind, key->device, key->pid, key->code},
			  &row->counts);
	}
	return c->error;
}

static void counts_on_began(void *self, const struct fault *fault)
{
	const struct aggregate_counts one = {.count = 1, .bytes = fault->length};
	__u64 time_ns = fault_first_ns(fault);

	if (time_ns)
		add_series(self, EVENT_FAULT_DETECT, fault->device, time_ns / AGGREGATE_WINDOW_NS,
			   &one);
}

int counts_create(struct counts **counts, struct faults *faults, size_t history_windows)
{
	struct counts *c = memory_calloc(1, sizeof(*c));

	*counts = c;
	if (!c)
		return failed(-ENOMEM, "no memory for the counts");
	c->history = history_windows;
	return faults_subscribe(faults, (struct fault_sink){counts_on_began, NULL, c});
}

struct stream counts_stream(struct counts *c)
{
	static const struct stream_ops ops = {.events = counts_on_events,
					      .aggregate = counts_on_aggregate};

	return (struct stream){&ops, c};
}

void counts_destroy(struct counts *c)
{
	struct series *series, *next_series;
	struct total *total, *next_total;

	if (!c)
		return;
	HASH_ITER(hh, c->series, series, next_series) {
		HASH_DEL(c->series, series);
		memory_free(series->points);
		memory_free(series->latency);
		memory_free(series);
	}
	HASH_ITER(hh, c->totals, total, next_total) {
		HASH_DEL(c->totals, total);
		memory_free(total);
	}
	memory_free(c);
}

__u64 counts_of_kind(const struct counts *c, unsigned int kind)
{
	__u64 sum = 0;

	for (const struct series *s = c->series; s; s = s->hh.next)
		if (s->key.kind == kind)
			sum += s->total.count;
	return sum;
}

struct counts_point counts_device(const struct counts *c, unsigned int kind, __u32 device)
{
	const struct series *series = find_series(c, kind, device);

	return series ? series->total : (struct counts_point){0};
}

__u64 counts_before(const struct counts *c, unsigned int kind, __u32 device, __u64 window)
{
	const struct series *series = find_series(c, kind, device);
	__u64 count = series ? series->total.count : 0;

	for (size_t i = series ? series->count : 0; i-- > 0 && series->points[i].window >= window;)
		count -= series->points[i].count;
	return count;
}

const struct counts_point *counts_points(const struct counts *c, unsigned int kind, __u32 device,
					 size_t *count)
{
	const struct series *series = find_series(c, kind, device);

	*count = series ? series->count : 0;
	return series ? series->points : NULL;
}

const struct histogram *counts_latency(const struct counts *c, unsigned int kind, __u32 device)
{
	const struct series *series = find_series(c, kind, device);

	return series ? series->latency : NULL;
}
