// SPDX-License-Identifier: GPL-2.0
/* Stalls in words, and their table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stalls.h"
#include "lib/analyze/stalls_private.h"
#include "lib/base/fail.h"

#define STALLS_TOLD 3 /* as sentences */

const char *stall_duration(__u64 ns, char text[STALL_DURATION_TEXT])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	unsigned int unit = 0;

	for (; unit < 3 && value >= 999.5; unit++)
		value /= 1000;
	snprintf(text, STALL_DURATION_TEXT, value < 9.95 && unit ? "%.1f %s" : "%.0f %s", value,
		 units[unit]);
	return text;
}

static void add_blamed(struct sentence *words, const struct stall *stall,
		       const struct session *session)
{
	const char *policy = frames_policy(session_device(session, stall->device));
	struct blamed_worst worst = blamed_worst(&stall->blamed);
	char total[STALL_DURATION_TEXT], resolve[STALL_DURATION_TEXT];

	if (!stall->blamed.count)
		sentence_add(words, "faults");
	else
		sentence_add(words, "%u%s fault%s", stall->blamed.count,
			     stall->blamed.count == BLAMED_MAX ? " or more" : "",
			     stall->blamed.count == 1 ? "" : "s");
	if (!*policy && !worst.total_ns)
		return;
	sentence_add(words, " (%s%s", policy, *policy && worst.total_ns ? "; " : "");
	if (worst.total_ns)
		sentence_add(words, "%s%s", stall->blamed.count == 1 ? "" : "the worst ",
			     stall_duration(worst.total_ns, total));
	if (worst.resolve_ns)
		sentence_add(words, ", resolve %s", stall_duration(worst.resolve_ns, resolve));
	sentence_add(words, ")");
}

void stall_tell_lost(const __u64 *lost, const char *faults, struct sentence *words)
{
	const struct {
		enum loss_reason reason;
		const char *words;
	} causes[] = {
		{LOSS_FAULT, faults},
		{LOSS_NO_BUFFER, "missing buffers"},
		{LOSS_CACHE_FULL, "a full cache"},
		{LOSS_BACKUP_FULL, "a full backup ring"},
		{LOSS_BEFORE_NIC, "the queue before the NIC"},
		{LOSS_WIRE, "the wire"},
		{LOSS_OVERLONG, "their length"},
		{LOSS_UNKNOWN, "unknown causes"},
	};
	bool first = true;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		__u64 frames = lost[causes[i].reason];

		if (frames)
			sentence_add(words, first ? "%llu frame%s lost to %s" : ", %llu%s to %s",
				     frames, first && frames != 1 ? "s" : "", causes[i].words);
		first &= !frames;
	}
	if (first)
		sentence_add(words, "no frame lost");
}

/* "1 retransmission timeout of 204 ms and 2 loss probes"; false if there was none. */
static bool add_recovery(struct sentence *words, const struct stall *stall, const char *before)
{
	enum { KINDS = 5 };
	const struct {
		__u32 count;
		const char *one, *several;
	} kinds[KINDS] = {
		{stall->timeouts, "retransmission timeout", "retransmission timeouts"},
		{stall->probes, "loss probe", "loss probes"},
		{stall->fast, "fast retransmission", "fast retransmissions"},
		/* What follows a timeout goes without saying. */
		{stall->timeouts ? 0 : stall->slow_start, "retransmission after a timeout",
		 "retransmissions after a timeout"},
		{stall->synacks, "SYN-ACK", "SYN-ACKs"},
	};
	char timeout[STALL_DURATION_TEXT];
	unsigned int left = 0;

	for (size_t i = 0; i < KINDS; i++)
		left += kinds[i].count != 0;
	if (!left)
		return false;
	for (size_t i = 0; i < KINDS; i++) {
		if (!kinds[i].count)
			continue;
		sentence_add(words, "%s%u %s", before, kinds[i].count,
			     kinds[i].count == 1 ? kinds[i].one : kinds[i].several);
		if (!i && stall->timeout_ns)
			sentence_add(words, " of %s%s", stall->timeouts == 1 ? "" : "up to ",
				     stall_duration(stall->timeout_ns, timeout));
		before = --left == 1 ? " and " : ", ";
	}
	return true;
}

void stall_tell_cause(const struct stall *stall, const struct session *session,
		      struct sentence *words)
{
	struct sentence faults = {0};

	add_blamed(&faults, stall, session);
	if (stall->frames)
		stall_tell_lost(stall->lost, faults.text, words);
	else
		sentence_add(words, "%llu bytes lost, of which no event tells", stall->bytes);
	if (!stall->to_ns || stall->error) {
		sentence_add(words, "; not recovered");
		add_recovery(words, stall, " after ");
		if (stall->error)
			sentence_add(words, ": %s",
				     stall->error == STALL_UNTOLD ? "its socket is gone"
								  : strerror(stall->error));
		return;
	}
	sentence_add(words, "; recovered by");
	if (!add_recovery(words, stall, " "))
		sentence_add(words, " no retransmission that was seen");
}

