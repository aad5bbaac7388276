// SPDX-License-Identifier: GPL-2.0
/* The tables of a footprint: totals, curve, access counts, re-access intervals. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include <math.h>
#include "lib/analyze/footprint_private.h"
#include "lib/base/fail.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static __u64 interval(const struct device_footprint *d, double percent)
{
	return histogram_percentile(&d->intervals, percent) * AGGREGATE_WINDOW_NS;
}

struct footprint_row {
	__u32 device;
	const struct device_footprint *footprint;
};

#define FOOTPRINT(COLUMN)                                                                       \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))  \
	COLUMN(touched_4k, bytes, BYTES, 10, SHOWN, row->footprint->sums.bytes)                 \
	COLUMN(touched_2m, bytes, BYTES, 10, SHOWN, row->footprint->sums.huge_bytes)            \
	COLUMN(memory, percent, REAL, 7, SHOWN,                                                 \
	       footprint_percent(context, row->device, row->footprint->sums.bytes))             \
	COLUMN(memory_2m, percent, REAL, 9, WIDE,                                               \
	       footprint_percent(context, row->device, row->footprint->sums.huge_bytes))        \
	COLUMN(accesses, none, COUNT, 9, SHOWN, row->footprint->sums.accesses)                  \
	COLUMN(reads, none, COUNT, 11, WIDE, row->footprint->sums.reads)                        \
	COLUMN(writes, none, COUNT, 11, WIDE, row->footprint->sums.writes)                      \
	COLUMN(simulated_faults, none, COUNT, 16, SHOWN, row->footprint->sums.simulated_faults) \
	COLUMN(interval_p50, ns, DURATION, 12, WIDE, interval(row->footprint, 50))              \
	COLUMN(interval_p99, ns, DURATION, 12, WIDE, interval(row->footprint, 99))
TABLE(footprint, "Memory that devices touched", FOOTPRINT, struct footprint_row, struct session)

/* "footprint": a row per device. */
static void footprint_write(const struct analysis *analysis, struct writer *writer,
			    const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;

	(void)wish;
	writer_begin_with(writer, &footprint_table, analysis->session);
	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);

		if (d)
			writer_row(writer, &(struct footprint_row){h, d});
	}
	writer_end(writer);
}

struct point_row {
	__u32 device;
	const struct footprint_point *point;
};

#define CURVE(COLUMN)                                                                          \
	COLUMN(window, none, TIME, 8, SHOWN, row->point->window *AGGREGATE_WINDOW_NS)          \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(touched_4k, bytes, BYTES, 10, SHOWN, row->point->bytes)                         \
	COLUMN(touched_2m, bytes, BYTES, 10, WIDE, row->point->huge_bytes)                     \
	COLUMN(memory, percent, REAL, 7, SHOWN,                                                \
	       footprint_percent(context, row->device, row->point->bytes))                     \
	COLUMN(window_4k, bytes, BYTES, 9, SHOWN, row->point->window_bytes)                    \
	COLUMN(window_2m, bytes, BYTES, 9, WIDE, row->point->window_huge_bytes)                \
	COLUMN(accesses, none, COUNT, 9, WIDE, row->point->accesses)                           \
	COLUMN(simulated_faults, none, COUNT, 16, WIDE, row->point->simulated_faults)
TABLE(footprint_curve, "Footprint over time", CURVE, struct point_row, struct session)

/* "footprint_curve": a row per device and window, or every so many that at most `points` (0: all)
 * per device and the newest remain. */
static void footprint_write_curve(const struct analysis *analysis, struct writer *writer,
				  const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;
	size_t points = wish->limit;

	writer_begin_with(writer, &footprint_curve_table, analysis->session);
	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);
		size_t step =
			d && points && d->count > points ? (d->count + points - 1) / points : 1;

		for (size_t i = 0; d && i < d->count; i++)
			if (i % step == 0 || i + 1 == d->count)
				writer_row(writer, &(struct point_row){h, &d->points[i]});
	}
	writer_end(writer);
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

static void footprint_classify(const struct page_table *table, struct class_counts *devices,
			       __u32 end)
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

struct footprint_class_row {
	__u32 device;
	__u64 page_bytes;
	const struct class_counts *counts;
	size_t class;
	__u64 up_to; /* pages of this class and those below */
};

