// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/ios.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/slots.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct io_device {
	__u64 events;
	__u64 faulted; /* of events: met an I/O page fault, itself or one queued before it */
	__u64 errors;
	struct histogram latency; /* of the faulted ones */
};

struct ios {
	struct slots devices; /* struct io_device * */
	struct event *heap;   /* the slowest; the least slow of them on top */
	size_t count;
	__u64 events, faulted;
};

/* Equal latencies in the order of time, so that the same stream keeps the same I/Os. */
static bool ios_slower(const struct event *a, const struct event *b)
{
	return a->value != b->value ? a->value > b->value : a->time_ns < b->time_ns;
}

static void ios_swap(struct event *a, struct event *b)
{
	struct event t = *a;

	*a = *b;
	*b = t;
}

static void ios_sift_up(struct event *heap, size_t i)
{
	while (i && ios_slower(&heap[(i - 1) / 2], &heap[i])) {
		ios_swap(&heap[(i - 1) / 2], &heap[i]);
		i = (i - 1) / 2;
	}
}

static void ios_sift_down(struct event *heap, size_t count)
{
	size_t i = 0;

	for (;;) {
		size_t least = i, left = 2 * i + 1;

		if (left < count && ios_slower(&heap[least], &heap[left]))
			least = left;
		if (left + 1 < count && ios_slower(&heap[least], &heap[left + 1]))
			least = left + 1;
		if (least == i)
			return;
		ios_swap(&heap[i], &heap[least]);
		i = least;
	}
}

static void ios_keep(struct ios *ios, const struct event *e)
{
	if (ios->count < IOS_KEPT) {
		ios->heap[ios->count] = *e;
		ios_sift_up(ios->heap, ios->count++);
	} else if (ios_slower(e, &ios->heap[0])) {
		ios->heap[0] = *e;
		ios_sift_down(ios->heap, ios->count);
	}
}

static int ios_add(struct ios *ios, const struct event *e)
{
	struct io_device **slot = slots_make(&ios->devices, e->device);
	bool faulted = e->kind == EVENT_IO_COMPLETE && e->code & IO_FAULTED;

	if (!slot)
		return 0;
	if (!*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (!*slot)
			return failed(-ENOMEM, "no memory for the I/Os of another device");
		histogram_init(&(*slot)->latency);
	}
	(*slot)->events++;
	ios->events++;
	if (e->code & ~IO_FAULTED)
		(*slot)->errors++;
	if (faulted) {
		(*slot)->faulted++;
		ios->faulted++;
		histogram_add(&(*slot)->latency, e->value);
	}
	ios_keep(ios, e);
	return 0;
}

static int ios_on_events(void *self, const struct event *events, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (event_is_io(&events[i]))
			error = ios_add(self, &events[i]);
	return error;
}

static int create_ios(struct analysis *a, const struct analysis_config *config)
{
	struct ios *i = a->ios = memory_calloc(1, sizeof(*i));

	(void)config;
	if (i)
		i->heap = memory_calloc(1, IOS_KEPT * sizeof(*i->heap));
	if (!i || !i->heap)
		return failed(-ENOMEM, "no memory for the slowest I/Os");
	slots_init(&i->devices, sizeof(struct io_device *));
	return 0;
}

static struct stream ios_stream(struct ios *ios)
{
	static const struct stream_ops ops = {.events = ios_on_events};

	return (struct stream){&ops, ios};
}

static void ios_destroy(struct ios *ios)
{
	if (!ios)
		return;
	for (__u32 h = 0; h < ios->devices.end; h = slots_next(&ios->devices, h)) {
		struct io_device **slot = slots_find(&ios->devices, h);

		if (slot)
			memory_free(*slot);
	}
	slots_free(&ios->devices);
	memory_free(ios->heap);
	memory_free(ios);
}

/* NULL for a device without. */
static const struct io_device *ios_device(const struct ios *ios, __u32 device)
{
	struct io_device *const *slot = slots_find(&ios->devices, device);

	return slot ? *slot : NULL;
}

__u64 ios_events(const struct ios *ios)
{
	return ios->events;
}

struct io_device_row {
	__u32 device;
	struct counts_point all;
	const struct histogram *latency;    /* NULL: of none */
	const struct io_device *one_by_one; /* NULL: none was recorded so */
};

static __u64 ios_percentile(const struct histogram *latency, double percent)
{
	return latency ? histogram_percentile(latency, percent) : CELL_NONE;
}

/* Of the I/Os that met a fault; NULL: none did. */
static const struct histogram *ios_faulted(const struct io_device_row *row)
{
	return row->one_by_one && row->one_by_one->faulted ? &row->one_by_one->latency : NULL;
}

#define DEVICES(COLUMN)                                                                          \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))   \
	COLUMN(ios, none, COUNT, 9, SHOWN, row->all.count)                                       \
	COLUMN(transferred, none, BYTES, 11, WIDE, row->all.bytes)                               \
	COLUMN(p50, ns, DURATION, 7, SHOWN, ios_percentile(row->latency, 50))                    \
	COLUMN(p99, ns, DURATION, 7, SHOWN, ios_percentile(row->latency, 99))                    \
	COLUMN(p999, ns, DURATION, 7, SHOWN, ios_percentile(row->latency, 99.9))                 \
	COLUMN(max, ns, DURATION, 7, SHOWN, row->latency ? row->latency->max : CELL_NONE)        \
	COLUMN(one_by_one, none, COUNT, 10, WIDE, row->one_by_one ? row->one_by_one->events : 0) \
	COLUMN(errors, none, COUNT, 6, WIDE, row->one_by_one ? row->one_by_one->errors : 0)      \
	COLUMN(faulted, none, COUNT, 7, SHOWN, row->one_by_one ? row->one_by_one->faulted : 0)   \
	COLUMN(faulted_p50, ns, DURATION, 11, WIDE, ios_percentile(ios_faulted(row), 50))        \
	COLUMN(faulted_max, ns, DURATION, 11, WIDE,                                              \
	       ios_faulted(row) ? ios_faulted(row)->max : CELL_NONE)
