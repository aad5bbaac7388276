// SPDX-License-Identifier: GPL-2.0
/*
 * The answer before the tables: which devices faulted, how often, where the time went; or that nothing of the
 * kind was there.
 */
#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/asked.h"
#include "lib/analyze/counts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

struct findings {
	struct fault longest; /* complete */
	__u64 longest_ns;
	__u64 held, held_ns; /* back by their devices */
};

static void findings_on_finished(void *self, const struct fault *fault)
{
	struct findings *f = self;
	__u64 total = fault_total_ns(fault);

	f->held += !!fault->held_ns;
	f->held_ns += fault->held_ns;
	if (fault->state == FAULT_COMPLETE && total > f->longest_ns) {
		f->longest_ns = total;
		f->longest = *fault;
	}
}

static int create_findings(struct analysis *a, const struct analysis_config *config)
{
	struct findings *f;

	if (config->without_findings)
		return 0;
	a->findings = f = memory_calloc(1, sizeof(*f));
	if (!f)
		return failed(-ENOMEM, "no memory for the findings");
	return faults_subscribe(a->faults, (struct fault_sink){NULL, findings_on_finished, f});
}

static void findings_destroy(struct findings *findings)
{
	memory_free(findings);
}

static void findings_write_nothing(const struct analysis *a, struct writer *writer)
{
	const struct session *s = a->session;
	char from[UNITS_TEXT], to[UNITS_TEXT];
	struct sentence seen = {0};

	for (unsigned int kind = EVENT_FAULT_DETECT; kind < EVENT_KIND_MAX; kind++) {
		__u64 counted = counts_of_kind(a->counts, kind),
		      single = session_events_of(s, kind);
		__u64 count = counted > single ? counted : single;

		if (count)
			sentence_add(&seen, "%s%llu x %s", seen.used ? ", " : "", count,
				     event_kind_name(kind));
	}
	writer_note(writer, "0 page requests%s between %s and %s. Seen: %s.",
		    asked_for_everything(s) ? "" : " of what was asked for",
		    session_when(s, session_first_ns(s), from),
		    session_when(s, session_last_ns(s), to),
		    seen.used ? seen.text : "nothing at all");
}

/* Where something is missing its first stage may be, too: then nobody knows which of the two it was. */
static const char *where_cut(const struct session *session)
{
	const struct loss_info *l = session_loss(session);

	if (l->lost || l->missed || l->damaged_bytes || l->damaged_frames)
		return "began before the recording, or their beginning was lost";
	return session_kept(session)->from_ns ? "began before what was kept"
					      : "began before the recording";
}

/* Page requests whose report is attached and silent did not begin before the recording. */
static void name_cut(const struct session *session, const struct faults_counts *counts,
		     struct sentence *line)
{
	bool silent = !counts->unwatched && unknown_probe(session, PROBE_IOPF_REPORT);
	__u64 cut = counts->cut - (silent ? counts->cut_core : 0);

	if (cut)
		sentence_add(line, "; %llu %s", cut, where_cut(session));
	if (counts->unwatched)
		sentence_add(
			line,
			"; of %llu the beginning was not watched (probe %s is off or was not asked for)",
			counts->unwatched, counts->unwatched_probe);
	else if (silent && counts->cut_core)
		sentence_add(line, "; of %llu the beginning was not seen (probe %s is silent)",
			     counts->cut_core, probe_row(PROBE_IOPF_REPORT)->name);
}

static void name_outcome(const struct faults_counts *counts, struct sentence *line)
{
	sentence_add(line, ", %llu complete", counts->complete);
	if (counts->open)
		sentence_add(line, ", %llu still open", counts->open);
	if (counts->unfinished)
		sentence_add(line, ", %llu unfinished", counts->unfinished);
	if (counts->went_on > counts->went_on_late)
		sentence_add(line, " (%llu went on after that: record with a longer --unfinished)",
			     counts->went_on - counts->went_on_late);
	if (counts->went_on_late)
		sentence_add(line,
			     " (%llu went on when older than 120 s, the longest wait for a fault)",
			     counts->went_on_late);
	if (counts->inconsistent)
		sentence_add(line, ", %llu inconsistent", counts->inconsistent);
}

static void name_states(const struct session *session, const struct faults_counts *counts,
			struct sentence *line)
{
	unsigned int unknown = unknown_of_all(session);
	unsigned int untold = unknown_groups(session) ? unknown : 0; /* by any bound */

