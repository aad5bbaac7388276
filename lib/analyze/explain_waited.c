// SPDX-License-Identifier: GPL-2.0
/* Which I/Os waited for a fault, what would have helped, and what is not known. */
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/packets.h"
#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

#define PREFETCH_NS 10000000ull /* a neighbour that faulted so shortly before is one of a run */

static struct explained explained_io(const struct explain_io *io)
{
	return (struct explained){.part = EXPLAIN_WAITED,
				  .stage = STAGES,
				  .evidence = "io",
				  .ns = io->to_ns - io->from_ns,
				  .from_ns = io->from_ns,
				  .to_ns = io->to_ns,
				  .address = io->address,
				  .count = io->length,
				  .device = io->device,
				  .pasid = PASID_NONE,
				  .queue = io->queue};
}

/* From its fetch to its completion while the fault was open. */
static bool io_met_fault(const struct explain_io *io, const struct fault *fault)
{
	return io->from_ns <= fault_end_ns(fault) && io->to_ns >= fault_known_ns(fault);
}

struct behind {
	__u64 after_ns, before_ns, own_from_ns, own_to_ns;
	bool own;
};

/* A fault of the queue that ended later and before the fetch, or one that the I/O met itself. */
static void another_between(void *argument, const struct fault *other)
{
	struct behind *behind = argument;
	__u64 end = fault_over(other) ? fault_end_ns(other) : UINT64_MAX;

	if (end > behind->after_ns && fault_known_ns(other) <= behind->before_ns)
		behind->own = true;
}

struct of_queue {
	const struct fault *fault;
	explain_visit *visit;
	void *argument;
};

static void visit_of_queue(void *argument, const struct fault *other)
{
	const struct of_queue *of = argument;

	if (other->device == of->fault->device && other->queue == of->fault->queue &&
	    !explain_same_group(other, of->fault))
		of->visit(of->argument, other);
}

/*
 * One that met a fault before it was fetched, and none after, queued behind that which ended last before its fetch: it
 * had been submitted by then. Whether it queued behind others, too, is not known.
 */
static bool queued_behind(const struct explain *e, const struct explain_io *io,
			  const struct fault *fault)
{
	__u64 end = fault_end_ns(fault);
	struct behind behind = {.after_ns = end, .before_ns = io->to_ns};
	struct of_queue of = {fault, another_between, &behind};

	if (io->from_ns <= end || io->from_ns - end > EXPLAIN_SETTLE_NS || !fault_over(fault))
		return false;
	explain_each_near(e, fault, end, io->to_ns, visit_of_queue, &of);
	return !behind.own;
}

struct explain_waiting {
	size_t met, behind;
	__u64 longest_ns;
	struct explained all[EXPLAIN_DETAILS];
	size_t kept;
};

static void waiting_add(struct explain_waiting *w, const struct explain_io *io, bool met_it)
{
	*(met_it ? &w->met : &w->behind) += 1;
	if (met_it && io->to_ns - io->from_ns > w->longest_ns)
		w->longest_ns = io->to_ns - io->from_ns;
	if (w->kept == EXPLAIN_DETAILS)
		return;
	w->all[w->kept] = explained_io(io);
	if (!met_it) {
		w->all[w->kept].evidence = "io_behind";
		w->all[w->kept].ns = 0;
	}
	w->kept++;
}

static void find_waiting(const struct explain *e, const struct fault *fault,
			 struct explain_waiting *w)
{
	__u64 begin = fault_known_ns(fault), first = e->ios.head, last = e->ios.tail;

	while (first < last) {
		__u64 middle = first + (last - first) / 2;
		const struct explain_io *io = memory_at(&e->ios, middle);

		if (io->to_ns + EXPLAIN_SETTLE_NS < begin)
			first = middle + 1;
		else
			last = middle;
	}
	for (__u64 i = first; i < e->ios.tail; i++) {
		const struct explain_io *io = memory_at(&e->ios, i);

		if (io->device != fault->device || io->queue != fault->queue)
			continue;
		if (io_met_fault(io, fault))
			waiting_add(w, io, true);
		else if (queued_behind(e, io, fault))
			waiting_add(w, io, false);
		else if (io->from_ns > fault_end_ns(fault))
			break;
	}
}

static bool has_queue_of_ios(const struct device_info *info)
{
	return info && info->kind == DEVICE_EMULATED && !packets_device(info) &&
	       !*frames_policy(info);
}

