// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/mappings.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define GROUPS_MOST 4096 /* of one snapshot; the recorder writes fewer */

/* Mappings of one process with one stack on one device, as a snapshot told. */
struct mapping_group {
	struct event event;
	char process[16];
};

struct mappings_snapshot {
	struct mapping_group *groups;
	size_t count, room;
	__u64 time_ns;
};

struct mappings {
	const struct session *session;
	struct slots devices; /* struct mappings_device */
	struct mappings_snapshot last, next;
};

static int create_mappings(struct analysis *a, const struct analysis_config *config)
{
	struct mappings *m = a->mappings = memory_calloc(1, sizeof(*m));

	(void)config;
	if (!m)
		return failed(-ENOMEM, "no memory for DMA mappings");
	m->session = a->session;
	slots_init(&m->devices, sizeof(struct mappings_device));
	return 0;
}

static void mappings_destroy(struct mappings *m)
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
	struct mappings_snapshot *s = &m->next;

	if (s->count >= GROUPS_MOST)
		return 0;
	if (!array_grow(&s->groups, &s->room, s->count + 1, sizeof(*s->groups), ARRAY_LIMITED))
		return failed(-ENOMEM, "no memory for another group of mappings");
	s->groups[s->count] = (struct mapping_group){.event = *event};
	session_process(m->session, event->pid, s->groups[s->count++].process);
	return 0;
}

/* A snapshot counts once it is whole. */
static void finish_snapshot(struct mappings *m, __u64 time_ns)
{
	struct mappings_snapshot before = m->last;

	m->last = m->next;
	m->last.time_ns = time_ns;
	m->next = before;
	m->next.count = 0;
}

static int mappings_on_events(void *self, const struct event *events, size_t count)
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

static int mappings_on_aggregate(void *self, const struct aggregate_frame *frame)
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

static struct stream mappings_stream(struct mappings *m)
{
	static const struct stream_ops ops = {.events = mappings_on_events,
					      .aggregate = mappings_on_aggregate};

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
	const struct mapping_group *most = NULL;

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

struct dma_row {
	const struct mappings *mappings;
	const struct counts *counts;
	__u32 device;
	struct mappings_device mapped;
	bool known; /* which mappings live */
};

static const char *mappings_driver_name(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);

	return info ? info->model : "";
}

static bool saw_all(const struct dma_row *row, __u16 kind)
{
	return !unknown_kind(row->mappings->session, kind);
}

static struct counts_point mappings_calls(const struct dma_row *row, __u16 kind)
{
	return counts_device(row->counts, kind, row->device);
}

/* A count of calls of which some probe saw none is unknown. */
static __u64 call_count(const struct dma_row *row, __u16 kind)
{
	return count_if(saw_all(row, kind), mappings_calls(row, kind).count);
}

static __u64 mean_latency(const struct dma_row *row, __u16 kind)
{
	const struct histogram *latency = counts_latency(row->counts, kind, row->device);

	return latency ? (__u64)histogram_mean(latency) : CELL_NONE;
}

/* Of mappings, in a second. */
static double mappings_rate(const struct dma_row *row)
{
	const struct session *s = row->mappings->session;
	double seconds = (double)(session_last_ns(s) - session_first_ns(s)) / 1e9;
	__u64 count = mappings_calls(row, EVENT_DMA_MAP).count +
		      mappings_calls(row, EVENT_DMA_ALLOC).count;

	if (!saw_all(row, EVENT_DMA_MAP) || !saw_all(row, EVENT_DMA_ALLOC))
		return NAN;
	return seconds > 0 ? (double)count / seconds : 0;
}

#define DMA(COLUMN)                                                                             \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))  \
	COLUMN(driver, none, TEXT, 12, WIDE, mappings_driver_name(context, row->device))        \
	COLUMN(maps, none, COUNT, 9, SHOWN, call_count(row, EVENT_DMA_MAP))                     \
	COLUMN(unmaps, none, COUNT, 9, SHOWN, call_count(row, EVENT_DMA_UNMAP))                 \
	COLUMN(allocs, none, COUNT, 7, WIDE, call_count(row, EVENT_DMA_ALLOC))                  \
	COLUMN(frees, none, COUNT, 7, WIDE, call_count(row, EVENT_DMA_FREE))                    \
	COLUMN(syncs, none, COUNT, 7, WIDE, call_count(row, EVENT_DMA_SYNC))                    \
	COLUMN(rate, per_s, REAL, 9, SHOWN, mappings_rate(row))                                 \
	COLUMN(mapped, none, BYTES, 9, WIDE,                                                    \
	       count_if(saw_all(row, EVENT_DMA_MAP), mappings_calls(row, EVENT_DMA_MAP).bytes)) \
	COLUMN(map_mean, none, DURATION, 9, WIDE, mean_latency(row, EVENT_DMA_MAP))             \
	COLUMN(unmap_mean, none, DURATION, 9, WIDE, mean_latency(row, EVENT_DMA_UNMAP))         \
	COLUMN(live, none, COUNT, 7, SHOWN, count_if(row->known, row->mapped.live))             \
	COLUMN(live_size, none, BYTES, 9, SHOWN, count_if(row->known, row->mapped.live_bytes))  \
	COLUMN(peak_size, none, BYTES, 9, WIDE, count_if(row->known, row->mapped.peak_bytes))   \
	COLUMN(old, none, COUNT, 7, WIDE, count_if(row->known, row->mapped.old))                \
	COLUMN(old_size, none, BYTES, 9, WIDE, count_if(row->known, row->mapped.old_bytes))     \
	COLUMN(huge_pages, none, COUNT, 10, WIDE, count_if(row->known, row->mapped.pages))      \
	COLUMN(peak_huge_pages, none, COUNT, 10, WIDE,                                          \
	       count_if(row->known, row->mapped.peak_pages))                                    \
	COLUMN(refused, none, COUNT, 7, WIDE, row->mapped.refused)                              \
	COLUMN(refused_size, none, BYTES, 9, WIDE, row->mapped.refused_bytes)                   \
	COLUMN(unknown, none, COUNT, 7, WIDE, row->mapped.unknown)                              \
	COLUMN(unknown_size, none, BYTES, 9, WIDE, row->mapped.unknown_bytes)
