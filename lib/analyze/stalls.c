// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/stalls.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stalls_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

#define QUEUED_NS 5000000000ull /* how long a frame may wait in a link's queue */
#define WINDOW_BYTES \
	(16 << 20) /* that a connection has sent at most and has not been told to have come */

static struct stall_flow *stall_flow_find(const struct stalls *s, __u32 id)
{
	struct stall_flow *flow;

	HASH_FIND(hh, s->flows, &id, sizeof(id), flow);
	return flow;
}

static void stall_flow_name(struct stalls *s, struct stall_flow *flow)
{
	const struct flow_info *info = session_flow(s->session, flow->id);

	if (!info)
		return;
	flow->name = *info;
	flow->name.id = 0;
	HASH_ADD(by_name, s->named, name, sizeof(flow->name), flow);
	s->dropped += !flow->by_name.tbl;
}

/* What goes the other way in the same connection. */
static struct stall_flow *stall_flow_back(const struct stalls *s, const struct flow_info *info)
{
	struct flow_info name = *info;
	struct stall_flow *flow;

	name.id = 0;
	name.source_port = info->destination_port;
	name.destination_port = info->source_port;
	memcpy(name.source, info->destination, sizeof(name.source));
	memcpy(name.destination, info->source, sizeof(name.destination));
	HASH_FIND(by_name, s->named, &name, sizeof(name), flow);
	return flow;
}

static struct stall_flow *stall_flow_make(struct stalls *s, __u32 id)
{
	struct stall_flow *flow = stall_flow_find(s, id);

	if (flow)
		return flow;
	flow = HASH_COUNT(s->flows) < STALL_FLOWS_MAX ? memory_calloc(1, sizeof(*flow)) : NULL;
	if (flow) {
		flow->id = id;
		HASH_ADD(hh, s->flows, id, sizeof(flow->id), flow);
		if (flow->hh.tbl) {
			stall_flow_name(s, flow);
			return flow;
		}
		memory_free(flow);
	}
	s->dropped++;
	return NULL;
}

/* Only TCP sends again what was lost. A flow that the dictionary lacks may be TCP's. */
static bool sends_again(const struct stalls *s, __u32 id)
{
	const struct flow_info *info = session_flow(s->session, id);

	return id && (!info || info->protocol == IPPROTO_TCP);
}

/* The positions of an event's range. */
static struct sequence_range stalls_place(struct stall_flow *flow, __u32 first, __u32 length)
{
	struct sequence_range range;

	if (!flow->near)
		flow->near = (__s64)(1ull << 40) + first;
	range.from = sequence_position(flow->near, first);
	range.to = range.from + length;
	if (range.to > flow->near)
		flow->near = range.to;
	return range;
}

static void count_resent(struct stall *stall, struct resent *resent)
{
	if (resent->counted == stall->serial)
		return;
	resent->counted = stall->serial;
	switch (resent->recovery) {
	case RECOVERY_TIMEOUT:
		stall->timeouts++;
		if (resent->timeout_ns > stall->timeout_ns)
			stall->timeout_ns = resent->timeout_ns;
		break;
	case RECOVERY_PROBE:
		stall->probes++;
		break;
	case RECOVERY_SLOW_START:
		stall->slow_start++;
		break;
	case RESENT_SYNACK:
		stall->synacks++;
		break;
	default:
		stall->fast++;
	}
}

/* What was sent again after the first frame of a run was lost, and before the run was told. */
static void count_earlier(struct stalls *s, struct stall_flow *flow, __u64 since_ns,
			  struct sequence_range range)
{
	__u64 kept =
		flow->resent_count < flow->resent_room ? flow->resent_count : flow->resent_room;
	bool forgotten = flow->resent_count > kept;

	for (__u64 i = 1; i <= kept; i++) {
		struct resent *resent =
			&flow->resent[(flow->resent_count - i) & (flow->resent_room - 1)];

		if (resent->time_ns < since_ns)
			forgotten = false;
		else if (resent->from < range.to && resent->to > range.from)
			count_resent(flow->open, resent);
	}
	s->dropped += forgotten;
}

static struct stall *stall_begin(struct stalls *s, struct stall_flow *flow, const struct event *e)
{
	struct stall *stall = pool_take(&s->pool);

	if (!stall) {
		s->dropped++;
		return NULL;
	}
	flow->missing.count = flow->lost.count = 0;
	flow->aborted_ns = 0;
	stall->flow = flow->id;
	stall->device = e->device;
	stall->queue = QUEUE_NONE;
	stall->from_ns = frames_since(e);
	stall->serial = ++s->serial;
	return flow->open = stall;
}