void explain_waited(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	const struct device_info *info = session_device(e->analysis->session, fault->device);
	struct explained none = explained_fault(EXPLAIN_WAITED, STAGES, CAUSE_UNKNOWN, fault);
	struct sentence words = {0};
	struct explain_waiting w = {0};
	char text[UNITS_TEXT];

	if (!has_queue_of_ios(info))
		return;
	find_waiting(e, fault, &w);
	if (!w.kept) {
		sentence_add(&words, "No I/O that waited for it was recorded.");
		explanation_add(to, none, &words);
		return;
	}
	if (w.met)
		sentence_add(&words, "%zu I/O%s of queue %u met it, %s%s", w.met,
			     w.met == 1 ? "" : "s", fault->queue,
			     w.met == 1 ? "which took " : "the longest of which took ",
			     units_format_duration(w.longest_ns, text));
	if (w.behind)
		sentence_add(&words, "%s%s%zu queued behind it", w.met ? "; " : "",
			     w.met ? "at least " : "At least ", w.behind);
	sentence_add(&words, ".");
	explanation_add(to, w.all[0], &words);
	for (size_t i = 1; i < w.kept; i++)
		explanation_add(to, w.all[i], NULL);
}

static void put_help(struct explanation *to, struct explained evidence,
		     const struct sentence *words)
{
	evidence.part = EXPLAIN_HELP;
	explanation_add(to, evidence, words);
}

/* A page that its device had, and lost, would have stayed. */
static void help_by_pinning(const struct explain *e, const struct fault *fault,
			    struct explanation *to)
{
	const struct taken_time *taken = explain_taken_before(e, fault, fault_known_ns(fault));
	struct explained item = explained_fault(EXPLAIN_HELP, STAGES, CAUSE_MEMORY, fault);
	struct sentence words = {0};
	char ago[UNITS_TEXT];

	if (!taken || fault->cause == MM_PERMISSION)
		return;
	explained_by_invalidation(&item, taken);
	sentence_add(&words,
		     "Pinning the page would have avoided it: its device had it until %s before. "
		     "What that costs: faultline protect.",
		     units_format_duration(fault_known_ns(fault) - taken->sent_ns, ago));
	put_help(to, item, &words);
}

static const struct explained *evidence_of(const struct explanation *to, enum explain_cause cause)
{
	for (size_t i = 0; i < to->count; i++)
		if (to->items[i].part == EXPLAIN_STAGE && to->items[i].cause == cause)
			return &to->items[i];
	return NULL;
}

/* Where the handler had another tenant's faults, or several of its own. */
static void help_by_handlers(const struct explain *e, const struct fault *fault,
			     struct explanation *to)
{
	const struct explained *busy = evidence_of(to, CAUSE_BUSY);
	const struct device_info *own = session_device(e->analysis->session, fault->device);
	const struct device_info *other =
		busy ? session_device(e->analysis->session, busy->device) : NULL;
	struct sentence words = {0};

	if (!busy || !own || !other)
		return;
	if (own->kind == DEVICE_EMULATED && strcmp(own->vm, other->vm) != 0)
		sentence_add(&words, "Handlers of its own for each VM (scheduler=affined) would "
				     "have kept it from waiting for the faults of ");
	else
		sentence_add(&words, "Another handler would have kept it from waiting for ");
	if (own->kind == DEVICE_EMULATED && strcmp(own->vm, other->vm) != 0)
		sentence_add(&words, "VM %s.", other->vm);
	else {
		explain_tell_group(&words, e, busy->device, busy->group, busy->instance);
		sentence_add(&words, ".");
	}
	put_help(to, *busy, &words);
}

static void help_by_cause(const struct fault *fault, struct explanation *to)
{
	struct explained item = explained_fault(EXPLAIN_HELP, STAGES, to->cause, fault);
	const struct explained *cause = NULL;
	bool injected = false;
	struct sentence words = {0};

	for (size_t i = 0; i < to->count; i++) {
		if (to->items[i].part != EXPLAIN_CAUSE)
			continue;
		injected |= to->items[i].cause == CAUSE_INJECTION;
		if (!cause)
			cause = &to->items[i];
	}
	if (to->cause == CAUSE_HELD_BACK)
		sentence_add(&words, "More page requests at once would have helped: its device had "
				     "to wait for those that were out.");
	else if (cause && !injected &&
		 (to->cause == CAUSE_OVERFLOW || to->cause == CAUSE_DISCARDED) && cause->count) {
		item = *cause;
		sentence_add(&words,
			     "A page request queue of more than %llu entries would have taken it.",
			     cause->count);
	} else if (to->cause == CAUSE_CPU)
		sentence_add(&words, "A CPU that its handler need not share, or a higher priority, "
				     "would have helped.");
	if (words.used)
		put_help(to, item, &words);
}

struct neighbour {
	const struct fault *of;
	struct fault found;
	bool any;
};

