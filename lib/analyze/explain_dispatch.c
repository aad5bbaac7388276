// SPDX-License-Identifier: GPL-2.0
/* Why a handler did not begin at once: the rest of its group, other groups, no CPU, or an injection. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/base/units.h"

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

	sentence_add(words,
		     ": for %s of it its handler, thread %u, was busy with %zu other group%s, ",
		     units_format_duration(d->busy, text), s->fault->handler_tid, s->found,
		     s->found == 1 ? "" : "s");
	sentence_add(words, s->found == 1 ? "" : "the last ");
	explain_tell_group(words, s->e, newest.device, newest.group, newest.instance);
	tell_scheduling(s, d, words);
	stage_search_tell_rest(s, words, d->rest);
	return stage_search_put(s, newest, words);
}

static enum explain_cause put_cpu(struct stage_search *s, const struct dispatch *d,
				  struct sentence *words)
{
	const struct explain_injected hog =
		explain_injected(s->e, s->fault->device, INJECT_CPU_HOG, s->from_ns, s->to_ns);
	struct explained item = {.cause = CAUSE_CPU,
				 .evidence = "run",
				 .from_ns = d->run->woken_ns,
				 .to_ns = d->run->ran_ns,
				 .count = s->fault->handler_tid,
				 .queue = QUEUE_NONE};

	sentence_add(words, ": its handler, thread %u, waited for a CPU", s->fault->handler_tid);
	tell_scheduling(s, d, words);
	if (hog.count) {
		sentence_add(words, ", while ");
		explain_tell_injected(words, &hog);
		sentence_add(words, " under way");
		stage_search_add_injected(s, &hog, 0);
	}
	stage_search_tell_rest(s, words, d->rest);
	return stage_search_put(s, item, words);
}

/* What it delays it delays at the same time as what else there is: it comes first, as it acts on each. */
static enum explain_cause put_delayed(struct stage_search *s, const struct dispatch *d,
				      const struct explain_injected *injected,
				      struct sentence *words)
{
	char text[UNITS_TEXT];

	sentence_add(words, ": ");
	explain_tell_injected(words, injected);
	sentence_add(words, " under way");
	if (d->busy)
		sentence_add(words, "; for %s of it its handler was busy with %zu other group%s",
			     units_format_duration(d->busy, text), s->found,
			     s->found == 1 ? "" : "s");
	tell_scheduling(s, d, words);
	stage_search_add_injected(s, injected, 1);
	return stage_search_put(s, explained_injection(EXPLAIN_STAGE, s->stage, injected->all[0]),
				words);
}

static enum explain_cause put_dispatch_rest(struct stage_search *s, const struct dispatch *d,
					    struct sentence *words)
{
	sentence_add(words, ": from its interrupt until its handler, thread %u, began",
		     s->fault->handler_tid);
	tell_scheduling(s, d, words);
	stage_search_tell_rest(s, words, d->rest);
	return stage_search_put_itself(s, words, CAUSE_UNKNOWN);
}

enum explain_cause explain_dispatch(struct stage_search *s, struct sentence *words)
{
	const struct memory *runs = NULL;
	struct dispatch d = {0};
	struct explain_injected injected;
	__u64 index = 0, all = stage_search_ns(s), since;

	stage_search_group(s, EVENT_FAULT_ISR);
	d.group = stage_search_covered_ns(s);
	if (2 * d.group > all)
		return stage_search_put_group(s, words);
	since = s->own_ns = s->from_ns + d.group;
	s->found = 0;
	d.run = explain_run_of(s->e, s->fault, &runs, &index);
	if (runs)
		d.busy = busy_before(s, runs, index);
	if (d.run && d.run->ran_ns > since && d.run->ran_ns <= s->to_ns)
		d.cpu = d.run->ran_ns - (d.run->woken_ns > since ? d.run->woken_ns : since);
	d.rest = all > d.group + d.busy + d.cpu ? all - d.group - d.busy - d.cpu : 0;
	injected = explain_injected(s->e, s->fault->device, INJECT_DISPATCH, since, since);
	if (injected.count)
		return put_delayed(s, &d, &injected, words);
	if (d.busy >= d.cpu && d.busy >= d.rest && s->found)
		return put_busy(s, &d, words);
	s->found = 0;
	if (d.cpu && d.cpu >= d.rest)
		return put_cpu(s, &d, words);
	return put_dispatch_rest(s, &d, words);
}
