// SPDX-License-Identifier: GPL-2.0
/*
 * Why each stage of a fault took its time: what else was going on in it, by how much of it that covers. What most of
 * the time goes to is the stage's cause; what nothing covers is not explained, and said so.
 */
#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/base/units.h"

struct stage_search {
	const struct explain *e;
	const struct fault *fault;
	struct explanation *to;
	unsigned int stage;
	__u64 from_ns, to_ns;
	struct fault last; /* of those that were looked for, the one that lasted longest */
	__u64 last_ns;	   /* until then */
	size_t found;
	struct explained details[EXPLAIN_DETAILS]; /* `found`, as many as there is room for */
};

static __u64 search_ns(const struct stage_search *s)
{
	return s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 0;
}

static void found(struct stage_search *s, const struct fault *fault, enum explain_cause cause,
		  __u64 until_ns)
{
	if (until_ns > s->to_ns)
		until_ns = s->to_ns;
	if (s->found < EXPLAIN_DETAILS) {
		s->details[s->found] = explained_fault(EXPLAIN_STAGE, s->stage, cause, fault);
		s->details[s->found].ns = until_ns - s->from_ns;
	}
	s->found++;
	if (until_ns > s->last_ns) {
		s->last_ns = until_ns;
		s->last = *fault;
	}
}

static __u64 covered_ns(const struct stage_search *s)
{
	return s->last_ns > s->from_ns ? s->last_ns - s->from_ns : 0;
}

/* "Stage dispatch took 3.10ms (60%)" */
static void tell_stage(const struct stage_search *s, struct sentence *words)
{
	__u64 total = fault_last_ns(s->fault) - fault_first_ns(s->fault);
	char label[STAGE_LABEL], text[UNITS_TEXT];

	sentence_add(words, "Stage %s took %s",
		     stage_label(s->stage, stage_before(s->fault->seen, s->stage), label),
		     units_format_duration(search_ns(s), text));
	if (total)
		sentence_add(words, " (%.0f%%)",
			     100.0 * (double)search_ns(s) / (double)total);
}

/* The stage's sentence with the first piece of its evidence, then the others. */
static enum explain_cause put(struct stage_search *s, struct explained item,
			      struct sentence *words)
{
	item.part = EXPLAIN_STAGE;
	item.stage = s->stage;
	item.ns = search_ns(s);
	sentence_add(words, ".");
	explanation_add(s->to, item, words);
	for (size_t i = 0; i < s->found && i < EXPLAIN_DETAILS; i++)
		explanation_add(s->to, s->details[i], NULL);
	return item.cause;
}

static enum explain_cause put_injection(struct stage_search *s, struct sentence *words,
					const struct explain_injection *injection)
{
	explain_tell_injection(words, injection);
	sentence_add(words, " was under way");
	return put(s, explained_injection(EXPLAIN_STAGE, s->stage, injection), words);
}

static enum explain_cause put_plain(struct stage_search *s, struct sentence *words,
				    enum explain_cause cause)
{
	return put(s,
		   (struct explained){.cause = cause,
				      .evidence = "stage",
				      .from_ns = s->from_ns,
				      .to_ns = s->to_ns,
				      .device = s->fault->device,
				      .pasid = s->fault->pasid,
				      .group = s->fault->group,
				      .instance = s->fault->instance,
				      .address = s->fault->address,
				      .queue = s->fault->queue},
		   words);
}

static enum explain_cause why_request(struct stage_search *s, struct sentence *words)
{
	char text[UNITS_TEXT];

	if (!s->fault->held_ns) {
		sentence_add(words, ": its device formed the request");
		return put_plain(s, words, CAUSE_UNKNOWN);
	}
	sentence_add(words,
		     ": for %s of it its device had to wait, as all page requests that it may have "
		     "at once were out",
		     units_format_duration(s->fault->held_ns, text));
	return put_plain(s, words, CAUSE_HELD_BACK);
}

