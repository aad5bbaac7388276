/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: the last frame of an ordinary file. It sums the recording up and gives offsets
 * to start from; everything in it can be found by walking the frames, so nobody needs it.
 */
#ifndef FAULTLINE_TRACE_INDEX_H
#define FAULTLINE_TRACE_INDEX_H

#include "lib/trace/buffer.h"
#include "lib/trace/format.h"

#define TRACE_INDEX_POINTS 1024 /* memory is bounded: when full, every other point goes */

struct trace_index_point {
	__u64 offset; /* of an EVENTS frame in the file */
	__u64 first_ns;
	__u64 events; /* before it */
};

struct trace_index {
	__u64 events;
	__u64 first_ns; /* of events, aggregates and ticks */
	__u64 last_ns;
	__u64 stride; /* EVENTS frames per point */
	__u64 event_frames;
	size_t count;
	struct trace_index_point points[TRACE_INDEX_POINTS];
};

void trace_index_add(struct trace_index *index, const struct trace_frame_header *header,
		     __u64 offset);
void trace_put_index(struct trace_buffer *out, const struct trace_index *index);

#endif
