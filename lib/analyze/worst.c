// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/worst.h"

#include <stdio.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/vfio.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"

#define STUCK_NS NSEC_PER_SEC /* a fault that has been open for longer keeps somebody waiting */

static const char *worst_plural(__u64 count)
{
	return count == 1 ? "" : "s";
}

typedef enum worst_severity (*look_at)(const struct analysis *analysis, char text[WORST_TEXT]);

static enum worst_severity worst_iommu(const struct analysis *a, char text[WORST_TEXT])
{
	char name[DEVICE_NAME_TEXT], reason[NAME_TEXT], time[SESSION_WHEN_TEXT], owner[64] = "";
	struct iommu_faults_counts counts;
	const struct iommu_fault *last;
	__u64 of_device;

	iommu_faults_counts(a->iommu_faults, &counts);
	last = iommu_faults_worst(a->iommu_faults, &of_device);
	if (!last && !counts.unseen)
		return WORST_NONE;
	if (!last) {
		snprintf(text, WORST_TEXT, "%llu unrecoverable IOMMU fault%s, none decoded",
			 counts.unseen, worst_plural(counts.unseen));
		return WORST_BAD;
	}
	if (last->owner.kind != EVENT_NONE)
		snprintf(owner, sizeof(owner), ", %s by %s (pid %u)",
			 last->owner.code == OWNER_UNMAPPED ? "unmapped" : "mapped",
			 last->owner.code == OWNER_UNMAPPED ? last->unmapper : last->process,
			 last->owner.code == OWNER_UNMAPPED ? last->owner.tid : last->owner.pid);
	snprintf(text, WORST_TEXT,
		 "%s: %llu unrecoverable IOMMU fault%s, the last at %s, address 0x%llx: %s%s",
		 session_device_name(a->session, last->event.device, name), of_device,
		 worst_plural(of_device), session_when(a->session, last->event.time_ns, time),
		 last->event.address, iommu_fault_reason(last, reason), owner);
	return WORST_BAD;
}

struct stuck {
	const struct fault *oldest;
	size_t count;
	__u64 now_ns;
	const struct session *session;
};

static void take_stuck(void *argument, const struct fault *fault)
{
	struct stuck *stuck = argument;

	if (fault_over(fault) || !fault_known_ns(fault) ||
	    fault_known_ns(fault) + STUCK_NS > stuck->now_ns ||
	    unknown_numbers(stuck->session, fault->device) & UNKNOWN_STATES)
		return;
	stuck->count++;
	if (!stuck->oldest || fault_known_ns(fault) < fault_known_ns(stuck->oldest))
		stuck->oldest = fault;
}

static enum worst_severity open_faults(const struct analysis *a, char text[WORST_TEXT])
{
	struct stuck stuck = {.now_ns = session_last_ns(a->session), .session = a->session};
	char name[DEVICE_NAME_TEXT], age[UNITS_TEXT];

	faults_each_open(a->faults, take_stuck, &stuck);
	if (!stuck.count)
		return WORST_NONE;
	snprintf(text, WORST_TEXT, "%zu fault%s open for more than 1s, the oldest for %s, on %s",
		 stuck.count, worst_plural(stuck.count),
		 units_format_duration(stuck.now_ns - fault_known_ns(stuck.oldest), age),
		 session_device_name(a->session, stuck.oldest->device, name));
	return WORST_BAD;
}

/* Given up, they are open no more; their queue may still be blocked. */
static enum worst_severity worst_hangs(const struct analysis *a, char text[WORST_TEXT])
{
	char name[DEVICE_NAME_TEXT], assumed[UNITS_TEXT];
	struct queues_hangs hangs;

	if (!queues_hangs(a->queues, &hangs) || !hangs.still ||
	    unknown_of_all(a->session) & UNKNOWN_BLOCKED)
		return WORST_NONE;
	snprintf(text, WORST_TEXT,
		 "%zu queue%s blocked by a fault that was given up, for %s more in all, most on %s",
		 hangs.still, worst_plural(hangs.still),
		 units_format_duration(hangs.assumed_ns, assumed),
		 session_device_name(a->session, hangs.worst.device, name));
	return WORST_BAD;
}

static enum worst_severity worst_objectives(const struct analysis *a, char text[WORST_TEXT])
{
	const struct slo_violation *last = NULL, *next;
	char name[DEVICE_NAME_TEXT], cause[SLO_CAUSE_TEXT], time[SESSION_WHEN_TEXT];
	struct slo_device_state state;
	__u64 windows;