/* Requests that left the queue after it had come and before it did: they were ahead, whoever was stamped first. */
static void ahead_in_queue(void *argument, const struct fault *other)
{
	struct stage_search *s = argument;
	__u64 isr = explain_at(other, EVENT_FAULT_ISR);

	if (isr > s->from_ns && isr < s->to_ns &&
	    explain_same_machine(s->e, other->device, s->fault->device))
		found(s, other, CAUSE_ORDER, isr);
}

static void tell_rest(const struct stage_search *s, struct sentence *words, __u64 ns)
{
	char text[UNITS_TEXT];

	if (ns && 10 * ns > search_ns(s))
		sentence_add(words, "; of %s of it nothing that was recorded says why",
			     units_format_duration(ns, text));
}

static enum explain_cause why_delivery(struct stage_search *s, struct sentence *words)
{
	const struct explain_injection *injection = explain_injected(
		s->e, s->fault->device, POINT_DELIVERY, s->from_ns, s->from_ns);
	char text[UNITS_TEXT];

	sentence_add(words, ": ");
	if (s->fault->interrupt_ns) {
		sentence_add(words, "the IOMMU's interrupt came %s before the end of it",
			     units_format_duration(s->fault->interrupt_ns, text));
		return put_plain(s, words, CAUSE_INTERRUPT);
	}
	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, ahead_in_queue, s);
	if (injection)
		return put_injection(s, words, injection);
	if (2 * covered_ns(s) < search_ns(s)) {
		sentence_add(words, "from the request's place in the queue until its interrupt was "
				    "handled; what that waited for is not recorded");
		return put_plain(s, words, CAUSE_UNKNOWN);
	}
	sentence_add(words, "%zu request%s ahead of it in the page request queue, the last, of ",
		     s->found, s->found == 1 ? " was" : "s were");
	explain_tell_group(words, s->e, s->last.device, s->last.group, s->last.instance);
	sentence_add(words, ", for %s of it", units_format_duration(covered_ns(s), text));
	injection = explain_injected(s->e, s->last.device, POINT_DELIVERY,
				     explain_at(&s->last, EVENT_FAULT_REQUEST),
				     explain_at(&s->last, EVENT_FAULT_REQUEST));
	if (injection) {
		sentence_add(words, ", which ");
		explain_tell_injection(words, injection);
		sentence_add(words, " may have held up");
	}
	return put(s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_ORDER, &s->last), words);
}

static void group_until(void *argument, const struct fault *other, unsigned int kind)
{
	struct stage_search *s = argument;
	__u64 until = explain_at(other, kind);

	if (explain_same_group(other, s->fault) && until > s->from_ns && until <= s->to_ns)
		found(s, other, CAUSE_GROUP, until);
}

static void group_interrupted(void *argument, const struct fault *other)
{
	group_until(argument, other, EVENT_FAULT_ISR);
}

static void group_mapped(void *argument, const struct fault *other)
{
	group_until(argument, other, EVENT_FAULT_MAPPED);
}

/* What its handler thread had before it: the newest first. */
static __u64 busy_before(struct stage_search *s, const struct memory *runs, __u64 index)
{
	__u64 busy = 0;

	while (index-- > runs->head) {
		const struct explain_run *run = memory_at(runs, index);
		__u64 until = run->response_ns ? run->response_ns : run->handler_ns;
		__u64 from = run->handler_ns > s->from_ns ? run->handler_ns : s->from_ns;
		const struct explained item = {.part = EXPLAIN_STAGE,
					       .stage = s->stage,
					       .cause = CAUSE_BUSY,
					       .ns = until - from,
					       .evidence = "fault",
					       .from_ns = run->handler_ns,
					       .to_ns = run->response_ns,
					       .device = run->key.device,
					       .pasid = run->key.pasid,
					       .group = run->key.group,
					       .instance = run->key.instance,
					       .queue = QUEUE_NONE};

		if (until <= s->from_ns)
			break;
		busy += until - from;
		if (s->found < EXPLAIN_DETAILS)
			s->details[s->found] = item;
		s->found++;
	}
	return busy;
}

