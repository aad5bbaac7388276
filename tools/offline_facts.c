// SPDX-License-Identifier: GPL-2.0
/* Facts of JSON: of one host, or of all together. */
#include "tools/offline_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/session.h"
#include "lib/analyze/unknown.h"
#include "lib/base/memory.h"

static int write_count_fact(const struct offline *o, const char *name, __u64 count)
{
	char text[UNITS_TEXT];

	snprintf(text, sizeof(text), "%llu", count);
	return writer_fact(o->writer, name, text);
}

static int write_time_fact(const struct offline *o, const char *name, __u64 ns)
{
	char text[UNITS_TEXT];

	if (o->output.raw_time)
		return ns ? write_count_fact(o, name, ns) : 0;
	if (!ns || !session_wall_time(o->analysis->session, ns, text))
		return 0;
	return writer_fact(o->writer, name, text);
}

static int write_facts_of_one(const struct offline *o)
{
	const struct session *s = o->analysis->session;
	const struct loss_info *loss = session_loss(s);
	const struct kept_info *kept = session_kept(s);
	const struct host_info *host = session_host(s);
	struct faults_counts faults;
	char floor[FLOOR_TEXT], *unknown;
	__u64 filtered;

	faults_counts(o->analysis->faults, &faults);
	unknown = unknown_text(s);

	writer_fact(o->writer, "recording", o->path);
	writer_fact(o->writer, "host", host ? host->hostname : "");
	writer_fact(o->writer, "kernel", host ? host->kernel : "");
	if (!asked_for_everything(s)) {
		writer_fact(o->writer, "asked_devices", host->devices);
		writer_fact(o->writer, "asked_kinds", host->kinds);
		if (asked_left_out(s, &filtered))
			write_count_fact(o, "filtered", filtered);
	}
	if (unknown && *unknown)
		writer_fact(o->writer, "unknown", unknown);
	free(unknown);
	write_time_fact(o, "from", session_first_ns(s));
	write_time_fact(o, "to", session_last_ns(s));
	write_count_fact(o, "events", session_events(s));
	write_count_fact(o, "lost",
			 loss->lost + loss->missed + loss->access_lost + loss->access_missed);
	write_count_fact(o, "turned_away", loss->turned_away);
	write_count_fact(o, "unwritten_events", loss->unwritten_events);
	write_count_fact(o, "damaged_bytes", loss->damaged_bytes);
	if (kept->from_ns) {
		write_time_fact(o, "kept_from", kept->from_ns);
		write_count_fact(o, "let_go_segments", kept->segments);
		write_count_fact(o, "let_go_events", kept->events);
	}
	if (faults.left_before || faults.left_after) {
		write_count_fact(o, "left_out_before", faults.left_before);
		write_count_fact(o, "left_out_across", faults.left_across);
		write_count_fact(o, "left_out_after", faults.left_after);
	}
	if (memory_ran_out())
		write_time_fact(o, "stopped", session_last_ns(s));
	if (loss->cut) {
		write_time_fact(o, "counters_as_of", loss->as_of_ns);
		write_count_fact(o, "unaccounted_ns", loss->unaccounted_ns);
	}
	writer_fact(o->writer, "floor", *floor_text(floor_of(o->analysis), floor) ? floor : "no");
	return writer_fact(o->writer, "complete", common_complete(s));
}

static __u64 lost_events_of(const struct analysis *a)
{
	const struct loss_info *loss = session_loss(a->session);

	return loss->lost + loss->missed + loss->access_lost + loss->access_missed;
}

struct host_row {
	const struct analysis *analysis;
	const struct session *session;
	struct wall_clock_step step;
};

static double step_seconds(const struct host_row *row)
{
	return row->step.count ? (double)row->step.by_ns / 1e9 : NAN;
}

static const char *host_text(const struct host_row *row, size_t offset)
{
	const struct host_info *host = session_host(row->session);

	return host ? (const char *)host + offset : "";
}

