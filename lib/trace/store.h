/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: where the writer's bytes go: one file, a pipe, or a ring of segment files.
 *
 * A flight recorder's PATH is a file header that never changes; the frames are in PATH.000001,
 * PATH.000002 and so on, of which the oldest are deleted. Once a file has its name it is never rewritten
 * or renamed, so whatever is on disk when the recorder dies is the recording.
 */
#ifndef FAULTLINE_TRACE_STORE_H
#define FAULTLINE_TRACE_STORE_H

#include <limits.h>

#include "lib/trace/format.h"
#include "lib/trace/trace.h"

#define TRACE_SEGMENT_DIGITS 6
#define TRACE_RING_PARTS     8 /* segments that make up the kept time or size */

struct trace_segment {
	__u32 number;
	__u64 bytes;
	__u64 last_ns;	       /* of its newest frame */
	struct kept_info kept; /* what lies before it */
	struct trace_segment *next;
};

struct trace_store {
	char path[PATH_MAX];	/* as the user named it */
	char current[PATH_MAX]; /* the file that is being written */
	int fd;
	bool ring;
	int unnamed; /* `path` is still to be given to this descriptor; -1: has happened */
	bool pipe;   /* not a regular file: what was written cannot be taken back */
	bool overwrite;
	bool replaces; /* something has its name */
	int replaced; /* the recording that this one takes the place of, locked; -1: none is there */
	int locked;   /* this one's file, once it has its name: nobody else replaces it meanwhile */
	__u32 first;  /* segments below this number are replaced; the ring's own begin with it */
	__u64 keep_ns;
	__u64 max_bytes;
	__u64 bytes;	     /* of all files that exist now */
	__u64 written;	     /* ever */
	__u64 segment_bytes; /* of the current segment */
	__u64 segment_start; /* time of its first frame */
	__u64 dropped;	     /* segments deleted */
	struct trace_file_header header;
	struct trace_segment *oldest, *newest;
};

/* The recording has no name, and what it replaces stays, until trace_store_commit(). */
int trace_store_open(struct trace_store *store, const struct trace_writer_config *config);
int trace_store_commit(struct trace_store *store);
/* Whether `size` more bytes at time `now` belong into a new segment. */
bool trace_store_segment_is_full(const struct trace_store *store, size_t size, __u64 now_ns);
int trace_store_next_segment(struct trace_store *store, __u64 now_ns);
/*
 * Appends whole frames with one write. Deletes the oldest segments first where the ring's bounds
 * ask for it. After a failure the file ends with the last whole frame.
 */
int trace_store_append(struct trace_store *store, const void *bytes, size_t size, __u64 last_ns);
/* Without a commit, also takes away what is there. */
int trace_store_close(struct trace_store *store);

/* "PATH.000007". Returns 0 or -ENAMETOOLONG. */
int trace_segment_path(const char *path, __u32 number, char name[PATH_MAX]);

#endif
