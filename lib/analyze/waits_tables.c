// SPDX-License-Identifier: GPL-2.0
/* Waits of queue pairs in words, and their table. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/packets.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stalls.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/waits.h"
#include "lib/base/fail.h"

#define WAITS_TOLD 3 /* as sentences */

static const char *wait_kind_name(const struct wait *wait)
{
	static const char *const names[RDMA_WAITS] = {
		[RDMA_WAIT_MEMORY] = "memory",
		[RDMA_WAIT_RNR] = "rnr",
		[RDMA_WAIT_READ] = "read",
		[RDMA_WAIT_TIMEOUT] = "timeout",
	};

	return wait->kind < RDMA_WAITS ? names[wait->kind] : "unknown";
}

static const char *wait_side_name(const struct wait *wait)
{
	static const char *const names[RDMA_SIDES] = {
		[RDMA_INITIATOR_READS] = "initiator_reads",
		[RDMA_INITIATOR_WRITES] = "initiator_writes",
		[RDMA_RESPONDER_READS] = "responder_reads",
		[RDMA_RESPONDER_WRITES] = "responder_writes",
	};

	return wait->side < RDMA_SIDES ? names[wait->side] : "-";
}

static const char *wait_state_name(const struct wait *wait)
{
	if (wait->status)
		return "error";
	if (wait->ended)
		return "ended";
	return wait->to_ns ? "over" : "open";
}

/* " for 2 faults, the worst of 310 us" */
static void add_wait_faults(const struct wait *wait, struct sentence *words)
{
	struct blamed_worst worst = blamed_worst(&wait->blamed);
	char total[STALL_DURATION_TEXT];
	__u32 faults = wait->blamed.count;

	if (!faults) {
		sentence_add(words, " for a fault that no event names");
		return;
	}
	sentence_add(words, " for %u%s fault%s", faults, faults == BLAMED_MAX ? " or more" : "",
		     faults == 1 ? "" : "s");
	if (worst.total_ns)
		sentence_add(words, "%s of %s", faults == 1 ? "" : ", the worst",
			     stall_duration(worst.total_ns, total));
}

static void add_rnr(const struct wait *wait, const struct session *session, struct sentence *words)
{
	char timer[STALL_DURATION_TEXT], name[DEVICE_NAME_TEXT];

	sentence_add(words, "RNR (timer %s)", stall_duration(wait->timer_ns, timer));
	if (wait->nothing_posted)
		sentence_add(words, " as no receive was posted");
	else
		add_wait_faults(wait, words);
	if (wait->peer)
		sentence_add(words, " at %s", session_device_name(session, wait->peer, name));
}

static void add_wait_cause(const struct wait *wait, const struct session *session,
			   struct sentence *words)
{
	switch (wait->kind) {
	case RDMA_WAIT_RNR:
		add_rnr(wait, session, words);
		break;
	case RDMA_WAIT_TIMEOUT:
		sentence_add(words, "no acknowledgement came");
		break;
	case RDMA_WAIT_READ:
		sentence_add(words, "target of a read");
		add_wait_faults(wait, words);
		break;
	default:
		sentence_add(words, "memory");
		add_wait_faults(wait, words);
	}
}

void wait_tell(const struct wait *wait, const struct session *session, struct sentence *words)
{
	char duration[STALL_DURATION_TEXT], name[DEVICE_NAME_TEXT];

	sentence_add(words, "QP %u of %s %s %s: ", wait->pair,
		     session_device_name(session, wait->device, name),
		     wait->to_ns ? "waited" : "has been waiting for",
		     stall_duration(wait_ns(wait, session_last_ns(session)), duration));
	add_wait_cause(wait, session, words);
	if (wait->dropped)
		sentence_add(words, "; %llu packet%s dropped", wait->dropped,
			     wait->dropped == 1 ? "" : "s");
	if (wait->resent)
		sentence_add(words,
			     wait->dropped ? ", %llu%s sent again" : "; %llu packet%s sent again",
			     wait->resent, wait->dropped || wait->resent == 1 ? "" : "s");
	if (wait->status)
		sentence_add(words, "; then in error: %s", pair_status_name(wait->status));
	else if (wait->ended)
		sentence_add(words, "; then its queue pair ended");
}

struct wait_row {
	const struct wait *wait;
	struct blamed_worst worst;
	__u64 duration_ns;
	bool dropped_known, resent_known, faults_known;
};

