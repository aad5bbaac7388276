// SPDX-License-Identifier: GPL-2.0
/* The source: frames back into the calls that made them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/trace/columns.h"
#include "lib/trace/dictionary.h"
#include "lib/trace/frames.h"
#include "lib/trace/records.h"
#include "lib/trace/trace.h"
#include "lib/trace/unpack.h"

#define MALFORMED 1	     /* unlike any errno that a sink may return */
#define TOLD_IDS  (1u << 22) /* of each type told once; there are no more pids */
#define HANDLES	  (1u << 20) /* of devices; more is no recording of ours */
#define DENSEST	  256	     /* records compress to this part of them, and not to less */
/*
 * A device is told before it is named, so a handle costs a record of its own. Of those that are not, some
 * are accepted: their frames may be damaged. Whoever names more has made them up.
 */
#define UNTOLD_MAX 256

/* What events name, each type with numbers of its own. */
enum reader_name { NAME_DEVICE, NAME_STACK, NAME_PROCESS, NAME_FLOW, NAMES };

struct reader {
	struct trace_frames frames;
	struct trace_unpacker unpacker;
	struct trace_buffer memory; /* of an aggregate */
	struct stream sink;
	__u64 first_ns, last_ns;
	struct loss_info loss;
	bool has_host;
	bool has_end;
	__u64 end_ns;
	__u32 untold[UNTOLD_MAX];
	unsigned int untold_count;
	__u32 last_known;  /* the last, which is most often the next */
	bool untimed;	   /* of trace_read_config */
	bool stopped;	   /* no more memory for what is read */
	bool repeated;	   /* the current record may have been delivered before */
	__u8 *told[NAMES]; /* a bit for each that was delivered, by enum reader_name */
	struct event *events;
};

static bool was_told(const struct reader *reader, __u32 device)
{
	return device < HANDLES && reader->told[NAME_DEVICE][device / 8] >> device % 8 & 1;
}

static bool device_is_known(struct reader *reader, __u32 device)
{
	unsigned int i = 0;

	if (device != DEVICE_NONE && !was_told(reader, device)) {
		while (i < reader->untold_count && reader->untold[i] != device)
			i++;
		if (i == UNTOLD_MAX)
			return false;
		if (i == reader->untold_count)
			reader->untold[reader->untold_count++] = device;
	}
	reader->last_known = device;
	return true;
}

static int push_events(struct reader *reader, const struct event *events, size_t count)
{
	return count ? stream_events(reader->sink, events, count) : 0;
}

struct ticks {
	struct trace_columns columns;
	struct trace_tick block[TRACE_BLOCK];
	size_t have;
	size_t next;
};

/* The next tick without taking it, NULL after the last. */
static const struct trace_tick *peek_tick(struct ticks *ticks)
{
	if (ticks->next == ticks->have) {
		ticks->have = trace_columns_next(&ticks->columns, ticks->block);
		ticks->next = 0;
	}
	return ticks->have ? &ticks->block[ticks->next] : NULL;
}

static int push_tick(struct reader *reader, struct ticks *ticks)
{
	__u64 now_ns = ticks->block[ticks->next++].now_ns;

	return reader->sink.ops->tick ? reader->sink.ops->tick(reader->sink.self, now_ns) : 0;
}

/* Events and ticks of one frame, in the order in which they were written. */
static int push_frame(struct reader *reader, struct trace_columns *columns, struct ticks *ticks)
{
	const struct trace_tick *tick;
	size_t start = 0, n;
	int err = 0;

	do {
		size_t done = 0;

		n = trace_columns_next(columns, reader->events);
		for (size_t i = 0; i < n; i++)
			if (reader->events[i].device != reader->last_known &&
			    !device_is_known(reader, reader->events[i].device))
				return MALFORMED;
		while (!err && (tick = peek_tick(ticks)) && tick->position < start + n) {
			size_t at = tick->position > start + done ? (size_t)tick->position - start
								  : done;

			err = push_events(reader, reader->events + done, at - done);
			done = at;
			err = err ? err : push_tick(reader, ticks);
		}
		err = err ? err : push_events(reader, reader->events + done, n - done);
		start += n;
	} while (n && !err);
	while (!err && peek_tick(ticks))
		err = push_tick(reader, ticks);
	return err;
}

static int read_events(struct reader *reader, struct trace_cursor *cursor)
{
	const struct trace_frame_header *header = &reader->frames.header;
	struct trace_columns columns;
	struct ticks ticks = {0};
	__u32 tick_count = trace_cursor_u32(cursor);

	if (header->count > TRACE_EVENTS_MAX || tick_count > TRACE_EVENTS_MAX ||
	    trace_columns_open(&columns, &trace_event_layout, header->count, cursor) ||
	    trace_columns_open(&ticks.columns, &trace_tick_layout, tick_count, cursor))
		return MALFORMED;
	return push_frame(reader, &columns, &ticks);
}