#define HOST_TEXT_OF(member) host_text(row, offsetof(struct host_info, member))
#define HOSTS(COLUMN)                                                                      \
	COLUMN(from, none, TIME, 18, SHOWN, count_or_none(session_first_ns(row->session))) \
	COLUMN(to, none, TIME, 18, SHOWN, count_or_none(session_last_ns(row->session)))    \
	COLUMN(events, none, COUNT, 8, SHOWN, session_events(row->session))                \
	COLUMN(lost, none, COUNT, 7, SHOWN, lost_events_of(row->analysis))                 \
	COLUMN(damaged, none, BYTES, 7, WIDE, session_loss(row->session)->damaged_bytes)   \
	COLUMN(clock_steps, none, COUNT, 11, WIDE, row->step.count)                        \
	COLUMN(clock_step, s, REAL, 10, WIDE, step_seconds(row))                           \
	COLUMN(floor, none, TEXT, 16, WIDE,                                                \
	       *floor_text(floor_of(row->analysis), text) ? text : "no")                   \
	COLUMN(complete, none, TEXT, 16, WIDE, common_complete(row->session))              \
	COLUMN(kernel, none, TEXT, 20, WIDE, HOST_TEXT_OF(kernel))                         \
	COLUMN(boot_id, none, TEXT, 36, WIDE, HOST_TEXT_OF(boot_id))                       \
	COLUMN(faultline, none, TEXT, 10, WIDE, HOST_TEXT_OF(version))                     \
	COLUMN(command, none, TEXT, 20, WIDE, HOST_TEXT_OF(command))
TABLE(hosts, "Hosts", HOSTS, struct host_row, void)

int offline_write_hosts(struct offline *o)
{
	for (size_t i = 0; i < o->count; i++) {
		struct host_row row = {o->all[i], o->all[i]->session, {0}};

		offline_turn(o, i);
		wall_clock_step(session_clock(row.session), session_first_ns(row.session),
				session_last_ns(row.session), &row.step);
		writer_begin(o->writer, &hosts_table);
		writer_row(o->writer, &row);
		writer_end(o->writer);
	}
	return writer_error(o->writer);
}

/* Of all together; what is of one alone is in the table of hosts. */
static int write_facts_of_all(const struct offline *o)
{
	__u64 events = 0, lost = 0, turned_away = 0, unwritten = 0, damaged = 0;
	const char *complete = "yes";
	unsigned int floor = 0, stepped = 0;
	char text[FLOOR_TEXT];

	for (size_t i = 0; i < o->count; i++) {
		const struct session *s = o->all[i]->session;
		const struct loss_info *loss = session_loss(s);
		struct wall_clock_step step;

		events += session_events(s);
		lost += lost_events_of(o->all[i]);
		turned_away += loss->turned_away;
		unwritten += loss->unwritten_events;
		damaged += loss->damaged_bytes;
		floor |= floor_of(o->all[i]);
		if (strcmp(common_complete(s), "yes") != 0)
			complete = common_complete(s);
		stepped += wall_clock_step(session_clock(s), session_first_ns(s),
					   session_last_ns(s), &step);
	}
	writer_fact(o->writer, "recording", o->path);
	write_count_fact(o, "hosts", o->count);
	write_count_fact(o, "hosts_clock_stepped", stepped);
	write_count_fact(o, "events", events);
	write_count_fact(o, "lost", lost);
	write_count_fact(o, "turned_away", turned_away);
	write_count_fact(o, "unwritten_events", unwritten);
	write_count_fact(o, "damaged_bytes", damaged);
	writer_fact(o->writer, "floor", *floor_text(floor, text) ? text : "no");
	return writer_fact(o->writer, "complete", complete);
}

int offline_write_facts(const struct offline *o)
{
	if (o->output.to.format != OUTPUT_JSON && o->output.to.format != OUTPUT_PARQUET)
		return 0;
	return offline_has_hosts(o) ? write_facts_of_all(o) : write_facts_of_one(o);
}