/* How a part of dispatch compares with the others, in the order in which they come. */
struct dispatch {
	__u64 group, busy, cpu, rest;
	const struct explain_run *run;
};

static void tell_scheduling(struct stage_search *s, const struct dispatch *d,
			    struct sentence *words)
{
	char woken[UNITS_TEXT], waited[UNITS_TEXT];

	if (!d->run || d->run->ran_ns < s->from_ns || d->run->ran_ns > s->to_ns)
		return;
	if (d->run->woken_ns >= s->from_ns)
		sentence_add(words, "; it was woken after %s and ran %s later",
			     units_format_duration(d->run->woken_ns - s->from_ns, woken),
			     units_format_duration(d->run->ran_ns - d->run->woken_ns, waited));
	else
		sentence_add(words, "; it had been woken before and ran after %s",
			     units_format_duration(d->run->ran_ns - s->from_ns, waited));
}

static enum explain_cause put_busy(struct stage_search *s, const struct dispatch *d,
				   struct sentence *words)
{
	const struct explained newest = s->details[0];
	char text[UNITS_TEXT];

	sentence_add(words, ": for %s of it its handler, thread %u, was busy with %zu other group%s, ",
		     units_format_duration(d->busy, text), s->fault->handler_tid, s->found,
		     s->found == 1 ? "" : "s");
	sentence_add(words, s->found == 1 ? "" : "the last ");
	explain_tell_group(words, s->e, newest.device, newest.group, newest.instance);
	tell_scheduling(s, d, words);
	tell_rest(s, words, d->rest);
	return put(s, newest, words);
}

static enum explain_cause put_cpu(struct stage_search *s, const struct dispatch *d,
				  struct sentence *words)
{
	const struct explain_injection *hog =
		explain_injected(s->e, s->fault->device, POINT_HOG, s->from_ns, s->to_ns);
	struct explained item = {.cause = CAUSE_CPU,
				 .evidence = "run",
				 .from_ns = d->run->woken_ns,
				 .to_ns = d->run->ran_ns,
				 .count = s->fault->handler_tid,
				 .queue = QUEUE_NONE};

	sentence_add(words, ": its handler, thread %u, waited for a CPU", s->fault->handler_tid);
	tell_scheduling(s, d, words);
	if (hog) {
		sentence_add(words, ", while ");
		explain_tell_injection(words, hog);
		sentence_add(words, " was under way");
		s->found = 1;
		s->details[0] = explained_injection(EXPLAIN_STAGE, s->stage, hog);
	}
	tell_rest(s, words, d->rest);
	return put(s, item, words);
}

static enum explain_cause put_group(struct stage_search *s, struct sentence *words)
{
	char text[UNITS_TEXT];

	sentence_add(words,
		     ": for %s of it %zu other page%s of its group, the last of address 0x%llx",
		     units_format_duration(covered_ns(s), text), s->found,
		     s->found == 1 ? " was served" : "s were served", s->last.address);
	return put(s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_GROUP, &s->last), words);
}

/* What it delays it delays at the same time as what else there is: it comes first, as it acts on each. */
static enum explain_cause put_delayed(struct stage_search *s, const struct dispatch *d,
				      const struct explain_injection *injection,
				      struct sentence *words)
{
	char text[UNITS_TEXT];

	sentence_add(words, ": ");
	explain_tell_injection(words, injection);
	sentence_add(words, " was under way");
	if (d->busy)
		sentence_add(words, "; for %s of it its handler was busy with %zu other group%s",
			     units_format_duration(d->busy, text), s->found,
			     s->found == 1 ? "" : "s");
	tell_scheduling(s, d, words);
	return put(s, explained_injection(EXPLAIN_STAGE, s->stage, injection), words);
}

