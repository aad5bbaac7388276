// SPDX-License-Identifier: GPL-2.0
/* For programs: a row per device and subject. */
#include <math.h>

#include "lib/analyze/session.h"
#include "tools/diff/diff.h"

struct told_row {
	const struct diff_device *device;
	unsigned int subject;
};

static const struct diff_side *side_of(const struct told_row *row, enum diff_run run)
{
	return &row->device->sides[run];
}

static __u64 told_count(const struct told_row *row, enum diff_run run)
{
	return count_if(side_of(row, run)->devices, diff_count(side_of(row, run), row->subject));
}

static double told_rate(const struct told_row *row, enum diff_run run)
{
	double seconds = diff_seconds(side_of(row, run));

	return seconds > 0 ? (double)diff_count(side_of(row, run), row->subject) / seconds : NAN;
}

static __u64 told_percentile(const struct told_row *row, enum diff_run run, double percent)
{
	const struct histogram *times = diff_times(side_of(row, run), row->subject);

	return count_if(times && times->count, times ? histogram_percentile(times, percent) : 0);
}

static __u64 told_mean(const struct told_row *row, enum diff_run run)
{
	const struct histogram *times = diff_times(side_of(row, run), row->subject);

	return count_if(times && times->count, times ? (__u64)histogram_mean(times) : 0);
}

static __u64 told_ranked(const struct told_row *row, enum diff_run run)
{
	return count_if(diff_row_is_of_times(row->subject),
			row->device->rows[row->subject].ranked[run]);
}

static const struct diff_row *judged(const struct told_row *row)
{
	return &row->device->rows[row->subject];
}

#define DIFF_TABLE(COLUMN)                                                                      \
	COLUMN(host, none, TEXT, 12, WIDE, row->device->host)                                   \
	COLUMN(device, none, TEXT, 10, SHOWN, row->device->name)                                \
	COLUMN(stage, none, TEXT, 8, SHOWN, diff_subject_name(row->subject))                    \
	COLUMN(count_a, none, COUNT, 7, SHOWN, told_count(row, DIFF_A))                         \
	COLUMN(count_b, none, COUNT, 7, SHOWN, told_count(row, DIFF_B))                         \
	COLUMN(rate_a, per_s, REAL, 8, WIDE, told_rate(row, DIFF_A))                            \
	COLUMN(rate_b, per_s, REAL, 8, WIDE, told_rate(row, DIFF_B))                            \
	COLUMN(mean_a, ns, DURATION, 6, WIDE, told_mean(row, DIFF_A))                           \
	COLUMN(mean_b, ns, DURATION, 6, WIDE, told_mean(row, DIFF_B))                           \
	COLUMN(p50_a, ns, DURATION, 6, SHOWN, told_percentile(row, DIFF_A, 50))                 \
	COLUMN(p50_b, ns, DURATION, 6, SHOWN, told_percentile(row, DIFF_B, 50))                 \
	COLUMN(p99_a, ns, DURATION, 6, SHOWN, told_percentile(row, DIFF_A, 99))                 \
	COLUMN(p99_b, ns, DURATION, 6, SHOWN, told_percentile(row, DIFF_B, 99))                 \
	COLUMN(share_a, percent, REAL, 8, WIDE, diff_share(side_of(row, DIFF_A), row->subject)) \
	COLUMN(share_b, percent, REAL, 8, WIDE, diff_share(side_of(row, DIFF_B), row->subject)) \
	COLUMN(ranked_a, none, COUNT, 8, WIDE, told_ranked(row, DIFF_A))                        \
	COLUMN(ranked_b, none, COUNT, 8, WIDE, told_ranked(row, DIFF_B))                        \
	COLUMN(superiority, none, REAL, 11, WIDE,                                               \
	       diff_row_is_of_times(row->subject) ? judged(row)->main.difference + 0.5 : NAN)   \
	COLUMN(design, none, REAL, 6, WIDE, judged(row)->main.design)                           \
	COLUMN(p, none, REAL, 6, WIDE, judged(row)->main.p)                                     \
	COLUMN(p_tail, none, REAL, 6, WIDE,                                                     \
	       diff_row_is_of_times(row->subject) ? judged(row)->tail.p : NAN)                  \
	COLUMN(level, none, REAL, 6, WIDE, judged(row)->level)                                  \
	COLUMN(verdict, none, TEXT, 9, SHOWN, diff_verdict_name(row->device, row->subject))
TABLE(diff, "Differences", DIFF_TABLE, struct told_row, void)

int diff_write_table(const struct diff *diff)
{
	writer_begin(diff->writer, &diff_table);
	for (const struct diff_device *d = diff->devices; d; d = d->hh.next)
		for (unsigned int s = 0; s < DIFF_SUBJECTS; s++)
			if (diff_has_row(d, s))
				writer_row(diff->writer, &(struct told_row){d, s});
	writer_end(diff->writer);
	return writer_error(diff->writer);
}
