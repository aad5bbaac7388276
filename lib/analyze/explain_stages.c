// SPDX-License-Identifier: GPL-2.0
/*
 * Why each stage of a fault took its time: what else was going on in it, by how much of it that covers. What most of
 * the time goes to is the stage's cause; what nothing covers is not explained, and said so.
 */
#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/base/units.h"

__u64 stage_search_ns(const struct stage_search *s)
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

__u64 stage_search_covered_ns(const struct stage_search *s)
{
	return s->last_ns > s->from_ns ? s->last_ns - s->from_ns : 0;
}

__u64 explain_stages_ns(const struct fault *fault)
{
	struct stage_times times;
	__u64 ns = 0;

	stage_times(fault, &times);
	for (unsigned int k = 0; k < STAGES; k++)
		ns += times.measured & 1u << k ? times.ns[k] : 0;
	return ns;
}

/* "Stage dispatch took 3.10ms (60%)" */
static void tell_stage(const struct stage_search *s, struct sentence *words)
{
	__u64 total = explain_stages_ns(s->fault);
	char label[STAGE_LABEL], text[UNITS_TEXT];

	sentence_add(words, "Stage %s took %s",
		     stage_label(s->stage, stage_before(s->fault->seen, s->stage), label),
		     units_format_duration(stage_search_ns(s), text));
	if (total)
		sentence_add(words, " (%.0f%%)",
			     100.0 * (double)stage_search_ns(s) / (double)total);
}

/* Further evidence of those from the `from`th on. */
void stage_search_add_injected(struct stage_search *s, const struct explain_injected *injected,
			       size_t from)
{
	for (size_t i = from; i < injected->count; i++) {
		if (s->found < EXPLAIN_DETAILS)
			s->details[s->found] =
				explained_injection(EXPLAIN_STAGE, s->stage, injected->all[i]);
		s->found++;
	}
}

/* One that delays this stage and whose end may have been lost is no cause, and is not left out. */
static struct explain_injected perhaps_delayed(const struct stage_search *s)
{
	static const unsigned int points[STAGES] = {[STAGE_DELIVERY] = INJECT_DELIVERY,
						    [STAGE_DISPATCH] = INJECT_DISPATCH,
						    [STAGE_RESOLVE] = INJECT_RESOLVE,
						    [STAGE_RESPOND] = INJECT_RESPOND};
	bool has_point = points[s->stage] || s->stage == STAGE_DELIVERY;

	if (!has_point || !s->own_ns)
		return (struct explain_injected){0};
	return explain_perhaps_injected(s->e, s->fault->device, points[s->stage], s->from_ns,
					s->own_ns);
}

/* The stage's sentence with the first piece of its evidence, then the others. */
enum explain_cause stage_search_put(struct stage_search *s, struct explained item,
				    struct sentence *words)
{
	const struct explain_injected perhaps = perhaps_delayed(s);

	explain_tell_perhaps(s->e, words, &perhaps);
	item.part = EXPLAIN_STAGE;
	item.stage = s->stage;
	item.ns = stage_search_ns(s);
	sentence_add(words, ".");
	explanation_add(s->to, item, words);
	for (size_t i = 0; i < s->found && i < EXPLAIN_DETAILS; i++)
		explanation_add(s->to, s->details[i], NULL);
	explanation_add_perhaps(s->to, EXPLAIN_STAGE, s->stage, &perhaps);
	return item.cause;
}

static enum explain_cause put_injection(struct stage_search *s, struct sentence *words,
					const struct explain_injected *injected)
{
	explain_tell_injected(words, injected);
	sentence_add(words, " under way");
	stage_search_add_injected(s, injected, 1);
	return stage_search_put(s, explained_injection(EXPLAIN_STAGE, s->stage, injected->all[0]),
				words);
}

