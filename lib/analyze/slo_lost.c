// SPDX-License-Identifier: GPL-2.0
/* Why an objective of frames was violated: what was lost in the window, or by stalls in it, and what that names. */
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/slo_private.h"
#include "lib/base/array.h"
#include "lib/base/memory.h"

/* Stalls that have a part in the window, by flow and time. */
struct spans_of {
	const struct slo_violation *v;
	__u32 device;
	struct told_frames *list;
	size_t count, room;
	bool failed;
};

static void add_span(struct spans_of *spans, struct told_frames span)
{
	if (span.window.from_ns >= spans->v->to_ns || span.window.to_ns <= spans->v->from_ns)
		return;
	if (array_grow(&spans->list, &spans->room, spans->count + 1, sizeof(span), ARRAY_LIMITED))
		spans->list[spans->count++] = span;
	else
		spans->failed = true;
}

static void add_open(void *argument, const struct stall *stall)
{
	struct spans_of *spans = argument;

	if (stall->device == spans->device)
		add_span(spans, (struct told_frames){
					.window = {.from_ns = stall->from_ns, .to_ns = UINT64_MAX},
					.flow = stall->flow});
}

static int by_flow(const void *a, const void *b)
{
	const struct told_frames *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return (x->window.from_ns > y->window.from_ns) - (x->window.from_ns < y->window.from_ns);
}

static void gather_spans(struct spans_of *spans, const struct slo *slo, const struct device_slo *d)
{
	for (__u64 i = d->stalls.head; i < d->stalls.tail; i++)
		add_span(spans, *(const struct told_frames *)memory_at(&d->stalls, i));
	stalls_each_open(slo->stalls, add_open, spans);
	if (spans->count)
		qsort(spans->list, spans->count, sizeof(*spans->list), by_flow);
}

/* A flow's stalls follow each other: the last that began before the run did, or none, has it. */
static bool is_of_span(const struct spans_of *spans, const struct lost_run *run)
{
	const struct told_frames wanted = {.flow = run->flow, .window.from_ns = run->from_ns};
	size_t first = 0, end = spans->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (by_flow(&spans->list[middle], &wanted) <= 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first && spans->list[first - 1].flow == run->flow &&
	       spans->list[first - 1].window.to_ns >= run->from_ns;
}

static bool is_of_window(const struct slo_violation *v, const struct lost_run *run,
			 const struct spans_of *spans)
{
	bool held = run->reason == LOSS_REASONS;

	if (v->metric == SLO_LOSS)
		return !held && run->from_ns >= v->from_ns && run->from_ns < v->to_ns;
	return (run->from_ns < v->to_ns && run->to_ns > v->from_ns) ||
	       (!held && is_of_span(spans, run));
}

static int by_key(const void *a, const void *b)
{
	const struct blame_key *x = a, *y = b;

	if (x->pasid != y->pasid)
		return x->pasid < y->pasid ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->instance > y->instance) - (x->instance < y->instance);
}

static void keep_each_once(struct named_faults *named)
{
	size_t kept = 0;

	if (named->count)
		qsort(named->keys, named->count, sizeof(*named->keys), by_key);
	for (size_t i = 0; i < named->count; i++)
		if (!kept || by_key(&named->keys[kept - 1], &named->keys[i]) != 0)
			named->keys[kept++] = named->keys[i];
	named->count = kept;
}

/* A stall knows its own; NULL: there was no memory for it. */
static bool explain_stall(const struct stalled *stalled, struct slo_violation *v,
			  struct named_faults *named)
{
	named->keys = stalled ? memory_calloc(stalled->count + 1, sizeof(*named->keys)) : NULL;
	if (!named->keys)
		return false;
	memcpy(v->lost, stalled->lost, sizeof(v->lost));
	memcpy(named->keys, stalled->faults, stalled->count * sizeof(*named->keys));
	named->count = stalled->count;
	keep_each_once(named);
	return true;
}

static void add_run(struct slo_violation *v, struct named_faults *named, const struct lost_run *run)
{
	if (run->reason < LOSS_REASONS)
		v->lost[run->reason] += run->frames;
	else
		v->held += run->frames;
	if (run->instance)
		named->keys[named->count++] =
			(struct blame_key){v->device, run->pasid, run->group, run->instance};
}

bool slo_frames_explain(const struct slo *slo, const struct device_slo *d, struct slo_violation *v,
			struct named_faults *named)
{
	struct spans_of spans = {.v = v, .device = d->device};

	*named = (struct named_faults){0};
	if (v->metric == SLO_STALL)
		return explain_stall(slo->stalled, v, named);
	if (v->metric == SLO_THROUGHPUT)
		gather_spans(&spans, slo, d);
	named->keys = memory_calloc(d->runs.tail - d->runs.head + 1, sizeof(*named->keys));
	for (__u64 i = d->runs.head; named->keys && i < d->runs.tail; i++) {
		const struct lost_run *run = memory_at(&d->runs, i);

		if (is_of_window(v, run, &spans))
			add_run(v, named, run);
	}
	memory_free(spans.list);
	if (!named->keys || spans.failed)
		return false;
	keep_each_once(named);
	if (d->runs.let_go && d->runs.let_go_ns >= v->from_ns) {
		v->not_kept_runs = d->runs.let_go;
		v->not_kept_ns = d->runs.let_go_ns;
	}
	return true;
}

bool slo_frames_name(const struct named_faults *named, const struct fault *fault)
{
	const struct blame_key wanted = {fault->device, fault->pasid, fault->group,
					 fault->instance};

	return named->count && bsearch(&wanted, named->keys, named->count, sizeof(wanted), by_key);
}