	for (size_t i = 0; a->slo && (next = slo_violation(a->slo, i)); i++)
		if (!last || next->to_ns >= last->to_ns)
			last = next;
	if (!last)
		return WORST_NONE;
	state = slo_device(a->slo, last->device);
	windows = slo_violations_like(a->slo, last);
	snprintf(text, WORST_TEXT, "%s: objective %s broken in %llu window%s, the last at %s; %s",
		 session_device_name(a->session, last->device, name), slo_metric_name(last->metric),
		 windows, worst_plural(windows), session_when(a->session, last->from_ns, time),
		 slo_cause(last, a->session, cause));
	return state.last_violation < state.last_window ? WORST_LOOK : WORST_BAD;
}

static enum worst_severity worst_vfio(const struct analysis *a, char text[WORST_TEXT])
{
	switch (vfio_worst(a->vfio, a->session, text, WORST_TEXT)) {
	case VFIO_REFUSED:
		return WORST_BAD;
	case VFIO_NEAR_LIMIT:
		return WORST_LOOK;
	default:
		return WORST_NONE;
	}
}

static enum worst_severity worst_overflows(const struct analysis *a, char text[WORST_TEXT])
{
	unsigned int unknown = unknown_of_all(a->session);
	struct faults_counts counts;

	faults_counts(a->faults, &counts);
	if (!counts.overflowed || unknown & UNKNOWN_OVERFLOWED)
		return WORST_NONE;
	snprintf(
		text, WORST_TEXT,
		"%llu of %llu faults dropped by a full page request queue, %s%llu discarded after it",
		counts.overflowed, counts.began, unknown & UNKNOWN_DISCARDED ? "at least " : "",
		counts.discarded);
	return WORST_BAD;
}

static enum worst_severity worst_abandoned(const struct analysis *a, char text[WORST_TEXT])
{
	struct faults_counts counts;

	faults_counts(a->faults, &counts);
	if (!counts.abandoned || unknown_of_all(a->session) & UNKNOWN_ABANDONED)
		return WORST_NONE;
	snprintf(text, WORST_TEXT, "%llu of %llu faults given up by their devices, unanswered",
		 counts.abandoned, counts.began);
	return WORST_BAD;
}

static enum worst_severity worst_rdma(const struct analysis *a, char text[WORST_TEXT])
{
	static const struct {
		enum rdma_counter counter;
		enum worst_severity severity;
		const char *what;
	} kinds[] = {
		{RDMA_RETRY_EXCEEDED, WORST_BAD, "requests given up after all retries"},
		{RDMA_RNR_EXCEEDED, WORST_BAD, "requests given up, the receiver was not ready"},
		{RDMA_RETRY, WORST_LOOK, "retransmissions"},
		{RDMA_RNR_SENT, WORST_LOOK, "receiver-not-ready answers"},
	};
	char name[DEVICE_NAME_TEXT], longest[UNITS_TEXT];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		__u32 h = 0;

		while ((h = session_device_next(a->session, h)) < SESSION_DEVICES) {
			const struct odp_counter *c = odp_counter(a->odp, h, kinds[k].counter);

			if (!c || !c->during)
				continue;
			snprintf(text, WORST_TEXT,
				 "%s: %llu %s, %llu of them while on-demand faults were served "
				 "(the longest %s)",
				 session_device_name(a->session, h, name), c->moved, kinds[k].what,
				 c->during, units_format_duration(c->longest_ns, longest));
			return kinds[k].severity;
		}
	}
	return WORST_NONE;
}

/* What it should have seen is missing from the numbers. */
static enum worst_severity silent_probes(const struct analysis *a, char text[WORST_TEXT])
{
	size_t count = silent_count(a->silent);
	char sentence[SILENT_TEXT];

	for (size_t i = 0; i < session_probe_count(a->session); i++) {
		const struct probe_info *probe = session_probe(a->session, i);

		if (!silent_passed(a->silent, probe, NULL))
			continue;
		snprintf(text, WORST_TEXT, "%zu probe%s silent: %s", count, worst_plural(count),
			 silent_sentence(a->silent, probe, sentence));
		return WORST_LOOK;
	}
	return WORST_NONE;
}

static enum worst_severity worst_floors(const struct analysis *a, char text[WORST_TEXT])
{
	unsigned int reasons = floor_of(a);
	char why[FLOOR_TEXT];

	if (!reasons)
		return WORST_NONE;
	snprintf(text, WORST_TEXT, "counts are floors: %s", floor_text(reasons, why));
	return WORST_LOOK;
}

