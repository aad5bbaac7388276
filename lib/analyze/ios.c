// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/ios.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/slots.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct ios {
	struct slots devices; /* struct io_device * */
	struct event *heap;   /* the slowest; the least slow of them on top */
	size_t count;
	__u64 events, faulted;
};

/* Equal latencies in the order of time, so that the same stream keeps the same I/Os. */
static bool slower(const struct event *a, const struct event *b)
{
	return a->value != b->value ? a->value > b->value : a->time_ns < b->time_ns;
}

static void swap(struct event *a, struct event *b)
{
	struct event t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct event *heap, size_t i)
{
	while (i && slower(&heap[(i - 1) / 2], &heap[i])) {
		swap(&heap[(i - 1) / 2], &heap[i]);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct event *heap, size_t count)
{
	size_t i = 0;

	for (;;) {
		size_t least = i, left = 2 * i + 1;

		if (left < count && slower(&heap[least], &heap[left]))
			least = left;
		if (left + 1 < count && slower(&heap[least], &heap[left + 1]))
			least = left + 1;
		if (least == i)
			return;
		swap(&heap[i], &heap[least]);
		i = least;
	}
}

static void keep(struct ios *ios, const struct event *e)
{
	if (ios->count < IOS_KEPT) {
		ios->heap[ios->count] = *e;
		sift_up(ios->heap, ios->count++);
	} else if (slower(e, &ios->heap[0])) {
		ios->heap[0] = *e;
		sift_down(ios->heap, ios->count);
	}
}

static int add(struct ios *ios, const struct event *e)
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
	keep(ios, e);
	return 0;
}

static int on_events(void *self, const struct event *events, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (event_is_io(&events[i]))
			error = add(self, &events[i]);
	return error;
}

int ios_create(struct ios **ios)
{
	struct ios *i = memory_calloc(1, sizeof(*i));

	*ios = i;
	if (i)
		i->heap = memory_calloc(1, IOS_KEPT * sizeof(*i->heap));
	if (!i || !i->heap)
		return failed(-ENOMEM, "no memory for the slowest I/Os");
	slots_init(&i->devices, sizeof(struct io_device *));
	return 0;
}

struct stream ios_stream(struct ios *ios)
{
	static const struct stream_ops ops = {.events = on_events};

	return (struct stream){&ops, ios};
}

void ios_destroy(struct ios *ios)
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

const struct io_device *ios_device(const struct ios *ios, __u32 device)
{
	struct io_device *const *slot = slots_find(&ios->devices, device);

	return slot ? *slot : NULL;
}

__u64 ios_events(const struct ios *ios)
{
	return ios->events;
}

__u64 ios_faulted(const struct ios *ios)
{
	return ios->faulted;
}

static int write_device(struct writer *writer, const char *name, const struct counts_point *all,
			const struct histogram *latency, const struct io_device *d)
{
	bool faulted = d && d->faulted;

	return writer_row(
		writer,
		(union cell[]){
			{.text = name},
			{.count = all->count},
			{.count = all->bytes},
			{.count = latency ? histogram_percentile(latency, 50) : CELL_NONE},
			{.count = latency ? histogram_percentile(latency, 99) : CELL_NONE},
			{.count = latency ? histogram_percentile(latency, 99.9) : CELL_NONE},
			{.count = latency ? latency->max : CELL_NONE},
			{.count = d ? d->events : 0},
			{.count = d ? d->errors : 0},
			{.count = d ? d->faulted : 0},
			{.count = faulted ? histogram_percentile(&d->latency, 50) : CELL_NONE},
			{.count = faulted ? d->latency.max : CELL_NONE},
		});
}

int ios_write_devices(const struct ios *ios, const struct counts *counts,
		      const struct session *session, struct writer *writer, size_t limit)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"ios", NULL, COLUMN_COUNT, 9, false},
		{"transferred", NULL, COLUMN_BYTES, 11, true},
		{"p50", "ns", COLUMN_DURATION, 7, false},
		{"p99", "ns", COLUMN_DURATION, 7, false},
		{"p999", "ns", COLUMN_DURATION, 7, false},
		{"max", "ns", COLUMN_DURATION, 7, false},
		{"one_by_one", NULL, COLUMN_COUNT, 10, true},
		{"errors", NULL, COLUMN_COUNT, 6, true},
		{"faulted", NULL, COLUMN_COUNT, 7, false},
		{"faulted_p50", "ns", COLUMN_DURATION, 11, true},
		{"faulted_max", "ns", COLUMN_DURATION, 11, true},
	};
	static const struct table table = {"io_devices", "I/O of the devices", columns,
					   sizeof(columns) / sizeof(columns[0])};
	static const unsigned int kinds[] = {EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE};
	size_t rows = 0, left_out = 0;
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(session, h)) {
		for (size_t k = 0; !error && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct counts_point all = counts_device(counts, kinds[k], h);

			if (!all.count)
				continue;
			if (limit && (!ios_device(ios, h) || rows == limit)) {
				left_out++;
				continue;
			}
			rows++;
			error = write_device(writer, session_device_name(session, h, text), &all,
					     counts_latency(counts, kinds[k], h),
					     ios_device(ios, h));
		}
	}
	error = error ? error : writer_end(writer);
	if (!error && left_out)
		error = writer_note(writer, "... and %zu more devices.", left_out);
	return error;
}

static int slowest_first(const void *a, const void *b)
{
	return slower(a, b) ? -1 : slower(b, a);
}

int ios_write(struct ios *ios, const struct session *session, struct writer *writer, size_t limit)
{
	static const struct column columns[] = {
		{"completed", NULL, COLUMN_TIME, 15, false},
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"queue", NULL, COLUMN_COUNT, 5, false},
		{"latency", "ns", COLUMN_DURATION, 8, false},
		{"faulted", NULL, COLUMN_TEXT, 7, false},
		{"kind", NULL, COLUMN_TEXT, 14, true},
		{"address", NULL, COLUMN_ADDRESS, 18, true},
		{"length", "bytes", COLUMN_BYTES, 6, false},
		{"error", NULL, COLUMN_COUNT, 5, true},
	};
	static const struct table table = {"ios", "Slowest I/Os, recorded one by one", columns,
					   sizeof(columns) / sizeof(columns[0])};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	/* Sorted to print; reversed below it is a heap again, with the least slow on top. */
	qsort(ios->heap, ios->count, sizeof(ios->heap[0]), slowest_first);
	for (size_t i = 0; !error && i < ios->count && (!limit || i < limit); i++) {
		const struct event *e = &ios->heap[i];
		bool io = e->kind == EVENT_IO_COMPLETE;

		error = writer_row(writer,
				   (union cell[]){
					   {.count = e->time_ns},
					   {.text = session_device_name(session, e->device, text)},
					   {.count = e->queue == QUEUE_NONE ? CELL_NONE : e->queue},
					   {.count = e->value},
					   {.text = io && e->code & IO_FAULTED ? "yes" : "no"},
					   {.text = event_kind_name(e->kind)},
					   {.count = e->address},
					   {.count = e->length},
					   {.count = io ? e->code & ~(__u64)IO_FAULTED : e->code},
				   });
	}
	for (size_t i = 0; i < ios->count / 2; i++)
		swap(&ios->heap[i], &ios->heap[ios->count - 1 - i]);
	return error ? error : writer_end(writer);
}