void stall_tell(const struct stall *stall, const struct session *session, struct sentence *words)
{
	char duration[STALL_DURATION_TEXT], flow[FLOW_TEXT], name[DEVICE_NAME_TEXT];

	sentence_add(words, "%s stall of %s (%s",
		     stall_duration(stall_ns(stall, session_last_ns(session)), duration),
		     session_flow_text(session, stall->flow, flow),
		     session_device_name(session, stall->device, name));
	if (stall->queue != QUEUE_NONE)
		sentence_add(words, " rx %u", stall->queue);
	sentence_add(words, "): ");
	stall_tell_cause(stall, session, words);
}

static const char *stall_state(const struct stall *stall)
{
	if (stall->error)
		return "aborted";
	return stall->to_ns ? "recovered" : "open";
}

struct stall_row {
	const struct stall *stall;
	struct blamed_worst worst;
	__u64 duration_ns;
};

#define STALLS(COLUMN)                                                                          \
	COLUMN(start, none, TIME, 12, SHOWN, row->stall->from_ns)                               \
	COLUMN(device, none, TEXT, 7, SHOWN,                                                    \
	       session_device_name(context, row->stall->device, text))                          \
	COLUMN(queue, none, COUNT, 5, WIDE,                                                     \
	       count_if(row->stall->queue != QUEUE_NONE, row->stall->queue))                    \
	COLUMN(flow, none, TEXT, 32, SHOWN, session_flow_text(context, row->stall->flow, text)) \
	COLUMN(duration, none, DURATION, 8, SHOWN, row->duration_ns)                            \
	COLUMN(state, none, TEXT, 9, WIDE, stall_state(row->stall))                             \
	COLUMN(lost, none, COUNT, 4, SHOWN, row->stall->frames)                                 \
	COLUMN(lost_size, bytes, BYTES, 10, WIDE, row->stall->bytes)                            \
	FRAMES_LOST_COLUMNS(COLUMN, row->stall->lost)                                           \
	COLUMN(faults, none, COUNT, 6, WIDE, row->stall->blamed.count)                          \
	COLUMN(worst_fault, none, DURATION, 11, WIDE, count_or_none(row->worst.total_ns))       \
	COLUMN(worst_resolve, none, DURATION, 13, WIDE, count_or_none(row->worst.resolve_ns))   \
	COLUMN(timeouts, none, COUNT, 8, WIDE, row->stall->timeouts)                            \
	COLUMN(probes, none, COUNT, 6, WIDE, row->stall->probes)                                \
	COLUMN(fast, none, COUNT, 5, WIDE, row->stall->fast)                                    \
	COLUMN(slow_start, none, COUNT, 10, WIDE, row->stall->slow_start)                       \
	COLUMN(synacks, none, COUNT, 7, WIDE, row->stall->synacks)                              \
	COLUMN(timeout, none, DURATION, 7, WIDE,                                                \
	       count_if(row->stall->timeouts, row->stall->timeout_ns))
TABLE(stalls, "Stalls", STALLS, struct stall_row, struct session)

void stalls_write(const struct analysis *a, struct writer *writer, const struct table_wish *wish)
{
	__u64 now_ns = session_last_ns(a->session);
	size_t count = 0;
	const struct stall **list = stalls_longest(a->stalls, now_ns, &count);

	if (!list) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the stalls"));
		return;
	}
	writer_begin_with(writer, &stalls_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++)
		writer_row(writer, &(struct stall_row){list[i], blamed_worst(&list[i]->blamed),
						       stall_ns(list[i], now_ns)});
	free(list);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more stalls.", count - wish->limit);
}

static void stalls_write_findings(const struct analysis *a, struct writer *writer)
{
	size_t count = 0, told;
	const struct stall **list = stalls_longest(a->stalls, session_last_ns(a->session), &count);
	__u64 kept = 0, all;

	if (!list) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the stalls"));
		return;
	}
	told = count < STALLS_TOLD ? count : STALLS_TOLD;
	for (size_t i = 0; i < told; i++) {
		struct sentence sentence = {0};

		stall_tell(list[i], a->session, &sentence);
		writer_note(writer, "%s.", sentence.text);
	}
	for (size_t i = 0; i < count; i++)
		kept += list[i]->to_ns != 0;
	all = stalls_count(a->stalls) - kept + count;
	if (all > told)
		writer_note(writer, "... and %llu more stall%s.", all - told,
			    all - told == 1 ? "" : "s");
	free(list);
}

static bool stalls_has_rows(const struct analysis *a)
{
	size_t count = 0;
	const struct stall **list = stalls_longest(a->stalls, 0, &count);

	free(list);
	return count;
}

static int create_stalls(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	return stalls_create(&a->stalls, a->session, a->faults);
}

static const struct analyzer_table tables[] = {
	{&stalls_table, stalls_write, stalls_has_rows, REPORT_ROWS / 2}, {0}};

DEFINE_ANALYZER(stalls, .tables = tables, .chapter = REPORT_IO, .findings = stalls_write_findings)
