// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/queue_pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/packets.h"
#include "lib/analyze/session.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"

struct pair_key {
	__u32 device, number;
};

/* What it told last: its event's fields. */
struct pair_told {
	__u64 time_ns, bytes, stopped_ns; /* time_ns 0: nothing so far */
	__u32 operations, rnr_sent, rnr_received, dropped, resent;
};

struct pair_account {
	struct pair_key key;
	struct pair_totals totals;
	struct pair_told last;
	/* Packets dropped and sent again, of the whole recording: by its counters, by runs. */
	__u64 counted, told;
	__u8 state;  /* enum verbs_pair_state */
	__u8 status; /* enum verbs_status of its error, 0: none */
	UT_hash_handle hh;
};

struct queue_pairs {
	const struct session *session;
	struct pair_account *accounts;
	__u64 dropped;
};

static struct pair_account *pair_make(struct queue_pairs *q, const struct event *e)
{
	const struct pair_key key = {e->device, e->tid};
	struct pair_account *pair;

	HASH_FIND(hh, q->accounts, &key, sizeof(key), pair);
	if (pair)
		return pair;
	pair = HASH_COUNT(q->accounts) < QUEUE_PAIRS_MAX ? memory_calloc(1, sizeof(*pair)) : NULL;
	if (pair) {
		pair->key = key;
		HASH_ADD(hh, q->accounts, key, sizeof(pair->key), pair);
		if (pair->hh.tbl)
			return pair;
		memory_free(pair);
	}
	q->dropped++;
	return NULL;
}

/* Nothing so far, if its machine began while it was recorded; false: it may have. */
static bool pair_told_before(const struct queue_pairs *q, const struct pair_account *pair,
			     struct pair_told *before)
{
	const struct device_info *info = session_device(q->session, pair->key.device);

	*before = pair->last;
	if (pair->last.time_ns)
		return true;
	if (!info || !session_began_within(q->session, info))
		return false;
	before->time_ns = info->first_ns;
	return true;
}

static void pair_grows(struct pair_totals *totals, const struct pair_told *from,
		       const struct pair_told *to)
{
	/* These wrap. */
	totals->operations += to->operations - from->operations;
	totals->rnr_sent += to->rnr_sent - from->rnr_sent;
	totals->rnr_received += to->rnr_received - from->rnr_received;
	totals->dropped += to->dropped - from->dropped;
	totals->resent += to->resent - from->resent;
	totals->bytes += to->bytes >= from->bytes ? to->bytes - from->bytes : 0;
	totals->stopped_ns +=
		to->stopped_ns >= from->stopped_ns ? to->stopped_ns - from->stopped_ns : 0;
}

static void pair_take_state(const struct queue_pairs *q, struct pair_account *pair,
			    const struct event *e)
{
	const struct pair_told now = {
		.time_ns = e->time_ns,
		.bytes = e->length,
		.stopped_ns = e->value,
		.operations = e->pasid,
		.rnr_sent = (__u32)(e->address >> 32),
		.rnr_received = (__u32)e->address,
		.dropped = e->instance,
		.resent = e->group,
	};
	const struct period *period = session_period(q->session);
	struct pair_told before;

	if (now.time_ns <= pair->last.time_ns)
		return;
	if (pair_told_before(q, pair, &before)) {
		pair->counted += (__u32)(now.dropped - before.dropped);
		pair->counted += (__u32)(now.resent - before.resent);
		if (period_touches(period, before.time_ns, now.time_ns))
			pair_grows(&pair->totals, &before, &now);
	}
	if (!period_is_after(period, now.time_ns))
		pair->state = e->code;
	pair->last = now;
}

