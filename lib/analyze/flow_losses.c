// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/flow_losses.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/frames.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stalls.h"
#include "lib/base/fail.h"

struct flow_loss_key {
	__u32 id, device; /* the device of frames that have no flow, else 0 */
};

struct flow_loss {
	struct flow_loss_key key;
	__u32 device;
	__u64 frames, bytes;
	__u64 lost[LOSS_REASONS]; /* frames */
	struct flow_resent resent;
	UT_hash_handle hh;
};

struct flow_losses {
	const struct session *session;
	struct flow_loss *flows;
	struct slots devices; /* struct flow_resent */
	__u64 dropped;
};

static struct flow_loss *flow_loss_make(struct flow_losses *f, const struct event *e)
{
	const struct flow_loss_key key = {e->tid, e->tid ? 0 : e->device};
	struct flow_loss *flow;

	HASH_FIND(hh, f->flows, &key, sizeof(key), flow);
	if (flow)
		return flow;
	flow = HASH_COUNT(f->flows) < FLOW_LOSSES_MAX ? memory_calloc(1, sizeof(*flow)) : NULL;
	if (flow) {
		flow->key = key;
		flow->device = e->device;
		HASH_ADD(hh, f->flows, key, sizeof(flow->key), flow);
		if (flow->hh.tbl)
			return flow;
		memory_free(flow);
	}
	f->dropped++;
	return NULL;
}

static void flow_losses_take_lost(struct flow_losses *f, const struct event *e)
{
	struct flow_loss *flow;

	if (!period_has(session_period(f->session), frames_since(e)))
		return;
	flow = flow_loss_make(f, e);
	if (!flow)
		return;
	flow->frames += frames_count(e);
	flow->bytes += frames_bytes(e);
	flow->lost[frames_reason(e)] += frames_count(e);
}

static void resent_add(struct flow_resent *resent, const struct event *e)
{
	if (e->kind == EVENT_TCP_SYNACK) {
		resent->synacks++;
		return;
	}
	if (e->flags & EVENT_MAJOR) {
		resent->failed++;
		return;
	}
	resent->segments += e->group ? e->group : 1;
	resent->timeouts += e->code == RECOVERY_TIMEOUT;
	resent->probes += e->code == RECOVERY_PROBE;
	resent->fast += e->code == RECOVERY_FAST;
	resent->slow_start += e->code == RECOVERY_SLOW_START;
}

static void flow_losses_take_resent(struct flow_losses *f, const struct event *e)
{
	struct flow_resent *device;
	struct flow_loss *flow;

	if (!period_has(session_period(f->session), e->time_ns))
		return;
	flow = flow_loss_make(f, e);
	device = slots_make(&f->devices, e->device);
	if (flow)
		resent_add(&flow->resent, e);
	if (device)
		resent_add(device, e);
}

static int flow_losses_on_events(void *self, const struct event *events, size_t count)
{
	struct flow_losses *f = self;

	for (size_t i = 0; i < count; i++)
		switch (events[i].kind) {
		case EVENT_FRAMES_LOST:
			flow_losses_take_lost(f, &events[i]);
			break;
		case EVENT_TCP_RETRANSMIT:
		case EVENT_TCP_SYNACK:
			flow_losses_take_resent(f, &events[i]);
			break;
		default:
			break;
		}
	return 0;
}

static struct stream flow_losses_stream(struct flow_losses *flows)
{
	static const struct stream_ops ops = {.events = flow_losses_on_events};

	return (struct stream){&ops, flows};
}

static int create_flow_losses(struct analysis *a, const struct analysis_config *config)
{
	struct flow_losses *f;

	(void)config;
	a->flow_losses = f = memory_calloc(1, sizeof(*f));
	if (!f)
		return failed(-ENOMEM, "no memory for the flows");
	f->session = a->session;
	slots_init(&f->devices, sizeof(struct flow_resent));
	return 0;
}

static void flow_losses_destroy(struct flow_losses *f)
{
	struct flow_loss *flow, *next;

	if (!f)
		return;
	HASH_ITER(hh, f->flows, flow, next) {
		HASH_DEL(f->flows, flow);
		memory_free(flow);
	}
	slots_free(&f->devices);
	memory_free(f);
}

