// SPDX-License-Identifier: GPL-2.0
/* Which faults stood in the way: overlap of faults with slow I/Os, or with a window. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/analyze/sentence.h"
#include "lib/analyze/slo_private.h"
#include "lib/analyze/stalls.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

/* A slow I/O of the violated window. */
struct slow {
	struct slow_io io;
	__u64 least_ns; /* that it or one that ended later began */
	bool overlapped;
};

/* What is being gathered about one violation. */
struct search {
	struct slo_violation *v;
	const struct slo_sink *sink;
	const struct device_slo *device;
	__u64 stage_ns[STAGES], merged[STAGES];
	unsigned int before[STAGES]; /* of stages that are merged into this one, at most */
	__u64 longest_ns;
	__u64 reached_ns; /* everything unfinished counts up to here */
	struct slow *slow;
	size_t count;
	struct named_faults named; /* of objectives of frames */
};

static bool is_slow(const struct slo_violation *v, const struct slow_io *io)
{
	return io->to_ns >= v->from_ns && io->to_ns < v->to_ns &&
	       io->to_ns - io->from_ns > v->objective->latency_target_ns;
}

static int by_end(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return x->io.to_ns < y->io.to_ns ? -1 : x->io.to_ns > y->io.to_ns;
}

/* The slow I/Os that are kept, by their end. False without memory. */
static bool slo_cause_gather(struct search *s)
{
	const struct memory *ios = &s->device->ios;
	__u64 least = UINT64_MAX;

	if (ios->head == ios->tail || s->v->metric != SLO_LATENCY)
		return true;
	s->slow = memory_calloc((size_t)(ios->tail - ios->head), sizeof(*s->slow));
	if (!s->slow)
		return false;
	for (__u64 i = ios->head; i < ios->tail; i++)
		if (is_slow(s->v, memory_at(ios, i)))
			s->slow[s->count++].io = *(struct slow_io *)memory_at(ios, i);
	qsort(s->slow, s->count, sizeof(*s->slow), by_end);
	for (size_t i = s->count; i-- > 0;) {
		least = s->slow[i].io.from_ns < least ? s->slow[i].io.from_ns : least;
		s->slow[i].least_ns = least;
	}
	return true;
}

static bool overlaps_io(const struct search *s, const struct fault *fault, __u64 from, __u64 to)
{
	size_t first = 0, end = s->count;
	bool any = false;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (s->slow[middle].io.to_ns < from)
			first = middle + 1;
		else
			end = middle;
	}
	for (size_t i = first; i < s->count && s->slow[i].least_ns <= to; i++) {
		const struct slow_io *io = &s->slow[i].io;

		if (io->from_ns > to || (io->queue != fault->queue && io->queue != QUEUE_NONE &&
					 fault->queue != QUEUE_NONE))
			continue;
		s->slow[i].overlapped = true;
		any = true;
	}
	return any;
}

static bool slo_cause_concerns(const struct search *s, const struct fault *fault, __u64 from,
			       __u64 to)
{
	switch (s->v->metric) {
	case SLO_LATENCY:
		return overlaps_io(s, fault, from, to);
	case SLO_IOPS:
	case SLO_BANDWIDTH:
		return from < s->v->to_ns && to > s->v->from_ns;
	case SLO_LOSS:
	case SLO_STALL:
	case SLO_THROUGHPUT:
		return slo_frames_name(&s->named, fault);
	default:
		return from >= s->v->from_ns && from <= s->v->to_ns;
	}
}

static void slo_cause_consider(void *argument, const struct fault *fault)
{
	struct search *s = argument;
	__u64 from = fault_first_ns(fault);
	__u64 to = fault_over(fault) ? fault_end_ns(fault) : s->reached_ns;
	struct stage_times times;

	if (fault->device != s->device->device || !from || !slo_cause_concerns(s, fault, from, to))
		return;
	s->v->faults++;
	if (s->sink->names)
		s->sink->names(s->sink->self, s->v, fault);
	stage_times(fault, &times);
	for (unsigned int k = 0; k < STAGES; k++) {
		unsigned int before = stage_before(fault->seen, k);

		s->stage_ns[k] += times.ns[k];
		s->merged[k] += (times.merged >> k) & 1;
		if (times.merged & 1u << k && before > s->before[k])
			s->before[k] = before;
	}
	if (s->v->faults == 1 || to - from > s->longest_ns) {
		s->longest_ns = to - from;
		s->v->longest = *fault;
	}
}