static enum worst_severity worst_bursts(const struct analysis *a, char text[WORST_TEXT])
{
	char name[DEVICE_NAME_TEXT], time[SESSION_WHEN_TEXT];
	struct burst worst;

	if (!rates_worst_burst(a->rates, a->session, &worst))
		return WORST_NONE;
	snprintf(text, WORST_TEXT,
		 "%s: %llu faults within a second at %s, the worst of %llu burst%s",
		 session_device_name(a->session, worst.device, name), worst.peak,
		 session_when(a->session, worst.peak_ns, time), rates_bursts(a->rates, a->session),
		 worst_plural(rates_bursts(a->rates, a->session)));
	return WORST_LOOK;
}

static enum worst_severity old_mappings(const struct analysis *a, char text[WORST_TEXT])
{
	struct mappings_device all = mappings_all(a->mappings);
	char name[DEVICE_NAME_TEXT], bytes[UNITS_TEXT], process[16];
	const struct event *oldest = mappings_oldest(a->mappings, process);

	if (!all.old || !oldest)
		return WORST_NONE;
	snprintf(text, WORST_TEXT,
		 "%s: %u long-lived DMA mapping%s of %s (pid %u); %llu in all, %s",
		 session_device_name(a->session, oldest->device, name), oldest->instance,
		 worst_plural(oldest->instance), process[0] ? process : "a process", oldest->pid,
		 all.old, units_format_size(all.old_bytes, bytes));
	return WORST_LOOK;
}

static enum worst_severity worst_faults(const struct analysis *a, char text[WORST_TEXT])
{
	const struct stage_group *all = stages_all(a->stages);
	char longest[UNITS_TEXT], label[STAGE_LABEL];
	unsigned int slowest;
	double share;

	if (!all->faults)
		return WORST_NONE;
	slowest = stage_group_slowest(all, &share);
	snprintf(
		text, WORST_TEXT,
		"%s%llu I/O page fault%s, the longest took %s; most of the time went into %s (%.0f%%)",
		unknown_of_all(a->session) & UNKNOWN_FAULTS ? "at least " : "", all->faults,
		worst_plural(all->faults), units_format_duration(all->total.max, longest),
		stage_group_label(all, slowest, label), 100 * share);
	return WORST_NOTE;
}

/* Of equal severity the first counts. */
static const struct {
	const char *name;
	look_at look;
} checks[] = {
	{"iommu", worst_iommu},		{"open", open_faults},	  {"hang", worst_hangs},
	{"slo", worst_objectives},	{"vfio", worst_vfio},	  {"queue", worst_overflows},
	{"abandoned", worst_abandoned}, {"rdma", worst_rdma},	  {"silent", silent_probes},
	{"floors", worst_floors},	{"bursts", worst_bursts}, {"dma", old_mappings},
	{"faults", worst_faults},
};

static void no_finding(const struct analysis *a, char text[WORST_TEXT])
{
	static const char *const unwatched[] = {
		[FAULTS_WATCHED] = "",
		[FAULTS_PARTLY_WATCHED] = "; not all faults were watched",
		[FAULTS_NOT_WATCHED] = "; faults were not watched",
	};
	enum faults_watched watched = faults_watched(a->faults);
	bool everything = asked_for_everything(a->session);
	size_t on = 0;

	for (size_t i = 0; i < session_probe_count(a->session); i++)
		on += session_probe(a->session, i)->state == PROBE_ON;
	snprintf(text, WORST_TEXT,
		 "No finding%s: %sno refusal, no loss and no limit near in what %zu probes watch%s",
		 everything ? "" : " in what was asked for",
		 everything && watched == FAULTS_WATCHED ? "no fault, " : "", on,
		 unwatched[watched]);
}

void worst_find(const struct analysis *a, struct worst *worst)
{
	char asked[ASKED_TEXT];
	size_t used;

	worst->severity = WORST_NONE;
	worst->name = "none";
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		char text[WORST_TEXT];
		enum worst_severity severity = checks[i].look(a, text);

		if (severity <= worst->severity)
			continue;
		worst->severity = severity;
		worst->name = checks[i].name;
		snprintf(worst->text, sizeof(worst->text), "%s", text);
	}
	if (worst->severity == WORST_NONE)
		no_finding(a, worst->text);
	used = strlen(worst->text);
	if (*asked_text(a->session, asked))
		snprintf(worst->text + used, sizeof(worst->text) - used, ". %s", asked);
}
