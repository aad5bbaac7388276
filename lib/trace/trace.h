/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The .flt recording: an append-only sequence of checksummed frames (docs/flt-format.md).
 *
 * trace_writer is a sink, trace_read a source; what is read equals what was written, call by call.
 * Memory of both is bounded by one frame, whatever the length of the recording.
 */
#ifndef FAULTLINE_TRACE_H
#define FAULTLINE_TRACE_H

#include <limits.h>
#include <sys/stat.h>

#include "lib/base/wall_clock.h"

#define TRACE_RING_MINIMUM (1u << 20) /* the least bound of a flight recorder */

struct trace_writer;

struct trace_writer_config {
	const char *path; /* "-" streams to stdout */
	bool overwrite;	  /* replace an existing recording; without it -EEXIST */
	bool set_aside;	  /* without `overwrite`: a flight recorder that came to its end, too */
	bool merged;	  /* the frames will say of which host they are */
	bool held;	  /* leave all at `path` as it is until trace_writer_commit() */
	int level;	  /* zstd level, 0: default of 1 */
	__u64 keep_ns;	  /* flight recorder: drop what is older, 0: keep all */
	__u64 max_bytes;  /* flight recorder: bound of the files' size, 0: none */
	__u64 flush_ns;	  /* a frame is written at the latest after this, 0: 500 ms */
};

struct trace_writer_stats {
	__u64 events;
	__u64 frames;
	__u64 bytes;
	__u64 incomplete_windows; /* that ran out of counters: their counts are floors */
	/* Of a flight recorder: */
	__u64 dropped_segments;	 /* deleted because of age or size, or for want of room */
	__u64 given_up_segments; /* of these, for want of room: the disk was full */
	struct kept_info kept;	 /* what that has let go */
	__u64 next_from_ns;	 /* up to here it is let go soon, for want of room; 0: nothing is */
	__u64 unwritten_events;	 /* for which there was no room */
	__u64 unwritten_windows; /* seconds of counts, likewise */
	__u64 unsynced_segments; /* finished ones that may not be on the disk */
	__u32 unsynced_number;	 /* of the newest of these */
	int unsynced_error;	 /* likewise, a negative errno; -EAGAIN: the disk is behind */
	int unwritten_error; /* why nothing could be written the last time, a negative errno; 0: it could */
	bool waiting; /* there is none now: what comes is counted there; after end(): it is not written */
	__u64 displaced_segments; /* of recorders that died, deleted so that this one could begin */
	__u32 set_aside; /* N: what a recorder that died has left is STEM.crashed-N.flt now */
};

/*
 * Creates with O_EXCL|O_NOFOLLOW, mode 0600. After an error every later call returns it; the file then
 * ends with its last whole frame.
 *
 * With keep_ns or max_bytes `path` becomes a flight recorder: a small file beside its segments
 * path.000001, path.000002, ... that hold the frames. It keeps at least the last keep_ns (and at most an
 * eighth more) unless max_bytes, which no instant exceeds, is reached first; a second of counts that is
 * larger than half of that is cut and marked as incomplete. A full disk, or a limit of the files' size, is
 * no error: the oldest segments go, and what finds no room even then is counted as unwritten; that is tried
 * every second. So it is with errors of the file system that may pass. Finished segments are brought to the
 * disk meanwhile; one that fails to get there is counted.
 *
 * Numbers of segments go on behind those of ours that are there, or begin anew where half of all numbers is
 * used up; a name that is taken is passed over. Without `overwrite` the files of a flight recorder
 * that died, with `set_aside` of any that has ended, are set aside at the commit as STEM.crashed-001.flt and so on; both bounds are then of all of
 * these together, and the oldest go first.
 */
int trace_writer_open(struct trace_writer **writer, const struct trace_writer_config *config);
struct stream trace_writer_stream(struct trace_writer *writer);
/*
 * Gives a held recording its name, at once in the place of the one that it replaces. What is closed
 * without that leaves nothing; nor does a process that is killed before it, but for a flight
 * recorder's segments, which belong to no recording then.
 */
