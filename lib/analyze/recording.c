// SPDX-License-Identifier: GPL-2.0
/* What a report is of: host, time, what was asked for, what is unknown. */
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/asked.h"
#include "lib/analyze/left_out.h"
#include "lib/analyze/session.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/watched.h"
#include "lib/base/units.h"

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
		    "The clock was set %s by %s, to %s%s; times are by the clock as it was "
		    "then.",
		    step.by_ns < 0 ? "back" : "forward",
		    units_format_duration((__u64)llabs(step.by_ns), by),
		    session_when(s, step.at_ns, to), more);
}

static void write_window(const struct session *s, struct writer *writer)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], length[UNITS_TEXT];
	__u64 first = session_first_ns(s), last = session_last_ns(s);
	__u64 since_ns = session_period(s)->since_ns;
	const struct host_info *host = session_host(s);

	if (host)
		writer_note(writer, "Host %s, kernel %s, %u CPUs; Faultline %s%s%s.",
			    host->hostname, host->kernel, host->cpus, host->version,
			    host->command[0] ? ": " : "", host->command);
	if (!first) {
		writer_note(writer, "The recording holds nothing.");
		return;
	}
	if (first >= last) {
		writer_note(writer,
			    "Nothing was recorded in the time asked for: the "
			    "recording %s at %s.",
			    last < since_ns ? "ends" : "begins",
			    session_when(s, last < since_ns ? last : first, from));
		return;
	}
	writer_note(writer, "From %s to %s (%s).", session_when(s, first, from),
		    session_when(s, last, to), units_format_duration(last - first, length));
	write_step(s, writer);
	session_write_kept(s, writer);
}

static void write_recording(const struct analysis *a, struct writer *writer)
{
	write_window(a->session, writer);
	asked_write(a->session, writer);
	unknown_write(a->session, writer);
	watched_write_since(a->session, writer);
	left_out_write(a, writer);
}

const struct analyzer recording_analyzer = {.chapter = REPORT_RECORDING,
					    .findings = write_recording};