/*
 * Nobody waits for what a connection loses once it is over: a run that began before and is told behind its end, and
 * what it had sent that still waited in the link's queue. Whoever has its ports next begins at another number.
 */
static bool is_behind_the_end(const struct stall_flow *flow, const struct event *e, __u32 first)
{
	__u64 since_ns = frames_since(e);
	__s64 ahead;

	if (flow->open || !flow->aborted_ns)
		return false;
	ahead = sequence_position(flow->near, first) - flow->near;
	return since_ns <= flow->aborted_ns || (since_ns - flow->aborted_ns < QUEUED_NS &&
						ahead < WINDOW_BYTES && -ahead < WINDOW_BYTES);
}

static void stalls_take_lost(struct stalls *s, const struct event *e)
{
	struct sequence_range range;
	struct stall_flow *flow;
	struct stall *stall;
	__u32 first, length;

	if (!sends_again(s, e->tid) || !frames_range(e, &first, &length) || frames_needless(e))
		return;
	flow = stall_flow_make(s, e->tid);
	if (flow && is_behind_the_end(flow, e, first))
		return;
	stall = flow ? flow->open ?: stall_begin(s, flow, e) : NULL;
	if (!stall)
		return;
	range = stalls_place(flow, first, length);
	if (frames_since(e) < stall->from_ns)
		stall->from_ns = frames_since(e);
	if (stall->queue == QUEUE_NONE)
		stall->queue = e->queue;
	stall->frames += frames_count(e);
	stall->bytes += frames_bytes(e);
	stall->lost[frames_reason(e)] += frames_count(e);
	if (frames_name_fault(e))
		blame_add(&s->blame, &stall->blamed, e);
	s->dropped += !sequence_add(&flow->missing, range.from, range.to);
	s->dropped += !sequence_add(&flow->lost, range.from, range.to);
	count_earlier(s, flow, frames_since(e), range);
}

static struct resent *resent_push(struct stall_flow *flow)
{
	size_t room = flow->resent_room ? 2 * flow->resent_room : 4;

	/* Until it has its last size nothing was overwritten. */
	if (flow->resent_count == flow->resent_room && room <= STALL_RESENT_MAX) {
		struct resent *larger = memory_realloc(flow->resent, room * sizeof(*larger));

		if (!larger)
			return NULL;
		flow->resent = larger;
		flow->resent_room = room;
	}
	return &flow->resent[flow->resent_count++ & (flow->resent_room - 1)];
}

static void stalls_take_resent(struct stalls *s, const struct event *e)
{
	struct sequence_range range;
	struct stall_flow *flow;
	struct resent *resent;
	__u32 first, length;

	if (!e->tid || e->flags & EVENT_MAJOR || !frames_range(e, &first, &length))
		return;
	flow = stall_flow_make(s, e->tid);
	resent = flow ? resent_push(flow) : NULL;
	if (!resent) {
		s->dropped++;
		return;
	}
	range = stalls_place(flow, first, length);
	*resent = (struct resent){
		.time_ns = e->time_ns,
		.timeout_ns = e->value,
		.from = range.from,
		.to = range.to,
		.recovery = e->kind == EVENT_TCP_SYNACK ? RESENT_SYNACK : e->code,
	};
	if (flow->open && sequence_overlaps(&flow->lost, range.from, range.to))
		count_resent(flow->open, resent);
}

/* Equal ones in the order of time, so that the same stream keeps the same stalls. */
static bool is_longer(const struct stall *a, const struct stall *b, __u64 now_ns)
{
	__u64 x = stall_ns(a, now_ns), y = stall_ns(b, now_ns);

	if (x != y)
		return x > y;
	return a->from_ns != b->from_ns ? a->from_ns < b->from_ns : a->serial < b->serial;
}

static void stalls_swap(struct stall **a, struct stall **b)
{
	struct stall *t = *a;

	*a = *b;
	*b = t;
}

static void stalls_sift_down(struct stalls *s)
{
	size_t i = 0;

	for (;;) {
		size_t least = i, left = 2 * i + 1;

		for (size_t c = left; c < s->kept_count && c <= left + 1; c++)
			if (is_longer(s->kept[least], s->kept[c], 0))
				least = c;
		if (least == i)
			return;
		stalls_swap(&s->kept[i], &s->kept[least]);
		i = least;
	}
}

static void stall_forget(struct stalls *s, struct stall *stall)
{
	blame_release(&s->blame, &stall->blamed);
	pool_give(&s->pool, stall);
}

