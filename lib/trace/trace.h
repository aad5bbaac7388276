/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The .flt recording: an append-only sequence of checksummed frames (docs/flt-format.md).
 *
 * trace_writer is a sink, trace_read a source; what is read equals what was written, call by call.
 * Memory of both is bounded by one frame, whatever the length of the recording.
 */
#ifndef FAULTLINE_TRACE_H
#define FAULTLINE_TRACE_H

#include "lib/base/stream.h"

struct trace_writer;

struct trace_writer_config {
	const char *path; /* "-" streams to stdout */
	bool overwrite;	  /* replace an existing regular file; without it -EEXIST */
	int level;	  /* zstd level, 0: default of 1 */
	__u64 keep_ns;	  /* flight recorder: drop what is older, 0: keep all */
	__u64 max_bytes;  /* flight recorder: bound of the files' size, 0: none */
	__u64 flush_ns;	  /* a frame is written at the latest after this, 0: 500 ms */
};

struct trace_writer_stats {
	__u64 events;
	__u64 frames;
	__u64 bytes;
	__u64 dropped_segments; /* flight recorder: whole segments deleted because of age or size */
};

/* Creates with O_EXCL|O_NOFOLLOW, mode 0600. */
int trace_writer_open(struct trace_writer **writer, const struct trace_writer_config *config);
struct stream trace_writer_stream(struct trace_writer *writer);
void trace_writer_stats(const struct trace_writer *writer, struct trace_writer_stats *stats);
/* Writes what is buffered, the index and the end mark; frees. Returns the first error met. */
int trace_writer_close(struct trace_writer *writer);

struct trace_read_config {
	const char *path; /* a .flt, a flight recorder's .flt, or "-" */
	__u64 since_ns;	  /* CLOCK_MONOTONIC window; 0 and UINT64_MAX for all */
	__u64 until_ns;
	bool strict; /* stop at the first damage instead of skipping past it */
};

/*
 * Pushes a recording into `sink`. Damage is skipped frame by frame and reported through loss();
 * returns 0, or -EBADMSG if anything was damaged (all readable frames were still delivered), or
 * -EPROTO if this is no recording of a known version.
 */
int trace_read(const struct trace_read_config *config, struct stream sink);

#endif