static void page_before(void *argument, const struct fault *other)
{
	struct neighbour *n = argument;

	if (other->device == n->of->device && other->pasid == n->of->pasid &&
	    other->queue == n->of->queue && other->address + other->length == n->of->address &&
	    fault_known_ns(other) < fault_known_ns(n->of) && !explain_same_group(other, n->of)) {
		n->found = *other;
		n->any = true;
	}
}

/* The page before it had faulted just before, in another request. */
static void help_by_prefetch(const struct explain *e, const struct fault *fault,
			     struct explanation *to)
{
	struct neighbour n = {.of = fault};
	__u64 begin = fault_known_ns(fault);
	struct sentence words = {0};
	char text[UNITS_TEXT];

	explain_each_near(e, fault, begin > PREFETCH_NS ? begin - PREFETCH_NS : 0, begin,
			  page_before, &n);
	if (!n.any)
		return;
	sentence_add(
		&words,
		"Prefetching would have helped: the page before it had faulted %s earlier, in ",
		units_format_duration(begin - fault_known_ns(&n.found), text));
	explain_tell_group(&words, e, n.found.device, n.found.group, n.found.instance);
	sentence_add(&words, ".");
	put_help(to, explained_fault(EXPLAIN_HELP, STAGES, CAUSE_UNKNOWN, &n.found), &words);
}

void explain_help(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	size_t before = to->count;
	struct sentence words = {0};

	help_by_pinning(e, fault, to);
	help_by_handlers(e, fault, to);
	help_by_cause(fault, to);
	help_by_prefetch(e, fault, to);
	if (to->count != before)
		return;
	sentence_add(&words, "What would have helped does not follow from what was recorded.");
	explanation_add(to, explained_fault(EXPLAIN_HELP, STAGES, CAUSE_UNKNOWN, fault), &words);
}

static void put_unknown(struct explanation *to, const char *evidence, const struct sentence *words)
{
	explanation_add(to,
			(struct explained){.part = EXPLAIN_UNKNOWN,
					   .stage = STAGES,
					   .evidence = evidence,
					   .pasid = PASID_NONE,
					   .queue = QUEUE_NONE},
			words);
}

static void put_missing_probes(const struct explain *e, const struct fault *fault,
			       struct explanation *to)
{
	static const struct {
		enum probe_id probe;
		bool emulated;
	} asked[] = {{PROBE_FAULT_REQUEST, true},    {PROBE_FAULT_ISR, true},
		     {PROBE_FAULT_HANDLER, true},    {PROBE_FAULT_RESOLVED, true},
		     {PROBE_FAULT_MAPPED, true},     {PROBE_FAULT_RESPONSE, true},
		     {PROBE_FAULT_OVERFLOW, true},   {PROBE_FAULT_VOID, true},
		     {PROBE_FAULT_ABANDON, true},    {PROBE_INVALIDATE_DEVICE, true},
		     {PROBE_INVALIDATE_FREED, true}, {PROBE_INJECT_START, true},
		     {PROBE_INJECT_STOP, true},	     {PROBE_SCHED_WAKEUP, false},
		     {PROBE_SCHED_SWITCH, false}};
	const struct session *session = e->analysis->session;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const struct probe_row *row = probe_row(asked[i].probe);
		struct sentence words = {0};

		if ((asked[i].emulated && fault->kernel) || !unknown_probe(session, asked[i].probe))
			continue;
		sentence_add(&words, "Unknown: %s (probe %s is off or was not asked for).",
			     row->without, row->name);
		put_unknown(to, "probe", &words);
	}
	if (!fault->kernel && unknown_kind(session, EVENT_IO_COMPLETE)) {
		struct sentence words = {0};

		sentence_add(&words, "Unknown: which I/Os waited, as none were recorded.");
		put_unknown(to, "probe", &words);
	}
}

void explain_unknown(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	const struct device_info *info = session_device(e->analysis->session, fault->device);
	struct sentence kept = {0}, path = {0};

	put_missing_probes(e, fault, to);
	if (!has_queue_of_ios(info) && !(info && info->kind == DEVICE_EMULATED)) {
		sentence_add(&path, "Unknown: which I/Os waited, as I/Os of such devices are not "
				    "recorded queue by queue.");
		put_unknown(to, "path", &path);
	}
	if ((e->faults.let_go && e->faults.let_go_ns >= fault_known_ns(fault)) ||
	    (e->ios.let_go && e->ios.let_go_ns >= fault_known_ns(fault)) || e->taken_full) {
		sentence_add(&kept, "Unknown: whether there was more, as only the newest of what "
				    "was around it was kept.");
		put_unknown(to, "memory", &kept);
	}
}
