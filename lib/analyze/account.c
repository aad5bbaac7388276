// SPDX-License-Identifier: GPL-2.0
/* What was recorded and what was lost of it: the account of a session. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/asked.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"

struct loss_row {
	const char *what;
	__u64 count;
};

#define LOSS(COLUMN)                                   \
	COLUMN(what, none, TEXT, 24, SHOWN, row->what) \
	COLUMN(count, none, COUNT, 16, SHOWN, row->count)
TABLE(loss, "Loss", LOSS, struct loss_row, void)

static void account_write_loss(const struct analysis *analysis, struct writer *writer,
			       const struct table_wish *wish)
{
	const struct session *s = analysis->session;
	const struct loss_info *l = session_loss(s);
	const bool known = !session_is_unaccounted(s);
	__u64 filtered;
	const struct kept_info *kept = session_kept(s);
	const struct loss_row rows[] = {
		{"produced", count_if(known, l->produced)},
		{"received", count_if(known, l->received)},
		{"lost", count_if(known, l->lost)},
		{"missed", count_if(known, l->missed)},
		{"late", count_if(known, l->late)},
		{"state_failed", count_if(known, l->state_failed)},
		{"access_received", count_if(known, l->access_received)},
		{"access_lost", count_if(known, l->access_lost)},
		{"damaged_bytes", l->damaged_bytes},
		{"damaged_frames", l->damaged_frames},
		{"access_missed", count_if(known, l->access_missed)},
		{"machines_missed", count_if(known, l->machines_missed)},
		{"machines_unknown", count_if(known, l->machines_unknown)},
		{"filtered", asked_left_out(s, &filtered) ? filtered : CELL_NONE},
		{"turned_away", count_if(known, l->turned_away)},
		{"unwritten_events", l->unwritten_events},
		{"unwritten_windows", l->unwritten_windows},
		{"cut", l->cut},
		{"unaccounted_ns", l->unaccounted_ns},
		{"incomplete_windows", session_windows_incomplete(s)},
		{"let_go_segments", kept->segments},
		{"let_go_events", kept->events},
		{"let_go_ns", session_let_go_ns(s)},
	};

	(void)wish;
	writer_begin(writer, &loss_table);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		writer_row(writer, &rows[i]);
	writer_end(writer);
}

#define EVENTS(COLUMN)                                             \
	COLUMN(kind, none, TEXT, 27, SHOWN, event_kind_name(*row)) \
	COLUMN(code, none, COUNT, 4, WIDE, *row)                   \
	COLUMN(events, none, COUNT, 14, SHOWN, session_events_of(context, *row))
TABLE(events, "Events one by one", EVENTS, unsigned int, struct session)

static void account_write_events(const struct analysis *analysis, struct writer *writer,
				 const struct table_wish *wish)
{
	const struct session *s = analysis->session;

	(void)wish;
	writer_begin_with(writer, &events_table, s);
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++)
		if (session_events_of(s, kind))
			writer_row(writer, &kind);
	writer_end(writer);
}

static const struct analyzer_table tables[] = {
	{&events_table, account_write_events},
	{&loss_table, account_write_loss},
	{0},
};

static void write_account(const struct analysis *a, struct writer *writer)
{
	const struct session *s = a->session;
	const struct loss_info *l = session_loss(s);
	unsigned int reasons = floor_of(a);
	char text[FLOOR_TEXT], as_of[AS_OF_TEXT];
	struct sentence line = {0};

	if (session_is_unaccounted(s))
		sentence_add(&line, "Loss: unknown, no account of it was recorded");
	else
		sentence_add(&line, "Loss: %llu of %llu events", l->lost + l->missed, l->produced);
	if (l->access_lost || l->access_received || l->access_missed)
		sentence_add(&line, ", %llu of %llu access records",
			     l->access_lost + l->access_missed,
			     l->access_lost + l->access_missed + l->access_received);
	if (l->machines_missed)
		sentence_add(&line, ", %llu emulated machines not met", l->machines_missed);
	if (l->machines_unknown)
		sentence_add(&line, ", %llu that reported no total", l->machines_unknown);
	if (l->state_failed)
		sentence_add(&line, ", %llu entries that found no room in the kernel's maps",
			     l->state_failed);
	if (l->turned_away)
		sentence_add(&line, ", %llu calls of probes by other users' processes turned away",
			     l->turned_away);
	if (l->unwritten_events || l->unwritten_windows)
		sentence_add(
			&line,
			", %llu events and %llu seconds of counts not written for lack of space",
			l->unwritten_events, l->unwritten_windows);
	if (l->damaged_bytes || l->damaged_frames)
		sentence_add(&line, ", %llu bytes in %llu frames of the recording unreadable",
			     l->damaged_bytes, l->damaged_frames);
	if (session_windows_incomplete(s))
		sentence_add(&line, ", %llu seconds of counting ran out of counters",
			     session_windows_incomplete(s));
	if (l->cut)
		sentence_add(&line, ", the recording ends without its end mark");
	if (reasons & 1u << FLOOR_TABLES)
		sentence_add(
			&line,
			", too many queues, regions or open faults, or some reported too late: some rows lack "
			"faults, or causes");
	writer_note(writer, "%s.%s%s%s", line.text, reasons ? " Counts are floors: " : "",
		    floor_text(reasons, text), reasons ? "." : "");
	if (*session_as_of_text(s, as_of))
		writer_note(writer, "%s", as_of);
}

const struct analyzer account_analyzer = {
	.tables = tables, .chapter = REPORT_LIMITS, .findings = write_account};
