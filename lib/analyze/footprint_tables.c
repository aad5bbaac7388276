// SPDX-License-Identifier: GPL-2.0
/* The tables of a footprint: totals, curve, access counts, re-access intervals, windows that were asked for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/footprint_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODEL_TEXT   NAME_TEXT

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

static __u64 span_begin_ns(const struct footprint *f, __u64 number)
{
	return (f->first_window + f->origin + number * f->span) * AGGREGATE_WINDOW_NS;
}

/* How much of it lies before the end of what was recorded or asked for. */
static __u64 span_covered_ns(const struct footprint *f, const struct session *session, __u64 number)
{
	const __u64 begin_ns = span_begin_ns(f, number), last_ns = session_last_ns(session);
	const __u64 length_ns = f->span * AGGREGATE_WINDOW_NS;

	return last_ns <= begin_ns		? 0
	       : last_ns - begin_ns < length_ns ? last_ns - begin_ns
						: length_ns;
}

struct footprint_window_row {
	__u32 device;
	const struct footprint *footprint;
	const struct footprint_window *window;
};

#define WINDOWS(COLUMN)                                                                          \
	COLUMN(window, none, TIME, 8, SHOWN, span_begin_ns(row->footprint, row->window->number)) \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))   \
	COLUMN(covered, ns, DURATION, 7, SHOWN,                                                  \
	       span_covered_ns(row->footprint, context, row->window->number))                    \
	COLUMN(touched_4k, bytes, BYTES, 10, WIDE, row->window->bytes)                           \
	COLUMN(touched_2m, bytes, BYTES, 10, SHOWN, row->window->huge_bytes)                     \
	COLUMN(pages_2m, none, COUNT, 8, WIDE, row->window->huge_bytes >> FOOTPRINT_HUGE_SHIFT)  \
	COLUMN(memory, percent, REAL, 7, WIDE,                                                   \
	       footprint_percent(context, row->device, row->window->bytes))                      \
	COLUMN(memory_2m, percent, REAL, 9, SHOWN,                                               \
	       footprint_percent(context, row->device, row->window->huge_bytes))                 \
	COLUMN(accesses, none, COUNT, 9, SHOWN, row->window->accesses)
TABLE(footprint_windows, "Memory that devices touched, by windows", WINDOWS,
      struct footprint_window_row, struct session)

/* "footprint_windows": a row a device and window in which it touched anything. */
static void footprint_write_windows(const struct analysis *analysis, struct writer *writer,
				    const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;

	(void)wish;
	/* For programs every table is there, if without rows. */
	if (!f->span && writer_is_text(writer))
		return;
	writer_begin_with(writer, &footprint_windows_table, analysis->session);
	for (__u32 h = 0; h < f->devices.end; h = slots_next(&f->devices, h)) {
		const struct device_footprint *d = footprint_find(f, h);

		for (size_t i = 0; d && i < d->window_count; i++)
			writer_row(writer, &(struct footprint_window_row){h, f, &d->windows[i]});
	}
	writer_end(writer);
}

/* Percent of the memory, of the devices of a model in windows that were over. */
struct footprint_shares {
	char model[MODEL_TEXT];
	__u64 devices, windows; /* devices times complete windows, also those without an access */
	double *shares;		/* above 0, in order */
	size_t count, room;
};

static double shares_percentile(const struct footprint_shares *row, double percent)
{
	const __u64 rank = (__u64)ceil(percent / 100 * (double)row->windows);
	const __u64 zeros = row->windows - row->count;

	if (!row->windows)
		return NAN;
	return rank <= zeros ? 0 : row->shares[rank - zeros - 1];
}

#define SHARES(COLUMN)                                                              \
	COLUMN(model, none, TEXT, 16, SHOWN, row->model)                            \
	COLUMN(devices, none, COUNT, 7, SHOWN, row->devices)                        \
	COLUMN(windows, none, COUNT, 7, SHOWN, row->windows)                        \
	COLUMN(memory_2m_p50, percent, REAL, 13, SHOWN, shares_percentile(row, 50)) \
	COLUMN(memory_2m_p95, percent, REAL, 13, SHOWN, shares_percentile(row, 95)) \
	COLUMN(memory_2m_p99, percent, REAL, 13, WIDE, shares_percentile(row, 99))  \
	COLUMN(memory_2m_max, percent, REAL, 13, SHOWN, shares_percentile(row, 100))