static enum explain_cause put_dispatch_rest(struct stage_search *s, const struct dispatch *d,
					    struct sentence *words)
{
	sentence_add(words, ": from its interrupt until its handler, thread %u, began",
		     s->fault->handler_tid);
	tell_scheduling(s, d, words);
	tell_rest(s, words, d->rest);
	return put_plain(s, words, CAUSE_UNKNOWN);
}

static enum explain_cause why_dispatch(struct stage_search *s, struct sentence *words)
{
	const struct memory *runs = NULL;
	struct dispatch d = {0};
	const struct explain_injection *injection;
	__u64 index = 0, all = search_ns(s), since;

	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, group_interrupted, s);
	d.group = covered_ns(s);
	if (2 * d.group > all)
		return put_group(s, words);
	since = s->from_ns + d.group;
	s->found = 0;
	d.run = explain_run_of(s->e, s->fault, &runs, &index);
	if (runs)
		d.busy = busy_before(s, runs, index);
	if (d.run && d.run->ran_ns > since && d.run->ran_ns <= s->to_ns)
		d.cpu = d.run->ran_ns -
			(d.run->woken_ns > since ? d.run->woken_ns : since);
	d.rest = all > d.group + d.busy + d.cpu ? all - d.group - d.busy - d.cpu : 0;
	injection = explain_injected(s->e, s->fault->device, POINT_DISPATCH, since, since);
	if (injection)
		return put_delayed(s, &d, injection, words);
	if (d.busy >= d.cpu && d.busy >= d.rest && s->found)
		return put_busy(s, &d, words);
	s->found = 0;
	if (d.cpu && d.cpu >= d.rest)
		return put_cpu(s, &d, words);
	return put_dispatch_rest(s, &d, words);
}

/* What is the page's own, after its group's others were served. */
static enum explain_cause why_resolve_own(struct stage_search *s, struct sentence *words)
{
	const struct fault *fault = s->fault;
	__u64 since = s->last_ns > s->from_ns ? s->last_ns : s->from_ns;
	const struct explain_injection *injection =
		explain_injected(s->e, fault->device, POINT_RESOLVE, since, since);
	char text[UNITS_TEXT];

	if (fault->cpu_fault_ns > since && fault->cpu_fault_ns < s->to_ns)
		sentence_add(words, "; its handler touched the page after %s of it, which took %s",
			     units_format_duration(fault->cpu_fault_ns - s->from_ns, text),
			     units_format_duration(s->to_ns - fault->cpu_fault_ns,
						   (char[UNITS_TEXT]){0}));
	if (fault->mm_ns)
		sentence_add(words, "; %s of it in handle_mm_fault (%s)",
			     units_format_duration(fault->mm_ns, text), fault_cause_name(fault));
	if (injection) {
		sentence_add(words, "; ");
		return put_injection(s, words, injection);
	}
	return put_plain(s, words,
			 fault->flags & EVENT_MAJOR	? CAUSE_STORAGE
			 : fault_effort_known(fault) ? CAUSE_MEMORY
						     : CAUSE_UNKNOWN);
}

static enum explain_cause why_resolve(struct stage_search *s, struct sentence *words)
{
	const struct fault *fault = s->fault;

	explain_each_near(s->e, fault, s->from_ns, s->to_ns, group_mapped, s);
	if (2 * covered_ns(s) > search_ns(s))
		return put_group(s, words);
	sentence_add(words, ": %s",
		     fault->flags & EVENT_MAJOR ? "the page was read from storage"
		     : fault_effort_known(fault)
			     ? "the page was made present without reading storage"
			     : "whether storage was read is not known");
	return why_resolve_own(s, words);
}

