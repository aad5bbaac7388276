// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/mappings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define GROUPS_MOST 4096 /* of one snapshot; the recorder writes fewer */

/* Mappings of one process with one stack on one device, as a snapshot told. */
struct group {
	struct event event;
	char process[16];
};

struct snapshot {
	struct group *groups;
	size_t count, room;
	__u64 time_ns;
};

struct mappings {
	const struct session *session;
	struct slots devices; /* struct mappings_device */
	struct snapshot last, next;
};

int mappings_create(struct mappings **mappings, const struct session *session)
{
	struct mappings *m = memory_calloc(1, sizeof(*m));

	*mappings = m;
	if (!m)
		return failed(-ENOMEM, "no memory for DMA mappings");
	m->session = session;
	slots_init(&m->devices, sizeof(struct mappings_device));
	return 0;
}

void mappings_destroy(struct mappings *m)
{
	if (!m)
		return;
	slots_free(&m->devices);
	memory_free(m->last.groups);
	memory_free(m->next.groups);
	memory_free(m);
}

static int take_group(struct mappings *m, const struct event *event)
{
	struct snapshot *s = &m->next;

	if (s->count >= GROUPS_MOST)
		return 0;
	if (!array_grow(&s->groups, &s->room, s->count + 1, sizeof(*s->groups), ARRAY_LIMITED))
		return failed(-ENOMEM, "no memory for another group of mappings");
	s->groups[s->count] = (struct group){.event = *event};
	session_process(m->session, event->pid, s->groups[s->count++].process);
	return 0;
}

/* A snapshot counts once it is whole. */
static void finish_snapshot(struct mappings *m, __u64 time_ns)
{
	struct snapshot before = m->last;

	m->last = m->next;
	m->last.time_ns = time_ns;
	m->next = before;
	m->next.count = 0;
}

static int on_events(void *self, const struct event *events, size_t count)
{
	struct mappings *m = self;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (events[i].kind != EVENT_DMA_LIVE ||
		    period_is_after(session_period(m->session), events[i].time_ns))
			continue;
		if (events[i].flags & EVENT_LAST)
			finish_snapshot(m, events[i].time_ns);
		else
			error = take_group(m, &events[i]);
	}
	return error;
}

/* `before` the period: what lives then lives still as that begins; what happened then is left out. */
static void take_gauge(struct mappings_device *d, const struct aggregate_row *row, bool before)
{
	const struct aggregate_counts *c = &row->counts;

	switch (row->key.code) {
	case LIVE_ALL:
		d->window = row->key.window;
		d->live = c->count;
		d->live_bytes = c->bytes;
		if (d->peak_bytes < c->bytes || before)
			d->peak_bytes = c->bytes;
		break;
	case LIVE_OLD:
		d->old = c->count;
		d->old_bytes = c->bytes;
		break;
	case LIVE_PAGES:
		d->pages = c->count;
		if (d->peak_pages < c->count || before)
			d->peak_pages = c->count;
		break;
	case LIVE_REFUSED:
		d->refused += before ? 0 : c->count;
		d->refused_bytes += before ? 0 : c->bytes;
		break;
	case LIVE_UNKNOWN:
		d->unknown += before ? 0 : c->count;
		d->unknown_bytes += before ? 0 : c->bytes;
		break;
	default:
		break;
	}
}

static int on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct mappings *m = self;
	const struct period *period = session_period(m->session);

	if (period_is_after_window(period, frame->window))
		return 0;
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		struct mappings_device *device;

		if (row->key.kind != EVENT_DMA_LIVE)
			continue;
		device = slots_make(&m->devices, row->key.device);
		if (device)
			take_gauge(device, row, !period_has_window(period, frame->window));
	}
	return 0;
}

struct stream mappings_stream(struct mappings *m)
{
	static const struct stream_ops ops = {.events = on_events, .aggregate = on_aggregate};

	return (struct stream){&ops, m};
}

struct mappings_device mappings_device(const struct mappings *m, __u32 device)
{
	const struct mappings_device *d = slots_find(&m->devices, device);

	return d ? *d : (struct mappings_device){0};
}

struct mappings_device mappings_all(const struct mappings *m)
{
	struct mappings_device sum = {0};

