// SPDX-License-Identifier: GPL-2.0
/* The tables of a footprint: totals, curve, access counts, re-access intervals. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/footprint_data.h"
#include "lib/base/fail.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static __u64 interval(const struct device_footprint *d, double percent)
{
	return histogram_percentile(&d->intervals, percent) * AGGREGATE_WINDOW_NS;
}

int footprint_write(const struct footprint *f, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"touched_4k", "bytes", COLUMN_BYTES, 10, false},
		{"touched_2m", "bytes", COLUMN_BYTES, 10, false},
		{"memory", "percent", COLUMN_REAL, 7, false},
		{"memory_2m", "percent", COLUMN_REAL, 9, true},
		{"accesses", NULL, COLUMN_COUNT, 9, false},
		{"reads", NULL, COLUMN_COUNT, 11, true},
		{"writes", NULL, COLUMN_COUNT, 11, true},
		{"simulated_faults", NULL, COLUMN_COUNT, 16, false},
		{"interval_p50", "ns", COLUMN_DURATION, 12, true},
		{"interval_p99", "ns", COLUMN_DURATION, 12, true},
	};
	static const struct table table = {"footprint", "Memory that devices touched", columns,
					   COUNT(columns)};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);

		if (!d)
			continue;
		error = writer_row(
			writer, (union cell[]){
					{.text = session_device_name(session, h, text)},
					{.count = d->sums.bytes},
					{.count = d->sums.huge_bytes},
					{.real = footprint_percent(session, h, d->sums.bytes)},
					{.real = footprint_percent(session, h, d->sums.huge_bytes)},
					{.count = d->sums.accesses},
					{.count = d->sums.reads},
					{.count = d->sums.writes},
					{.count = d->sums.simulated_faults},
					{.count = interval(d, 50)},
					{.count = interval(d, 99)},
				});
	}
	return error ? error : writer_end(writer);
}

int footprint_write_curve(const struct footprint *f, const struct session *session,
			  struct writer *writer, size_t points)
{
	static const struct column columns[] = {
		{"window", NULL, COLUMN_TIME, 8, false},
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"touched_4k", "bytes", COLUMN_BYTES, 10, false},
		{"touched_2m", "bytes", COLUMN_BYTES, 10, true},
		{"memory", "percent", COLUMN_REAL, 7, false},
		{"window_4k", "bytes", COLUMN_BYTES, 9, false},
		{"window_2m", "bytes", COLUMN_BYTES, 9, true},
		{"accesses", NULL, COLUMN_COUNT, 9, true},
		{"simulated_faults", NULL, COLUMN_COUNT, 16, true},
	};
	static const struct table table = {"footprint_curve", "Footprint over time", columns,
					   COUNT(columns)};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);
		size_t step =
			d && points && d->count > points ? (d->count + points - 1) / points : 1;

		for (size_t i = 0; !error && d && i < d->count; i++) {
			const struct footprint_point *p = &d->points[i];

			if (i % step && i + 1 < d->count)
				continue;
			error = writer_row(
				writer, (union cell[]){
						{.count = p->window * AGGREGATE_WINDOW_NS},
						{.text = session_device_name(session, h, text)},
						{.count = p->bytes},
						{.count = p->huge_bytes},
						{.real = footprint_percent(session, h, p->bytes)},
						{.count = p->window_bytes},
						{.count = p->window_huge_bytes},
						{.count = p->accesses},
						{.count = p->simulated_faults},
					});
		}
	}
	return error ? error : writer_end(writer);
}

/* Upper bounds of the access-count classes; VPRI section 3.3 speaks of 10 and of 50. */
static const __u32 class_bounds[] = {1, 2, 5, 10, 20, 50, 100, 1000, UINT32_MAX};
static const char *const class_names[] = {"1",	   "2",	     "3-5",	 "6-10", "11-20",
					  "21-50", "51-100", "101-1000", ">1000"};
#define CLASSES COUNT(class_bounds)

struct class_counts {
	__u64 pages[CLASSES];
	__u64 accesses[CLASSES];
	__u64 all_pages, all_accesses;
};

static void classify(const struct page_table *table, struct class_counts *devices, __u32 end)
{
	for (size_t i = 0; i < table->capacity; i++) {
		const struct page_entry *e = &table->entries[i];
		struct class_counts *d;
		size_t c = 0;

		if (!e->accesses || e->device >= end)
			continue;
		d = &devices[e->device];
		while (e->accesses > class_bounds[c])
			c++;
		d->pages[c]++;
		d->accesses[c] += e->accesses;
		d->all_pages++;
		d->all_accesses += e->accesses;
	}
}

static int write_classes(struct writer *writer, const char *device, __u64 page_bytes,
			 const struct class_counts *d)
{
	__u64 below = 0;
	int error = 0;

	for (size_t c = 0; !error && c < CLASSES && d->all_pages; c++) {
		below += d->pages[c];
		error = writer_row(
			writer,
			(union cell[]){
				{.text = device},
				{.count = page_bytes},
				{.text = class_names[c]},
				{.count = d->pages[c]},
				{.real = 100.0 * (double)below / (double)d->all_pages},
				{.real = 100.0 * (double)d->accesses[c] / (double)d->all_accesses},
			});
	}
	return error;
}

int footprint_write_accesses(const struct footprint *f, const struct session *session,
			     struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 20, false},
		{"page", "bytes", COLUMN_BYTES, 5, false},
		{"accesses", NULL, COLUMN_TEXT, 9, false},
		{"pages", NULL, COLUMN_COUNT, 9, false},
		{"pages_up_to", "percent", COLUMN_REAL, 11, false},
		{"of_accesses", "percent", COLUMN_REAL, 11, false},
	};
	static const struct table table = {"footprint_accesses", "Pages by number of accesses",
					   columns, COUNT(columns)};
	const struct page_table *const tables[] = {&f->pages, &f->huge};
	const unsigned int shifts[] = {PAGE_BITS, FOOTPRINT_HUGE_SHIFT};
	__u32 end = f->devices.end;
	struct class_counts *devices;
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (size_t t = 0; !error && t < COUNT(tables); t++) {
		devices = calloc(end ? end : 1, sizeof(*devices));
		if (!devices)
			return failed(-ENOMEM, "no memory for the access counts");
		classify(tables[t], devices, end);
		for (__u32 h = 0; !error && h < end; h++)
			error = write_classes(writer, session_device_name(session, h, text),
					      1ull << shifts[t], &devices[h]);
		free(devices);
	}
	return error ? error : writer_end(writer);
}

int footprint_write_intervals(const struct footprint *f, const struct session *session,
			      struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 20, false},
		{"from", "ns", COLUMN_DURATION, 10, false},
		{"to", "ns", COLUMN_DURATION, 10, false},
		{"accesses", NULL, COLUMN_COUNT, 12, false},
	};
	static const struct table table = {
		"footprint_intervals", "Accesses to 2 MiB pages by the time since the one before",
		columns, COUNT(columns)};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);

		for (unsigned int b = 0; !error && d && b < HISTOGRAM_BUCKETS; b++) {
			if (!d->intervals.buckets[b])
				continue;
			error = writer_row(
				writer,
				(union cell[]){
					{.text = session_device_name(session, h, text)},
					{.count = histogram_bucket_low(b) * AGGREGATE_WINDOW_NS},
					{.count = histogram_bucket_high(b) * AGGREGATE_WINDOW_NS},
					{.count = d->intervals.buckets[b]},
				});
		}
	}
	return error ? error : writer_end(writer);
}