enum explain_cause stage_search_put_itself(struct stage_search *s, struct sentence *words,
					   enum explain_cause cause)
{
	return stage_search_put(s,
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
		return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
	}
	sentence_add(words,
		     ": for %s of it its device had to wait, as all page requests that it may have "
		     "at once were out",
		     units_format_duration(s->fault->held_ns, text));
	return stage_search_put_itself(s, words, CAUSE_HELD_BACK);
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

void stage_search_tell_rest(const struct stage_search *s, struct sentence *words, __u64 ns)
{
	char text[UNITS_TEXT];

	if (ns && 10 * ns > stage_search_ns(s))
		sentence_add(words, "; of %s of it nothing that was recorded says why",
			     units_format_duration(ns, text));
}

static enum explain_cause why_delivery(struct stage_search *s, struct sentence *words)
{
	struct explain_injected injected =
		explain_injected(s->e, s->fault->device, INJECT_DELIVERY, s->from_ns, s->from_ns);
	char text[UNITS_TEXT];

	sentence_add(words, ": ");
	if (s->fault->interrupt_ns) {
		sentence_add(words, "the IOMMU's interrupt came %s before the end of it",
			     units_format_duration(s->fault->interrupt_ns, text));
		return stage_search_put_itself(s, words, CAUSE_INTERRUPT);
	}
	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, ahead_in_queue, s);
	if (injected.count)
		return put_injection(s, words, &injected);
	if (2 * stage_search_covered_ns(s) < stage_search_ns(s)) {
		sentence_add(words, "from the request's place in the queue until its interrupt was "
				    "handled; what that waited for is not recorded");
		return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
	}
	sentence_add(words, "%zu request%s ahead of it in the page request queue, the last, of ",
		     s->found, s->found == 1 ? " was" : "s were");
	explain_tell_group(words, s->e, s->last.device, s->last.group, s->last.instance);
	sentence_add(words, ", for %s of it",
		     units_format_duration(stage_search_covered_ns(s), text));
	injected = explain_injected(s->e, s->last.device, INJECT_DELIVERY,
				    explain_at(&s->last, EVENT_FAULT_REQUEST),
				    explain_at(&s->last, EVENT_FAULT_REQUEST));
	if (injected.count) {
		sentence_add(words, ", which came while ");
		explain_tell_injected(words, &injected);
		sentence_add(words, " under way");
	}
	return stage_search_put(s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_ORDER, &s->last),
				words);
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

void stage_search_group(struct stage_search *s, unsigned int kind)
{
	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns,
			  kind == EVENT_FAULT_ISR ? group_interrupted : group_mapped, s);
}

/* What delays a stage delays that of each page in turn. */
static void tell_group_injected(struct stage_search *s, struct sentence *words)
{
	unsigned int point = s->stage == STAGE_RESOLVE ? INJECT_RESOLVE : INJECT_RESPOND;
	const struct explain_injected injected =
		explain_injected(s->e, s->fault->device, point, s->from_ns, s->last_ns);

	if (s->stage == STAGE_DISPATCH || !injected.count)
		return;
	sentence_add(words, ", while ");
	explain_tell_injected(words, &injected);
	sentence_add(words, " under way");
	stage_search_add_injected(s, &injected, 0);
}

enum explain_cause stage_search_put_group(struct stage_search *s, struct sentence *words)
{
	char text[UNITS_TEXT];

	sentence_add(words,
		     ": for %s of it %zu other page%s of its group, the last of address 0x%llx",
		     units_format_duration(stage_search_covered_ns(s), text), s->found,
		     s->found == 1 ? " was served" : "s were served", s->last.address);
	tell_group_injected(s, words);
	return stage_search_put(s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_GROUP, &s->last),
				words);
}

/* What is the page's own, after its group's others were served. */
static enum explain_cause why_resolve_own(struct stage_search *s, struct sentence *words)
{
	const struct fault *fault = s->fault;
	__u64 since = s->last_ns > s->from_ns ? s->last_ns : s->from_ns;
	const struct explain_injected injected =
		explain_injected(s->e, fault->device, INJECT_RESOLVE, since, since);
	char text[UNITS_TEXT];

