// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/frames.h"
#include "lib/trace/index.h"
#include "lib/trace/pack.h"
#include "lib/trace/records.h"
#include "lib/trace/store.h"
#include "lib/trace/trace.h"
#include "lib/trace/unpack.h"

struct snapshot {
	struct trace_frames frames;
	struct trace_store store;
	struct trace_index index;
	struct trace_buffer frame;
	struct trace_unpacker unpacker;
	struct kept_info kept;
	__u64 sequence;
	__u64 last_ns;
	bool has_end;
};

static int append(struct snapshot *s)
{
	const struct trace_frame_header *header = (const void *)s->frame.bytes;
	__u64 offset = s->store.written;

	s->sequence++;
	if (header->last_ns > s->last_ns)
		s->last_ns = header->last_ns;
	trace_index_add(&s->index, header, offset);
	return trace_store_append(&s->store, s->frame.bytes, s->frame.size, header->last_ns);
}

static bool is_timed(const struct trace_frame_header *header)
{
	return header->type == TRACE_EVENTS || header->type == TRACE_AGGREGATE;
}

static int take_kept(struct snapshot *s)
{
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	found = trace_frames_payload(&s->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&s->unpacker, &s->frames.header, stored, &cursor);
	if (err)
		return err == -EBADMSG ? trace_frames_reject(&s->frames) : err;
	trace_get_kept(&cursor, &s->kept);
	return 0;
}

/* What the recorder had let go, and what the snapshot leaves out of the rest. */
static int find_kept(struct snapshot *s, const char *from, __u64 since_ns)
{
	const struct trace_frame_header *header = &s->frames.header;
	int found = 0, err = trace_frames_open(&s->frames, from, false);
	bool begun = false;

	if (err)
		return err;
	while (!err && (found = trace_frames_next(&s->frames)) > 0) {
		/* The first such frame tells, the others come after events. */
		if (header->type == TRACE_KEPT && !begun)
			err = take_kept(s);
		begun |= is_timed(header);
		if (!is_timed(header) || header->last_ns >= since_ns)
			continue;
		s->kept.from_ns = since_ns;
		s->kept.events += header->type == TRACE_EVENTS ? header->count : 0;
	}
	trace_frames_close(&s->frames);
	return err ? err : found;
}

/* The payload as it is, under a header with this recording's numbers. */
static int copy_frame(struct snapshot *s, __u64 since_ns, __u64 until_ns)
{
	struct trace_frame_header header = s->frames.header;
	const __u8 *stored;
	int found;

	if (header.type == TRACE_INDEX || header.type == TRACE_KEPT ||
	    (is_timed(&header) && (header.last_ns < since_ns || header.first_ns >= until_ns)))
		return 0;
	found = trace_frames_payload(&s->frames, &stored);
	if (found <= 0)
		return found;
	header.recording = s->store.header.recording;
	header.sequence = s->sequence;
	header.flags &= (__u8)~TRACE_REPEATED;
	trace_seal(&header, stored);
	s->has_end |= header.type == TRACE_END;
	s->frame.size = 0;
	trace_buffer_put(&s->frame, &header, sizeof(header));
	trace_buffer_put(&s->frame, stored, header.stored_length);
	return s->frame.failed ? failed(-ENOMEM, "no memory for a frame") : append(s);
}

static int put_own(struct snapshot *s, __u8 type, const struct trace_buffer *raw)
{
	struct trace_frame_header header = {
		.type = type,
		.count = 1,
		.recording = s->store.header.recording,
		.sequence = s->sequence,
		.first_ns = s->last_ns,
		.last_ns = s->last_ns,
	};
	int err;

	s->frame.size = 0;
	err = trace_pack(NULL, &header, raw, NULL, &s->frame);
	return err ? err : append(s);
}

/* First of all, as in a recorder's segments: who replays it begins there. */
static int put_kept(struct snapshot *s)
{
	struct trace_buffer raw = {0};
	int err;

	if (!s->kept.from_ns)
		return 0;
	trace_put_kept(&raw, &s->kept);
	err = put_own(s, TRACE_KEPT, &raw);
	trace_buffer_free(&raw);
	return err;
}

/* A snapshot is complete in itself, so it ends where the copied frames do. */
static int finish(struct snapshot *s)
{
	struct trace_buffer raw = {0};
	int err = 0;

	if (!s->has_end) {
		trace_buffer_put_u64(&raw, s->index.last_ns);
		err = put_own(s, TRACE_END, &raw);
	}
	raw.size = 0;
	trace_put_index(&raw, &s->index);
	err = err ? err : put_own(s, TRACE_INDEX, &raw);
	trace_buffer_free(&raw);
	return err;
}

int trace_snapshot(const char *from, const char *to, bool overwrite, __u64 since_ns, __u64 until_ns)
{
	struct trace_writer_config config = {.path = to, .overwrite = overwrite};
	struct snapshot s = {.sequence = 0};
	int found = 0, err = trace_unpacker_open(&s.unpacker);

	err = err ? err : find_kept(&s, from, since_ns);
	if (!err)
		err = trace_frames_open(&s.frames, from, false);
	if (err) {
		trace_unpacker_close(&s.unpacker);
		return err;
	}
	err = trace_store_open(&s.store, &config);
	if (!err) {
		err = put_kept(&s);
		while (!err && (found = trace_frames_next(&s.frames)) > 0)
			err = copy_frame(&s, since_ns, until_ns ? until_ns : UINT64_MAX);
		err = err ? err : found;
		err = err ? err : finish(&s);
		err = err ? err : trace_store_commit(&s.store);
		found = trace_store_close(&s.store);
		err = err ? err : found;
	}
	trace_buffer_free(&s.frame);
	trace_unpacker_close(&s.unpacker);
	trace_frames_close(&s.frames);
	return err;
}
