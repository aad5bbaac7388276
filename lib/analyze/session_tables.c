// SPDX-License-Identifier: GPL-2.0
/* The tables of a session: devices, probes, loss, events by kind. */
#include "lib/analyze/asked.h"
#include "lib/analyze/session.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool session_wall_time(const struct session *session, __u64 ns, char text[UNITS_TEXT])
{
	const struct wall_clock *clock = session_clock(session);

	if (clock->count)
		units_format_time(wall_clock_at(clock, ns), text);
	return clock->count;
}

const char *session_when(const struct session *session, __u64 ns, char text[UNITS_TEXT])
{
	if (!session_wall_time(session, ns, text)) {
		snprintf(text, UNITS_TEXT, "%llu.%03llu s after boot", ns / NSEC_PER_SEC,
			 ns / NSEC_PER_MSEC % 1000);
		return text;
	}
	text[10] = ' ';
	strcpy(text + 23, " UTC");
	return text;
}

static const char *device_kind_name(__u32 kind)
{
	static const char *const names[DEVICE_KIND_MAX] = {
		"unknown", "emulated",	     "pci",	     "platform", "block", "ib",
		"netdev",  "vfio_container", "iommu_domain",
	};

	return names[kind < DEVICE_KIND_MAX ? kind : DEVICE_UNKNOWN];
}

/* How long it was watched before what was kept begins. */
static __u64 let_go_ns(const struct session *s)
{
	const struct host_info *host = session_host(s);
	__u64 from = session_kept(s)->from_ns, start = host ? host->start_ns : 0;

	return start && from > start ? from - start : 0;
}

const char *session_kept_text(const struct session *s, char text[KEPT_TEXT])
{
	const struct kept_info *kept = session_kept(s);
	char from[UNITS_TEXT], length[UNITS_TEXT];

	text[0] = '\0';
	if (kept->from_ns)
		snprintf(text, KEPT_TEXT,
			 "Kept is what came after %s. Let go before it: %s, with %llu events in "
			 "%llu segments.",
			 session_when(s, kept->from_ns, from),
			 units_format_duration(let_go_ns(s), length), kept->events, kept->segments);
	return text;
}

const char *session_stopped_text(const struct session *s, char text[STOPPED_TEXT])
{
	char why[MEMORY_TEXT], when[SESSION_WHEN_TEXT];

	text[0] = '\0';
	if (memory_ran_out())
		snprintf(text, STOPPED_TEXT,
			 "Stopped at %s, as %s: what comes later in the recording is not counted. "
			 "Raise the limit, or ask for a part with --until.",
			 session_when(s, session_last_ns(s), when), memory_ran_out_text(why));
	return text;
}

int session_write_kept(const struct session *s, struct writer *writer)
{
	char kept[KEPT_TEXT], stopped[STOPPED_TEXT];
	int error = 0;

	if (*session_kept_text(s, kept))
		error = writer_note(writer, "%s", kept);
	if (!error && *session_stopped_text(s, stopped))
		error = writer_note(writer, "%s", stopped);
	return error;
}

int session_write_devices(const struct session *s, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 20, false},
		{"handle", NULL, COLUMN_COUNT, 6, true},
		{"source_id", NULL, COLUMN_COUNT, 9, true},
		{"kind", NULL, COLUMN_TEXT, 9, false},
		{"model", NULL, COLUMN_TEXT, 10, false},
		{"vm", NULL, COLUMN_TEXT, 12, false},
		{"pid", NULL, COLUMN_COUNT, 8, false},
		{"comm", NULL, COLUMN_TEXT, 16, true},
		{"queues", NULL, COLUMN_COUNT, 6, true},
		{"memory", "bytes", COLUMN_BYTES, 9, false},
		{"iommu_group", NULL, COLUMN_COUNT, 11, true},
		{"cgroup", NULL, COLUMN_COUNT, 11, true},
		{"first_seen", NULL, COLUMN_TIME, 29, true},
	};
	static const struct table table = {"devices", "Devices", columns, COUNT(columns)};
	int error = writer_begin(writer, &table);
	char name[DEVICE_NAME_TEXT];

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(s, h)) {
		const struct device_info *d = session_device(s, h);

		if (!d)
			continue;
		error = writer_row(
			writer,
			(union cell[]){
				{.text = session_device_name(s, h, name)},
				{.count = d->handle},
				{.count = d->source_id},
				{.text = device_kind_name(d->kind)},
				{.text = d->model},
				{.text = d->vm},
				{.count = d->pid ? d->pid : CELL_NONE},
				{.text = d->comm},
				{.count = d->queues ? d->queues : CELL_NONE},
				{.count = d->memory ? d->memory : CELL_NONE},
				{.count = d->iommu_group < 0 ? CELL_NONE : (__u64)d->iommu_group},
				{.count = d->cgroup ? d->cgroup : CELL_NONE},
				{.count = d->first_ns ? d->first_ns : CELL_NONE},
			});
	}
	error = error ? error : writer_end(writer);
	return error ? error : session_write_shared_names(s, writer);
}

