// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/flow_losses.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/live.h"
#include "lib/analyze/rings_private.h"
#include "lib/analyze/session.h"
#include "lib/base/fail.h"

/* A ring, or all of a device. */
struct ring_row {
	const struct ring_totals *totals;
	const struct ring_account *ring; /* NULL: all */
	__u32 device;
	struct flow_resent resent;
	__u64 held_now, posted, watched_ns, untold;
};

static const char *side_name(const struct ring_row *row)
{
	if (!row->ring)
		return "all";
	return row->ring->key.side == RING_TX ? "tx" : "rx";
}

static __u64 hold_percentile(const struct ring_row *row, double percent)
{
	const struct histogram *hold = row->totals->hold;

	return hold ? histogram_percentile(hold, percent) : CELL_NONE;
}

static double frame_rate(const struct ring_row *row)
{
	return row->watched_ns ? (double)row->totals->frames * 1e9 / (double)row->watched_ns : NAN;
}

#define RINGS(COLUMN)                                                                          \
	COLUMN(device, none, TEXT, 12, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(queue, none, COUNT, 5, SHOWN,                                                   \
	       count_if(row->ring && row->ring->key.queue != QUEUE_NONE,                       \
			row->ring ? row->ring->key.queue : 0))                                 \
	COLUMN(side, none, TEXT, 4, SHOWN, side_name(row))                                     \
	COLUMN(frames, none, COUNT, 8, SHOWN, row->totals->frames)                             \
	COLUMN(transferred, bytes, BYTES, 11, WIDE, row->totals->bytes)                        \
	COLUMN(lost, none, COUNT, 6, SHOWN, row->totals->all_lost)                             \
	COLUMN(lost_size, bytes, BYTES, 10, WIDE, row->totals->lost_bytes)                     \
	FRAMES_LOST_COLUMNS(COLUMN, row->totals->lost)                                         \
	COLUMN(untold, none, COUNT, 6, WIDE, row->untold)                                      \
	COLUMN(held, none, COUNT, 6, SHOWN, row->totals->held)                                 \
	COLUMN(hold_p50, none, DURATION, 8, WIDE, hold_percentile(row, 50))                    \
	COLUMN(hold_p99, none, DURATION, 8, SHOWN, hold_percentile(row, 99))                   \
	COLUMN(heads, none, COUNT, 5, WIDE, row->totals->heads)                                \
	COLUMN(rate, per_s, REAL, 7, SHOWN, frame_rate(row))                                   \
	COLUMN(least, bytes_per_s, BYTES, 8, SHOWN, row->totals->least)                        \
	COLUMN(held_now, none, COUNT, 8, WIDE, row->held_now)                                  \
	COLUMN(posted, none, COUNT, 6, WIDE, row->posted)                                      \
	COLUMN(interrupts, none, COUNT, 10, WIDE, row->totals->interrupts)                     \
	COLUMN(retransmits, none, COUNT, 11, WIDE, count_if(!row->ring, row->resent.segments)) \
	COLUMN(timeouts, none, COUNT, 8, WIDE, count_if(!row->ring, row->resent.timeouts))
TABLE(nic, "Rings of NICs", RINGS, struct ring_row, struct session)

static void write_ring(struct writer *writer, const struct ring_account *ring)
{
	const struct ring_totals *totals = &ring->totals;

	writer_row(writer,
		   &(struct ring_row){
			   .totals = totals,
			   .ring = ring,
			   .device = ring->key.device,
			   .held_now = totals->held_now,
			   .posted = totals->posted,
			   .watched_ns = totals->watched_ns,
			   .untold = ring->counted > ring->told ? ring->counted - ring->told : 0,
		   });
}

static int by_ring(const void *a, const void *b)
{
	const struct ring_key *x = &(*(const struct ring_account *const *)a)->key;
	const struct ring_key *y = &(*(const struct ring_account *const *)b)->key;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->queue > y->queue) - (x->queue < y->queue);
}

/* The rings of one device. */
static void rings_write_device(const struct analysis *a, struct writer *writer,
			       const struct ring_account **rings, size_t count,
			       const struct table_wish *wish)
{
	struct ring_row row = {.device = rings[0]->key.device};

	row.totals = rings_of_device(a->rings, row.device);
	row.resent = flow_losses_of_device(a->flow_losses, row.device);
	row.untold = rings_untold(a->rings, row.device);
	for (size_t i = 0; i < count; i++) {
		const struct ring_totals *ring = &rings[i]->totals;

		row.held_now += ring->held_now;
		row.posted += ring->posted;
		if (ring->watched_ns > row.watched_ns)
			row.watched_ns = ring->watched_ns;
	}
	writer_row(writer, &row);
	for (size_t i = 0; !wish->brief && i < count; i++)
		write_ring(writer, rings[i]);
}

void rings_write(const struct analysis *a, struct writer *writer, const struct table_wish *wish)
{
	size_t count = HASH_COUNT(a->rings->accounts), at = 0;
	const struct ring_account **rings = calloc(count + 1, sizeof(struct ring_account *));

	if (!rings) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the rings of NICs"));
		return;
	}
	for (const struct ring_account *ring = a->rings->accounts; ring; ring = ring->hh.next)
		rings[at++] = ring;
	qsort(rings, count, sizeof(struct ring_account *), by_ring);
	writer_begin_with(writer, &nic_table, a->session);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && rings[i + n]->key.device == rings[i]->key.device;)
			n++;
		rings_write_device(a, writer, rings + i, n, wish);
	}
	free(rings);
	writer_end(writer);
}

static void rings_write_findings(const struct analysis *a, struct writer *writer)
{
	char name[DEVICE_NAME_TEXT];

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		__u64 untold = rings_of_device(a->rings, h) ? rings_untold(a->rings, h) : 0;

		if (untold)
			writer_note(writer,
				    "%s: of %llu frame%s that its rings counted as lost nothing "
				    "else was told (loss of events).",
				    session_device_name(a->session, h, name), untold,
				    untold == 1 ? "" : "s");
	}
}

static bool rings_has_rows(const struct analysis *a)
{
	return rings_count(a->rings);
}

static int create_rings(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	return rings_create(&a->rings, a->session);
}

static void rings_live(const struct analysis *a, struct live_device *row)
{
	const struct ring_totals *totals = rings_of_device(a->rings, row->handle);

	row->rings = totals;
	row->frames_lost = totals ? totals->all_lost : 0;
}

static const struct analyzer_table tables[] = {
	{&nic_table, rings_write, rings_has_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(rings, .tables = tables, .chapter = REPORT_IO, .findings = rings_write_findings,
		.device = rings_live)