/* Runs, and what is told one by one. */
static void pair_take_event(struct pair_account *pair, const struct event *e)
{
	struct pair_totals *totals = &pair->totals;

	switch (e->kind) {
	case EVENT_RNR_SENT:
		totals->naks++;
		break;
	case EVENT_RNR_RECEIVED:
		totals->naks_heard++;
		break;
	case EVENT_PACKETS_DROPPED:
		if (e->code < RDMA_DROPS)
			totals->dropped_for[e->code] += packets_count(e);
		break;
	case EVENT_PACKETS_RESENT:
		if (e->code < RDMA_RESENDS)
			totals->resent_for[e->code] += packets_count(e);
		break;
	case EVENT_QP_REWOUND:
		totals->rewound++;
		break;
	case EVENT_FAULT_SUPPRESSED:
		totals->suppressed++;
		totals->in_window += e->value == 1;
		break;
	case EVENT_QP_ERROR:
		pair->status = e->code;
		break;
	default:
		break;
	}
}

/* Packets of a run that a counter of the pair has, too. */
static __u64 pair_run_told(const struct event *e)
{
	return e->kind == EVENT_PACKETS_RESENT ||
			       (e->kind == EVENT_PACKETS_DROPPED && e->code != RDMA_DROP_WIRE)
		       ? packets_count(e)
		       : 0;
}

static __u64 pair_event_ns(const struct event *e)
{
	return e->kind == EVENT_PACKETS_DROPPED || e->kind == EVENT_PACKETS_RESENT
		       ? packets_since(e)
		       : e->time_ns;
}

static int queue_pairs_on_events(void *self, const struct event *events, size_t count)
{
	struct queue_pairs *q = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		struct pair_account *pair;

		if (e->kind < EVENT_RNR_SENT || e->kind > EVENT_QP_STATE)
			continue;
		pair = pair_make(q, e);
		if (!pair)
			continue;
		pair->told += pair_run_told(e);
		if (e->kind == EVENT_QP_STATE)
			pair_take_state(q, pair, e);
		else if (period_has(session_period(q->session), pair_event_ns(e)))
			pair_take_event(pair, e);
	}
	return 0;
}

int queue_pairs_create(struct queue_pairs **pairs, const struct session *session)
{
	*pairs = memory_calloc(1, sizeof(**pairs));
	if (!*pairs)
		return failed(-ENOMEM, "no memory for the queue pairs");
	(*pairs)->session = session;
	return 0;
}

struct stream queue_pairs_stream(struct queue_pairs *q)
{
	static const struct stream_ops ops = {.events = queue_pairs_on_events};

	return (struct stream){&ops, q};
}

void queue_pairs_destroy(struct queue_pairs *q)
{
	struct pair_account *pair, *next;

	if (!q)
		return;
	HASH_ITER(hh, q->accounts, pair, next) {
		HASH_DEL(q->accounts, pair);
		memory_free(pair);
	}
	memory_free(q);
}

const struct pair_totals *queue_pair_totals(const struct queue_pairs *q, __u32 device, __u32 number)
{
	const struct pair_key key = {device, number};
	const struct pair_account *pair;

	HASH_FIND(hh, q->accounts, &key, sizeof(key), pair);
	return pair ? &pair->totals : NULL;
}

size_t queue_pairs_count(const struct queue_pairs *q)
{
	return HASH_COUNT(q->accounts);
}

struct pair_totals queue_pairs_of_device(const struct queue_pairs *q, __u32 device)
{
	struct pair_totals sum = {0};

	for (const struct pair_account *pair = q->accounts; pair; pair = pair->hh.next) {
		if (pair->key.device != device)
			continue;
		sum.operations += pair->totals.operations;
		sum.bytes += pair->totals.bytes;
		sum.rnr_sent += pair->totals.rnr_sent;
		sum.rnr_received += pair->totals.rnr_received;
		sum.dropped += pair->totals.dropped;
		sum.resent += pair->totals.resent;
		sum.stopped_ns += pair->totals.stopped_ns;
	}
	return sum;
}

