// SPDX-License-Identifier: GPL-2.0
/* The table of faults by device. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
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

static int summary_most_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->began != y->began)
		return x->began > y->began ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

struct summary_row {
	__u32 device;
	const struct stage_group *group; /* NULL: no fault of it is complete */
	struct recent_counts counts;
	struct device_rate rate;
	unsigned int slowest;
	double share; /* of the slowest stage */
	__u64 merged; /* into it */
	__u64 blocked_ns;
	unsigned int unknown; /* numbers of the device */
	bool text;
};

static __u64 summary_known(const struct summary_row *row, unsigned int number, __u64 value)
{
	return count_if(!(row->unknown & number), value);
}

static __u64 summary_percentile(const struct summary_row *row, double percent)
{
	return row->group ? histogram_percentile(&row->group->total, percent) : CELL_NONE;
}

static const char *summary_slowest(const struct summary_row *row, char *text)
{
	return row->group ? stage_marked_name(row->slowest, row->text && row->merged, text) : "-";
}

#define SUMMARY(COLUMN)                                                                           \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text))    \
	COLUMN(faults, none, COUNT, 7, SHOWN,                                                     \
	       summary_known(row, UNKNOWN_FAULTS, row->counts.began))                             \
	COLUMN(peak, per_s, COUNT, 6, SHOWN, summary_known(row, UNKNOWN_FAULTS, row->rate.peak))  \
	COLUMN(bursts, none, COUNT, 6, SHOWN,                                                     \
	       summary_known(row, UNKNOWN_FAULTS, row->rate.bursts))                              \
	COLUMN(mean, none, DURATION, 7, WIDE,                                                     \
	       row->group ? (__u64)histogram_mean(&row->group->total) : CELL_NONE)                \
	COLUMN(p50, none, DURATION, 7, SHOWN, summary_percentile(row, 50))                        \
	COLUMN(p90, none, DURATION, 7, WIDE, summary_percentile(row, 90))                         \
	COLUMN(p99, none, DURATION, 7, SHOWN, summary_percentile(row, 99))                        \
	COLUMN(p999, none, DURATION, 7, WIDE, summary_percentile(row, 99.9))                      \
	COLUMN(max, none, DURATION, 7, SHOWN, row->group ? row->group->total.max : CELL_NONE)     \
	COLUMN(slowest, none, TEXT, 9, SHOWN, summary_slowest(row, text))                         \
	COLUMN(share, percent, REAL, 6, WIDE, 100 * row->share)                                   \
	COLUMN(span, none, TEXT, 13, WIDE, row->group ? stage_span(row->group->seen, text) : "-") \
	COLUMN(blocked, none, DURATION, 7, WIDE,                                                  \
	       summary_known(row, UNKNOWN_BLOCKED, row->blocked_ns))                              \
	COLUMN(complete, none, COUNT, 8, WIDE,                                                    \
	       summary_known(row, UNKNOWN_STATES, row->counts.complete))                          \
	COLUMN(unfinished, none, COUNT, 10, WIDE,                                                 \
	       summary_known(row, UNKNOWN_STATES, row->counts.unfinished))                        \
	COLUMN(inconsistent, none, COUNT, 12, WIDE,                                               \
	       summary_known(row, UNKNOWN_STATES, row->counts.inconsistent))                      \
	COLUMN(overflowed, none, COUNT, 10, WIDE,                                                 \
	       summary_known(row, UNKNOWN_OVERFLOWED, row->counts.overflowed))                    \
	COLUMN(discarded, none, COUNT, 9, WIDE,                                                   \
	       summary_known(row, UNKNOWN_DISCARDED, row->counts.discarded))                      \
	COLUMN(abandoned, none, COUNT, 9, WIDE,                                                   \
	       summary_known(row, UNKNOWN_ABANDONED, row->counts.abandoned))                      \
	COLUMN(first, none, TIME, 30, WIDE,                                                       \
	       summary_known(row, UNKNOWN_FAULTS, count_or_none(row->rate.first_ns)))             \
	COLUMN(last, none, TIME, 30, WIDE,                                                        \
	       summary_known(row, UNKNOWN_FAULTS, count_or_none(row->rate.last_ns)))              \
	COLUMN(merged, none, COUNT, 6, WIDE, row->merged)
TABLE(summary, "Faults by device", SUMMARY, struct summary_row, struct session)

static void write_summary_row(const struct analysis *a, struct writer *writer, __u32 device)
{
	struct summary_row row = {
		.device = device,
		.group = stages_of_device(a->stages, device),
		.counts = recent_counts(a->recent, device),
		.rate = rates_device(a->rates, device),
		.slowest = STAGES,
		.unknown = unknown_numbers(a->session, device),
		.text = writer_is_text(writer),
	};
	__u64 sum_ns;

	queues_device(a->queues, device, &sum_ns, &row.blocked_ns);
	if (row.group)
		row.slowest = stage_group_slowest(row.group, &row.share);
	if (row.slowest < STAGES)
		row.merged = row.group->merged[row.slowest];
	writer_row(writer, &row);
}

/* Table "summary": a row per device that faulted, most faults first; limit 0: all. */
static void write_summary(const struct analysis *a, struct writer *writer,
			  const struct table_wish *wish)
{
	size_t count = 0, at = 0;
	struct ranked *ranked;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		count += recent_counts(a->recent, h).began != 0;
	ranked = calloc(count + 1, sizeof(*ranked));

	if (!ranked) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the summary"));
		return;
	}
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		ranked[at] = (struct ranked){h, recent_counts(a->recent, h).began};
		at += !!ranked[at].began;
	}
	qsort(ranked, count, sizeof(*ranked), summary_most_first);
	writer_begin_with(writer, &summary_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++)
		write_summary_row(a, writer, ranked[i].device);
	free(ranked);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more devices.", count - wish->limit);
}

static bool has_faults(const struct analysis *a)
{
	return faults_began(a->faults);
}

static bool summary_always(const struct analysis *a)
{
	(void)a;
	return true;
}

static void write_shared_names(const struct analysis *a, struct writer *writer,
			       const struct table_wish *wish)
{
	(void)wish;
	session_write_shared_names(a->session, writer);
}

static const struct analyzer_table tables[] = {
	{&summary_table, write_summary, has_faults, REPORT_ROWS},
	{NULL, write_shared_names, summary_always},
	{0},
};

const struct analyzer summary_analyzer = {.tables = tables, .chapter = REPORT_FAULTS};
