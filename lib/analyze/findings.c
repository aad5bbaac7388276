// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/counts.h"
#include "lib/analyze/findings_data.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/left_out.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/vfio.h"
#include "lib/analyze/watched.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define LINE_TEXT 8192 /* more than all kinds of events with their counts */

static void on_finished(void *self, const struct fault *fault)
{
	struct findings *f = self;
	__u64 total = fault_total_ns(fault);

	f->held += !!fault->held_ns;
	f->held_ns += fault->held_ns;
	if (fault->state == FAULT_COMPLETE) {
		if (total > f->longest_ns) {
			f->longest_ns = total;
			f->longest = *fault;
		}
		return;
	}
	f->odd_total++;
	if (f->odd_count < FINDINGS_KEPT)
		f->odd[f->odd_count++] = *fault;
}

int findings_create(struct findings **findings, const struct analysis *analysis)
{
	struct findings *f = calloc(1, sizeof(*f));

	*findings = f;
	if (!f)
		return failed(-ENOMEM, "no memory for the findings");
	f->analysis = analysis;
	return faults_subscribe(analysis->faults, (struct fault_sink){NULL, on_finished, f});
}

void findings_destroy(struct findings *findings)
{
	free(findings);
}

/* Text that grows. */
struct line {
	char text[LINE_TEXT];
	size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, arguments);
	va_end(arguments);
	if (n > 0)
		line->used += (size_t)n;
	if (line->used >= sizeof(line->text))
		line->used = sizeof(line->text) - 1;
}

/* Each time is right and yet one may be later than the next: said, or they look wrong. */
static void write_step(const struct session *s, struct writer *writer)
{
	char by[UNITS_TEXT], to[UNITS_TEXT], more[48] = "";
	struct wall_clock_step step;

	if (!wall_clock_step(session_clock(s), session_first_ns(s), session_last_ns(s), &step))
		return;
	if (step.count > 1)
		snprintf(more, sizeof(more), ", the greatest of %zu steps", step.count);
	writer_note(writer,
		    "The clock was set %s by %s, to %s%s; times are told by the clock as it was "
		    "then.",
		    step.by_ns < 0 ? "back" : "forward",
		    units_format_duration((__u64)llabs(step.by_ns), by),
		    session_when(s, step.at_ns, to), more);
}

static int write_window(const struct session *s, struct writer *writer)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], length[UNITS_TEXT];
	__u64 first = session_first_ns(s), last = session_last_ns(s);
	__u64 since_ns = session_period(s)->since_ns;
	const struct host_info *host = session_host(s);

	if (host)
		writer_note(writer, "Host %s, kernel %s, %u CPUs; Faultline %s%s%s.",
			    host->hostname, host->kernel, host->cpus, host->version,
			    host->command[0] ? ": " : "", host->command);
	if (!first)
		return writer_note(writer, "The recording holds nothing.");
	if (first >= last)
		return writer_note(writer,
				   "Nothing was recorded in the time asked for: the "
				   "recording %s at %s.",
				   last < since_ns ? "ends" : "begins",
				   session_when(s, last < since_ns ? last : first, from));
	writer_note(writer, "From %s to %s (%s).", session_when(s, first, from),
		    session_when(s, last, to), units_format_duration(last - first, length));
	write_step(s, writer);
	return session_write_kept(s, writer);
}

