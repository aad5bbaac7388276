// SPDX-License-Identifier: GPL-2.0
#include "tools/record_room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/printable.h"

/* The first one; the summary has how many there were. */
static void tell_unsynced(struct record_room *room, const struct trace_writer_stats *stats,
			  const char *path)
{
	if (room->unsynced || !stats->unsynced_segments)
		return;
	room->unsynced = true;
	fprintf(stderr, "faultline: %s.%06u: may not be on the disk: %s; the recorder goes on\n",
		printable_of(path).text, stats->unsynced_number,
		stats->unsynced_error == -EAGAIN ? "too many before it wait for that"
						 : strerror(-stats->unsynced_error));
}

static void tell_displaced(struct record_room *room, const struct trace_writer_stats *stats,
			   const char *path)
{
	__u64 more = stats->displaced_segments - room->displaced;

	room->displaced = stats->displaced_segments;
	if (more)
		fprintf(stderr,
			"faultline: %s: no room to begin: the oldest part of what its last "
			"recorder had kept is deleted (%llu segment%s)\n",
			printable_of(path).text, more, more == 1 ? "" : "s");
}

void record_room_tell(struct record_room *room, struct trace_writer *writer, const char *path)
{
	struct trace_writer_stats stats;

	trace_writer_stats(writer, &stats);
	tell_displaced(room, &stats, path);
	tell_unsynced(room, &stats, path);
	if (stats.given_up_segments && !room->full)
		fprintf(stderr, "faultline: %s: no room for more: the oldest part of it goes\n",
			printable_of(path).text);
	room->full = stats.given_up_segments;
	if (stats.waiting == room->waiting)
		return;
	room->waiting = stats.waiting;
	if (stats.waiting) {
		fprintf(stderr,
			"faultline: %s: %s: what happens now is not kept; trying again every "
			"second\n",
			printable_of(path).text,
			trace_has_no_room(stats.unwritten_error)
				? "no room for more, and no older part of it "
				  "to let go"
				: strerror(-stats.unwritten_error));
		room->told = stats;
		return;
	}
	fprintf(stderr,
		"faultline: %s: %s again: %llu events and %llu seconds of counts were "
		"not kept\n",
		printable_of(path).text,
		trace_has_no_room(stats.unwritten_error) ? "there is room" : "it can be written",
		stats.unwritten_events - room->told.unwritten_events,
		stats.unwritten_windows - room->told.unwritten_windows);
}

void record_room_tell_set_aside(struct trace_writer *writer, const char *path)
{
	struct trace_writer_stats stats;
	char name[PATH_MAX];

	trace_writer_stats(writer, &stats);
	if (stats.set_aside && !trace_set_aside_path(path, stats.set_aside, name))
		fprintf(stderr, "%s: what its last recorder had kept is now %s\n",
			printable_of(path).text, printable_of(name).text);
}
