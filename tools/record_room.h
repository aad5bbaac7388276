/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline record`: says what becomes of a recording for want of room, when it happens. */
#ifndef FAULTLINE_RECORD_ROOM_H
#define FAULTLINE_RECORD_ROOM_H

#include "lib/trace/trace.h"

struct record_room {
	bool full;			/* told: the oldest goes */
	bool waiting;			/* told: what comes is not kept */
	__u64 displaced;		/* told: so many segments of the dead are gone */
	bool unsynced;			/* told: a segment may not be on the disk */
	struct trace_writer_stats told; /* when that was told */
};

/* To be called whenever the writer may have written. */
void record_room_tell(struct record_room *room, struct trace_writer *writer, const char *path);
/* Once it has its name: where the recording of one that died is now, if there was one. */
void record_room_tell_set_aside(struct trace_writer *writer, const char *path);

#endif
