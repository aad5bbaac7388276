/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the part of an EVENTS frame that lies in a span of time. */
#ifndef FAULTLINE_TRACE_CUT_H
#define FAULTLINE_TRACE_CUT_H

#include "lib/trace/buffer.h"
#include "lib/trace/columns.h"
#include "lib/trace/format.h"

struct trace_cut {
	__u64 since_ns, until_ns; /* [since_ns, until_ns) */
	__u64 before;		  /* events of all frames so far that came before it */
	struct event *events;
	struct trace_tick *ticks;
	__u64 *column;
};

int trace_cut_open(struct trace_cut *cut, __u64 since_ns, __u64 until_ns);
void trace_cut_close(struct trace_cut *cut);

/*
 * From the raw payload of a frame that of its part, with count and times in `header`; `raw` is empty if
 * nothing of it lies there. -EBADMSG if it is not what its header says.
 */
int trace_cut_events(struct trace_cut *cut, struct trace_cursor *cursor,
		     struct trace_frame_header *header, struct trace_buffer *raw,
		     struct trace_cuts *cuts);

#endif