static enum explain_cause why_respond(struct stage_search *s, struct sentence *words)
{
	const struct explain_injection *injection;
	__u64 since;

	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, group_mapped, s);
	since = s->last_ns > s->from_ns ? s->last_ns : s->from_ns;
	injection = explain_injected(s->e, s->fault->device, POINT_RESPOND, since, since);
	if (2 * covered_ns(s) > search_ns(s))
		return put_group(s, words);
	if (injection) {
		sentence_add(words, ": ");
		return put_injection(s, words, injection);
	}
	sentence_add(words, ": after the page was mapped");
	return put_plain(s, words, CAUSE_UNKNOWN);
}

/* Of the same queue, raised with it and answered later: its device goes on when all are. */
static void answered_later(void *argument, const struct fault *other)
{
	struct stage_search *s = argument;
	__u64 response = explain_at(other, EVENT_FAULT_RESPONSE);
	__u64 until = response ? response : other->abandoned_ns;

	if (other->device == s->fault->device && other->queue == s->fault->queue &&
	    !explain_same_group(other, s->fault) && until > s->from_ns && until <= s->to_ns)
		found(s, other, CAUSE_PEERS, until);
}

static enum explain_cause why_resume(struct stage_search *s, struct sentence *words)
{
	char text[UNITS_TEXT];

	if (s->fault->delivered_ns) {
		sentence_add(words, ": the IOMMU had consumed the response after %s",
			     units_format_duration(s->fault->delivered_ns, text));
		return put_plain(s, words, CAUSE_IOMMU);
	}
	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, answered_later, s);
	if (2 * covered_ns(s) > search_ns(s)) {
		sentence_add(words,
			     ": for %s of it its device waited for %zu more request%s of that "
			     "I/O, the last of ",
			     units_format_duration(covered_ns(s), text), s->found,
			     s->found == 1 ? "" : "s");
		explain_tell_group(words, s->e, s->last.device, s->last.group, s->last.instance);
		return put(s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_PEERS, &s->last),
			   words);
	}
	sentence_add(words, ": its device took the response and went on");
	return put_plain(s, words, CAUSE_UNKNOWN);
}

static enum explain_cause why_merged(struct stage_search *s, struct sentence *words)
{
	sentence_add(words, ": stages before it were not seen, so that their time cannot be told "
			    "from its own, nor explained");
	return put_plain(s, words, CAUSE_UNKNOWN);
}

static enum explain_cause why_stage(struct stage_search *s, bool merged)
{
	static enum explain_cause (*const why[STAGES])(struct stage_search *, struct sentence *) = {
		[STAGE_REQUEST] = why_request,	 [STAGE_DELIVERY] = why_delivery,
		[STAGE_DISPATCH] = why_dispatch, [STAGE_RESOLVE] = why_resolve,
		[STAGE_RESPOND] = why_respond,	 [STAGE_RESUME] = why_resume,
	};
	struct sentence words = {0};

	tell_stage(s, &words);
	if (merged)
		return why_merged(s, &words);
	if (why[s->stage])
		return why[s->stage](s, &words);
	sentence_add(&words, ": the I/O page table was updated");
	return put_plain(s, &words, CAUSE_UNKNOWN);
}

enum explain_cause explain_stages(const struct explain *e, const struct fault *fault,
				  struct explanation *to)
{
	unsigned int slowest = fault_slowest_stage(fault);
	enum explain_cause cause = CAUSE_UNKNOWN;
	struct stage_times times;
	__u64 begin = fault_first_ns(fault);

	stage_times(fault, &times);
	for (unsigned int k = 0; k < STAGES; k++) {
		struct stage_search s = {.e = e,
					 .fault = fault,
					 .to = to,
					 .stage = k,
					 .from_ns = begin,
					 .to_ns = begin + times.ns[k]};
		enum explain_cause found_cause;

		if (!(times.measured & 1u << k))
			continue;
		begin = s.to_ns;
		s.last_ns = s.from_ns;
		found_cause = why_stage(&s, times.merged & 1u << k);
		if (k == slowest)
			cause = found_cause;
	}
	return cause;
}