static double footprint_percent_of(__u64 part, __u64 whole)
{
	return 100.0 * (double)part / (double)whole;
}

#define ACCESSES(COLUMN)                                                                       \
	COLUMN(device, none, TEXT, 20, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(page, bytes, BYTES, 5, SHOWN, row->page_bytes)                                  \
	COLUMN(accesses, none, TEXT, 9, SHOWN, class_names[row->class])                        \
	COLUMN(pages, none, COUNT, 9, SHOWN, row->counts->pages[row->class])                   \
	COLUMN(pages_up_to, percent, REAL, 11, SHOWN,                                          \
	       footprint_percent_of(row->up_to, row->counts->all_pages))                       \
	COLUMN(of_accesses, percent, REAL, 11, SHOWN,                                          \
	       footprint_percent_of(row->counts->accesses[row->class], row->counts->all_accesses))
TABLE(footprint_accesses, "Pages by number of accesses", ACCESSES, struct footprint_class_row,
      struct session)

static void footprint_write_classes(struct writer *writer, __u32 device, __u64 page_bytes,
				    const struct class_counts *counts)
{
	struct footprint_class_row row = {device, page_bytes, counts, 0, 0};

	for (; row.class < CLASSES && counts->all_pages; row.class ++) {
		row.up_to += counts->pages[row.class];
		writer_row(writer, &row);
	}
}

/* "footprint_accesses": pages by how often they were touched, both granularities. */
static void footprint_write_accesses(const struct analysis *analysis, struct writer *writer,
				     const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;
	const struct page_table *const tables[] = {&f->pages, &f->huge};
	const unsigned int shifts[] = {PAGE_BITS, FOOTPRINT_HUGE_SHIFT};
	__u32 end = f->devices.end;
	struct class_counts *devices;

	(void)wish;
	writer_begin_with(writer, &footprint_accesses_table, analysis->session);
	for (size_t t = 0; t < COUNT(tables); t++) {
		devices = calloc(end ? end : 1, sizeof(*devices));
		if (!devices) {
			writer_fail(writer, failed(-ENOMEM, "no memory for the access counts"));
			return;
		}
		footprint_classify(tables[t], devices, end);
		for (__u32 h = 0; h < end; h++)
			footprint_write_classes(writer, h, 1ull << shifts[t], &devices[h]);
		free(devices);
	}
	writer_end(writer);
}

struct interval_row {
	__u32 device;
	unsigned int bucket;
	__u64 accesses;
};

#define INTERVALS(COLUMN)                                                                      \
	COLUMN(device, none, TEXT, 20, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(from, ns, DURATION, 10, SHOWN,                                                  \
	       histogram_bucket_low(row->bucket) * AGGREGATE_WINDOW_NS)                        \
	COLUMN(to, ns, DURATION, 10, SHOWN,                                                    \
	       histogram_bucket_high(row->bucket) * AGGREGATE_WINDOW_NS)                       \
	COLUMN(accesses, none, COUNT, 12, SHOWN, row->accesses)
TABLE(footprint_intervals, "Accesses to 2 MiB pages by the time since the one before", INTERVALS,
      struct interval_row, struct session)

/* "footprint_intervals": accesses by the time since the page's access before. */
static void footprint_write_intervals(const struct analysis *analysis, struct writer *writer,
				      const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;

	(void)wish;
	writer_begin_with(writer, &footprint_intervals_table, analysis->session);
	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);

		for (unsigned int b = 0; d && b < HISTOGRAM_BUCKETS; b++) {
			struct interval_row row = {h, b, d->intervals.buckets[b]};

			if (row.accesses)
				writer_row(writer, &row);
		}
	}
	writer_end(writer);
}

static void footprint_live(const struct analysis *a, struct live_device *row)
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

static int create_footprint(struct analysis *a, const struct analysis_config *config)
{
	const struct footprint_config own = {config->history_windows, config->simulated_fault_ns,
					     config->period};

	return config->without_footprint ? 0 : footprint_create(&a->footprint, &own);
}

static const struct analyzer_table tables[] = {
	{&footprint_table, footprint_write},
	{&footprint_curve_table, footprint_write_curve},
	{&footprint_accesses_table, footprint_write_accesses},
	{&footprint_intervals_table, footprint_write_intervals},
	{0},
};

DEFINE_ANALYZER(footprint, .tables = tables, .device = footprint_live)
