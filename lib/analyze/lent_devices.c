// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/lent_devices.h"

#include <math.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/borrows.h"
#include "lib/analyze/clients.h"
#include "lib/analyze/counts.h"
#include "lib/analyze/lent_windows.h"

struct lent_row {
	__u32 device;
	bool used;
	struct client_totals user;
	const struct histogram *latency;    /* NULL: none was counted */
	const struct borrow_totals *borrow; /* NULL: none lasts */
	const struct window_totals *window; /* NULL: none was told */
};

static const char *model_of(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);

	return info ? info->model : "-";
}

static double window_share(const struct lent_row *row)
{
	const struct window_totals *w = row->window;

	return w && w->window_bytes ? 100 * (double)w->charged_most / (double)w->window_bytes : NAN;
}

#define LENT(COLUMN)                                                                           \
	COLUMN(device, none, TEXT, 14, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(model, none, TEXT, 9, SHOWN, model_of(context, row->device))                    \
	COLUMN(borrower, none, TEXT, 8, SHOWN, lent_host(context, row->device, text))          \
	COLUMN(borrow, none, COUNT, 6, SHOWN,                                                  \
	       count_if(row->borrow, row->borrow ? row->borrow->number : 0))                   \
	COLUMN(ios, none, COUNT, 8, SHOWN, count_if(row->used, row->user.ios))                 \
	COLUMN(moved, bytes, BYTES, 6, WIDE, count_if(row->used, row->user.bytes))             \
	COLUMN(p99, none, DURATION, 7, SHOWN,                                                  \
	       row->latency ? histogram_percentile(row->latency, 99) : CELL_NONE)              \
	COLUMN(longest, none, DURATION, 7, WIDE, count_if(row->used, row->user.longest_ns))    \
	COLUMN(errors, none, COUNT, 6, SHOWN, count_if(row->used, row->user.errors))           \
	COLUMN(charged, bytes, BYTES, 7, WIDE,                                                 \
	       count_if(row->window, row->window ? row->window->charged : 0))                  \
	COLUMN(window, percent, REAL, 8, SHOWN, window_share(row))
TABLE(lent, "Lent devices", LENT, struct lent_row, struct session)

static bool lent_row_of(const struct analysis *a, __u32 device, struct lent_row *row)
{
	enum lent_kind kind = lent_kind(a->session, device);

	if (kind != LENT_SHADOW && kind != LENT_USER)
		return false;
	*row = (struct lent_row){
		.device = device,
		.latency = counts_latency(a->counts, EVENT_IO_COMPLETE, device),
		.borrow = borrow_of_device(a->borrows, device),
		.window = window_of_device(a->lent_windows, device),
	};
	row->used = client_totals_of(a->clients, device, &row->user);
	return row->used || row->borrow || row->window;
}

void lent_devices_write(const struct analysis *a, struct writer *writer,
			const struct table_wish *wish)
{
	struct lent_row row;
	size_t rows = 0;

	writer_begin_with(writer, &lent_table, a->session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		if (lent_row_of(a, h, &row) && (!wish->limit || rows++ < wish->limit))
			writer_row(writer, &row);
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more lent devices.", rows - wish->limit);
}

__u64 lent_devices_count(const struct analysis *a)
{
	struct lent_row row;
	__u64 rows = 0;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		rows += lent_row_of(a, h, &row);
	return rows;
}

static bool lent_devices_have_rows(const struct analysis *a)
{
	return lent_devices_count(a);
}

static const struct analyzer_table tables[] = {
	{&lent_table, lent_devices_write, lent_devices_have_rows, REPORT_ROWS * 2ull}, {0}};

const struct analyzer lent_devices_analyzer = {.tables = tables, .chapter = REPORT_IO};
