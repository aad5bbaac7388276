// SPDX-License-Identifier: GPL-2.0
/* Tables rates and counts. */
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/counts_private.h"
#include "lib/analyze/unknown.h"

static const char *series_name(__u32 kind)
{
	return kind == EVENT_FAULT_DETECT ? "I/O page fault" : event_kind_name(kind);
}

static int by_series(const struct series *a, const struct series *b)
{
	if (a->key.kind != b->key.kind)
		return a->key.kind < b->key.kind ? -1 : 1;
	return a->key.device < b->key.device ? -1 : a->key.device > b->key.device;
}

/* To be asked in the order of kinds, as each answer looks through all probes. */
struct told {
	const struct session *session;
	struct series_key key;
	bool all;
};

/* Whether each of them was: faults by their device, all else by the probes that count it. */
static bool is_told(struct told *told, unsigned int kind, __u32 device)
{
	if (kind == EVENT_FAULT_DETECT)
		return !(unknown_numbers(told->session, device) & UNKNOWN_FAULTS);
	if (kind < EVENT_VFIO_MAP || kind > EVENT_VFIO_PIN)
		device = DEVICE_NONE; /* alike for all */
	if (kind != told->key.kind || device != told->key.device)
		*told = (struct told){told->session,
				      {device, kind},
				      !unknown_count(told->session, (__u16)kind, device)};
	return told->all;
}

struct rate_row {
	const struct series *series;
	const struct counts_point *point;
	bool told;
};

static bool counts_timed(const struct counts_point *point)
{
	return point->latency_max_ns && point->count;
}

#define RATES(COLUMN)                                                                           \
	COLUMN(window, none, TIME, 8, SHOWN, row->point->window *AGGREGATE_WINDOW_NS)           \
	COLUMN(kind, none, TEXT, 20, SHOWN, series_name(row->series->key.kind))                 \
	COLUMN(device, none, TEXT, 16, SHOWN,                                                   \
	       session_device_name(context, row->series->key.device, text))                     \
	COLUMN(rate, per_s, COUNT, 9, SHOWN, count_if(row->told, row->point->count))            \
	COLUMN(bandwidth, bytes_per_s, COUNT, 12, WIDE, count_if(row->told, row->point->bytes)) \
	COLUMN(latency_mean, ns, DURATION, 12, WIDE,                                            \
	       counts_timed(row->point) ? row->point->latency_sum_ns / row->point->count        \
					: CELL_NONE)                                            \
	COLUMN(latency_max, ns, DURATION, 11, WIDE,                                             \
	       count_if(counts_timed(row->point), row->point->latency_max_ns))
TABLE(rates, "Per second", RATES, struct rate_row, struct session)

void counts_write_rates(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	struct counts *c = analysis->counts;
	const struct session *session = analysis->session;
	struct told told = {.session = session, .all = true};

	(void)wish;
	writer_begin_with(writer, &rates_table, session);
	HASH_SORT(c->series, by_series);
	for (const struct series *s = c->series; s; s = s->hh.next) {
		bool all = is_told(&told, s->key.kind, s->key.device);

		for (size_t i = 0; i < s->count; i++)
			writer_row(writer, &(struct rate_row){s, &s->points[i], all});
	}
	writer_end(writer);
}

static int by_total(const struct total *a, const struct total *b)
{
	if (a->key.kind != b->key.kind)
		return a->key.kind < b->key.kind ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return memcmp(&a->key, &b->key, sizeof(a->key));
}

struct count_row {
	const struct total *total;
	bool told;
};

#define COUNTS(COLUMN)                                                                \
	COLUMN(kind, none, TEXT, 20, SHOWN, event_kind_name(row->total->key.kind))    \
	COLUMN(device, none, TEXT, 16, SHOWN,                                         \
	       session_device_name(context, row->total->key.device, text))            \
	COLUMN(pid, none, COUNT, 8, SHOWN, count_or_none(row->total->key.pid))        \
	COLUMN(code, none, COUNT, 4, WIDE, row->total->key.code)                      \
	COLUMN(count, none, COUNT, 11, SHOWN, count_if(row->told, row->total->count)) \
	COLUMN(transferred, none, BYTES, 11, SHOWN,                                   \
	       count_if(row->told && row->total->bytes, row->total->bytes))
TABLE(counts, "Counted", COUNTS, struct count_row, struct session)

void counts_write_totals(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	struct counts *c = analysis->counts;
	const struct session *session = analysis->session;
	struct told told = {.session = session, .all = true};

	(void)wish;
	writer_begin_with(writer, &counts_table, session);
	HASH_SORT(c->totals, by_total);
	for (const struct total *t = c->totals; t; t = t->hh.next) {
		bool all = is_told(&told, t->key.kind, t->key.device);

		writer_row(writer, &(struct count_row){t, all});
	}
	writer_end(writer);
}

static int create_counts(struct analysis *a, const struct analysis_config *config)
{
	return counts_create(&a->counts, a->faults, config->history_windows);
}

static const struct analyzer_table tables[] = {
	{&rates_table, counts_write_rates},
	{&counts_table, counts_write_totals},
	{0},
};

DEFINE_ANALYZER(counts, .tables = tables, .of_period = true)