static void stalls_keep(struct stalls *s, struct stall *stall)
{
	size_t i = s->kept_count;

	if (i < STALLS_KEPT &&
	    array_grow(&s->kept, &s->kept_room, i + 1, sizeof(struct stall *), ARRAY_LIMITED)) {
		s->kept[s->kept_count++] = stall;
		for (; i && is_longer(s->kept[(i - 1) / 2], s->kept[i], 0); i = (i - 1) / 2)
			stalls_swap(&s->kept[(i - 1) / 2], &s->kept[i]);
		return;
	}
	if (i && is_longer(stall, s->kept[0], 0)) {
		stalls_swap(&stall, &s->kept[0]);
		stalls_sift_down(s);
	}
	stall_forget(s, stall);
}

static void count_of_device(struct stalls *s, const struct stall *stall)
{
	struct stall_device_totals *totals = slots_make(&s->devices, stall->device);

	if (!totals)
		return;
	totals->stalls++;
	totals->ns += stall_ns(stall, 0);
}

static void stall_end(struct stalls *s, struct stall_flow *flow, __u64 time_ns)
{
	struct stall *stall = flow->open;

	flow->open = NULL;
	stall->to_ns = time_ns;
	for (size_t i = 0; i < s->sink_count; i++)
		s->sinks[i].closed(s->sinks[i].self, stall);
	if (!period_has(session_period(s->session), stall->from_ns)) {
		stall_forget(s, stall);
		return;
	}
	s->count++;
	count_of_device(s, stall);
	flow->stalls++;
	if (stall_ns(stall, 0) > flow->longest_ns)
		flow->longest_ns = stall_ns(stall, 0);
	stalls_keep(s, stall);
}

/* All of it has come; that it was lost was told before the recording, or that event was lost. */
static void stalls_take_untold(struct stalls *s, const struct event *e, __u32 first, __u32 length)
{
	struct stall_flow *flow;
	struct stall *stall;

	if (!sends_again(s, e->tid) || !e->value || e->value >= e->time_ns)
		return;
	flow = stall_flow_make(s, e->tid);
	stall = flow ? stall_begin(s, flow, e) : NULL;
	if (!stall)
		return;
	stall->queue = e->queue;
	stall->bytes = length;
	count_earlier(s, flow, e->value, stalls_place(flow, first, length));
	stall_end(s, flow, e->time_ns);
}

/* What a stall lost whose connection ended before may come all the same: that is no stall of its own. */
static bool is_of_aborted(struct stall_flow *flow, __u32 first, __u32 length)
{
	struct sequence_range range;

	if (!flow->aborted_ns)
		return false;
	range = stalls_place(flow, first, length);
	return sequence_overlaps(&flow->lost, range.from, range.to);
}

static void stalls_take_recovered(struct stalls *s, const struct event *e)
{
	struct stall_flow *flow = stall_flow_find(s, e->tid);
	struct sequence_range range;
	__u32 first, length;

	if (!frames_range(e, &first, &length))
		return;
	if (!flow || !flow->open) {
		if (!flow || !is_of_aborted(flow, first, length))
			stalls_take_untold(s, e, first, length);
		return;
	}
	range = stalls_place(flow, first, length);
	s->dropped += !sequence_remove(&flow->missing, range.from, range.to);
	/* What was lost may have had bytes that had come before; who delivers knows when nothing is missing. */
	if (!flow->missing.count || e->flags & EVENT_LAST)
		stall_end(s, flow, e->time_ns);
}

static void stall_abort(struct stalls *s, struct stall_flow *flow, const struct event *e, int error)
{
	if (!flow || !flow->open)
		return;
	flow->open->error = error;
	flow->aborted_ns = e->time_ns;
	stall_end(s, flow, e->time_ns);
}

/* With these a connection is over, in both directions; of others TCP may yet recover. */
static void stalls_take_error(struct stalls *s, const struct event *e)
{
	const struct flow_info *info = session_flow(s->session, e->tid);

	switch (e->value) {
	case ECONNRESET:
	case ECONNABORTED:
	case ECONNREFUSED:
	case ETIMEDOUT:
	case EPIPE:
		stall_abort(s, stall_flow_find(s, e->tid), e, (int)e->value);
		if (info)
			stall_abort(s, stall_flow_back(s, info), e, (int)e->value);
		break;
	default:
		break;
	}
}

