// SPDX-License-Identifier: GPL-2.0
/* Tables rates and counts. */
#include <string.h>

#include "lib/analyze/counts_data.h"
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

int counts_write_rates(struct counts *c, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"window", NULL, COLUMN_TIME, 8, false},
		{"kind", NULL, COLUMN_TEXT, 20, false},
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"rate", "per_s", COLUMN_COUNT, 9, false},
		{"bandwidth", "bytes_per_s", COLUMN_COUNT, 12, true},
		{"latency_mean", "ns", COLUMN_DURATION, 12, true},
		{"latency_max", "ns", COLUMN_DURATION, 11, true},
	};
	static const struct table table = {"rates", "Per second", columns,
					   sizeof(columns) / sizeof(columns[0])};
	struct told told = {.session = session, .all = true};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	HASH_SORT(c->series, by_series);
	for (const struct series *s = c->series; s; s = s->hh.next) {
		bool all = is_told(&told, s->key.kind, s->key.device);

		for (size_t i = 0; !error && i < s->count; i++) {
			const struct counts_point *p = &s->points[i];
			bool timed = p->latency_max_ns && p->count;

			error = writer_row(
				writer,
				(union cell[]){
					{.count = p->window * AGGREGATE_WINDOW_NS},
					{.text = series_name(s->key.kind)},
					{.text = session_device_name(session, s->key.device, text)},
					cell_if(all, p->count),
					cell_if(all, p->bytes),
					{.count = timed ? p->latency_sum_ns / p->count : CELL_NONE},
					{.count = timed ? p->latency_max_ns : CELL_NONE},
				});
		}
	}
	return error ? error : writer_end(writer);
}

static int by_total(const struct total *a, const struct total *b)
{
	if (a->key.kind != b->key.kind)
		return a->key.kind < b->key.kind ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return memcmp(&a->key, &b->key, sizeof(a->key));
}

int counts_write_totals(struct counts *c, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"kind", NULL, COLUMN_TEXT, 20, false},
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"pid", NULL, COLUMN_COUNT, 8, false},
		{"code", NULL, COLUMN_COUNT, 4, true},
		{"count", NULL, COLUMN_COUNT, 11, false},
		{"transferred", NULL, COLUMN_BYTES, 11, false},
	};
	static const struct table table = {"counts", "Counted", columns,
					   sizeof(columns) / sizeof(columns[0])};
	struct told told = {.session = session, .all = true};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	HASH_SORT(c->totals, by_total);
	for (const struct total *t = c->totals; !error && t; t = t->hh.next) {
		bool all = is_told(&told, t->key.kind, t->key.device);

		error = writer_row(
			writer, (union cell[]){
					{.text = event_kind_name(t->key.kind)},
					{.text = session_device_name(session, t->key.device, text)},
					{.count = t->key.pid ? t->key.pid : CELL_NONE},
					{.count = t->key.code},
					cell_if(all, t->count),
					cell_if(all && t->bytes, t->bytes),
				});
	}
	return error ? error : writer_end(writer);
}
