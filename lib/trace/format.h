/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: the bytes of a .flt file. docs/flt-format.md is the specification.
 *
 * All integers are little-endian. A file is a file header, then frames; a frame is a frame header
 * and its payload. Frames are self-contained: each can be read without the ones before it.
 */
#ifndef FAULTLINE_TRACE_FORMAT_H
#define FAULTLINE_TRACE_FORMAT_H

#include <linux/types.h>

#include "bpf/event.h"

#define TRACE_FILE_MAGIC \
	"\x89"           \
	"FLT\r\n\x1a\n"		      /* eight bytes; catches text-mode transfers as PNG's does */
#define TRACE_FRAME_MAGIC 0xf54c46b5u /* bytes b5 'F' 'L' f5: not in ASCII, not valid UTF-8 */
#define TRACE_VERSION	  1
#define TRACE_VERSION_MERGED \
	2 /* frames are of several hosts: who does not know that would take them for those of one */

/* Bounds that a reader enforces before it allocates or trusts anything. */
#define TRACE_RAW_MAX	 (64u << 20)
#define TRACE_STORED_MAX (TRACE_RAW_MAX + (1u << 20))
#define TRACE_EVENTS_MAX 16384 /* events or ticks of one EVENTS frame */
#define TRACE_HOSTS_MAX	 4096  /* of one recording */

enum trace_file_flags {
	TRACE_FILE_RING = 1 << 0,    /* a flight recorder's name; frames are in its segments */
	TRACE_FILE_SEGMENT = 1 << 1, /* one of its segments */
};

struct trace_file_header {
	char magic[8];
	__u32 version;
	__u32 event_version;
	__u32 recording; /* random; every frame of the recording repeats it */
	__u32 flags;
	__u32 segment; /* number of this segment, from 1; else 0 */
	__u32 reserved;
	__u64 checksum; /* XXH3-64 of the bytes before */
};

enum trace_frame_type {
	TRACE_HOST = 1,
	TRACE_CLOCK = 2,
	TRACE_PROBE = 3,
	TRACE_DEVICE = 4,
	TRACE_EVENTS = 5,
	TRACE_AGGREGATE = 6,
	TRACE_LOSS = 7,
	TRACE_END = 8,
	TRACE_INDEX = 9,
	TRACE_STACK = 10,
	TRACE_PROCESS = 11,
	TRACE_KEPT = 12,
	TRACE_RECORDS =
		13, /* several records of other types, told again where a segment needs them */
	TRACE_FLOW = 14,
	TRACE_ORIGIN = 15, /* of a merged recording: one of its hosts */
};

enum trace_frame_flags {
	TRACE_COMPRESSED = 1 << 0, /* the payload is one zstd frame of raw_length bytes */
	TRACE_REPEATED = 1 << 1,   /* written again at the start of a segment */
	TRACE_NAMED = 1 << 2,	   /* written again because its segment uses it */
};

struct trace_frame_header {
	__u32 magic;
	__u32 recording;
	__u8 type;
	__u8 flags;
	__u16 host;	/* whose frame it is, from 1, in a merged recording; else 0 */
	__u32 count;	/* events in an EVENTS frame, else 1 */
	__u64 sequence; /* of frames, over all segments, from 0: a gap counts what is damaged */
	__u32 raw_length;
	__u32 stored_length; /* of the payload that follows */
	__u64 first_ns;	     /* least and greatest CLOCK_MONOTONIC time of the content */
	__u64 last_ns;
	__u64 payload_checksum; /* XXH3-64 of the stored payload */
	__u64 header_checksum;	/* XXH3-64 of the 56 bytes before */
};

_Static_assert(sizeof(struct trace_file_header) == 40, "layout is the file format");
_Static_assert(sizeof(struct trace_frame_header) == 64, "layout is the file format");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file format is little-endian");

#endif