static int stalls_on_events(void *self, const struct event *events, size_t count)
{
	struct stalls *s = self;

	for (size_t i = 0; i < count; i++)
		switch (events[i].kind) {
		case EVENT_FRAMES_LOST:
			stalls_take_lost(s, &events[i]);
			break;
		case EVENT_FRAMES_RECOVERED:
			stalls_take_recovered(s, &events[i]);
			break;
		case EVENT_TCP_RETRANSMIT:
		case EVENT_TCP_SYNACK:
			stalls_take_resent(s, &events[i]);
			break;
		case EVENT_TCP_ERROR:
			stalls_take_error(s, &events[i]);
			break;
		/* Nobody sends any of it again. */
		case EVENT_TCP_CLOSED:
			stall_abort(s, stall_flow_find(s, events[i].tid), &events[i], STALL_UNTOLD);
			break;
		default:
			break;
		}
	return 0;
}

static void stalls_on_finished(void *self, const struct fault *fault)
{
	struct stalls *s = self;

	if (frames_device(session_device(s->session, fault->device)))
		blame_finished(&s->blame, fault);
}

int stalls_create(struct stalls **stalls, const struct session *session, struct faults *faults)
{
	struct stalls *s = memory_calloc(1, sizeof(*s));

	*stalls = s;
	if (!s)
		return failed(-ENOMEM, "no memory for the stalls");
	s->session = session;
	pool_init(&s->pool, sizeof(struct stall));
	slots_init(&s->devices, sizeof(struct stall_device_totals));
	blame_init(&s->blame);
	/* A fault that began before the period may have cost frames within it. */
	return faults_subscribe(faults, (struct fault_sink){NULL, stalls_on_finished, s, true});
}

struct stream stalls_stream(struct stalls *stalls)
{
	static const struct stream_ops ops = {.events = stalls_on_events};

	return (struct stream){&ops, stalls};
}

void stalls_destroy(struct stalls *s)
{
	struct stall_flow *flow, *next;

	if (!s)
		return;
	HASH_CLEAR(by_name, s->named);
	HASH_ITER(hh, s->flows, flow, next) {
		HASH_DEL(s->flows, flow);
		sequence_free(&flow->missing);
		sequence_free(&flow->lost);
		memory_free(flow->resent);
		memory_free(flow);
	}
	pool_free(&s->pool);
	slots_free(&s->devices);
	blame_destroy(&s->blame);
	memory_free(s->kept);
	memory_free(s);
}

int stalls_subscribe(struct stalls *s, struct stall_sink sink)
{
	if (s->sink_count == STALL_SINKS)
		return failed(-ENOSPC, "more than %d analyzers want the stalls", STALL_SINKS);
	s->sinks[s->sink_count++] = sink;
	return 0;
}

void stalls_each_open(const struct stalls *s,
		      void (*each)(void *argument, const struct stall *stall), void *argument)
{
	for (const struct stall_flow *flow = s->flows; flow; flow = flow->hh.next)
		if (flow->open)
			each(argument, flow->open);
}

struct stall_flow_totals stalls_of_flow(const struct stalls *s, __u32 id)
{
	const struct stall_flow *flow = stall_flow_find(s, id);
	struct stall_flow_totals totals = {0};

	if (!flow)
		return totals;
	totals.stalls = flow->stalls;
	totals.longest_ns = flow->longest_ns;
	if (flow->open && period_has(session_period(s->session), flow->open->from_ns))
		totals.open = flow->open;
	return totals;
}

struct stall_device_totals stalls_of_device(const struct stalls *s, __u32 device)
{
	const struct stall_device_totals *totals = slots_find(&s->devices, device);

	return totals ? *totals : (struct stall_device_totals){0};
}

__u64 stalls_count(const struct stalls *s)
{
	return s->count;
}

__u64 stalls_dropped(const struct stalls *s)
{
	return s->dropped + s->blame.dropped;
}

static int longest_first(const void *a, const void *b, void *now_ns)
{
	const struct stall *x = *(const struct stall *const *)a;
	const struct stall *y = *(const struct stall *const *)b;

	return is_longer(x, y, *(__u64 *)now_ns) ? -1 : 1;
}

struct gathered {
	const struct stalls *stalls;
	const struct stall **list;
	size_t count;
};

static void gather_open(void *argument, const struct stall *stall)
{
	struct gathered *g = argument;

	if (period_has(session_period(g->stalls->session), stall->from_ns))
		g->list[g->count++] = stall;
}

const struct stall **stalls_longest(const struct stalls *s, __u64 now_ns, size_t *count)
{
	struct gathered g = {.stalls = s, .count = s->kept_count};

	g.list = calloc(s->kept_count + HASH_COUNT(s->flows) + 1, sizeof(struct stall *));
	if (!g.list)
		return NULL;
	for (size_t i = 0; i < s->kept_count; i++)
		g.list[i] = s->kept[i];
	stalls_each_open(s, gather_open, &g);
	qsort_r(g.list, g.count, sizeof(struct stall *), longest_first, &now_ns);
	*count = g.count;
	return g.list;
}