TABLE(io_devices, "I/O of the devices", DEVICES, struct io_device_row, struct session)

/* Table "io_devices": all I/Os of a device beside the faulted ones; with a limit (0: none) only so
 * many devices, those without I/Os recorded one by one left out. */
static void ios_write_devices(const struct analysis *analysis, struct writer *writer,
			      const struct table_wish *wish)
{
	const struct ios *ios = analysis->ios;
	const struct session *session = analysis->session;
	static const unsigned int kinds[] = {EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE};
	size_t rows = 0, left_out = 0;

	writer_begin_with(writer, &io_devices_table, session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			const struct io_device_row row = {
				h, counts_device(analysis->counts, kinds[k], h),
				counts_latency(analysis->counts, kinds[k], h), ios_device(ios, h)};

			if (!row.all.count)
				continue;
			if (wish->limit && (!row.one_by_one || rows == wish->limit)) {
				left_out++;
				continue;
			}
			rows++;
			writer_row(writer, &row);
		}
	}
	writer_end(writer);
	if (left_out)
		writer_note(writer, "... and %zu more devices.", left_out);
}

static int slowest_first(const void *a, const void *b)
{
	return ios_slower(a, b) ? -1 : ios_slower(b, a);
}

static bool is_io(const struct event *event)
{
	return event->kind == EVENT_IO_COMPLETE;
}

#define IOS(COLUMN)                                                                                \
	COLUMN(completed, none, TIME, 15, SHOWN, row->time_ns)                                     \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))     \
	COLUMN(queue, none, COUNT, 5, SHOWN, count_if(row->queue != QUEUE_NONE, row->queue))       \
	COLUMN(latency, ns, DURATION, 8, SHOWN, row->value)                                        \
	COLUMN(faulted, none, TEXT, 7, SHOWN, is_io(row) && row->code & IO_FAULTED ? "yes" : "no") \
	COLUMN(kind, none, TEXT, 14, WIDE, event_kind_name(row->kind))                             \
	COLUMN(address, none, ADDRESS, 18, WIDE, row->address)                                     \
	COLUMN(length, bytes, BYTES, 6, SHOWN, row->length)                                        \
	COLUMN(error, none, COUNT, 5, WIDE, is_io(row) ? row->code & ~(__u64)IO_FAULTED : row->code)
TABLE(ios, "Slowest I/Os, recorded one by one", IOS, struct event, struct session)

/* Table "ios", slowest first, at most `limit` rows (0: all kept). */
static void ios_write(const struct analysis *analysis, struct writer *writer,
		      const struct table_wish *wish)
{
	struct ios *ios = analysis->ios;

	writer_begin_with(writer, &ios_table, analysis->session);
	/* Sorted to print; reversed below it is a heap again, with the least slow on top. */
	qsort(ios->heap, ios->count, sizeof(ios->heap[0]), slowest_first);
	for (size_t i = 0; i < ios->count && (!wish->limit || i < wish->limit); i++)
		writer_row(writer, &ios->heap[i]);
	for (size_t i = 0; i < ios->count / 2; i++)
		ios_swap(&ios->heap[i], &ios->heap[ios->count - 1 - i]);
	writer_end(writer);
}

static void ios_write_findings(const struct analysis *a, struct writer *writer)
{
	if (!a->ios->faulted || !faults_began(a->faults))
		return;
	writer_note(writer, "%llu I/Os met a fault, or queued behind one that did.",
		    a->ios->faulted);
}

static bool ios_has_rows(const struct analysis *a)
{
	return ios_events(a->ios);
}

static const unsigned int io_kinds[] = {EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE};

struct io_totals ios_of_device(const struct analysis *a, __u32 device)
{
	const struct io_device *slow = ios_device(a->ios, device);
	struct io_totals totals = {.faulted = slow ? slow->faulted : 0};

	for (size_t k = 0; k < sizeof(io_kinds) / sizeof(io_kinds[0]); k++) {
		struct counts_point all = counts_device(a->counts, io_kinds[k], device);

		totals.count += all.count;
		totals.bytes += all.bytes;
	}
	return totals;
}

static void ios_live(const struct analysis *a, struct live_device *row)
{
	const struct io_device *slow = ios_device(a->ios, row->handle);
	struct io_totals totals = ios_of_device(a, row->handle);

	row->ios += totals.count;
	row->io_bytes += totals.bytes;
	row->faulted_ios = totals.faulted;
	if (slow)
		row->slow_ios = slow->events;
}

__u64 ios_before(const struct analysis *a, __u32 handle, __u64 time_ns)
{
	__u64 count = 0;

	for (size_t k = 0; k < sizeof(io_kinds) / sizeof(io_kinds[0]); k++)
		count += counts_before(a->counts, io_kinds[k], handle,
				       time_ns / AGGREGATE_WINDOW_NS);
	return count;
}

static const struct analyzer_table tables[] = {
	{&io_devices_table, ios_write_devices, ios_has_rows, REPORT_ROWS},
	{&ios_table, ios_write, ios_has_rows, REPORT_ROWS / 2},
	{0},
};

DEFINE_ANALYZER(ios, .tables = tables, .of_period = true, .chapter = REPORT_IO,
		.findings = ios_write_findings, .device = ios_live)
