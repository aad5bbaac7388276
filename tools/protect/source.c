// SPDX-License-Identifier: GPL-2.0
/*
 * Which accesses a recording has, tenant by tenant.
 *
 * The best that it has are taken in one reading: as soon as better ones come, what came of others goes. Pages that were
 * counted in one second are accesses at its begin, in the order of devices, PASIDs and page numbers, as
 * nothing is known of their order; several 4 KiB pages of one larger page are one access.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/page.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/page_table.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "tools/protect/study.h"

#define LENGTH_MAX (1ull << 30) /* of one I/O: a damaged one must not become a million pages */

const char *const study_sources[SOURCES + 1] = {"auto", "pages", "accesses", "mappings"};

struct device_place {
	struct study_tenant *tenant;
	bool known, unwanted;
};

struct window_page {
	__u64 page, count;
	__u32 device, pasid;
};

struct study_reading {
	struct study_recording *recording;
	const struct study_wish *wish;
	struct period period;
	struct slots devices; /* struct device_place */
	struct page_table
		units; /* by device and PASID: 1 + its index of its tenant's, in `accesses` */
	bool all_ios;  /* were asked for one by one */
	__u64 ios, ios_counted;
	__u64 newest_ns;
	__u64 window; /* that `pages` are of */
	struct window_page *pages;
	size_t page_count, page_room;
};

static int no_memory(const struct study_reading *r)
{
	return failed(-ENOMEM, "%s: no memory for its accesses", r->recording->path);
}

static struct study_tenant *tenant_find(struct study_recording *recording, const char *name,
					__u32 device)
{
	for (size_t i = 0; i < recording->tenant_count; i++)
		if (recording->tenants[i]->device == device &&
		    !strcmp(recording->tenants[i]->name, name))
			return recording->tenants[i];
	return NULL;
}

/* That of its VM; of a device of none, one of its own. */
static struct study_tenant *tenant_of(struct study_recording *recording, __u32 device)
{
	const struct device_info *info = session_device(recording->session, device);
	const bool vm = info && info->vm[0];
	char own[DEVICE_NAME_TEXT];
	const char *name = vm ? info->vm : session_device_name(recording->session, device, own);
	struct study_tenant *tenant = tenant_find(recording, name, vm ? 0 : device);

	if (tenant)
		return tenant;
	tenant = memory_calloc(1, sizeof(*tenant));
	if (!tenant ||
	    !array_grow(&recording->tenants, &recording->tenant_room, recording->tenant_count + 1,
			sizeof(struct study_tenant *), ARRAY_LIMITED)) {
		memory_free(tenant);
		return NULL;
	}
	tenant->recording = recording;
	tenant->device = vm ? 0 : device;
	snprintf(tenant->name, sizeof(tenant->name), "%s", name);
	recording->tenants[recording->tenant_count++] = tenant;
	return tenant;
}

/* NULL without memory, or for what is not wanted or no device. */
static struct device_place *reading_place(struct study_reading *r, __u32 device)
{
	struct session *session = r->recording->session;
	struct device_place *place;

	if (device == DEVICE_NONE)
		return NULL;
	place = slots_make(&r->devices, device);
	if (!place || place->unwanted)
		return NULL;
	if (!place->known) {
		place->known = true;
		place->unwanted =
			r->wish->device && !session_device_fits(session, device, r->wish->device);
		if (!place->unwanted)
			place->tenant = tenant_of(r->recording, device);
	}
	return place->tenant ? place : NULL;
}

static int unit_make(struct study_reading *r, struct study_tenant *tenant, __u32 device,
		     __u32 pasid)
{
	const struct device_info *info = session_device(r->recording->session, device);
	struct study_unit *unit;

	if (!array_grow(&tenant->units, &tenant->unit_room, tenant->unit_count + 1,
			sizeof(*tenant->units), ARRAY_LIMITED))
		return -ENOMEM;
	unit = &tenant->units[tenant->unit_count++];
	*unit = (struct study_unit){.device = device, .pasid = pasid};
	unit->memory = info ? info->memory : 0;
	if (unit->memory > tenant->memory)
		tenant->memory = unit->memory;
	return 0;
}

/* Index of a unit of the tenant, or -ENOMEM. */
static int unit_of(struct study_reading *r, struct study_tenant *tenant, __u32 device, __u32 pasid)
{
	struct page_entry *entry = page_table_make(&r->units, device, pasid, 0);

	if (!entry)
		return -ENOMEM;
	if (!entry->accesses) {
		entry->accesses = (__u32)tenant->unit_count + 1;
		if (unit_make(r, tenant, device, pasid))
			return -ENOMEM;
	}
	return (int)entry->accesses - 1;
}