/* What is repeated is told to those who have not heard it: its first telling may be gone. */
static bool reader_told_before(struct reader *reader, enum reader_name name, __u32 id)
{
	__u8 *byte = reader->told[name] + id / 8, bit = (__u8)(1 << id % 8);
	bool told;

	if (id >= TOLD_IDS)
		return false;
	told = *byte & bit;
	*byte |= bit;
	return told && reader->repeated;
}

static int read_host(struct reader *reader, struct trace_cursor *cursor)
{
	struct host_info host;

	trace_get_host(cursor, &host);
	if (reader->repeated && reader->has_host)
		return 0;
	reader->has_host = true;
	return reader->sink.ops->host ? reader->sink.ops->host(reader->sink.self, &host) : 0;
}

static int read_device(struct reader *reader, struct trace_cursor *cursor)
{
	struct device_info device;

	trace_get_device(cursor, &device);
	if (reader_told_before(reader, NAME_DEVICE, device.handle))
		return 0;
	return reader->sink.ops->device ? reader->sink.ops->device(reader->sink.self, &device) : 0;
}

static bool devices_are_known(struct reader *reader, const struct aggregate_frame *frame)
{
	for (size_t i = 0; i < frame->row_count; i++)
		if (!device_is_known(reader, frame->rows[i].key.device))
			return false;
	for (size_t i = 0; i < frame->page_count; i++)
		if (!device_is_known(reader, frame->pages[i].device))
			return false;
	return true;
}

static int read_aggregate(struct reader *reader, struct trace_cursor *cursor)
{
	struct aggregate_frame frame;
	int err = trace_get_aggregate(cursor, &frame, &reader->memory);

	if (err)
		return err == -EBADMSG ? MALFORMED : err;
	if (!devices_are_known(reader, &frame))
		return MALFORMED;
	if (!reader->sink.ops->aggregate)
		return 0;
	return reader->sink.ops->aggregate(reader->sink.self, &frame);
}

static int read_stack(struct reader *reader, struct trace_cursor *cursor)
{
	const struct stream *sink = &reader->sink;
	struct stack_info stack;

	trace_get_stack(cursor, &stack);
	if (reader_told_before(reader, NAME_STACK, stack.id))
		return 0;
	return sink->ops->stack ? sink->ops->stack(sink->self, &stack) : 0;
}

static int read_process(struct reader *reader, struct trace_cursor *cursor)
{
	const struct stream *sink = &reader->sink;
	struct process_info process;

	trace_get_process(cursor, &process);
	if (reader_told_before(reader, NAME_PROCESS, process.pid))
		return 0;
	return sink->ops->process ? sink->ops->process(sink->self, &process) : 0;
}

static int read_flow(struct reader *reader, struct trace_cursor *cursor)
{
	const struct stream *sink = &reader->sink;
	struct flow_info flow;

	trace_get_flow(cursor, &flow);
	if (reader_told_before(reader, NAME_FLOW, flow.id))
		return 0;
	return sink->ops->flow ? sink->ops->flow(sink->self, &flow) : 0;
}

static int read_kept(struct reader *reader, struct trace_cursor *cursor)
{
	const struct stream *sink = &reader->sink;
	struct kept_info kept;

	/* After damage a later segment's is repeated, too; what it let go has been read. */
	if (reader->repeated && reader->last_ns)
		return 0;
	trace_get_kept(cursor, &kept);
	return sink->ops->kept ? sink->ops->kept(sink->self, &kept) : 0;
}

static int read_record(struct reader *reader, __u8 type, struct trace_cursor *cursor)
{
	const struct stream_ops *ops = reader->sink.ops;
	void *self = reader->sink.self;
	struct clock_anchor anchor;
	struct probe_info probe;

	switch (type) {
	case TRACE_HOST:
		return read_host(reader, cursor);
	case TRACE_CLOCK:
		trace_get_clock(cursor, &anchor);
		return ops->clock ? ops->clock(self, &anchor) : 0;
	case TRACE_PROBE:
		trace_get_probe(cursor, &probe);
		return ops->probe ? ops->probe(self, &probe) : 0;
	case TRACE_DEVICE:
		return read_device(reader, cursor);
	case TRACE_STACK:
		return read_stack(reader, cursor);
	case TRACE_PROCESS:
		return read_process(reader, cursor);
	case TRACE_FLOW:
		return read_flow(reader, cursor);
	case TRACE_LOSS:
		trace_get_loss(cursor, &reader->loss);
		reader->loss.as_of_ns = reader->frames.header.last_ns;
		return ops->loss ? ops->loss(self, &reader->loss) : 0;
	case TRACE_KEPT:
		return read_kept(reader, cursor);
	case TRACE_END:
		reader->has_end = true;
		reader->end_ns = trace_cursor_u64(cursor);
		return 0;
	default:
		return 0; /* the index, or what a later version has added */
	}
}

