// SPDX-License-Identifier: GPL-2.0
/* Which faults stood in the way: overlap of faults with slow I/Os, or with a window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/slo_data.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

void *memory_at(const struct memory *m, __u64 index)
{
	return (char *)m->items + (index & (m->capacity - 1)) * m->size;
}

static int memory_grow(struct memory *m)
{
	struct memory larger = *m;

	larger.capacity = m->capacity ? 2 * m->capacity : 16;
	larger.items = memory_calloc(1, larger.capacity * m->size);
	if (!larger.items)
		return -1;
	for (__u64 i = m->head; i < m->tail; i++)
		memcpy(memory_at(&larger, i), memory_at(m, i), m->size);
	memory_free(m->items);
	*m = larger;
	return 0;
}

void *memory_push(struct memory *m)
{
	if (m->tail - m->head == m->capacity) {
		if (m->capacity < SLO_MEMORY_MAX) {
			if (memory_grow(m))
				return NULL;
		} else {
			m->head++;
		}
	}
	return memory_at(m, m->tail++);
}

/* What is being gathered about one violation. */
struct search {
	struct slo_violation *v;
	const struct device_slo *device;
	__u64 stage_ns[STAGES], merged[STAGES];
	unsigned int before[STAGES]; /* of stages that are merged into this one, at most */
	__u64 longest_ns;
	__u64 reached_ns; /* everything unfinished counts up to here */
	bool *overlapped; /* per slow I/O kept */
};

static bool is_slow(const struct slo_violation *v, const struct slow_io *io)
{
	return io->to_ns >= v->from_ns && io->to_ns < v->to_ns &&
	       io->to_ns - io->from_ns > v->objective->latency_target_ns;
}

static bool overlaps_io(const struct search *s, const struct fault *fault, __u64 from, __u64 to)
{
	const struct memory *ios = &s->device->ios;
	bool any = false;

	for (__u64 i = ios->head; i < ios->tail; i++) {
		const struct slow_io *io = memory_at(ios, i);

		if (io->to_ns < from || io->from_ns > to || !is_slow(s->v, io))
			continue;
		if (io->queue != fault->queue && io->queue != QUEUE_NONE &&
		    fault->queue != QUEUE_NONE)
			continue;
		s->overlapped[i - ios->head] = true;
		any = true;
	}
	return any;
}

static bool concerns(const struct search *s, const struct fault *fault, __u64 from, __u64 to)
{
	switch (s->v->metric) {
	case SLO_LATENCY:
		return overlaps_io(s, fault, from, to);
	case SLO_IOPS:
	case SLO_BANDWIDTH:
		return from < s->v->to_ns && to > s->v->from_ns;
	default:
		return from >= s->v->from_ns && from <= s->v->to_ns;
	}
}

static void consider(void *argument, const struct fault *fault)
{
	struct search *s = argument;
	__u64 from = fault_first_ns(fault);
	__u64 to = fault_over(fault) ? fault_end_ns(fault) : s->reached_ns;
	struct stage_times times;

	if (fault->device != s->device->device || !from || !concerns(s, fault, from, to))
		return;
	s->v->faults++;
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

void slo_explain(const struct slo *slo, const struct device_slo *device, struct slo_violation *v)
{
	size_t kept = (size_t)(device->ios.tail - device->ios.head);
	struct search s = {.v = v, .device = device, .reached_ns = v->to_ns};

	s.overlapped = calloc(kept ? kept : 1, sizeof(*s.overlapped));
	if (!s.overlapped)
		return;
	for (__u64 i = device->faults.head; i < device->faults.tail; i++)
		consider(&s, memory_at(&device->faults, i));
	faults_each_open(slo->reconstruction, consider, &s);
	for (size_t i = 0; i < kept && v->metric == SLO_LATENCY; i++) {
		v->recorded_ios += is_slow(v, memory_at(&device->ios, device->ios.head + i));
		v->overlapped_ios += s.overlapped[i];
	}
	/* Of those in the target's bucket that are slower some were recorded: so many there are. */
	if (v->recorded_ios > v->slow_ios)
		v->slow_ios = v->recorded_ios;
	v->stage = STAGES;
	for (unsigned int k = 0; k < STAGES; k++) {
		v->faults_ns += s.stage_ns[k];
		if (s.stage_ns[k] && (v->stage == STAGES || s.stage_ns[k] > v->stage_ns)) {
			v->stage = k;
			v->stage_ns = s.stage_ns[k];
			v->merged = s.merged[k];
			v->before = s.before[k];
		}
	}
	free(s.overlapped);
}

/* Why nothing can be said of any fault. */
static int no_fault(const struct slo_violation *v, const char *counted, bool let_go,
		    char text[SLO_CAUSE_TEXT])
{
	const char *least = v->slow_floor ? "at least " : "";

	if (v->metric == SLO_LATENCY && !v->recorded_ios && let_go)
		return snprintf(text, SLO_CAUSE_TEXT,
				"none of %s%llu slow I/Os is known one by one", least, v->slow_ios);
	if (v->metric == SLO_LATENCY && !v->recorded_ios)
		return snprintf(text, SLO_CAUSE_TEXT,
				"none of %s%llu slow I/Os was recorded one by one; "
				"record with a lower slow-I/O limit to learn why",
				least, v->slow_ios);
	if (*counted)
		return snprintf(text, SLO_CAUSE_TEXT,
				"no fault overlapped the %llu of %s%llu slow "
				"I/Os that were recorded one by one",
				v->recorded_ios, least, v->slow_ios);
	return snprintf(text, SLO_CAUSE_TEXT, "no fault overlapped");
}

static int some_faults(const struct slo_violation *v, const char *counted,
		       char text[SLO_CAUSE_TEXT])
{
	char label[STAGE_LABEL], stage[UNITS_TEXT], all[UNITS_TEXT];
	int used = 0;

	if (v->metric == SLO_LATENCY)
		used = snprintf(text, SLO_CAUSE_TEXT, "%llu of %s%llu slow I/Os%s overlapped ",
				v->overlapped_ios, v->slow_floor ? "at least " : "", v->slow_ios,
				counted);
	used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used), "%llu fault%s", v->faults,
			 v->faults == 1 ? "" : "s");
	if (v->stage < STAGES)
		used += snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
				 "; %s took %s of their %s (%.0f%%)",
				 stage_label(v->stage, v->before, label),
				 units_format_duration(v->stage_ns, stage),
				 units_format_duration(v->faults_ns, all),
				 100.0 * (double)v->stage_ns / (double)v->faults_ns);
	return used;
}

const char *slo_cause(const struct slo_violation *v, const struct session *session,
		      char text[SLO_CAUSE_TEXT])
{
	__u64 kept_from_ns = session_kept(session)->from_ns;
	bool let_go = v->from_ns < kept_from_ns; /* of the window, or some of it */
	char counted[64] = "", time[SESSION_WHEN_TEXT];
	int used;

	if (v->recorded_ios < v->slow_ios)
		snprintf(counted, sizeof(counted), " (%llu recorded one by one)", v->recorded_ios);
	used = v->faults ? some_faults(v, counted, text) : no_fault(v, counted, let_go, text);
	if (let_go)
		snprintf(text + used, (size_t)(SLO_CAUSE_TEXT - used),
			 "; what was recorded one by one before %s was not kept",
			 session_when(session, kept_from_ns, time));
	return text;
}