static int add_access(struct study_reading *r, __u32 device, __u32 pasid, __u64 time_ns, __u64 page,
		      __u64 count)
{
	struct device_place *place = reading_place(r, device);
	struct study_tenant *tenant = place ? place->tenant : NULL;
	int unit;

	if (!tenant)
		return memory_ran_out() ? no_memory(r) : 0;
	unit = unit_of(r, tenant, device, pasid);
	if (unit < 0 || !array_grow(&tenant->accesses, &tenant->room, tenant->count + 1,
				    sizeof(*tenant->accesses), ARRAY_LIMITED))
		return no_memory(r);
	/* One that comes late counts as if it came now, as for a policy that is told of it. */
	if (time_ns > r->newest_ns)
		r->newest_ns = time_ns;
	tenant->accesses[tenant->count++] = (struct study_access){
		r->newest_ns, page, (__u32)unit, count > UINT32_MAX ? UINT32_MAX : (__u32)count};
	return 0;
}

/* What came so far is of a worse source. */
static void take_source(struct study_reading *r, enum study_source source)
{
	struct study_recording *recording = r->recording;

	recording->source = source;
	r->newest_ns = 0;
	for (size_t i = 0; i < recording->tenant_count; i++)
		recording->tenants[i]->count = 0;
}

/* The best one first. I/Os one by one only if they were asked for: else they are those that were slow. */
static int source_rank(const struct study_reading *r, enum study_source source)
{
	switch (source) {
	case SOURCE_SINGLE:
		return r->all_ios ? 3 : 0;
	case SOURCE_PAGES:
		return 2;
	case SOURCE_MAPPINGS:
		return 1;
	default:
		return 0;
	}
}

static bool is_taken(struct study_reading *r, enum study_source source)
{
	const enum study_source wanted = r->wish->source, had = r->recording->source;

	if (wanted != SOURCE_AUTO) {
		r->recording->source = wanted;
		return source == wanted;
	}
	if (source_rank(r, source) > source_rank(r, had))
		take_source(r, source);
	return source_rank(r, source) && source == r->recording->source;
}

static int add_ranges(struct study_reading *r, const struct event *event)
{
	const __u64 length = event->length < LENGTH_MAX ? event->length : LENGTH_MAX;
	const __u64 first = event->address >> r->wish->shift;
	const __u64 last = (event->address + (length ? length - 1 : 0)) >> r->wish->shift;
	int error = 0;

	for (__u64 page = first; !error && page <= last; page++)
		error = add_access(r, event->device, event->pasid, event->time_ns, page, 1);
	return error;
}

static int source_on_events(void *self, const struct event *events, size_t count)
{
	struct study_reading *r = self;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		const struct event *event = &events[i];
		const bool io = event->kind == EVENT_IO_COMPLETE;

		/* What a copy reads is a part of the I/O that writes it. */
		r->ios += io && !(event->code & IO_PART);
		if ((io || event->kind == EVENT_DMA_MAP) &&
		    period_has(&r->period, event->time_ns) &&
		    is_taken(r, io ? SOURCE_SINGLE : SOURCE_MAPPINGS))
			error = add_ranges(r, event);
	}
	return error;
}

static int page_order(const void *one, const void *other)
{
	const struct window_page *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->pasid != b->pasid)
		return a->pasid < b->pasid ? -1 : 1;
	return a->page < b->page ? -1 : a->page > b->page;
}

/* A second is over. */
static int add_window(struct study_reading *r)
{
	const __u64 time_ns = r->window * AGGREGATE_WINDOW_NS;
	int error = 0;

	if (!r->page_count)
		return 0;
	qsort(r->pages, r->page_count, sizeof(*r->pages), page_order);
	for (size_t i = 0, next; !error && i < r->page_count; i = next) {
		__u64 count = 0;

		for (next = i; next < r->page_count && !page_order(&r->pages[i], &r->pages[next]);
		     next++)
			count += r->pages[next].count;
		error = add_access(r, r->pages[i].device, r->pages[i].pasid, time_ns,
				   r->pages[i].page, count);
	}
	r->page_count = 0;
	return error;
}

static int add_counted_pages(struct study_reading *r, const struct aggregate_frame *frame)
{
	if (!array_grow(&r->pages, &r->page_room, r->page_count + frame->page_count,
			sizeof(*r->pages), ARRAY_LIMITED))
		return no_memory(r);
	for (size_t i = 0; i < frame->page_count; i++) {
		const struct aggregate_page *page = &frame->pages[i];
		const __u64 count = (__u64)page->reads + page->writes;

		if (count)
			r->pages[r->page_count++] =
				(struct window_page){page->page >> (r->wish->shift - PAGE_BITS),
						     count, page->device, page->pasid};
	}
	return 0;
}