TABLE(footprint_shares, "Memory touched within a window, over all windows of a model's devices",
      SHARES, struct footprint_shares, void)

static int shares_order(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static bool shares_add(struct footprint_shares *row, const struct analysis *analysis, __u32 handle,
		       __u64 complete)
{
	const struct device_footprint *d = footprint_find(analysis->footprint, handle);

	row->devices++;
	row->windows += complete;
	for (size_t i = 0; i < d->window_count && d->windows[i].number < complete; i++) {
		if (!array_grow(&row->shares, &row->room, row->count + 1, sizeof(*row->shares),
				ARRAY_PLAIN))
			return false;
		row->shares[row->count++] =
			footprint_percent(analysis->session, handle, d->windows[i].huge_bytes);
	}
	return true;
}

/* The part of a model's name that says what it is: "nic" of "nic/drop". */
static bool is_of_model(const struct device_info *info, const char *model)
{
	const size_t length = strcspn(info->model, "/");

	return strlen(model) == length && !strncmp(info->model, model, length);
}

/* Of devices whose memory is known: of others there is no share. */
static const struct device_info *shares_device(const struct analysis *analysis, __u32 handle)
{
	const struct device_footprint *d = footprint_find(analysis->footprint, handle);
	const struct device_info *info = session_device(analysis->session, handle);

	return d && d->window_count && info && info->memory ? info : NULL;
}

static bool write_model(const struct analysis *analysis, struct writer *writer, __u32 first,
			__u64 complete)
{
	const struct footprint *f = analysis->footprint;
	const struct device_info *info = shares_device(analysis, first);
	struct footprint_shares row = {0};
	bool enough = true;

	snprintf(row.model, sizeof(row.model), "%.*s", (int)strcspn(info->model, "/"), info->model);
	for (__u32 h = 0; enough && h < f->devices.end; h = slots_next(&f->devices, h)) {
		info = shares_device(analysis, h);
		if (!info || !is_of_model(info, row.model))
			continue;
		/* Those of a model are told together, where its first device stands. */
		if (h < first)
			return true;
		enough = shares_add(&row, analysis, h, complete);
	}
	qsort(row.shares, row.count, sizeof(*row.shares), shares_order);
	if (enough)
		writer_row(writer, &row);
	free(row.shares);
	return enough;
}

/* "footprint_shares": a row a model. */
static void footprint_write_shares(const struct analysis *analysis, struct writer *writer,
				   const struct table_wish *wish)
{
	const struct footprint *f = analysis->footprint;
	__u64 complete = 0, last_ns = session_last_ns(analysis->session);
	bool enough = true;

	(void)wish;
	if (!f->span && writer_is_text(writer))
		return;
	if (f->span && last_ns > span_begin_ns(f, 0))
		complete = (last_ns - span_begin_ns(f, 0)) / (f->span * AGGREGATE_WINDOW_NS);
	writer_begin(writer, &footprint_shares_table);
	for (__u32 h = 0; enough && h < f->devices.end; h = slots_next(&f->devices, h))
		if (shares_device(analysis, h))
			enough = write_model(analysis, writer, h, complete);
	writer_end(writer);
	if (!enough)
		writer_fail(writer, failed(-ENOMEM, "no memory for shares of windows"));
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
					     config->footprint_window_ns, config->period};

	return config->without_footprint ? 0 : footprint_create(&a->footprint, &own);
}

static const struct analyzer_table tables[] = {
	{&footprint_table, footprint_write},
	{&footprint_curve_table, footprint_write_curve},
	{&footprint_accesses_table, footprint_write_accesses},
	{&footprint_intervals_table, footprint_write_intervals},
	{&footprint_windows_table, footprint_write_windows},
	{&footprint_shares_table, footprint_write_shares},
	{0},
};

DEFINE_ANALYZER(footprint, .tables = tables, .device = footprint_live)