struct flow_resent flow_losses_of_device(const struct flow_losses *f, __u32 device)
{
	const struct flow_resent *resent = slots_find(&f->devices, device);

	return resent ? *resent : (struct flow_resent){0};
}

__u64 flow_losses_dropped(const struct flow_losses *f)
{
	return f->dropped;
}

struct flow_row {
	const struct flow_loss *flow;
	struct stall_flow_totals stalls;
	__u64 longest_ns; /* one that is open included */
};

#define FLOWS(COLUMN)                                                                            \
	COLUMN(device, none, TEXT, 7, SHOWN,                                                     \
	       session_device_name(context, row->flow->device, text))                            \
	COLUMN(flow, none, TEXT, 32, SHOWN, session_flow_text(context, row->flow->key.id, text)) \
	COLUMN(lost, none, COUNT, 5, SHOWN, row->flow->frames)                                   \
	COLUMN(lost_size, bytes, BYTES, 10, WIDE, row->flow->bytes)                              \
	FRAMES_LOST_COLUMNS(COLUMN, row->flow->lost)                                             \
	COLUMN(retransmits, none, COUNT, 6, SHOWN, row->flow->resent.segments)                   \
	COLUMN(timeouts, none, COUNT, 8, WIDE, row->flow->resent.timeouts)                       \
	COLUMN(probes, none, COUNT, 6, WIDE, row->flow->resent.probes)                           \
	COLUMN(fast, none, COUNT, 6, WIDE, row->flow->resent.fast)                               \
	COLUMN(slow_start, none, COUNT, 10, WIDE, row->flow->resent.slow_start)                  \
	COLUMN(synacks, none, COUNT, 7, WIDE, row->flow->resent.synacks)                         \
	COLUMN(failed, none, COUNT, 6, WIDE, row->flow->resent.failed)                           \
	COLUMN(stalls, none, COUNT, 6, WIDE, row->stalls.stalls + (row->stalls.open != NULL))    \
	COLUMN(longest, none, DURATION, 7, SHOWN, count_or_none(row->longest_ns))                \
	COLUMN(open, none, COUNT, 4, WIDE, row->stalls.open != NULL)
TABLE(flows, "Flows", FLOWS, struct flow_row, struct session)

static int most_lost_first(const void *a, const void *b)
{
	const struct flow_loss *x = *(const struct flow_loss *const *)a;
	const struct flow_loss *y = *(const struct flow_loss *const *)b;

	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	if (x->resent.segments != y->resent.segments)
		return x->resent.segments > y->resent.segments ? -1 : 1;
	if (x->key.id != y->key.id)
		return x->key.id < y->key.id ? -1 : 1;
	return x->key.device < y->key.device ? -1 : 1;
}

static void write_flow_loss(const struct analysis *a, struct writer *writer,
			    const struct flow_loss *flow)
{
	struct flow_row row = {.flow = flow, .stalls = stalls_of_flow(a->stalls, flow->key.id)};
	const struct stall *open = row.stalls.open;
	__u64 open_ns = open ? stall_ns(open, session_last_ns(a->session)) : 0;

	row.longest_ns = open_ns > row.stalls.longest_ns ? open_ns : row.stalls.longest_ns;
	writer_row(writer, &row);
}

void flow_losses_write(const struct analysis *a, struct writer *writer,
		       const struct table_wish *wish)
{
	size_t count = HASH_COUNT(a->flow_losses->flows), at = 0;
	const struct flow_loss **list = calloc(count + 1, sizeof(struct flow_loss *));

	if (!list) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the flows"));
		return;
	}
	for (const struct flow_loss *flow = a->flow_losses->flows; flow; flow = flow->hh.next)
		list[at++] = flow;
	qsort(list, count, sizeof(struct flow_loss *), most_lost_first);
	writer_begin_with(writer, &flows_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++)
		write_flow_loss(a, writer, list[i]);
	free(list);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more flows.", count - wish->limit);
}

static bool flow_losses_has_rows(const struct analysis *a)
{
	return a->flow_losses->flows;
}

static const struct analyzer_table tables[] = {
	{&flows_table, flow_losses_write, flow_losses_has_rows, REPORT_ROWS / 2}, {0}};

DEFINE_ANALYZER(flow_losses, .tables = tables, .chapter = REPORT_IO)