static int read_records(struct reader *reader, struct trace_cursor *cursor)
{
	const struct trace_frame_header *header = &reader->frames.header;
	struct trace_cursor record;
	int err = 0;
	__u8 type;

	/* What a file makes us remember is bounded by what it has. */
	if (header->raw_length / DENSEST > header->stored_length)
		return MALFORMED;
	while (!err && cursor->left) {
		if (!trace_get_record(cursor, &type, &record))
			return MALFORMED;
		err = read_record(reader, type, &record);
	}
	return err;
}

static int read_payload(struct reader *reader, struct trace_cursor *cursor)
{
	const struct trace_frame_header *header = &reader->frames.header;

	reader->repeated = header->flags & (TRACE_REPEATED | TRACE_NAMED);
	switch (header->type) {
	case TRACE_EVENTS:
		return read_events(reader, cursor);
	case TRACE_AGGREGATE:
		return read_aggregate(reader, cursor);
	case TRACE_RECORDS:
		return read_records(reader, cursor);
	default:
		return read_record(reader, header->type, cursor);
	}
}

static int reader_read_frame(struct reader *reader)
{
	const struct trace_frame_header *header = &reader->frames.header;
	bool timed = header->type == TRACE_EVENTS || header->type == TRACE_AGGREGATE;
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	if (timed && !reader->first_ns)
		reader->first_ns = header->first_ns;
	if (timed && header->last_ns > reader->last_ns)
		reader->last_ns = header->last_ns;
	if (header->type == TRACE_INDEX || (timed && reader->untimed))
		return 0;
	found = trace_frames_payload(&reader->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&reader->unpacker, header, stored, &cursor);
	if (err == -EBADMSG)
		return trace_frames_reject(&reader->frames);
	err = err ? err : read_payload(reader, &cursor);
	return err == MALFORMED ? trace_frames_reject(&reader->frames) : err;
}

/* What reading itself found out, and the end. */
static int reader_finish(struct reader *reader)
{
	const struct stream_ops *ops = reader->sink.ops;
	__u64 end_ns = reader->has_end ? reader->end_ns : reader->last_ns;
	int err = 0;

	reader->loss.damaged_bytes += reader->frames.damaged_bytes;
	reader->loss.damaged_frames += reader->frames.damaged_frames;
	reader->loss.cut = !reader->has_end && !reader->stopped;
	if (reader->loss.cut && end_ns > reader->loss.as_of_ns)
		reader->loss.unaccounted_ns = end_ns - (reader->loss.as_of_ns ?: reader->first_ns);
	if ((reader->frames.damaged_bytes || reader->frames.damaged_frames || reader->loss.cut) &&
	    ops->loss)
		err = ops->loss(reader->sink.self, &reader->loss);
	if (!err && ops->end)
		err = ops->end(reader->sink.self, end_ns);
	if (err || !reader->frames.damaged)
		return err;
	return failed(-EBADMSG, "%s: is damaged: %llu bytes were skipped, %llu frames are lost",
		      reader->frames.path, (unsigned long long)reader->frames.damaged_bytes,
		      (unsigned long long)reader->frames.damaged_frames);
}

static int reader_read_all(struct reader *reader)
{
	int found, err = 0;

	while (!err) {
		found = trace_frames_next(&reader->frames);
		if (found <= 0)
			return found ? found : reader_finish(reader);
		err = reader_read_frame(reader);
		reader->stopped = !err && memory_ran_out();
		if (reader->stopped)
			return reader_finish(reader);
	}
	return err;
}

int trace_read(const struct trace_read_config *config, struct stream sink)
{
	struct reader reader = {
		.sink = sink,
		.untimed = config->untimed,
	};
	int err = trace_frames_open(&reader.frames, config->path, config->strict);
	bool room = true;

	if (err)
		return err;
	for (size_t i = 0; i < NAMES; i++)
		room &= (reader.told[i] = calloc(1, TOLD_IDS / 8)) != NULL;
	reader.events = calloc(TRACE_BLOCK, sizeof(*reader.events));
	err = trace_unpacker_open(&reader.unpacker);
	if (!err && (!room || !reader.events))
		err = failed(-ENOMEM, "no memory to read a recording");
	err = err ? err : reader_read_all(&reader);
	trace_unpacker_close(&reader.unpacker);
	trace_buffer_free(&reader.memory);
	for (size_t i = 0; i < NAMES; i++)
		free(reader.told[i]);
	free(reader.events);
	trace_frames_close(&reader.frames);
	return err;
}
