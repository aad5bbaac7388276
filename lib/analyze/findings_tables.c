// SPDX-License-Identifier: GPL-2.0
/* The tables beside the findings: faults by device, and those that did not complete. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/fault_table.h"
#include "lib/analyze/findings_data.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"

struct ranked {
	__u32 device;
	__u64 began;
};

static int most_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->began != y->began)
		return x->began > y->began ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

static int summary_row(const struct analysis *a, struct writer *writer, __u32 device)
{
	const struct stage_group *group = stages_of_device(a->stages, device);
	struct recent_counts counts = recent_counts(a->recent, device);
	struct device_rate rate = rates_device(a->rates, device);
	unsigned int slowest = STAGES;
	__u64 sum_ns, worst_ns;
	char name[DEVICE_NAME_TEXT], span[SPAN_TEXT], marked[STAGE_MARKED_TEXT];
	bool text = writer_is_text(writer);
	unsigned int unknown = unknown_numbers(a->session, device);
	bool told = !(unknown & UNKNOWN_FAULTS), judged = !(unknown & UNKNOWN_STATES);
	__u64 merged;
	double share = 0;

	queues_device(a->queues, device, &sum_ns, &worst_ns);
	if (group)
		slowest = stage_group_slowest(group, &share);
	merged = slowest < STAGES ? group->merged[slowest] : 0;
	return writer_row(
		writer,
		(union cell[]){
			{.text = session_device_name(a->session, device, name)},
			cell_if(told, counts.began),
			cell_if(told, rate.peak),
			cell_if(told, rate.bursts),
			{.count = group ? (__u64)histogram_mean(&group->total) : CELL_NONE},
			{.count = group ? histogram_percentile(&group->total, 50) : CELL_NONE},
			{.count = group ? histogram_percentile(&group->total, 90) : CELL_NONE},
			{.count = group ? histogram_percentile(&group->total, 99) : CELL_NONE},
			{.count = group ? histogram_percentile(&group->total, 99.9) : CELL_NONE},
			{.count = group ? group->total.max : CELL_NONE},
			{.text = group ? stage_marked_name(slowest, text && merged, marked) : "-"},
			{.real = 100 * share},
			{.text = group ? stage_span(group->seen, span) : "-"},
			cell_if(!(unknown & UNKNOWN_BLOCKED), worst_ns),
			cell_if(judged, counts.complete),
			cell_if(judged, counts.unfinished),
			cell_if(judged, counts.inconsistent),
			cell_if(!(unknown & UNKNOWN_OVERFLOWED), counts.overflowed),
			cell_if(!(unknown & UNKNOWN_DISCARDED), counts.discarded),
			cell_if(!(unknown & UNKNOWN_ABANDONED), counts.abandoned),
			cell_if(told && rate.first_ns, rate.first_ns),
			cell_if(told && rate.last_ns, rate.last_ns),
			{.count = merged},
		});
}

int findings_write_summary(const struct findings *f, struct writer *writer, size_t limit)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"faults", NULL, COLUMN_COUNT, 7, false},
		{"peak", "per_s", COLUMN_COUNT, 6, false},
		{"bursts", NULL, COLUMN_COUNT, 6, false},
		{"mean", NULL, COLUMN_DURATION, 7, true},
		{"p50", NULL, COLUMN_DURATION, 7, false},
		{"p90", NULL, COLUMN_DURATION, 7, true},
		{"p99", NULL, COLUMN_DURATION, 7, false},
		{"p999", NULL, COLUMN_DURATION, 7, true},
		{"max", NULL, COLUMN_DURATION, 7, false},
		{"slowest", NULL, COLUMN_TEXT, 9, false},
		{"share", "percent", COLUMN_REAL, 6, true},
		{"span", NULL, COLUMN_TEXT, 13, true},
		{"blocked", NULL, COLUMN_DURATION, 7, true},
		{"complete", NULL, COLUMN_COUNT, 8, true},
		{"unfinished", NULL, COLUMN_COUNT, 10, true},
		{"inconsistent", NULL, COLUMN_COUNT, 12, true},
		{"overflowed", NULL, COLUMN_COUNT, 10, true},
		{"discarded", NULL, COLUMN_COUNT, 9, true},
		{"abandoned", NULL, COLUMN_COUNT, 9, true},
		{"first", NULL, COLUMN_TIME, 30, true},
		{"last", NULL, COLUMN_TIME, 30, true},
		{"merged", NULL, COLUMN_COUNT, 6, true},
	};
	static const struct table table = {"summary", "Faults by device", columns,
					   sizeof(columns) / sizeof(columns[0])};
	const struct analysis *a = f->analysis;
	size_t count = 0, at = 0;
	struct ranked *ranked;
	int error;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		count += recent_counts(a->recent, h).began != 0;
	ranked = calloc(count + 1, sizeof(*ranked));

	if (!ranked)
		return failed(-ENOMEM, "no memory for the summary");
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		ranked[at] = (struct ranked){h, recent_counts(a->recent, h).began};
		at += !!ranked[at].began;
	}
	qsort(ranked, count, sizeof(*ranked), most_first);
	error = writer_begin(writer, &table);
	for (size_t i = 0; !error && i < count && (!limit || i < limit); i++)
		error = summary_row(a, writer, ranked[i].device);
	free(ranked);
	error = error ? error : writer_end(writer);
	if (!error && limit && count > limit)
		error = writer_note(writer, "... and %zu more devices.", count - limit);
	return error;
}

int findings_write_odd(const struct findings *f, struct writer *writer)
{
	struct table table = *fault_table;
	struct column *columns;
	int error;

	/* Which they are is not known then. */
	if (!f->odd_count || unknown_of_all(f->analysis->session) & UNKNOWN_STATES)
		return 0;
	columns = malloc(table.column_count * sizeof(*columns));
	if (!columns)
		return failed(-ENOMEM, "no memory for the faults that did not complete");
	memcpy(columns, table.columns, table.column_count * sizeof(*columns));
	/* They have no total; how far they came is what one asks. */
	for (size_t i = 0; i < table.column_count; i++)
		if (!strcmp(columns[i].name, "total") || !strcmp(columns[i].name, "reached"))
			columns[i].wide = !columns[i].wide;
	table.name = "odd_faults";
	table.title = "Faults that did not complete";
	table.columns = columns;
	error = writer_begin_with(writer, &table, f->analysis->session);
	for (size_t i = 0; !error && i < f->odd_count; i++)
		error = fault_table_row(writer, f->analysis->session, &f->odd[i]);
	error = error ? error : writer_end(writer);
	free(columns);
	if (!error && f->odd_total > f->odd_count)
		error = writer_note(writer, "... and %llu more.", f->odd_total - f->odd_count);
	return error;
}
