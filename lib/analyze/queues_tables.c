// SPDX-License-Identifier: GPL-2.0
#include <math.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/queues_private.h"
#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

static int queues_by_key(const struct queue *a, const struct queue *b)
{
	if (a->key.device != b->key.device)
		return a->key.device < b->key.device ? -1 : 1;
	return a->key.queue < b->key.queue ? -1 : a->key.queue > b->key.queue;
}

struct queue_row {
	struct queue_blocked queue;
	__u64 span; /* of the recording */
	bool faults_known, blocked_known;
};

static __u64 blocked(const struct queue_row *row, __u64 value)
{
	return count_if(row->blocked_known, value);
}

static double blocked_percent(const struct queue_row *row)
{
	if (!row->blocked_known)
		return NAN;
	return row->span ? 100.0 * (double)row->queue.blocked_ns / (double)row->span : 0;
}

#define QUEUES(COLUMN)                                                                        \
	COLUMN(device, none, TEXT, 24, SHOWN,                                                 \
	       session_device_name(context, row->queue.device, text))                         \
	COLUMN(queue, none, COUNT, 5, SHOWN,                                                  \
	       count_if(row->queue.queue != QUEUE_NONE, row->queue.queue))                    \
	COLUMN(faults, none, COUNT, 8, SHOWN, count_if(row->faults_known, row->queue.faults)) \
	COLUMN(blocked, ns, DURATION, 8, SHOWN, blocked(row, row->queue.blocked_ns))          \
	COLUMN(blocked, percent, REAL, 8, SHOWN, blocked_percent(row))                        \
	COLUMN(longest, ns, DURATION, 8, SHOWN, blocked(row, row->queue.longest_ns))          \
	COLUMN(pieces, none, COUNT, 8, WIDE, blocked(row, row->queue.pieces))                 \
	COLUMN(assumed, ns, DURATION, 8, WIDE, blocked(row, row->queue.assumed_ns))
TABLE(queues, "Blocked queues", QUEUES, struct queue_row, struct session)

static void queues_write(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	struct queues *queues = analysis->queues;
	const struct session *session = analysis->session;
	__u64 span = session_last_ns(session) - session_first_ns(session);

	(void)wish;
	writer_begin_with(writer, &queues_table, session);
	HASH_SORT(queues->queues, queues_by_key);
	for (const struct queue *q = queues->queues; q; q = q->hh.next) {
		struct queue_row row = {queues_total(queues, q), span, true, true};
		unsigned int unknown = unknown_numbers(session, row.queue.device);

		row.faults_known = !(unknown & UNKNOWN_FAULTS);
		row.blocked_known = !(unknown & UNKNOWN_BLOCKED);
		if (row.queue.faults)
			writer_row(writer, &row);
	}
	writer_end(writer);
}

/* A sentence on them, if there are any: what is assumed of them. */
static void queues_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct session *session = a->session;
	char name[DEVICE_NAME_TEXT], assumed[UNITS_TEXT], number[16] = "";
	struct queues_hangs hangs;

	if (!faults_began(a->faults) || !queues_hangs(a->queues, &hangs) ||
	    unknown_of_all(session) & UNKNOWN_BLOCKED)
		return;
	if (hangs.worst.queue != QUEUE_NONE)
		snprintf(number, sizeof(number), ", queue %u", hangs.worst.queue);
	writer_note(
		writer,
		"%zu queue%s stayed blocked after a fault was given up (--unfinished), %zu to the end. It is "
		"assumed to have been blocked until something showed that it went on: %s in all, "
		"most on %s%s.",
		hangs.queues, hangs.queues == 1 ? "" : "s", hangs.still,
		units_format_duration(hangs.assumed_ns, assumed),
		session_device_name(session, hangs.worst.device, name), number);
}

static void queues_live(const struct analysis *a, struct live_device *row)
{
	__u64 from_ns = row->now_ns > row->interval_ns ? row->now_ns - row->interval_ns : 0;

	row->blocked_percent = 100 * queues_blocked_part(a->queues, row->handle, from_ns,
							 row->now_ns, &row->blocked_queue);
	if (row->unknown & UNKNOWN_BLOCKED)
		row->blocked_percent = NAN;
}

static int create_queues(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	return queues_create(&a->queues, a->session, a->faults);
}

static const struct analyzer_table tables[] = {{&queues_table, queues_write}, {0}};

DEFINE_ANALYZER(queues, .tables = tables, .chapter = REPORT_FAULTS,
		.findings = queues_write_findings, .device = queues_live)