static int write_nothing(const struct analysis *a, struct writer *writer)
{
	const struct session *s = a->session;
	char from[UNITS_TEXT], to[UNITS_TEXT];
	struct line seen = {0};

	for (unsigned int kind = EVENT_FAULT_DETECT; kind < EVENT_KIND_MAX; kind++) {
		__u64 counted = counts_of_kind(a->counts, kind),
		      single = session_events_of(s, kind);
		__u64 count = counted > single ? counted : single;

		if (count)
			add(&seen, "%s%llu x %s", seen.used ? ", " : "", count,
			    event_kind_name(kind));
	}
	return writer_note(writer, "0 page requests%s between %s and %s. Seen: %s.",
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
		     struct line *line)
{
	bool silent = !counts->unwatched && unknown_probe(session, PROBE_IOPF_REPORT);
	__u64 cut = counts->cut - (silent ? counts->cut_core : 0);

	if (cut)
		add(line, "; %llu %s", cut, where_cut(session));
	if (counts->unwatched)
		add(line,
		    "; of %llu the beginning was not watched (probe %s is off or was not asked for)",
		    counts->unwatched, counts->unwatched_probe);
	else if (silent && counts->cut_core)
		add(line, "; of %llu the beginning was not seen (probe %s is silent)",
		    counts->cut_core, probe_row(PROBE_IOPF_REPORT)->name);
}

static void name_outcome(const struct faults_counts *counts, struct line *line)
{
	add(line, ", %llu complete", counts->complete);
	if (counts->open)
		add(line, ", %llu still open", counts->open);
	if (counts->unfinished)
		add(line, ", %llu unfinished", counts->unfinished);
	if (counts->went_on > counts->went_on_late)
		add(line, " (%llu went on after that: record with a longer --unfinished)",
		    counts->went_on - counts->went_on_late);
	if (counts->went_on_late)
		add(line, " (%llu went on when older than the 120 s for which faults are waited)",
		    counts->went_on_late);
	if (counts->inconsistent)
		add(line, ", %llu inconsistent", counts->inconsistent);
}

static void name_states(const struct session *session, const struct faults_counts *counts,
			struct line *line)
{
	unsigned int unknown = unknown_of_all(session);
	unsigned int untold = unknown_groups(session) ? unknown : 0; /* by any bound */

	if (unknown & UNKNOWN_STATES)
		add(line, ", how many of them complete is not known");
	else
		name_outcome(counts, line);
	if (unknown_probe(session, PROBE_FAULT_OVERFLOW) && counts->discarded && !untold)
		add(line, ", %llu dropped by a full page request queue or discarded after it",
		    counts->overflowed + counts->discarded);
	else if (counts->overflowed && !(untold & UNKNOWN_OVERFLOWED))
		add(line, ", %s%llu dropped by a full page request queue",
		    unknown & UNKNOWN_OVERFLOWED ? "at most " : "", counts->overflowed);
	if (counts->discarded && !unknown_probe(session, PROBE_FAULT_OVERFLOW) &&
	    !(untold & UNKNOWN_DISCARDED))
		add(line, ", %s%llu discarded after %s",
		    unknown & UNKNOWN_DISCARDED ? "at least " : "", counts->discarded,
		    counts->overflowed && !(untold & UNKNOWN_OVERFLOWED)
			    ? "it"
			    : "a page request queue overflowed");
	if (counts->automatic)
		add(line, " (%llu groups answered by the IOMMU)", counts->automatic);
	if (counts->abandoned && !(unknown & UNKNOWN_ABANDONED))
		add(line, ", %llu abandoned by their device", counts->abandoned);
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

static int write_answer(const struct findings *f, const struct faults_counts *counts,
			struct writer *writer)
{
	const struct analysis *a = f->analysis;
	const struct stage_group *all = stages_all(a->stages);
	char name[DEVICE_NAME_TEXT], time[UNITS_TEXT], total[UNITS_TEXT], part[UNITS_TEXT];
	char label[STAGE_LABEL];
	__u32 worst = DEVICE_NONE;
	size_t devices = devices_with_faults(a, &worst);
	unsigned int slowest;
	struct stage_times times;
	struct line line = {0};
	double share;

	add(&line, "%zu device%s faulted: %s%llu I/O page faults", devices, devices == 1 ? "" : "s",
	    !(unknown_of_all(a->session) & UNKNOWN_FAULTS) ? ""
	    : unknown_groups(a->session)		   ? "about "
							   : "at least ",
	    counts->began);
	name_states(a->session, counts, &line);
	add(&line, ". Most: %s, %llu.", session_device_name(a->session, worst, name),
	    recent_counts(a->recent, worst).began);
	slowest = stage_group_slowest(all, &share);
	if (slowest < STAGES)
		add(&line, " Worst stage: %s, %.0f%% of the time of all faults.",
		    stage_group_label(all, slowest, label), 100 * share);
	writer_note(writer, "%s", line.text);
	if (!f->longest_ns)
		return 0;
	slowest = fault_slowest_stage(&f->longest);
	stage_times(&f->longest, &times);
	units_format_duration(slowest < STAGES ? times.ns[slowest] : 0, part);
	return writer_note(writer, "Longest fault: %s on %s at %s, %s of it in %s.",
			   units_format_duration(f->longest_ns, total),
			   session_device_name(a->session, f->longest.device, name),
			   session_when(a->session, fault_begin_ns(&f->longest), time), part,
			   stage_label(slowest, stage_before(f->longest.seen, slowest), label));
}

static int write_effects(const struct findings *f, struct writer *writer)
{
	const struct analysis *a = f->analysis;
	char name[DEVICE_NAME_TEXT], time[UNITS_TEXT];
	struct burst worst;

	if (f->held)
		writer_note(
			writer,
			"%llu fault%s waited for their devices to be allowed more page requests: %s "
			"in all, part of stage request.",
			f->held, f->held == 1 ? "" : "s", units_format_duration(f->held_ns, time));
	queues_write_findings(a->queues, a->session, writer);
	if (rates_worst_burst(a->rates, a->session, &worst))
		writer_note(writer,
			    "%llu burst%s (more than %u faults in 1 s). Worst: %llu in a second on "
			    "%s at %s.",
			    rates_bursts(a->rates, a->session),
			    rates_bursts(a->rates, a->session) == 1 ? "" : "s",
			    rates_burst_faults(a->rates), worst.peak,
			    session_device_name(a->session, worst.device, name),
			    session_when(a->session, worst.peak_ns, time));
	if (ios_faulted(a->ios))
		writer_note(writer, "%llu I/Os met a fault, or queued behind one that did.",
			    ios_faulted(a->ios));
	return 0;
}

int findings_write_loss(const struct findings *f, struct writer *writer)
{
	const struct session *s = f->analysis->session;
	const struct loss_info *l = session_loss(s);
	unsigned int reasons = floor_of(f->analysis);
	char text[FLOOR_TEXT], as_of[AS_OF_TEXT];
	struct line line = {0};

	if (l->cut && !l->produced)
		add(&line, "Loss: unknown, the account of it was not recorded any more");
	else
		add(&line, "Loss: %llu of %llu events", l->lost + l->missed, l->produced);
	if (l->access_lost || l->access_received || l->access_missed)
		add(&line, ", %llu of %llu access records", l->access_lost + l->access_missed,
		    l->access_lost + l->access_missed + l->access_received);
	if (l->machines_missed)
		add(&line, ", %llu emulated machines not met", l->machines_missed);
	if (l->machines_unknown)
		add(&line, ", %llu that told no total", l->machines_unknown);
	if (l->state_failed)
		add(&line, ", %llu entries that found no room in the kernel's maps",
		    l->state_failed);
	if (l->turned_away)
		add(&line, ", %llu calls of probes by other users' processes turned away",
		    l->turned_away);
	if (l->unwritten_events || l->unwritten_windows)
		add(&line, ", %llu events and %llu seconds of counts not written for want of room",
		    l->unwritten_events, l->unwritten_windows);
	if (l->damaged_bytes || l->damaged_frames)
		add(&line, ", %llu bytes in %llu frames of the recording unreadable",
		    l->damaged_bytes, l->damaged_frames);
	if (session_windows_incomplete(s))
		add(&line, ", %llu seconds of counting ran out of counters",
		    session_windows_incomplete(s));
	if (l->cut)
		add(&line, ", the recording ends without its end mark");
	if (reasons & 1u << FLOOR_TABLES)
		add(&line,
		    ", too many queues, regions or open faults, or some told too late: some rows lack "
		    "faults, or causes");
	writer_note(writer, "%s.%s%s%s", line.text, reasons ? " Counts are floors: " : "",
		    floor_text(reasons, text), reasons ? "." : "");
	return *session_as_of_text(s, as_of) ? writer_note(writer, "%s", as_of) : 0;
}

int findings_write(const struct findings *f, struct writer *writer)
{
	const struct analysis *a = f->analysis;
	struct faults_counts counts;

	faults_counts(a->faults, &counts);
	write_window(a->session, writer);
	asked_write(a->session, writer);
	unknown_write(a->session, writer);
	watched_write_since(a->session, writer);
	left_out_write(a, writer);
	if (counts.began) {
		write_answer(f, &counts, writer);
		write_effects(f, writer);
	} else if (session_first_ns(a->session) < session_last_ns(a->session)) {
		write_nothing(a, writer);
	}
	vfio_write_findings(a->vfio, a->session, writer);
	odp_write_findings(a->odp, writer);
	findings_write_dma(a, writer);
	silent_write_findings(a->silent, writer);
	findings_write_loss(f, writer);
	/* Who asks why nothing was seen must know what could have been. */
	return counts.began ? 0 : watched_write(a->session, a->silent, writer);
}
