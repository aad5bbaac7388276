// SPDX-License-Identifier: GPL-2.0
/* When a fault is explained: once what belongs to it has come, in the order in which they were over. */
#include "lib/analyze/explain_private.h"

#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/base/fail.h"

/* The I/O that met it ends after it: whether it has come, or its queue has gone on. */
static bool io_has_come(const struct explain *e, const struct fault *fault)
{
	__u64 end = fault_end_ns(fault);

	for (__u64 i = e->ios.tail; i-- > e->ios.head;) {
		const struct explain_io *io = memory_at(&e->ios, i);

		if (io->to_ns < end)
			return false;
		if (io->device == fault->device && io->queue == fault->queue)
			return true;
	}
	return false;
}

static bool is_settled(const struct explain *e, const struct explain_fault *kept)
{
	__u64 end = fault_end_ns(&kept->fault);

	if (e->now_ns < end + EXPLAIN_SETTLE_NS)
		return false;
	return e->now_ns >= end + EXPLAIN_SETTLE_MOST_NS || io_has_come(e, &kept->fault);
}

static void explain_next(struct explain *e)
{
	const struct explain_fault *kept = memory_at(&e->faults, e->next++);

	if (!kept->row)
		return;
	explain_fault(e, kept, &e->now);
	e->wish->explained(e->wish->self, &e->now);
}

static void explain_settled(struct explain *e, bool all)
{
	while (e->next < e->faults.tail) {
		const struct explain_fault *kept = memory_at(&e->faults, e->next);

		if (!all && kept->row && !is_settled(e, kept))
			break;
		explain_next(e);
	}
}

/* Of any period: it may be what another one waited for. */
static void explain_on_over(void *self, const struct fault *fault)
{
	struct explain *e = self;

	if (e->faults.tail - e->faults.head == SLO_MEMORY_MAX && e->next == e->faults.head)
		explain_next(e);
	explain_remember_fault(e, fault);
	if (e->next < e->faults.head)
		e->next = e->faults.head;
}

/* Comes after the one above, of faults of the period alone. */
static void explain_on_finished(void *self, const struct fault *fault)
{
	struct explain *e = self;
	__u64 row = e->wish->finished(e->wish->self, fault);
	struct explain_fault *kept;

	if (!row || e->faults.tail == e->faults.head)
		return;
	kept = memory_at(&e->faults, e->faults.tail - 1);
	kept->row = row;
	explain_name(e, fault, row);
}

static int explain_on_events(void *self, const struct event *events, size_t count)
{
	struct explain *e = self;

	for (size_t i = 0; i < count; i++) {
		explain_remember(e, &events[i]);
		if (events[i].time_ns > e->now_ns)
			e->now_ns = events[i].time_ns;
	}
	explain_settled(e, false);
	return 0;
}

static int explain_on_tick(void *self, __u64 now_ns)
{
	struct explain *e = self;

	if (now_ns > e->now_ns)
		e->now_ns = now_ns;
	explain_settled(e, false);
	return 0;
}

static int explain_on_end(void *self, __u64 end_ns)
{
	struct explain *e = self;

	if (end_ns > e->now_ns)
		e->now_ns = end_ns;
	explain_settled(e, true);
	return 0;
}

static struct stream explain_stream(struct explain *e)
{
	static const struct stream_ops ops = {
		.events = explain_on_events, .tick = explain_on_tick, .end = explain_on_end};

	return e ? (struct stream){&ops, e} : (struct stream){0};
}

static int create_explain(struct analysis *a, const struct analysis_config *config)
{
	struct explain *e;
	int error;

	if (!config->explain)
		return 0;
	a->explain = e = memory_calloc(1, sizeof(*e));
	if (!e)
		return failed(-ENOMEM, "no memory to explain faults");
	e->analysis = a;
	e->wish = config->explain;
	explain_context_init(e);
	if (a->slo)
		slo_subscribe(a->slo, (struct slo_sink){explain_broke, e});
	error = faults_subscribe(a->faults, (struct fault_sink){NULL, explain_on_over, e, true});
	if (!error)
		error = faults_subscribe(a->faults,
					 (struct fault_sink){NULL, explain_on_finished, e});
	return error;
}

static void explain_destroy(struct explain *e)
{
	if (!e)
		return;
	explain_later_free(e);
	explain_context_free(e);
	explanation_free(&e->now);
	memory_free(e);
}

DEFINE_ANALYZER(explain, .of_a_verb = true, .tables = explain_tables)