int trace_writer_commit(struct trace_writer *writer);
void trace_writer_stats(struct trace_writer *writer, struct trace_writer_stats *stats);
/* Whether an error of writing, such as stats.unwritten_error, says that there is no room, which may come back. */
bool trace_has_no_room(int err);
/* The file that number `set_aside` of those is, beside `path`. */
int trace_set_aside_path(const char *path, __u32 number, char name[PATH_MAX]);
/* Writes what is buffered, so that a reader of the file sees every call made so far. */
int trace_writer_flush(struct trace_writer *writer);
/* The same, and waits for a flight recorder's finished segments: then the stats know what became of them. */
int trace_writer_settle(struct trace_writer *writer);
/*
 * Writes what is buffered and the index, to the disk; frees. Returns the first error met by any call. A
 * recording whose stream never came to its end() stays marked as cut.
 */
int trace_writer_close(struct trace_writer *writer);

/* Whether this is a file of the flight recorder at `path`, beside that one itself. */
bool trace_has_segment(const char *path, const struct stat *file);

/* Whether this is an ordinary recording, by its header, which nobody is writing; and its size. */
bool trace_is_recording(const char *path, __u64 *bytes);
/* Likewise, and a file of our own, written or not; whatever its number (lib/base/numbered_files.h). */
bool trace_is_own_recording(const char *name, __u32 number);

struct trace_read_config {
	const char *path; /* a .flt, a flight recorder's .flt, or "-" */
	bool strict;	  /* stop at the first damage instead of skipping past it */
	bool untimed;	  /* neither events nor windows, which are not even read */
	__u32 host; /* of a merged recording the one whose stream it is, from 1; 0: it is no merged one */
};

/*
 * Pushes a recording into `sink`. Damage is skipped frame by frame and reported through a last loss();
 * then the result is -EBADMSG, after all that is readable was delivered. A recording that was cut (its
 * recorder was killed, or is still at work) is no error: loss_info.cut says so, and end() comes with the
 * last time that was seen. Likewise where the limit of memory is reached (lib/base/memory.h): the rest is
 * not read, end() comes, and memory_ran_out() tells. -EPROTO if this is no recording of a known version; other errors are the
 * sink's or of reading.
 */
int trace_read(const struct trace_read_config *config, struct stream sink);

/* One of the hosts of a merged recording; its number is its place, from 1. */
struct trace_origin {
	char name[HOST_TEXT]; /* no other of the recording has it: of a second "a" it is "a#2" */
	__u32 recording;      /* the number that its own recording had */
};

struct trace_hosts {
	struct trace_origin *all;
	size_t count; /* 0: the recording is of one host, as it was recorded */
};

/*
 * Who is in a recording. Standard input is not looked at, as if it were of one host: trace_read() refuses
 * it if it is not.
 */
int trace_hosts_read(const char *path, struct trace_hosts *hosts);
void trace_hosts_free(struct trace_hosts *hosts);
/* -EINVAL with a sentence that names them: of several hosts nobody has chosen one. */
int trace_hosts_refuse(const char *path);
/*
 * Pushes a merged recording into a sink for each of its `count` hosts (ops NULL: not asked for), in
 * wall-clock order of the frames. What each is told is what its own recording would tell, call by call: times,
 * handles, and whatever is numbered are its own.
 */
int trace_read_hosts(const struct trace_read_config *config, const struct stream *sinks,
		     size_t count);

/* What can be said about a recording without decompressing its events. */
struct trace_summary {
	struct host_info host;
	struct wall_clock clock; /* all anchors */
	__u64 first_ns;		 /* of events, aggregates and ticks; 0 if there are none */
	__u64 last_ns;
	__u64 events;
	__u64 frames;
	__u64 bytes;	       /* of the file */
	__u32 recording;       /* the number that each of its frames has */
	struct loss_info loss; /* the last, with damage and cut */
};

/* -EPROTO as trace_read(); -ESPIPE for "-". Damage is no error here: see summary->loss. */
int trace_summarize(const char *path, struct trace_summary *summary);
/* The same of each host of a merged recording: `count` of them. Free each. */
int trace_summarize_hosts(const char *path, struct trace_summary *summaries, size_t count);
void trace_summary_free(struct trace_summary *summary);

/*
 * Copies what came in [since_ns, until_ns) of a recording into a new ordinary recording that ends at until_ns,
 * or where there was no more: frames without decompressing them, but for those of events at both ends. Windows
 * are whole. Meant for flight recorders that go on recording meanwhile (trace_writer_flush() first). Host,
 * clock, probes, devices and loss come along. until_ns 0: to the end.
 */
int trace_snapshot(const char *from, const char *to, bool overwrite, __u64 since_ns,
		   __u64 until_ns);

#endif