	if (fault->cpu_fault_ns > since && fault->cpu_fault_ns < s->to_ns)
		sentence_add(words, "; its handler touched the page after %s of it, which took %s",
			     units_format_duration(fault->cpu_fault_ns - s->from_ns, text),
			     units_format_duration(s->to_ns - fault->cpu_fault_ns,
						   (char[UNITS_TEXT]){0}));
	if (fault->mm_ns)
		sentence_add(words, "; %s of it in handle_mm_fault (%s)",
			     units_format_duration(fault->mm_ns, text), fault_cause_name(fault));
	if (injected.count) {
		sentence_add(words, "; ");
		return put_injection(s, words, &injected);
	}
	return stage_search_put_itself(s, words,
				       fault->flags & EVENT_MAJOR  ? CAUSE_STORAGE
				       : fault_effort_known(fault) ? CAUSE_MEMORY
								   : CAUSE_UNKNOWN);
}

static enum explain_cause why_resolve(struct stage_search *s, struct sentence *words)
{
	const struct fault *fault = s->fault;

	stage_search_group(s, EVENT_FAULT_MAPPED);
	s->own_ns = s->from_ns + stage_search_covered_ns(s);
	if (2 * stage_search_covered_ns(s) > stage_search_ns(s))
		return stage_search_put_group(s, words);
	sentence_add(words, ": %s",
		     fault->flags & EVENT_MAJOR ? "the page was read from storage"
		     : fault_effort_known(fault)
			     ? "the page was made present without reading storage"
			     : "whether storage was read is not known");
	return why_resolve_own(s, words);
}

static enum explain_cause why_respond(struct stage_search *s, struct sentence *words)
{
	struct explain_injected injected;

	stage_search_group(s, EVENT_FAULT_MAPPED);
	s->own_ns = s->from_ns + stage_search_covered_ns(s);
	injected = explain_injected(s->e, s->fault->device, INJECT_RESPOND, s->own_ns, s->own_ns);
	if (2 * stage_search_covered_ns(s) > stage_search_ns(s))
		return stage_search_put_group(s, words);
	if (injected.count) {
		sentence_add(words, ": ");
		return put_injection(s, words, &injected);
	}
	sentence_add(words, ": after the page was mapped");
	return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
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
		return stage_search_put_itself(s, words, CAUSE_IOMMU);
	}
	explain_each_near(s->e, s->fault, s->from_ns, s->to_ns, answered_later, s);
	if (2 * stage_search_covered_ns(s) > stage_search_ns(s)) {
		sentence_add(words,
			     ": for %s of it its device waited for %zu more request%s of that "
			     "I/O, the last of ",
			     units_format_duration(stage_search_covered_ns(s), text), s->found,
			     s->found == 1 ? "" : "s");
		explain_tell_group(words, s->e, s->last.device, s->last.group, s->last.instance);
		return stage_search_put(
			s, explained_fault(EXPLAIN_STAGE, s->stage, CAUSE_PEERS, &s->last), words);
	}
	sentence_add(words, ": its device took the response and went on");
	return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
}

static enum explain_cause why_merged(struct stage_search *s, struct sentence *words)
{
	sentence_add(words, ": stages before it were not seen, so that their time cannot be told "
			    "from its own, nor explained");
	s->own_ns = 0;
	return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
}

static enum explain_cause why_stage(struct stage_search *s, bool merged)
{
	static enum explain_cause (*const why[STAGES])(struct stage_search *, struct sentence *) = {
		[STAGE_REQUEST] = why_request,	     [STAGE_DELIVERY] = why_delivery,
		[STAGE_DISPATCH] = explain_dispatch, [STAGE_RESOLVE] = why_resolve,
		[STAGE_RESPOND] = why_respond,	     [STAGE_RESUME] = why_resume,
	};
	struct sentence words = {0};

	tell_stage(s, &words);
	if (merged)
		return why_merged(s, &words);
	if (why[s->stage])
		return why[s->stage](s, &words);
	sentence_add(&words, ": the I/O page table was updated");
	return stage_search_put_itself(s, &words, CAUSE_UNKNOWN);
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
		s.last_ns = s.own_ns = s.from_ns;
		found_cause = why_stage(&s, times.merged & 1u << k);
		if (k == slowest)
			cause = found_cause;
	}
	return cause;
}
