/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: frames on their way into files: their numbers, the segments that they begin, and what
 * becomes of them while there is no room, or the system refuses what it may allow later.
 *
 * A flight recorder on a full disk gives up its oldest segments, and the current one if it comes to that.
 * What does not fit even then is left out and counted; a new segment is tried every second, and at the end, and
 * tells what is missing.
 */
#ifndef FAULTLINE_TRACE_OUTPUT_H
#define FAULTLINE_TRACE_OUTPUT_H

#include "lib/trace/dictionary.h"
#include "lib/trace/index.h"
#include "lib/trace/pack.h"
#include "lib/trace/preamble.h"
#include "lib/trace/store.h"

struct trace_output {
	struct trace_store store;
	struct trace_packer packer;
	struct trace_preamble preamble;
	struct trace_dictionary dictionary;
	struct trace_index index;
	struct trace_buffer frame; /* what one write() takes */
	struct trace_buffer names; /* that it uses */
	struct trace_buffer scratch;
	__u64 sequence; /* of the next frame */
	__u64 packed;	/* frames in `frame` */
	__u64 now_ns;	/* greatest time seen in the stream */
	__u64 events;	/* written */
	__u64 unwritten_events;
	__u64 unwritten_windows;
	int unwritten_error; /* why, the last time */
	int refused;	     /* what the store said of the last frame */
	bool full;	     /* there was no room for the last frame */
	bool ending;	     /* what comes now is the last: it is tried whatever retry_ns says */
	__u64 retry_ns;	     /* when the next is tried */
	__u8 repeat_flags;   /* of what a segment begins with */
};

/* What is packed: the payload, where zstd blocks end, and what it names. */
struct trace_content {
	const struct trace_buffer *raw;
	const struct trace_cuts *cuts;
	const struct event *events; /* of header->count */
	const struct aggregate_frame *frame;
};

int trace_output_open(struct trace_output *output, const struct trace_writer_config *config);
/*
 * Packs one frame and appends it. -E2BIG: a ring's bound leaves no room for so large a frame; nothing was
 * done, a smaller one may follow. Any other error is the end.
 */
int trace_output_put(struct trace_output *output, struct trace_frame_header *header,
		     const struct trace_content *content);
/* All but what only the writer knows. */
void trace_output_stats(struct trace_output *output, struct trace_writer_stats *stats);
int trace_output_close(struct trace_output *output);

#endif