int session_write_shared_names(const struct session *s, struct writer *writer)
{
	char text[DEVICE_NAME_TEXT];
	bool shared = false;

	for (__u32 h = 0; !shared && h < SESSION_DEVICES; h = session_device_next(s, h)) {
		const struct device_info *d = session_device(s, h);

		shared = d && d->name[0] && strcmp(session_device_name(s, h, text), d->name) != 0;
	}
	if (!shared)
		return 0;
	return writer_note(writer, "Where several devices have one name, # is the process of the "
				   "machine, of what no process owns the handle.");
}

const char *session_as_of_text(const struct session *s, char text[AS_OF_TEXT])
{
	const struct loss_info *l = session_loss(s);
	char as_of[SESSION_WHEN_TEXT], length[UNITS_TEXT], more[UNITS_TEXT + 48] = "";

	text[0] = '\0';
	if (l->cut && l->as_of_ns && l->unaccounted_ns)
		snprintf(more, sizeof(more), ", %s before the last event that is there",
			 units_format_duration(l->unaccounted_ns, length));
	if (l->cut && l->as_of_ns)
		snprintf(text, AS_OF_TEXT,
			 "Loss and the counters of probes are as of %s%s: what was lost later is "
			 "not known.",
			 session_when(s, l->as_of_ns, as_of), more);
	else if (l->cut)
		snprintf(text, AS_OF_TEXT,
			 "Loss and the counters of probes are not known: the recording has no "
			 "account of them.");
	return text;
}

int session_write_loss(const struct session *s, struct writer *writer)
{
	static const struct column columns[] = {
		{"what", NULL, COLUMN_TEXT, 24, false},
		{"count", NULL, COLUMN_COUNT, 16, false},
	};
	static const struct table table = {"loss", "Loss", columns, COUNT(columns)};
	const struct loss_info *l = session_loss(s);
	__u64 filtered;
	const struct kept_info *kept = session_kept(s);
	const struct {
		const char *what;
		__u64 count;
	} rows[] = {
		{"produced", l->produced},
		{"received", l->received},
		{"lost", l->lost},
		{"missed", l->missed},
		{"late", l->late},
		{"state_failed", l->state_failed},
		{"access_received", l->access_received},
		{"access_lost", l->access_lost},
		{"damaged_bytes", l->damaged_bytes},
		{"damaged_frames", l->damaged_frames},
		{"access_missed", l->access_missed},
		{"machines_missed", l->machines_missed},
		{"machines_unknown", l->machines_unknown},
		{"filtered", asked_left_out(s, &filtered) ? filtered : CELL_NONE},
		{"turned_away", l->turned_away},
		{"unwritten_events", l->unwritten_events},
		{"unwritten_windows", l->unwritten_windows},
		{"cut", l->cut},
		{"unaccounted_ns", l->unaccounted_ns},
		{"incomplete_windows", session_windows_incomplete(s)},
		{"let_go_segments", kept->segments},
		{"let_go_events", kept->events},
		{"let_go_ns", let_go_ns(s)},
	};
	int error = writer_begin(writer, &table);

	for (size_t i = 0; !error && i < COUNT(rows); i++)
		error = writer_row(
			writer, (union cell[]){{.text = rows[i].what}, {.count = rows[i].count}});
	return error ? error : writer_end(writer);
}

int session_write_events(const struct session *s, struct writer *writer)
{
	static const struct column columns[] = {
		{"kind", NULL, COLUMN_TEXT, 27, false},
		{"code", NULL, COLUMN_COUNT, 4, true},
		{"events", NULL, COLUMN_COUNT, 14, false},
	};
	static const struct table table = {"events", "Events one by one", columns, COUNT(columns)};
	int error = writer_begin(writer, &table);

	for (unsigned int kind = 0; !error && kind < EVENT_KIND_MAX; kind++)
		if (session_events_of(s, kind))
			error = writer_row(writer, (union cell[]){
							   {.text = event_kind_name(kind)},
							   {.count = kind},
							   {.count = session_events_of(s, kind)},
						   });
	return error ? error : writer_end(writer);
}
