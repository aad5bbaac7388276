/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: where the writer's bytes go: one file, a pipe, or a ring of segment files.
 *
 * A flight recorder's PATH is a file header that never changes; the frames are in PATH.000001,
 * PATH.000002 and so on, of which the oldest are deleted. Where somebody removes PATH it is written again with
 * the next segment. Once a file has its name it is never
 * rewritten, so whatever is on disk when the recorder dies is the recording.
 */
#ifndef FAULTLINE_TRACE_STORE_H
#define FAULTLINE_TRACE_STORE_H

#include "lib/trace/format.h"
#include "lib/trace/segments.h"
#include "lib/trace/sync.h"
#include "lib/trace/trace.h"

#define TRACE_RING_PARTS 8 /* segments that make up the kept time or size */

struct trace_segment {
	__u32 number;
	__u32 set_aside; /* number of the ring that it was set aside into; 0: it is this one's */
	__u64 bytes;
	__u64 last_ns;	       /* of its newest frame */
	struct kept_info kept; /* what lies before it */
	struct trace_segment *next;
};

struct trace_store {
	char path[PATH_MAX];	/* as the user named it */
	char current[PATH_MAX]; /* the file that is being written */
	int fd;			/* -1: a ring has no segment to write to */
	bool ring;
	int unnamed; /* `path` is still to be given to this descriptor; -1: has happened */
	bool pipe;   /* not a regular file: what was written cannot be taken back */
	bool overwrite;
	bool sets_aside; /* also a flight recorder that came to its end */
	bool replaces;	 /* something has its name */
	int replaced; /* the recording that this one takes the place of, locked; -1: none is there */
	int locked;   /* this one's file, once it has its name: nobody else replaces it meanwhile */
	__u32 next;   /* number of the next segment; 0: there is none left */
	__u64 keep_ns;
	__u64 max_bytes;
	__u64 segment_most;  /* bytes at which a segment ends */
	__u64 segment_now;   /* the same, less after the disk was full */
	__u64 frame_most;    /* bytes that a ring takes at once */
	unsigned int calm;   /* segments begun since the disk was full */
	__u64 bytes;	     /* of all files that exist now */
	__u64 written;	     /* ever */
	__u64 segment_bytes; /* of the current segment */
	__u64 start_bytes;   /* with which every segment begins */
	__u64 segment_start; /* time of its first frame */
	__u64 last_ns;	     /* of the newest frame */
	__u64 begun;	     /* segments, without those that hold nothing but a header */
	__u64 dropped;	     /* segments deleted */
	__u64 given_up;	     /* of these, because the disk was full */
	__u64 displaced; /* segments of recorders that died, deleted so that this one could begin */
	__u32 set_aside; /* number of the ring that was set aside at the commit; 0: none was */
	struct trace_sync sync; /* of a ring's finished segments */
	__u64 unsynced;		/* of its result, as far as room was made for it */
	struct trace_file_header header;
	struct trace_segment *oldest, *newest;
};

/*
 * What has its name is on the disk as far as it was written by then, and all of it after a close without an
 * error; a ring's finished segments get there meanwhile, and the unfinished one when the kernel thinks fit.
 * The recording has no name, and what it replaces stays, until trace_store_commit().
 */
int trace_store_open(struct trace_store *store, const struct trace_writer_config *config);
int trace_store_commit(struct trace_store *store);
/* Whether `size` more bytes at time `now` belong into a new segment. */
bool trace_store_segment_is_full(const struct trace_store *store, size_t size, __u64 now_ns);
/* After a failure the ring has no segment to write to. */
int trace_store_next_segment(struct trace_store *store, __u64 now_ns);
/*
 * Appends whole frames with one write. Deletes the oldest segments first where the ring's bounds
 * or a full disk ask for it. After a failure the file ends with the last whole frame.
 */
int trace_store_append(struct trace_store *store, const void *bytes, size_t size, __u64 last_ns);
/* Without a commit, also takes away what is there. */
int trace_store_close(struct trace_store *store);

/*
 * Whether an error of the last two passes in time: no room, what the system is short of just now, or a file system
 * that fails or is away.
 */
bool trace_store_may_pass(int err);

#endif