	if (unknown & UNKNOWN_STATES)
		sentence_add(line, ", how many of them complete is not known");
	else
		name_outcome(counts, line);
	if (unknown_probe(session, PROBE_FAULT_OVERFLOW) && counts->discarded && !untold)
		sentence_add(line,
			     ", %llu dropped by a full page request queue or discarded after it",
			     counts->overflowed + counts->discarded);
	else if (counts->overflowed && !(untold & UNKNOWN_OVERFLOWED))
		sentence_add(line, ", %s%llu dropped by a full page request queue",
			     unknown & UNKNOWN_OVERFLOWED ? "at most " : "", counts->overflowed);
	if (counts->discarded && !unknown_probe(session, PROBE_FAULT_OVERFLOW) &&
	    !(untold & UNKNOWN_DISCARDED))
		sentence_add(line, ", %s%llu discarded after %s",
			     unknown & UNKNOWN_DISCARDED ? "at least " : "", counts->discarded,
			     counts->overflowed && !(untold & UNKNOWN_OVERFLOWED)
				     ? "it"
				     : "a page request queue overflowed");
	if (counts->automatic)
		sentence_add(line, " (%llu groups answered by the IOMMU)", counts->automatic);
	if (counts->abandoned && !(unknown & UNKNOWN_ABANDONED))
		sentence_add(line, ", %llu abandoned by their device", counts->abandoned);
	name_cut(session, counts, line);
}

static size_t devices_with_faults(const struct analysis *a, __u32 *worst)
{
	__u64 most = 0;
	size_t count = 0;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		__u64 began = recent_counts(a->recent, h).began;

		count += !!began;
		if (began > most) {
			most = began;
			*worst = h;
		}
	}
	return count;
}

static void write_answer(const struct analysis *a, const struct faults_counts *counts,
			 struct writer *writer)
{
	const struct findings *f = a->findings;
	const struct stage_group *all = stages_all(a->stages);
	char name[DEVICE_NAME_TEXT], time[UNITS_TEXT], total[UNITS_TEXT], part[UNITS_TEXT];
	char label[STAGE_LABEL];
	__u32 worst = DEVICE_NONE;
	size_t devices = devices_with_faults(a, &worst);
	unsigned int slowest;
	struct stage_times times;
	struct sentence line = {0};
	double share;

	sentence_add(&line, "%zu device%s faulted: %s%llu I/O page faults", devices,
		     devices == 1 ? "" : "s",
		     !(unknown_of_all(a->session) & UNKNOWN_FAULTS) ? ""
		     : unknown_groups(a->session)		    ? "about "
								    : "at least ",
		     counts->began);
	name_states(a->session, counts, &line);
	sentence_add(&line, ". Most: %s, %llu.", session_device_name(a->session, worst, name),
		     recent_counts(a->recent, worst).began);
	slowest = stage_group_slowest(all, &share);
	if (slowest < STAGES)
		sentence_add(&line, " Worst stage: %s, %.0f%% of the time of all faults.",
			     stage_group_label(all, slowest, label), 100 * share);
	writer_note(writer, "%s", line.text);
	if (!f->longest_ns)
		return;
	slowest = fault_slowest_stage(&f->longest);
	stage_times(&f->longest, &times);
	units_format_duration(slowest < STAGES ? times.ns[slowest] : 0, part);
	writer_note(writer, "Longest fault: %s on %s at %s, %s of it in %s.",
		    units_format_duration(f->longest_ns, total),
		    session_device_name(a->session, f->longest.device, name),
		    session_when(a->session, fault_begin_ns(&f->longest), time), part,
		    stage_label(slowest, stage_before(f->longest.seen, slowest), label));
}

static void findings_write(const struct analysis *a, struct writer *writer)
{
	const struct findings *f = a->findings;
	struct faults_counts counts;
	char time[UNITS_TEXT];

	faults_counts(a->faults, &counts);
	if (counts.began)
		write_answer(a, &counts, writer);
	else if (session_first_ns(a->session) < session_last_ns(a->session))
		findings_write_nothing(a, writer);
	if (f->held)
		writer_note(
			writer,
			"%llu fault%s waited for their devices to be allowed more page requests: %s "
			"in all, part of stage request.",
			f->held, f->held == 1 ? "" : "s", units_format_duration(f->held_ns, time));
}

DEFINE_ANALYZER_OF_FAULTS(findings, .chapter = REPORT_FAULTS, .findings = findings_write)