#define WAITS(COLUMN)                                                                            \
	COLUMN(start, none, TIME, 12, SHOWN, row->wait->from_ns)                                 \
	COLUMN(device, none, TEXT, 10, SHOWN,                                                    \
	       session_device_name(context, row->wait->device, text))                            \
	COLUMN(pair, none, COUNT, 8, SHOWN, row->wait->pair)                                     \
	COLUMN(kind, none, TEXT, 7, SHOWN, wait_kind_name(row->wait))                            \
	COLUMN(side, none, TEXT, 16, WIDE, wait_side_name(row->wait))                            \
	COLUMN(duration, none, DURATION, 8, SHOWN, row->duration_ns)                             \
	COLUMN(state, none, TEXT, 5, WIDE, wait_state_name(row->wait))                           \
	COLUMN(status, none, TEXT, 17, WIDE,                                                     \
	       row->wait->status ? pair_status_name(row->wait->status) : "-")                    \
	COLUMN(timer, none, DURATION, 7, WIDE, count_or_none(row->wait->timer_ns))               \
	COLUMN(peer, none, TEXT, 10, WIDE, session_device_name(context, row->wait->peer, text))  \
	COLUMN(peer_pair, none, COUNT, 9, WIDE, count_if(row->wait->peer, row->wait->peer_pair)) \
	COLUMN(faults, none, COUNT, 6, SHOWN,                                                    \
	       count_if(row->faults_known, row->wait->blamed.count))                             \
	COLUMN(worst_fault, none, DURATION, 11, WIDE, count_or_none(row->worst.total_ns))        \
	COLUMN(worst_resolve, none, DURATION, 13, WIDE, count_or_none(row->worst.resolve_ns))    \
	COLUMN(dropped, none, COUNT, 7, SHOWN, count_if(row->dropped_known, row->wait->dropped)) \
	COLUMN(resent, none, COUNT, 6, SHOWN, count_if(row->resent_known, row->wait->resent))    \
	COLUMN(token, none, COUNT, 6, WIDE, row->wait->key.token)
TABLE(waits, "Waits of queue pairs", WAITS, struct wait_row, struct session)

void waits_write(const struct analysis *a, struct writer *writer, const struct table_wish *wish)
{
	__u64 now_ns = session_last_ns(a->session);
	struct wait_row row = {
		.dropped_known = !unknown_probe(a->session, PROBE_PACKETS_DROPPED),
		.resent_known = !unknown_probe(a->session, PROBE_PACKETS_RESENT),
	};
	bool naks = !unknown_probe(a->session, PROBE_RNR_SENT);
	bool pauses = !unknown_probe(a->session, PROBE_QP_PAUSED);
	size_t count = 0;
	const struct wait **list = waits_longest(a->waits, now_ns, &count);

	if (!list) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the waits of queue pairs"));
		return;
	}
	writer_begin_with(writer, &waits_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++) {
		row.wait = list[i];
		row.worst = blamed_worst(&list[i]->blamed);
		row.duration_ns = wait_ns(list[i], now_ns);
		row.faults_known = list[i]->kind == RDMA_WAIT_RNR ? naks : pauses;
		writer_row(writer, &row);
	}
	free(list);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more waits.", count - wish->limit);
}

static void waits_write_findings(const struct analysis *a, struct writer *writer)
{
	size_t count = 0, told;
	const struct wait **list = waits_longest(a->waits, session_last_ns(a->session), &count);
	__u64 all = waits_count(a->waits), unheeded = waits_unheeded(a->waits);

	if (!list) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the waits of queue pairs"));
		return;
	}
	told = count < WAITS_TOLD ? count : WAITS_TOLD;
	for (size_t i = 0; i < told; i++) {
		struct sentence sentence = {0};

		wait_tell(list[i], a->session, &sentence);
		writer_note(writer, "%s.", sentence.text);
	}
	free(list);
	if (all > told)
		writer_note(writer, "... and %llu more wait%s of queue pairs.", all - told,
			    all - told == 1 ? "" : "s");
	if (unheeded && !unknown_probe(a->session, PROBE_QP_PAUSED))
		writer_note(writer, "Nobody is known to have waited for %llu RNR NAK%s.", unheeded,
			    unheeded == 1 ? "" : "s");
}

static bool waits_have_rows(const struct analysis *a)
{
	return waits_count(a->waits);
}

static int create_waits(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	return waits_create(&a->waits, a->session, a->faults);
}

static const struct analyzer_table tables[] = {
	{&waits_table, waits_write, waits_have_rows, REPORT_ROWS / 2}, {0}};

DEFINE_ANALYZER(waits, .tables = tables, .chapter = REPORT_RDMA, .findings = waits_write_findings)
