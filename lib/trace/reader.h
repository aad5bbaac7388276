/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: what is known while a recording is read: of the file, and of each host that is in it. */
#ifndef FAULTLINE_TRACE_READER_H
#define FAULTLINE_TRACE_READER_H

#include "lib/trace/columns.h"
#include "lib/trace/frames.h"
#include "lib/trace/trace.h"
#include "lib/trace/unpack.h"

#define TRACE_MALFORMED 1	   /* unlike any errno that a sink may return */
#define TOLD_IDS	(1u << 22) /* of each type told once; there are no more pids */
#define HANDLES		(1u << 20) /* of devices; more is no recording of ours */
/*
 * A device is told before it is named, so a handle costs a record of its own. Of those that are not, some
 * are accepted: their frames may be damaged. Whoever names more has made them up.
 */
#define UNTOLD_MAX 256

/* What events name, each type with numbers of its own. */
enum reader_name { NAME_DEVICE, NAME_STACK, NAME_PROCESS, NAME_FLOW, NAMES };

/* Of the file. */
struct reading {
	struct trace_frames frames;
	struct trace_unpacker unpacker;
	struct trace_buffer memory; /* of an aggregate */
	struct event *events;
	bool untimed;  /* of trace_read_config */
	bool of_hosts; /* of a merged recording those asked for, by their numbers */
	bool stopped;  /* no more memory for what is read */
};

/* Of a host: nothing that its frames say means anything in those of another. */
struct reader {
	struct reading *shared;
	struct stream sink; /* without calls: nobody asked for this host */
	__u64 first_ns, last_ns;
	struct loss_info loss;
	bool has_host;
	bool has_end;
	__u64 end_ns;
	__u32 untold[UNTOLD_MAX];
	unsigned int untold_count;
	__u32 last_known;  /* the last, which is most often the next */
	bool repeated;	   /* the current record may have been delivered before */
	__u8 *told[NAMES]; /* a bit for each that was delivered, by enum reader_name */
};

/* The calls of the current frame: 0, TRACE_MALFORMED, or what the sink returned. */
int trace_deliver(struct reader *reader, struct trace_cursor *cursor);

#endif
