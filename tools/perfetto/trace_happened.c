// SPDX-License-Identifier: GPL-2.0
/* Injections, invalidations and objectives that were broken. */
#include <stdio.h>
#include <string.h>

#include "lib/analyze/slo.h"
#include "lib/base/inject_point.h"
#include "tools/perfetto/trace_private.h"

#define INJECTIONS_OPEN_MAX 4096

static void put_injection_slice(struct perfetto *p, const struct event *start, __u64 to_ns)
{
	const struct session *session = p->analysis->session;
	struct packet_arguments arguments = {0};
	char device[DEVICE_NAME_TEXT];
	struct perfetto_slice slice = {
		.from_ns = start->time_ns,
		.to_ns = to_ns > start->time_ns ? to_ns : start->time_ns,
		.category = "injection",
		.name = inject_point_name(start->code),
		.arguments = &arguments,
	};

	packet_count(&arguments, "id", start->value);
	packet_text(&arguments, "device",
		    start->device == DEVICE_ALL
			    ? "all"
			    : session_device_name(session, start->device, device));
	perfetto_slice(p, &p->injections, &slice);
}

static void injection_ends(struct perfetto *p, struct open_injection *open, __u64 time_ns)
{
	HASH_DEL(p->open_injections, open);
	put_injection_slice(p, &open->start, time_ns);
	memory_free(open);
}

void perfetto_injection(struct perfetto *p, const struct event *e)
{
	const struct injection_key key = {e->value, e->device, e->pid};
	struct open_injection *open;

	HASH_FIND(hh, p->open_injections, &key, sizeof(key), open);
	if (open)
		injection_ends(p, open, e->time_ns);
	/* One that had begun before: since when is not known. */
	else if (e->kind == EVENT_INJECT_STOP)
		put_injection_slice(p, e, e->time_ns);
	if (e->kind == EVENT_INJECT_STOP)
		return;
	open = HASH_COUNT(p->open_injections) < INJECTIONS_OPEN_MAX
		       ? memory_calloc(1, sizeof(*open))
		       : NULL;
	if (open) {
		open->key = key;
		open->start = *e;
		HASH_ADD(hh, p->open_injections, key, sizeof(key), open);
	}
	if (!open || !open->hh.tbl) {
		memory_free(open);
		p->left_out++;
	}
}

static void put_interval(struct perfetto *p, __u64 track, const char *name,
			 const struct perfetto_slice *slice)
{
	const struct packet packet = {
		.type = PACKET_BEGIN,
		.time_ns = slice->from_ns,
		.track = track,
		.category = "interval",
		.name = name,
	};

	packets_put(p->packets, &packet);
	perfetto_slice_end(p, track, slice);
}

/* Between steps that were seen: "told", or "told+acked" where the one between was not. */
static void put_intervals(struct perfetto *p, __u64 track, const struct invalidation *invalidation)
{
	char name[64] = "";
	__u64 from = 0;

	for (unsigned int i = 0; i < INVALIDATION_STEPS; i++) {
		__u64 at = invalidation->at[i];

		if (invalidation->seen & (1u << i)) {
			if (from)
				put_interval(
					p, track, name,
					&(struct perfetto_slice){.from_ns = from,
								 .to_ns = at > from ? at : from});
			from = at > from ? at : from;
			name[0] = '\0';
		}
		if (from)
			snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%s",
				 *name ? "+" : "", invalidation_interval_name(i));
	}
}

static const char *name_invalidation(const struct invalidation *invalidation)
{
	const __u8 all = (1u << INVALIDATION_STEPS) - 1;

	if (invalidation->seen != all)
		return "invalidation not seen whole";
	for (unsigned int i = 1; i < INVALIDATION_STEPS; i++)
		if (invalidation->at[i] < invalidation->at[i - 1])
			return "inconsistent invalidation";
	return "invalidation";
}

void perfetto_on_invalidation(void *self, const struct invalidation *invalidation)
{
	struct perfetto *p = self;
	struct lanes *lanes = perfetto_lanes(p, invalidation->device, LANES_INVALIDATIONS);
	struct packet_arguments arguments = {0};
	struct perfetto_slice slice = {
		.from_ns = UINT64_MAX,
		.category = "invalidation",
		.name = name_invalidation(invalidation),
		.arguments = &arguments,
	};
	__u64 track;

	for (unsigned int i = 0; i < INVALIDATION_STEPS; i++) {
		__u64 at = invalidation->at[i];

		if (!(invalidation->seen & (1u << i)))
			continue;
		slice.from_ns = at < slice.from_ns ? at : slice.from_ns;
		slice.to_ns = at > slice.to_ns ? at : slice.to_ns;
	}
	if (!lanes || slice.from_ns == UINT64_MAX) {
		p->left_out++;
		return;
	}
	packet_address(&arguments, "address", invalidation->address);
	packet_count(&arguments, "length", invalidation->length);
	if (invalidation->pasid != PASID_NONE)
		packet_count(&arguments, "pasid", invalidation->pasid);
	packet_count(&arguments, "token", invalidation->token);
	packet_truth(&arguments, "written_out", invalidation->flags & EVENT_MAJOR);
	track = perfetto_slice_begin(p, lanes, &slice);
	put_intervals(p, track, invalidation);
	perfetto_slice_end(p, track, &slice);
}

static void put_violation(struct perfetto *p, const struct slo_violation *v)
{
	const struct session *session = p->analysis->session;
	const struct fault *longest = &v->longest;
	struct packet_arguments arguments = {0};
	char name[2 * NAME_TEXT], cause[SLO_CAUSE_TEXT];
	struct perfetto_slice slice = {
		.from_ns = v->from_ns,
		.to_ns = v->to_ns > v->from_ns ? v->to_ns : v->from_ns,
		.category = "objective",
		.name = name,
		.arguments = &arguments,
	};

	snprintf(name, sizeof(name), "%s: %s", v->objective->name, slo_metric_name(v->metric));
	packet_text(&arguments, "objective", v->objective->name);
	packet_text(&arguments, "metric", slo_metric_name(v->metric));
	packet_real(&arguments, "measured", v->measured);
	packet_real(&arguments, "target", v->target);
	packet_count(&arguments, "faults", v->faults);
	if (longest->device != DEVICE_NONE) {
		packet_count(&arguments, "longest_fault_ns", fault_first_ns(longest));
		packet_address(&arguments, "address", longest->address);
		packet_count(&arguments, "group", longest->group);
		packet_count(&arguments, "instance", longest->instance);
	}
	packet_text(&arguments, "cause", slo_cause(v, session, cause));
	perfetto_slice(p, perfetto_lanes(p, v->device, LANES_VIOLATIONS), &slice);
}

void perfetto_finish_happened(struct perfetto *p)
{
	const struct slo *slo = p->analysis->slo;
	__u64 last_ns = session_last_ns(p->analysis->session);

	while (p->open_injections)
		injection_ends(p, p->open_injections, last_ns);
	for (size_t i = 0; slo && slo_violation(slo, i); i++)
		put_violation(p, slo_violation(slo, i));
}
