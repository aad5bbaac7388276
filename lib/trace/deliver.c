// SPDX-License-Identifier: GPL-2.0
/* One frame back into the calls that made it. */
#include <errno.h>
#include <stdlib.h>

#include "lib/trace/dictionary.h"
#include "lib/trace/reader.h"
#include "lib/trace/records.h"

#define DENSEST 256 /* records compress to this part of them, and not to less */

static bool was_told(const struct reader *reader, __u32 device)
{
	const __u8 *told = reader->told[NAME_DEVICE];

	return told && device < HANDLES && told[device / 8] >> device % 8 & 1;
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

		n = trace_columns_next(columns, reader->shared->events);
		for (size_t i = 0; i < n; i++)
			if (reader->shared->events[i].device != reader->last_known &&
			    !device_is_known(reader, reader->shared->events[i].device))
				return TRACE_MALFORMED;
		while (!err && (tick = peek_tick(ticks)) && tick->position < start + n) {
			size_t at = tick->position > start + done ? (size_t)tick->position - start
								  : done;

			err = push_events(reader, reader->shared->events + done, at - done);
			done = at;
			err = err ? err : push_tick(reader, ticks);
		}
		err = err ? err : push_events(reader, reader->shared->events + done, n - done);
		start += n;
	} while (n && !err);
	while (!err && peek_tick(ticks))
		err = push_tick(reader, ticks);
	return err;
}

static int read_events(struct reader *reader, struct trace_cursor *cursor)
{
	const struct trace_frame_header *header = &reader->shared->frames.header;
	struct trace_columns columns;
	struct ticks ticks = {0};
	__u32 tick_count = trace_cursor_u32(cursor);

	if (header->count > TRACE_EVENTS_MAX || tick_count > TRACE_EVENTS_MAX ||
	    trace_columns_open(&columns, &trace_event_layout, header->count, cursor) ||
	    trace_columns_open(&ticks.columns, &trace_tick_layout, tick_count, cursor))
		return TRACE_MALFORMED;
	return push_frame(reader, &columns, &ticks);
}

/* What is repeated is told to those who have not heard it: its first telling may be gone. */
static bool reader_told_before(struct reader *reader, enum reader_name name, __u32 id)
{
	__u8 *byte, bit = (__u8)(1 << id % 8);
	bool told;

	/* Of the many hosts of a recording most name little; without memory it is told again. */
	if (id < TOLD_IDS && !reader->told[name])
		reader->told[name] = calloc(1, TOLD_IDS / 8);
	if (id >= TOLD_IDS || !reader->told[name])
		return false;
	byte = reader->told[name] + id / 8;
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
	int err = trace_get_aggregate(cursor, &frame, &reader->shared->memory);

	if (err)
		return err == -EBADMSG ? TRACE_MALFORMED : err;
	if (!devices_are_known(reader, &frame))
		return TRACE_MALFORMED;
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
		reader->loss.as_of_ns = reader->shared->frames.header.last_ns;
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
	const struct trace_frame_header *header = &reader->shared->frames.header;
	struct trace_cursor record;
	int err = 0;
	__u8 type;

	/* What a file makes us remember is bounded by what it has. */
	if (header->raw_length / DENSEST > header->stored_length)
		return TRACE_MALFORMED;
	while (!err && cursor->left) {
		if (!trace_get_record(cursor, &type, &record))
			return TRACE_MALFORMED;
		err = read_record(reader, type, &record);
	}
	return err;
}

int trace_deliver(struct reader *reader, struct trace_cursor *cursor)
{
	const struct trace_frame_header *header = &reader->shared->frames.header;

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