	for (__u32 handle = 0; handle < m->devices.end; handle = slots_next(&m->devices, handle)) {
		struct mappings_device d = mappings_device(m, handle);

		if (sum.window < d.window)
			sum.window = d.window;
		sum.live += d.live;
		sum.live_bytes += d.live_bytes;
		sum.peak_bytes += d.peak_bytes;
		sum.old += d.old;
		sum.old_bytes += d.old_bytes;
		sum.pages += d.pages;
		sum.peak_pages += d.peak_pages;
		sum.refused += d.refused;
		sum.refused_bytes += d.refused_bytes;
		sum.unknown += d.unknown;
		sum.unknown_bytes += d.unknown_bytes;
	}
	return sum;
}

bool mappings_unknown(const struct mappings *m)
{
	static const __u16 kinds[] = {EVENT_DMA_MAP, EVENT_DMA_UNMAP, EVENT_DMA_ALLOC,
				      EVENT_DMA_FREE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (unknown_kind(m->session, kinds[i]))
			return true;
	return false;
}

const struct event *mappings_oldest(const struct mappings *m, char process[16])
{
	const struct group *most = NULL;

	if (mappings_unknown(m))
		return NULL;
	for (size_t i = 0; i < m->last.count; i++)
		if (m->last.groups[i].event.code == LIVE_OLD &&
		    (!most || m->last.groups[i].event.length > most->event.length))
			most = &m->last.groups[i];
	if (!most)
		return NULL;
	memcpy(process, most->process, sizeof(most->process));
	return &most->event;
}

/* A count of calls of which some probe saw none is unknown. */
static union cell calls(const struct mappings *m, const struct counts *counts, __u16 kind,
			__u32 device)
{
	return cell_if(!unknown_kind(m->session, kind), counts_device(counts, kind, device).count);
}

static __u64 mean_latency(const struct counts *counts, unsigned int kind, __u32 device)
{
	const struct histogram *latency = counts_latency(counts, kind, device);

	return latency ? (__u64)histogram_mean(latency) : CELL_NONE;
}

static int device_row(const struct mappings *m, const struct counts *counts, struct writer *writer,
		      __u32 handle)
{
	const struct device_info *info = session_device(m->session, handle);
	struct mappings_device d = mappings_device(m, handle);
	__u64 maps = counts_device(counts, EVENT_DMA_MAP, handle).count;
	__u64 unmaps = counts_device(counts, EVENT_DMA_UNMAP, handle).count;
	__u64 allocs = counts_device(counts, EVENT_DMA_ALLOC, handle).count;
	__u64 frees = counts_device(counts, EVENT_DMA_FREE, handle).count;
	double seconds = (double)(session_last_ns(m->session) - session_first_ns(m->session)) / 1e9;
	bool mapped = !unknown_kind(m->session, EVENT_DMA_MAP);
	bool any_mapping = mapped && !unknown_kind(m->session, EVENT_DMA_ALLOC);
	bool known = !mappings_unknown(m);
	double rate = NAN;
	char name[DEVICE_NAME_TEXT];

	if (!d.window && !d.refused && !d.unknown && !maps && !unmaps && !allocs && !frees)
		return 0;
	if (any_mapping)
		rate = seconds > 0 ? (double)(maps + allocs) / seconds : 0;
	return writer_row(
		writer, (union cell[]){
				{.text = session_device_name(m->session, handle, name)},
				{.text = info ? info->model : ""},
				calls(m, counts, EVENT_DMA_MAP, handle),
				calls(m, counts, EVENT_DMA_UNMAP, handle),
				calls(m, counts, EVENT_DMA_ALLOC, handle),
				calls(m, counts, EVENT_DMA_FREE, handle),
				calls(m, counts, EVENT_DMA_SYNC, handle),
				{.real = rate},
				cell_if(mapped, counts_device(counts, EVENT_DMA_MAP, handle).bytes),
				{.count = mean_latency(counts, EVENT_DMA_MAP, handle)},
				{.count = mean_latency(counts, EVENT_DMA_UNMAP, handle)},
				cell_if(known, d.live),
				cell_if(known, d.live_bytes),
				cell_if(known, d.peak_bytes),
				cell_if(known, d.old),
				cell_if(known, d.old_bytes),
				cell_if(known, d.pages),
				cell_if(known, d.peak_pages),
				{.count = d.refused},
				{.count = d.refused_bytes},
				{.count = d.unknown},
				{.count = d.unknown_bytes},
			});
}

int mappings_write_devices(const struct mappings *m, const struct counts *counts,
			   struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"driver", NULL, COLUMN_TEXT, 12, true},
		{"maps", NULL, COLUMN_COUNT, 9, false},
		{"unmaps", NULL, COLUMN_COUNT, 9, false},
		{"allocs", NULL, COLUMN_COUNT, 7, true},
		{"frees", NULL, COLUMN_COUNT, 7, true},
		{"syncs", NULL, COLUMN_COUNT, 7, true},
		{"rate", "per_s", COLUMN_REAL, 9, false},
		{"mapped", NULL, COLUMN_BYTES, 9, true},
		{"map_mean", NULL, COLUMN_DURATION, 9, true},
		{"unmap_mean", NULL, COLUMN_DURATION, 9, true},
		{"live", NULL, COLUMN_COUNT, 7, false},
		{"live_size", NULL, COLUMN_BYTES, 9, false},
		{"peak_size", NULL, COLUMN_BYTES, 9, true},
		{"old", NULL, COLUMN_COUNT, 7, true},
		{"old_size", NULL, COLUMN_BYTES, 9, true},
		{"huge_pages", NULL, COLUMN_COUNT, 10, true},
		{"peak_huge_pages", NULL, COLUMN_COUNT, 10, true},
		{"refused", NULL, COLUMN_COUNT, 7, true},
		{"refused_size", NULL, COLUMN_BYTES, 9, true},
		{"unknown", NULL, COLUMN_COUNT, 7, true},
		{"unknown_size", NULL, COLUMN_BYTES, 9, true},
	};
	static const struct table table = {"dma", "DMA mappings by device", columns,
					   sizeof(columns) / sizeof(columns[0])};
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(m->session, h))
		error = device_row(m, counts, writer, h);
	return error ? error : writer_end(writer);
}