TABLE(dma, "DMA mappings by device", DMA, struct dma_row, struct session)

/* Whether there is something to say of a device. */
static bool did_anything(const struct dma_row *row)
{
	const struct mappings_device *d = &row->mapped;

	return d->window || d->refused || d->unknown || mappings_calls(row, EVENT_DMA_MAP).count ||
	       mappings_calls(row, EVENT_DMA_UNMAP).count ||
	       mappings_calls(row, EVENT_DMA_ALLOC).count ||
	       mappings_calls(row, EVENT_DMA_FREE).count;
}

void mappings_write_devices(const struct analysis *analysis, struct writer *writer,
			    const struct table_wish *wish)
{
	const struct mappings *m = analysis->mappings;
	struct dma_row row = {
		.mappings = m, .counts = analysis->counts, .known = !mappings_unknown(m)};

	(void)wish;
	writer_begin_with(writer, &dma_table, m->session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(m->session, h)) {
		row.device = h;
		row.mapped = mappings_device(m, h);
		if (did_anything(&row))
			writer_row(writer, &row);
	}
	writer_end(writer);
}

static __u64 oldest_ns(const struct mappings *m, const struct event *event)
{
	return m->last.time_ns > event->value ? m->last.time_ns - event->value : 0;
}

#define GROUPS(COLUMN)                                                            \
	COLUMN(device, none, TEXT, 16, SHOWN,                                     \
	       session_device_name(context->session, row->event.device, text))    \
	COLUMN(driver, none, TEXT, 12, WIDE,                                      \
	       mappings_driver_name(context->session, row->event.device))         \
	COLUMN(process, none, TEXT, 15, SHOWN, row->process)                      \
	COLUMN(pid, none, COUNT, 7, SHOWN, row->event.pid)                        \
	COLUMN(mappings, none, COUNT, 8, SHOWN, row->event.instance)              \
	COLUMN(size, none, BYTES, 9, SHOWN, row->event.length)                    \
	COLUMN(oldest, none, DURATION, 8, SHOWN, oldest_ns(context, &row->event)) \
	COLUMN(address, none, ADDRESS, 14, WIDE, row->event.address)              \
	COLUMN(stack, none, TEXT, 0, WIDE, session_stack(context->session, row->event.group))
TABLE(mappers, "Who has mapped most", GROUPS, struct mapping_group, struct mappings)
TABLE(old_mappings, "Long-lived mappings", GROUPS, struct mapping_group, struct mappings)

static void write_groups(const struct mappings *m, struct writer *writer, const struct table *table,
			 __u8 code, size_t limit)
{
	size_t written = 0;

	writer_begin_with(writer, table, m);
	/* Who has mapped what nobody saw unmapped is no finding. */
	if (mappings_unknown(m)) {
		writer_end(writer);
		return;
	}

	for (size_t i = 0; i < m->last.count && (!limit || written < limit); i++) {
		if (m->last.groups[i].event.code != code)
			continue;
		written++;
		writer_row(writer, &m->last.groups[i]);
	}
	writer_end(writer);
}

void mappings_write_mappers(const struct analysis *analysis, struct writer *writer,
			    const struct table_wish *wish)
{
	write_groups(analysis->mappings, writer, &mappers_table, LIVE_ALL, wish->limit);
}

void mappings_write_old(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	write_groups(analysis->mappings, writer, &old_mappings_table, LIVE_OLD, wish->limit);
}

static bool has_window(const struct analysis *a)
{
	return mappings_all(a->mappings).window;
}

static bool has_live(const struct analysis *a)
{
	return mappings_all(a->mappings).live && !mappings_unknown(a->mappings);
}

static bool has_old(const struct analysis *a)
{
	return mappings_all(a->mappings).old && !mappings_unknown(a->mappings);
}

static const struct analyzer_table tables[] = {
	{&dma_table, mappings_write_devices, has_window},
	{&mappers_table, mappings_write_mappers, has_live, REPORT_ROWS / 2},
	{&old_mappings_table, mappings_write_old, has_old, REPORT_ROWS / 2},
	{0},
};

DEFINE_ANALYZER(mappings, .tables = tables, .chapter = REPORT_DMA,
		.findings = mappings_write_findings)
