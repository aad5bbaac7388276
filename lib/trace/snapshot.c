// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/cut.h"
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
	struct trace_packer packer;
	struct trace_cut cut;
	struct trace_cuts cuts;
	struct trace_buffer raw; /* of a frame that is cut, as are `cuts` and: */
	struct trace_frame_header header;
	struct kept_info kept;
	__u64 sequence;
	__u64 last_ns;
	__u64 end_ns; /* of what there is to copy */
};

static int snapshot_append(struct snapshot *s)
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

static int take_kept(struct snapshot *s, struct trace_cursor *cursor)
{
	trace_get_kept(cursor, &s->kept);
	return 0;
}

static int take_end(struct snapshot *s, struct trace_cursor *cursor)
{
	s->end_ns = trace_cursor_u64(cursor);
	return 0;
}

/* What the current frame has of the span, in s->raw and s->header. */
static int take_cut(struct snapshot *s, struct trace_cursor *cursor)
{
	s->header = s->frames.header;
	return trace_cut_events(&s->cut, cursor, &s->header, &s->raw, &s->cuts);
}

static int snapshot_read_frame(struct snapshot *s,
			       int (*take)(struct snapshot *s, struct trace_cursor *cursor))
{
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	s->raw.size = 0;
	found = trace_frames_payload(&s->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&s->unpacker, &s->frames.header, stored, &cursor);
	err = err ? err : take(s, &cursor);
	return err == -EBADMSG ? trace_frames_reject(&s->frames) : err;
}

/* Windows are whole: one that begins before the span is not left out. */
static int snapshot_leave_out(struct snapshot *s)
{
	const struct trace_frame_header *header = &s->frames.header;
	bool events = header->type == TRACE_EVENTS;

	if ((events ? header->first_ns : header->last_ns) >= s->cut.since_ns)
		return 0;
	s->kept.from_ns = s->cut.since_ns;
	if (events && header->last_ns >= s->cut.since_ns)
		return snapshot_read_frame(s, take_cut);
	s->kept.events += events ? header->count : 0;
	return 0;
}

/* What the recorder had let go, and what the snapshot leaves out of the rest. */
static int find_kept(struct snapshot *s, const char *from)
{
	const struct trace_frame_header *header = &s->frames.header;
	int found = 0, err = trace_frames_open(&s->frames, from, false);
	bool begun = false;

	if (err)
		return err;
	while (!err && (found = trace_frames_next(&s->frames)) > 0) {
		/* The first such frame tells, the others come after events. */
		if (header->type == TRACE_KEPT && !begun)
			err = snapshot_read_frame(s, take_kept);
		begun |= is_timed(header);
		if (!err && is_timed(header))
			err = snapshot_leave_out(s);
	}
	s->kept.events += s->cut.before;
	trace_frames_close(&s->frames);
	return err ? err : found;
}

static void snapshot_number(struct snapshot *s, struct trace_frame_header *header)
{
	header->recording = s->store.header.recording;
	header->sequence = s->sequence;
	s->frame.size = 0;
}

/* The payload as it is, under a header with this recording's numbers. */
static int copy_whole(struct snapshot *s)
{
	struct trace_frame_header header = s->frames.header;
	const __u8 *stored;
	int found = trace_frames_payload(&s->frames, &stored);

	if (found <= 0)
		return found;
	snapshot_number(s, &header);
	header.flags &= (__u8)~TRACE_REPEATED;
	trace_seal(&header, stored);
	trace_buffer_put(&s->frame, &header, sizeof(header));
	trace_buffer_put(&s->frame, stored, header.stored_length);
	return s->frame.failed ? failed(-ENOMEM, "no memory for a frame") : snapshot_append(s);
}

static int copy_cut(struct snapshot *s)
{
	int err = snapshot_read_frame(s, take_cut);

	if (err || !s->raw.size)
		return err;
	snapshot_number(s, &s->header);
	s->header.flags = 0;
	err = trace_pack(&s->packer, &s->header, &s->raw, &s->cuts, &s->frame);
	return err ? err : snapshot_append(s);
}

static int copy_frame(struct snapshot *s)
{
	const struct trace_frame_header *header = &s->frames.header;
	__u64 since_ns = s->cut.since_ns, until_ns = s->cut.until_ns;

	if (header->type == TRACE_INDEX || header->type == TRACE_KEPT)
		return 0;
	if (header->type == TRACE_END)
		return snapshot_read_frame(s, take_end);
	if (!is_timed(header))
		return copy_whole(s);
	if (header->type == TRACE_EVENTS && header->last_ns > s->end_ns)
		s->end_ns = header->last_ns;
	if (header->last_ns < since_ns || header->first_ns >= until_ns)
		return 0;
	if (header->type == TRACE_EVENTS &&
	    (header->first_ns < since_ns || header->last_ns >= until_ns))
		return copy_cut(s);
	return copy_whole(s);
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
	return err ? err : snapshot_append(s);
}

/* First of all, as in a recorder's segments: who replays it begins there. */
static int snapshot_put_kept(struct snapshot *s)
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

/* A snapshot is complete in itself: it ends where its span does, or where there was no more. */
static int snapshot_finish(struct snapshot *s)
{
	__u64 end_ns = s->end_ns ? s->end_ns : s->index.last_ns;
	struct trace_buffer raw = {0};
	int err;

	trace_buffer_put_u64(&raw, end_ns < s->cut.until_ns ? end_ns : s->cut.until_ns);
	err = put_own(s, TRACE_END, &raw);
	raw.size = 0;
	trace_put_index(&raw, &s->index);
	err = err ? err : put_own(s, TRACE_INDEX, &raw);
	trace_buffer_free(&raw);
	return err;
}

static int snapshot_copy(struct snapshot *s)
{
	int found = 0, err = snapshot_put_kept(s);

	while (!err && (found = trace_frames_next(&s->frames)) > 0)
		err = copy_frame(s);
	err = err ? err : found;
	err = err ? err : snapshot_finish(s);
	return err ? err : trace_store_commit(&s->store);
}

int trace_snapshot(const char *from, const char *to, bool overwrite, __u64 since_ns, __u64 until_ns)
{
	struct trace_writer_config config = {.path = to, .overwrite = overwrite};
	struct snapshot s = {.sequence = 0};
	int err = trace_unpacker_open(&s.unpacker), closed;

	err = err ? err : trace_packer_open(&s.packer, config.level);
	err = err ? err : trace_cut_open(&s.cut, since_ns, until_ns ? until_ns : UINT64_MAX);
	err = err ? err : find_kept(&s, from);
	err = err ? err : trace_frames_open(&s.frames, from, false);
	if (!err) {
		err = trace_store_open(&s.store, &config);
		if (!err) {
			err = snapshot_copy(&s);
			closed = trace_store_close(&s.store);
			err = err ? err : closed;
		}
		trace_frames_close(&s.frames);
	}
	trace_buffer_free(&s.raw);
	trace_buffer_free(&s.frame);
	trace_cut_close(&s.cut);
	trace_packer_close(&s.packer);
	trace_unpacker_close(&s.unpacker);
	return err;
}
