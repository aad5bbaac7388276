/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: the frames of a recording one after the other, whatever happened to its bytes.
 *
 * Hides segments and damage: after unreadable bytes it searches for the next sound frame header of
 * the same recording. Every length is trusted only after its checksum, and is bounded even then.
 */
#ifndef FAULTLINE_TRACE_FRAMES_H
#define FAULTLINE_TRACE_FRAMES_H

#include "lib/trace/format.h"
#include "lib/trace/segments.h"
#include "lib/trace/source.h"

struct trace_frames {
	const char *path;
	struct trace_source source;
	struct numbers segments;
	size_t segment; /* index of the next to open */
	bool ring;
	bool strict;
	bool identified;     /* `recording` is known */
	bool merged;	     /* each frame says of which host it is */
	bool counted;	     /* `sequence` is known */
	bool skipping;	     /* inside damage */
	bool short_frame;    /* the damage began with a frame longer than the file */
	bool current;	     /* `header` is of a frame that was not yet left behind */
	bool repeats_wanted; /* this segment's start tells something new */
	__u32 recording;
	__u64 sequence; /* expected next */

	struct trace_frame_header header; /* of the current frame */
	bool damaged;			  /* other than by a cut at the end */
	__u64 damaged_bytes;
	__u64 damaged_frames;
	__u64 bytes;  /* passed so far */
	__u64 wasted; /* bytes checked in vain */
};

/* Opens `path` or standard input ("-"). -EPROTO if it is no recording of a known version. */
int trace_frames_open(struct trace_frames *frames, const char *path, bool strict);
/*
 * Moves to the next sound frame header: 1, 0 at the end, or a negative errno. Records repeated at
 * the start of a segment are left out unless those before them were missed.
 */
int trace_frames_next(struct trace_frames *frames);
/*
 * The stored payload of the current frame: 1 and *payload, valid until the next call; 0 if it is
 * damaged, which is then accounted for; or a negative errno.
 */
int trace_frames_payload(struct trace_frames *frames, const __u8 **payload);
/* The current payload is nonsense in spite of its checksum: accounts for it. Negative if strict. */
int trace_frames_reject(struct trace_frames *frames);
void trace_frames_close(struct trace_frames *frames);

#endif