static int write_groups(const struct mappings *m, struct writer *writer, const struct table *table,
			__u8 code, size_t limit)
{
	int error = writer_begin(writer, table);
	size_t written = 0;

	/* Who has mapped what nobody saw unmapped is no finding. */
	if (mappings_unknown(m))
		return error ? error : writer_end(writer);

	for (size_t i = 0; !error && i < m->last.count && (!limit || written < limit); i++) {
		const struct group *group = &m->last.groups[i];
		const struct event *event = &group->event;
		const struct device_info *info = session_device(m->session, event->device);
		char name[DEVICE_NAME_TEXT];

		if (event->code != code)
			continue;
		written++;
		error = writer_row(
			writer,
			(union cell[]){
				{.text = session_device_name(m->session, event->device, name)},
				{.text = info ? info->model : ""},
				{.text = group->process},
				{.count = event->pid},
				{.count = event->instance},
				{.count = event->length},
				{.count = m->last.time_ns > event->value
						  ? m->last.time_ns - event->value
						  : 0},
				{.count = event->address},
				{.text = session_stack(m->session, event->group)},
			});
	}
	return error ? error : writer_end(writer);
}

static const struct column group_columns[] = {
	{"device", NULL, COLUMN_TEXT, 16, false},    {"driver", NULL, COLUMN_TEXT, 12, true},
	{"process", NULL, COLUMN_TEXT, 15, false},   {"pid", NULL, COLUMN_COUNT, 7, false},
	{"mappings", NULL, COLUMN_COUNT, 8, false},  {"size", NULL, COLUMN_BYTES, 9, false},
	{"oldest", NULL, COLUMN_DURATION, 8, false}, {"address", NULL, COLUMN_ADDRESS, 14, true},
	{"stack", NULL, COLUMN_TEXT, 0, true},
};

int mappings_write_mappers(const struct mappings *m, struct writer *writer, size_t limit)
{
	static const struct table table = {"mappers", "Who has mapped most", group_columns,
					   sizeof(group_columns) / sizeof(group_columns[0])};

	return write_groups(m, writer, &table, LIVE_ALL, limit);
}

int mappings_write_old(const struct mappings *m, struct writer *writer, size_t limit)
{
	static const struct table table = {"old_mappings", "Mappings that have stayed long",
					   group_columns,
					   sizeof(group_columns) / sizeof(group_columns[0])};

	return write_groups(m, writer, &table, LIVE_OLD, limit);
}