/* What was let go and may have been of this window, or have stood in the way of its I/Os. */
static void count_not_kept(const struct search *s)
{
	const struct memory *ios = &s->device->ios, *faults = &s->device->faults;
	struct slo_violation *v = s->v;
	__u64 since = v->from_ns;

	if (s->count && s->slow[0].least_ns < since)
		since = s->slow[0].least_ns;
	if (v->metric == SLO_LATENCY && ios->let_go && ios->let_go_ns >= v->from_ns) {
		v->not_kept_ios = ios->let_go;
		v->not_kept_ns = ios->let_go_ns;
	}
	if (faults->let_go && faults->let_go_ns >= since) {
		v->not_kept_faults = faults->let_go;
		if (faults->let_go_ns > v->not_kept_ns)
			v->not_kept_ns = faults->let_go_ns;
	}
}

void slo_explain(const struct slo *slo, const struct device_slo *device, struct slo_violation *v)
{
	struct search s = {.v = v, .sink = &slo->sink, .device = device, .reached_ns = v->to_ns};

	v->stage = STAGES;
	if (!slo_cause_gather(&s) ||
	    (slo_is_of_frames(v->metric) && !slo_frames_explain(slo, device, v, &s.named))) {
		v->not_kept_ios = device->ios.tail - device->ios.head;
		v->not_kept_runs = device->runs.tail - device->runs.head;
		v->not_kept_ns = v->to_ns;
		memory_free(s.named.keys);
		return;
	}
	count_not_kept(&s);
	for (__u64 i = device->faults.head; i < device->faults.tail; i++)
		slo_cause_consider(&s, memory_at(&device->faults, i));
	faults_each_open(slo->reconstruction, slo_cause_consider, &s);
	/* The runs know how many there are, also of those that nobody saw. */
	if (slo_is_of_frames(v->metric))
		v->faults = s.named.count;
	memory_free(s.named.keys);
	v->recorded_ios = s.count;
	for (size_t i = 0; i < s.count; i++)
		v->overlapped_ios += s.slow[i].overlapped;
	/* Of those in the target's bucket that are slower some were recorded: so many there are. */
	if (v->recorded_ios > v->slow_ios)
		v->slow_ios = v->recorded_ios;
	for (unsigned int k = 0; k < STAGES; k++) {
		v->faults_ns += s.stage_ns[k];
		if (s.stage_ns[k] && (v->stage == STAGES || s.stage_ns[k] > v->stage_ns)) {
			v->stage = k;
			v->stage_ns = s.stage_ns[k];
			v->merged = s.merged[k];
			v->before = s.before[k];
		}
	}
	memory_free(s.slow);
}

/* Why nothing can be said of any fault. */
static int no_fault(const struct slo_violation *v, const char *counted, bool let_go,
		    char text[SLO_CAUSE_TEXT])
{
	const char *least = v->slow_floor ? "at least " : "";
	const char *kept = v->not_kept_faults ? " that was kept" : "";

	if (v->metric == SLO_LATENCY && !v->recorded_ios && (let_go || v->not_kept_ios))
		return snprintf(text, SLO_CAUSE_TEXT,
				"none of %s%llu slow I/Os is known one by one", least, v->slow_ios);
	if (v->metric == SLO_LATENCY && !v->recorded_ios)
		return snprintf(text, SLO_CAUSE_TEXT,
				"none of %s%llu slow I/Os was recorded one by one; "
				"record with a lower slow-I/O limit to learn why",
				least, v->slow_ios);
	if (*counted)
		return snprintf(text, SLO_CAUSE_TEXT,
				"no fault%s overlapped the %llu of %s%llu slow "
				"I/Os that were %s one by one",
				kept, v->recorded_ios, least, v->slow_ios,
				v->not_kept_ios ? "kept" : "recorded");
	return snprintf(text, SLO_CAUSE_TEXT, "no fault%s overlapped", kept);
}