__u64 queue_pairs_naks(const struct queue_pairs *q)
{
	const struct pair_account *pair;
	__u64 naks = 0;

	for (pair = q->accounts; pair; pair = pair->hh.next)
		naks += pair->totals.rnr_sent;
	return naks;
}

__u64 queue_pairs_dropped(const struct queue_pairs *q)
{
	return q->dropped;
}

/* Which numbers are known, as the probes that tell them were on. */
struct pairs_known {
	bool counters, dropped, resent, sent, received, rewound, suppressed;
};

struct pair_row {
	const struct pair_account *pair;
	const struct pair_totals *totals;
	struct pairs_known known;
};

/* Packets that the counters have and no run: events were lost, or a run is not over. */
static __u64 pair_untold(const struct pair_account *pair)
{
	return pair->counted > pair->told ? pair->counted - pair->told : 0;
}

#define DROPPED_FOR(COLUMN, name, width, reason) \
	COLUMN(name, none, COUNT, width, WIDE,   \
	       count_if(row->known.dropped, row->totals->dropped_for[reason]))
#define RESENT_FOR(COLUMN, name, width, reason) \
	COLUMN(name, none, COUNT, width, WIDE,  \
	       count_if(row->known.resent, row->totals->resent_for[reason]))

#define QUEUE_PAIRS(COLUMN)                                                                       \
	COLUMN(device, none, TEXT, 8, SHOWN,                                                      \
	       session_device_name(context, row->pair->key.device, text))                         \
	COLUMN(pair, none, COUNT, 7, SHOWN, row->pair->key.number)                                \
	COLUMN(state, none, TEXT, 5, WIDE,                                                        \
	       row->known.counters ? pair_state_name(row->pair->state) : "-")                     \
	COLUMN(status, none, TEXT, 17, WIDE,                                                      \
	       row->pair->status ? pair_status_name(row->pair->status) : "-")                     \
	COLUMN(operations, none, COUNT, 10, SHOWN,                                                \
	       count_if(row->known.counters, row->totals->operations))                            \
	COLUMN(moved, bytes, BYTES, 6, SHOWN, count_if(row->known.counters, row->totals->bytes))  \
	COLUMN(rnr_out, none, COUNT, 7, SHOWN,                                                    \
	       count_if(row->known.counters, row->totals->rnr_sent))                              \
	COLUMN(rnr_in, none, COUNT, 6, SHOWN,                                                     \
	       count_if(row->known.counters, row->totals->rnr_received))                          \
	COLUMN(dropped, none, COUNT, 7, SHOWN,                                                    \
	       count_if(row->known.counters, row->totals->dropped))                               \
	COLUMN(resent, none, COUNT, 6, SHOWN, count_if(row->known.counters, row->totals->resent)) \
	COLUMN(stopped, none, DURATION, 7, SHOWN,                                                 \
	       count_if(row->known.counters, row->totals->stopped_ns))                            \
	DROPPED_FOR(COLUMN, dropped_fault, 13, RDMA_DROP_FAULT)                                   \
	DROPPED_FOR(COLUMN, dropped_rnr, 11, RDMA_DROP_RNR)                                       \
	DROPPED_FOR(COLUMN, dropped_sequence, 16, RDMA_DROP_SEQUENCE)                             \
	DROPPED_FOR(COLUMN, dropped_duplicate, 17, RDMA_DROP_DUPLICATE)                           \
	DROPPED_FOR(COLUMN, dropped_response, 16, RDMA_DROP_RESPONSE)                             \
	DROPPED_FOR(COLUMN, dropped_no_receive, 18, RDMA_DROP_NO_RECEIVE)                         \
	DROPPED_FOR(COLUMN, dropped_state, 13, RDMA_DROP_STATE)                                   \
	DROPPED_FOR(COLUMN, lost_wire, 9, RDMA_DROP_WIRE)                                         \
	RESENT_FOR(COLUMN, resent_rnr, 10, RDMA_RESEND_RNR)                                       \
	RESENT_FOR(COLUMN, resent_sequence, 15, RDMA_RESEND_SEQUENCE)                             \
	RESENT_FOR(COLUMN, resent_timeout, 14, RDMA_RESEND_TIMEOUT)                               \
	RESENT_FOR(COLUMN, resent_read, 11, RDMA_RESEND_READ)                                     \
	COLUMN(untold, none, COUNT, 6, WIDE,                                                      \
	       count_if(row->known.counters && row->known.dropped && row->known.resent,           \
			pair_untold(row->pair)))                                                  \
	COLUMN(naks, none, COUNT, 4, WIDE, count_if(row->known.sent, row->totals->naks))          \
	COLUMN(naks_heard, none, COUNT, 10, WIDE,                                                 \
	       count_if(row->known.received, row->totals->naks_heard))                            \
	COLUMN(rewound, none, COUNT, 7, WIDE, count_if(row->known.rewound, row->totals->rewound)) \
	COLUMN(suppressed, none, COUNT, 10, WIDE,                                                 \
	       count_if(row->known.suppressed, row->totals->suppressed))                          \
	COLUMN(in_window, none, COUNT, 9, WIDE,                                                   \
	       count_if(row->known.suppressed, row->totals->in_window))