static int source_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct study_reading *r = self;
	int error = 0;

	for (size_t i = 0; i < frame->row_count; i++)
		if (frame->rows[i].key.kind == EVENT_IO_COMPLETE)
			r->ios_counted += frame->rows[i].counts.count;
	if (frame->window != r->window)
		error = add_window(r);
	r->window = frame->window;
	if (!error && frame->page_count && period_has_window(&r->period, frame->window) &&
	    is_taken(r, SOURCE_PAGES))
		error = add_counted_pages(r, frame);
	return error;
}

static int source_on_host(void *self, const struct host_info *host)
{
	struct study_reading *r = self;

	r->all_ios = host->kinds[0] && kinds_name(host->kinds, EVENT_IO_COMPLETE);
	return 0;
}

static int source_on_end(void *self, __u64 end_ns)
{
	struct study_reading *r = self;

	(void)end_ns;
	return memory_ran_out() ? 0 : add_window(r);
}

static int study_finish(struct study_reading *r)
{
	struct study_recording *recording = r->recording;
	const struct session *session = recording->session;

	recording->floor =
		floor_of_loss(session_loss(session), session_windows_incomplete(session));
	if (memory_ran_out())
		recording->floor |= 1u << FLOOR_MEMORY;
	if (recording->source == SOURCE_SINGLE && !r->all_ios && r->ios_counted > r->ios)
		recording->counted_only = r->ios_counted - r->ios;
	for (size_t i = 0; i < recording->tenant_count; i++) {
		const struct study_tenant *tenant = recording->tenants[i];
		__u64 newest = tenant->count ? tenant->accesses[tenant->count - 1].time_ns : 0;

		recording->newest_ns =
			newest > recording->newest_ns ? newest : recording->newest_ns;
	}
	recording->end_ns = session_last_ns(session);
	if (period_is_after(&r->period, recording->end_ns))
		recording->end_ns = r->period.until_ns;
	return study_order(recording);
}

static int read_stream(struct study_reading *r, const struct trace_summary *summary)
{
	static const struct stream_ops ops = {
		.host = source_on_host,
		.events = source_on_events,
		.aggregate = source_on_aggregate,
		.end = source_on_end,
	};
	const struct trace_read_config reading = {.path = r->recording->path,
						  .host = r->wish->host};
	char what[sizeof(struct printable) + 16];
	struct progress progress = {.what = what, .total = summary->events};
	struct stream_fan fan = {
		.sinks = {common_progress(&progress), session_stream(r->recording->session),
			  (struct stream){&ops, r}},
		.count = 3,
		.stops = true,
	};
	int err;

	snprintf(what, sizeof(what), "reading %s", printable_of(r->recording->path).text);
	err = trace_read(&reading, stream_fan(&fan));
	common_progress_end(&progress);
	/* Where standard input is none, that could not be seen before. */
	if (err == -EISDIR)
		return failed_input(err);
	if (err != -EBADMSG)
		return err;
	r->recording->damage = err;
	snprintf(r->recording->sentence, sizeof(r->recording->sentence), "%s", failure_text());
	return 0;
}

int study_read(struct study_recording *recording, const struct study_wish *wish)
{
	struct study_reading r = {.recording = recording, .wish = wish};
	const struct host_info *host;
	struct trace_summary own = {0};
	const struct trace_summary *summary = wish->summary ?: &own;
	int err = wish->summary ? common_resolve_window(&wish->window, summary, &r.period)
				: common_open_recording(wish->path, &wish->window, &r.period, &own);

	recording->path = wish->path;
	recording->host = wish->host;
	recording->shift = wish->shift;
	slots_init(&r.devices, sizeof(struct device_place));
	if (!err)
		err = session_create(&recording->session);
	if (!err)
		err = read_stream(&r, summary);
	if (!err)
		err = study_finish(&r);
	host = recording->session ? session_host(recording->session) : NULL;
	snprintf(recording->name, sizeof(recording->name), "%s",
		 wish->host ? wish->host_name
		 : host	    ? host->hostname
			    : "");
	memory_free(r.pages);
	slots_free(&r.devices);
	page_table_free(&r.units);
	trace_summary_free(&own);
	return err;
}

const char *study_recording_name(const struct study_recording *recording, char text[STUDY_NAME])
{
	snprintf(text, STUDY_NAME, "%s%s%s", printable_of(recording->path).text,
		 recording->host ? ": " : "", recording->host ? recording->name : "");
	return text;
}

void study_recording_free(struct study_recording *recording)
{
	for (size_t i = 0; i < recording->tenant_count; i++) {
		memory_free(recording->tenants[i]->units);
		memory_free(recording->tenants[i]->accesses);
		memory_free(recording->tenants[i]);
	}
	memory_free(recording->tenants);
	session_destroy(recording->session);
}