/* Behind `used` characters: where the faults' time went. */
static int add_stage_of(const struct slo_violation *v, char text[SLO_CAUSE_TEXT], int used)
{
	char label[STAGE_LABEL], stage[UNITS_TEXT], all[UNITS_TEXT];

	if (used > SLO_CAUSE_TEXT - 1)
		used = SLO_CAUSE_TEXT - 1;
	if (v->stage < STAGES)
		used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
				 "; %s took %s of their %s (%.0f%%)",
				 stage_label(v->stage, v->before, label),
				 units_format_duration(v->stage_ns, stage),
				 units_format_duration(v->faults_ns, all),
				 100.0 * (double)v->stage_ns / (double)v->faults_ns);
	return used;
}

static int some_faults(const struct slo_violation *v, const char *counted,
		       char text[SLO_CAUSE_TEXT])
{
	const char *least = v->not_kept_ios || v->not_kept_faults ? "at least " : "";
	int used = 0;

	if (v->metric == SLO_LATENCY)
		used = snprintf(text, SLO_CAUSE_TEXT, "%s%llu of %s%llu slow I/Os%s overlapped ",
				least, v->overlapped_ios, v->slow_floor ? "at least " : "",
				v->slow_ios, counted);
	used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used), "%s%llu fault%s", least,
			 v->faults, v->faults == 1 ? "" : "s");
	return add_stage_of(v, text, used);
}

/* Of frames: what they were lost to. */
static int lost_frames(const struct slo_violation *v, const struct session *session,
		       char text[SLO_CAUSE_TEXT])
{
	char flow[FLOW_TEXT], faults[32] = "faults";
	struct sentence words = {0};

	if (v->faults)
		snprintf(faults, sizeof(faults), "%llu fault%s", v->faults,
			 v->faults == 1 ? "" : "s");
	if (v->metric == SLO_STALL)
		sentence_add(&words, "%s: ", session_flow_text(session, v->flow, flow));
	if (v->not_kept_runs)
		sentence_add(&words, "at least ");
	stall_tell_lost(v->lost, faults, &words);
	if (v->held)
		sentence_add(&words, ", %llu held", v->held);
	if (v->open)
		sentence_add(&words, ", not recovered");
	return add_stage_of(
		v, text, snprintf(text, SLO_CAUSE_TEXT, "%.*s", SLO_CAUSE_TEXT - 160, words.text));
}

const char *slo_cause(const struct slo_violation *v, const struct session *session,
		      char text[SLO_CAUSE_TEXT])
{
	__u64 kept_from_ns = session_kept(session)->from_ns;
	bool let_go = v->from_ns < kept_from_ns; /* of the window, or some of it */
	char counted[64] = "", time[SESSION_WHEN_TEXT];
	int used;

	if (v->recorded_ios < v->slow_ios)
		snprintf(counted, sizeof(counted), " (%llu %s one by one)", v->recorded_ios,
			 v->not_kept_ios ? "kept" : "recorded");
	if (slo_is_of_frames(v->metric))
		used = lost_frames(v, session, text);
	else
		used = v->faults ? some_faults(v, counted, text)
				 : no_fault(v, counted, let_go, text);
	if (v->not_kept_runs)
		used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
				 "; %llu runs of frames that were told by %s were not kept",
				 v->not_kept_runs, session_when(session, v->not_kept_ns, time));
	else if (v->not_kept_ios || v->not_kept_faults)
		used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
				 "; %llu slow I/Os and %llu faults that ended by %s were not kept",
				 v->not_kept_ios, v->not_kept_faults,
				 session_when(session, v->not_kept_ns, time));
	if (let_go)
		snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
			 "; what was recorded one by one before %s was not kept",
			 session_when(session, kept_from_ns, time));
	return text;
}
