// SPDX-License-Identifier: GPL-2.0
/* A session in words, and the table of its devices. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/session.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

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

__u64 session_let_go_ns(const struct session *s)
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
			 "Kept is what came after %s. Discarded before it: %s, with %llu events in "
			 "%llu segments.",
			 session_when(s, kept->from_ns, from),
			 units_format_duration(session_let_go_ns(s), length), kept->events,
			 kept->segments);
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

void session_write_kept(const struct session *s, struct writer *writer)
{
	char kept[KEPT_TEXT], stopped[STOPPED_TEXT];

	if (*session_kept_text(s, kept))
		writer_note(writer, "%s", kept);
	if (*session_stopped_text(s, stopped))
		writer_note(writer, "%s", stopped);
}

#define DEVICES(COLUMN)                                                                        \
	COLUMN(device, none, TEXT, 20, SHOWN, session_device_name(context, row->handle, text)) \
	COLUMN(handle, none, COUNT, 6, WIDE, row->handle)                                      \
	COLUMN(source_id, none, COUNT, 9, WIDE, row->source_id)                                \
	COLUMN(kind, none, TEXT, 9, SHOWN, device_kind_name(row->kind))                        \
	COLUMN(model, none, TEXT, 10, SHOWN, row->model)                                       \
	COLUMN(vm, none, TEXT, 12, SHOWN, row->vm)                                             \
	COLUMN(pid, none, COUNT, 8, SHOWN, count_or_none(row->pid))                            \
	COLUMN(comm, none, TEXT, 16, WIDE, row->comm)                                          \
	COLUMN(queues, none, COUNT, 6, WIDE, count_or_none(row->queues))                       \
	COLUMN(memory, bytes, BYTES, 9, SHOWN, count_or_none(row->memory))                     \
	COLUMN(iommu_group, none, COUNT, 11, WIDE,                                             \
	       count_if(row->iommu_group >= 0, (__u64)row->iommu_group))                       \
	COLUMN(cgroup, none, COUNT, 11, WIDE, count_or_none(row->cgroup))                      \
	COLUMN(first_seen, none, TIME, 29, WIDE, count_or_none(row->first_ns))
TABLE(devices, "Devices", DEVICES, struct device_info, struct session)

static void session_write_devices(const struct analysis *analysis, struct writer *writer,
				  const struct table_wish *wish)
{
	const struct session *s = analysis->session;

	(void)wish;
	writer_begin_with(writer, &devices_table, s);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(s, h))
		if (session_device(s, h))
			writer_row(writer, session_device(s, h));
	writer_end(writer);
	session_write_shared_names(s, writer);
}

void session_write_shared_names(const struct session *s, struct writer *writer)
{
	char text[DEVICE_NAME_TEXT];
	bool shared = false;

	for (__u32 h = 0; !shared && h < SESSION_DEVICES; h = session_device_next(s, h)) {
		const struct device_info *d = session_device(s, h);

		shared = d && d->name[0] && strcmp(session_device_name(s, h, text), d->name) != 0;
	}
	if (!shared)
		return;
	writer_note(writer, "Where several devices have one name, # is the process of the "
			    "machine, of what no process owns the handle.");
}

const char *session_as_of_text(const struct session *s, char text[AS_OF_TEXT])
{
	const struct loss_info *l = session_loss(s);
	char as_of[SESSION_WHEN_TEXT], length[UNITS_TEXT], more[UNITS_TEXT + 48] = "";

	text[0] = '\0';
	if (session_is_unaccounted(s)) {
		snprintf(text, AS_OF_TEXT,
			 "Loss and the counters of probes are not known: the recording has no "
			 "account of them.");
		return text;
	}
	if (l->unaccounted_ns)
		snprintf(more, sizeof(more), ", %s before the last event that is there",
			 units_format_duration(l->unaccounted_ns, length));
	if (l->cut)
		snprintf(text, AS_OF_TEXT,
			 "Loss and the counters of probes are as of %s%s: what was lost later is "
			 "not known.",
			 session_when(s, l->as_of_ns, as_of), more);
	return text;
}

static const struct analyzer_table tables[] = {{&devices_table, session_write_devices}, {0}};

const struct analyzer devices_analyzer = {.tables = tables};