TABLE(queue_pairs, "Queue pairs", QUEUE_PAIRS, struct pair_row, struct session)

static int by_pair(const void *a, const void *b)
{
	const struct pair_key *x = &(*(const struct pair_account *const *)a)->key;
	const struct pair_key *y = &(*(const struct pair_account *const *)b)->key;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static struct pairs_known pairs_known_of(const struct session *s)
{
	return (struct pairs_known){
		.counters = !unknown_probe(s, PROBE_QP_STATE),
		.dropped = !unknown_probe(s, PROBE_PACKETS_DROPPED),
		.resent = !unknown_probe(s, PROBE_PACKETS_RESENT),
		.sent = !unknown_probe(s, PROBE_RNR_SENT),
		.received = !unknown_probe(s, PROBE_RNR_RECEIVED),
		.rewound = !unknown_probe(s, PROBE_QP_REWOUND),
		.suppressed = !unknown_probe(s, PROBE_FAULT_SUPPRESSED),
	};
}

void queue_pairs_write(const struct analysis *a, struct writer *writer,
		       const struct table_wish *wish)
{
	size_t count = HASH_COUNT(a->queue_pairs->accounts), at = 0;
	const struct pair_account **pairs = calloc(count + 1, sizeof(struct pair_account *));
	const struct pairs_known known = pairs_known_of(a->session);

	if (!pairs) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the queue pairs"));
		return;
	}
	for (const struct pair_account *p = a->queue_pairs->accounts; p; p = p->hh.next)
		pairs[at++] = p;
	qsort(pairs, count, sizeof(struct pair_account *), by_pair);
	writer_begin_with(writer, &queue_pairs_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++)
		writer_row(writer, &(struct pair_row){pairs[i], &pairs[i]->totals, known});
	free(pairs);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more queue pairs.", count - wish->limit);
}

static void queue_pairs_write_findings(const struct analysis *a, struct writer *writer)
{
	char name[DEVICE_NAME_TEXT];

	for (const struct pair_account *p = a->queue_pairs->accounts; p; p = p->hh.next)
		if (p->status)
			writer_note(writer, "QP %u of %s went into error: %s.", p->key.number,
				    session_device_name(a->session, p->key.device, name),
				    pair_status_name(p->status));
}

static bool queue_pairs_have_rows(const struct analysis *a)
{
	return queue_pairs_count(a->queue_pairs);
}

static int create_queue_pairs(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	return queue_pairs_create(&a->queue_pairs, a->session);
}

static const struct analyzer_table tables[] = {
	{&queue_pairs_table, queue_pairs_write, queue_pairs_have_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(queue_pairs, .tables = tables, .chapter = REPORT_RDMA,
		.findings = queue_pairs_write_findings)
