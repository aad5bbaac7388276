// SPDX-License-Identifier: GPL-2.0
/* The recorder: buffers events and ticks, turns everything else into frames at once. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/columns.h"
#include "lib/trace/output.h"
#include "lib/trace/records.h"

#define FLUSH_NS 500000000ull

struct trace_writer {
	struct trace_output output;
	struct trace_buffer raw; /* payload before compression */
	struct trace_buffer scratch;
	struct trace_cuts cuts;
	__u64 incomplete;
	__u64 flush_ns;
	__u64 flushed_ns; /* when the oldest buffered call can have been made at the earliest */
	size_t events_max;
	size_t event_count;
	size_t tick_count;
	__u64 *column; /* room to encode a column */
	struct event *events;
	struct trace_tick *ticks;
	int error;
	char sentence[512];
};

static int writer_keep_error(struct trace_writer *writer, int err)
{
	if (err && !writer->error) {
		writer->error = err;
		snprintf(writer->sentence, sizeof(writer->sentence), "%s", failure_text());
	}
	return writer->error;
}

static struct trace_frame_header header_of(const struct trace_writer *writer, __u8 type)
{
	return (struct trace_frame_header){
		.type = type,
		.recording = writer->output.store.header.recording,
		.count = 1,
		.first_ns = writer->output.now_ns,
		.last_ns = writer->output.now_ns,
	};
}

static void times_of(const struct trace_writer *writer, struct trace_frame_header *header)
{
	__u64 first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < writer->event_count; i++) {
		__u64 time = writer->events[i].time_ns;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	for (size_t i = 0; i < writer->tick_count; i++) {
		__u64 time = writer->ticks[i].now_ns;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	header->first_ns = first;
	header->last_ns = last;
}

int trace_writer_flush(struct trace_writer *writer)
{
	struct trace_frame_header header = header_of(writer, TRACE_EVENTS);
	const struct trace_content content = {
		.raw = &writer->raw, .cuts = &writer->cuts, .events = writer->events};
	int err;

	if (writer->error || (!writer->event_count && !writer->tick_count))
		return writer->error;
	writer->raw.size = 0;
	writer->cuts.count = 0;
	header.count = (__u32)writer->event_count;
	times_of(writer, &header);
	trace_buffer_put_u32(&writer->raw, (__u32)writer->tick_count);
	trace_columns_encode(&trace_event_layout, writer->events, writer->event_count,
			     writer->column, &writer->raw, &writer->cuts);
	trace_columns_encode(&trace_tick_layout, writer->ticks, writer->tick_count, writer->column,
			     &writer->raw, NULL);
	err = writer_keep_error(writer, trace_output_put(&writer->output, &header, &content));
	writer->event_count = 0;
	writer->tick_count = 0;
	return err;
}

int trace_writer_settle(struct trace_writer *writer)
{
	int err = trace_writer_flush(writer);

	trace_sync_wait(&writer->output.store.sync);
	return err;
}

/* Called once per call that buffers. */
static int flush_if_due(struct trace_writer *writer)
{
	__u64 now = monotonic_ns();

	if (now - writer->flushed_ns < writer->flush_ns)
		return writer->error;
	writer->flushed_ns = now;
	return trace_writer_flush(writer);
}

static void writer_advance(struct trace_writer *writer, __u64 time_ns)
{
	if (time_ns > writer->output.now_ns)
		writer->output.now_ns = time_ns;
}

static int write_events(void *self, const struct event *events, size_t count)
{
	struct trace_writer *writer = self;

	while (count && !writer->error) {
		size_t room = writer->events_max - writer->event_count;
		size_t n = count < room ? count : room;

		memcpy(writer->events + writer->event_count, events, n * sizeof(*events));
		writer->event_count += n;
		events += n;
		count -= n;
		writer_advance(writer, events[-1].time_ns);
		if (writer->event_count == writer->events_max)
			trace_writer_flush(writer);
	}
	return flush_if_due(writer);
}

static int write_tick(void *self, __u64 now_ns)
{
	struct trace_writer *writer = self;

	writer->ticks[writer->tick_count++] = (struct trace_tick){writer->event_count, now_ns};
	writer_advance(writer, now_ns);
	if (writer->tick_count == writer->events_max)
		trace_writer_flush(writer);
	return flush_if_due(writer);
}

/* Empties the buffer, so that order is kept, and readies writer->raw for a payload. */
static int begin_record(struct trace_writer *writer)
{
	writer->raw.size = 0;
	if (trace_writer_flush(writer))
		return writer->error;
	writer->raw.size = 0;
	return 0;
}

static int end_record(struct trace_writer *writer, __u8 type)
{
	struct trace_frame_header header = header_of(writer, type);
	const struct trace_content content = {.raw = &writer->raw};

	return writer_keep_error(writer, trace_output_put(&writer->output, &header, &content));
}

static int trace_write_host(void *self, const struct host_info *host)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	writer_advance(writer, host->start_ns);
	writer->output.preamble.host = *host;
	writer->output.preamble.has_host = true;
	trace_put_host(&writer->raw, host);
	return end_record(writer, TRACE_HOST);
}

static int write_clock(void *self, const struct clock_anchor *anchor)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	writer_advance(writer, anchor->monotonic_ns);
	writer->output.preamble.anchor = *anchor;
	writer->output.preamble.has_anchor = true;
	trace_put_clock(&writer->raw, anchor);
	return end_record(writer, TRACE_CLOCK);
}

static int write_probe(void *self, const struct probe_info *probe)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	if (writer->output.store.ring &&
	    writer_keep_error(writer, trace_preamble_probe(&writer->output.preamble, probe)))
		return writer->error;
	trace_put_probe(&writer->raw, probe);
	return end_record(writer, TRACE_PROBE);
}

/* What events name needs no order among events that do not. */
static int begin_name(struct trace_writer *writer)
{
	if (!writer->output.store.ring)
		return begin_record(writer);
	writer->raw.size = 0;
	return writer->error;
}

/* One that events name. A flight recorder's go with the next frame, and again with what uses them. */
static int end_name(struct trace_writer *writer, __u8 type, __u32 id)
{
	if (!writer->output.store.ring)
		return end_record(writer, type);
	return writer_keep_error(
		writer, trace_dictionary_put(&writer->output.dictionary, type, id, &writer->raw));
}

static int write_device(void *self, const struct device_info *device)
{
	struct trace_writer *writer = self;

	if (begin_name(writer))
		return writer->error;
	trace_put_device(&writer->raw, device);
	return end_name(writer, TRACE_DEVICE, device->handle);
}

static int write_stack(void *self, const struct stack_info *stack)
{
	struct trace_writer *writer = self;

	if (begin_name(writer))
		return writer->error;
	trace_put_stack(&writer->raw, stack);
	return end_name(writer, TRACE_STACK, stack->id);
}

static int write_process(void *self, const struct process_info *process)
{
	struct trace_writer *writer = self;

	if (begin_name(writer))
		return writer->error;
	trace_put_process(&writer->raw, process);
	return end_name(writer, TRACE_PROCESS, process->pid);
}

static int write_flow(void *self, const struct flow_info *flow)
{
	struct trace_writer *writer = self;

	if (begin_name(writer))
		return writer->error;
	trace_put_flow(&writer->raw, flow);
	return end_name(writer, TRACE_FLOW, flow->id);
}

static int write_loss(void *self, const struct loss_info *loss)
{
	struct trace_writer *writer = self;
	struct loss_info told = *loss;

	if (begin_record(writer))
		return writer->error;
	told.unwritten_events += writer->output.unwritten_events;
	told.unwritten_windows += writer->output.unwritten_windows;
	writer->output.preamble.loss = *loss;
	writer->output.preamble.has_loss = true;
	trace_put_loss(&writer->raw, &told);
	return end_record(writer, TRACE_LOSS);
}

static int write_kept(void *self, const struct kept_info *kept)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	trace_put_kept(&writer->raw, kept);
	return end_record(writer, TRACE_KEPT);
}

/* The first half of its pages, or without any of its rows. */
static bool frame_halve(struct aggregate_frame *frame)
{
	bool more = frame->page_count || frame->row_count;

	frame->incomplete = true;
	if (frame->page_count) {
		frame->page_count /= 2;
		return true;
	}
	frame->row_count /= 2;
	frame->bin_count = 0;
	for (size_t i = 0; i < frame->row_count; i++) {
		size_t end = frame->rows[i].histogram + frame->rows[i].bins;

		frame->bin_count = end > frame->bin_count ? end : frame->bin_count;
	}
	return more;
}

/* What is too large for a recorder is cut until it fits: its counts are floors then. */
static int put_window(struct trace_writer *writer, struct aggregate_frame *frame)
{
	const struct trace_content content = {.raw = &writer->raw, .frame = frame};
	int err;

	do {
		struct trace_frame_header header = header_of(writer, TRACE_AGGREGATE);

		header.first_ns = frame->window * AGGREGATE_WINDOW_NS;
		header.last_ns = header.first_ns + AGGREGATE_WINDOW_NS - 1;
		writer_advance(writer, header.first_ns);
		writer->raw.size = 0;
		err = trace_put_aggregate(&writer->raw, frame, &writer->scratch)
			      ?: trace_output_put(&writer->output, &header, &content);
	} while (err == -E2BIG && frame_halve(frame));
	return writer_keep_error(writer, err);
}

static int write_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct aggregate_frame kept = *frame;
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	if (kept.page_count > AGGREGATE_PAGES_MAX) {
		kept.page_count = AGGREGATE_PAGES_MAX;
		kept.incomplete = true;
	}
	put_window(writer, &kept);
	writer->incomplete += kept.incomplete;
	return writer->error;
}

static int write_end(void *self, __u64 end_ns)
{
	struct trace_writer *writer = self;

	writer->output.ending = true;
	if (begin_record(writer))
		return writer->error;
	writer_advance(writer, end_ns);
	trace_buffer_put_u64(&writer->raw, end_ns);
	return end_record(writer, TRACE_END);
}

static const struct stream_ops writer_ops = {
	.host = trace_write_host,
	.clock = write_clock,
	.probe = write_probe,
	.device = write_device,
	.stack = write_stack,
	.process = write_process,
	.flow = write_flow,
	.events = write_events,
	.aggregate = write_aggregate,
	.loss = write_loss,
	.kept = write_kept,
	.tick = write_tick,
	.end = write_end,
};

struct stream trace_writer_stream(struct trace_writer *writer)
{
	return (struct stream){&writer_ops, writer};
}

static void free_writer(struct trace_writer *writer)
{
	trace_buffer_free(&writer->raw);
	trace_buffer_free(&writer->scratch);
	free(writer->column);
	free(writer->events);
	free(writer->ticks);
	free(writer);
}

/* A small ring takes small frames, so that its segments hold several. */
static size_t events_per_frame(const struct trace_writer_config *config)
{
	__u64 most = config->max_bytes / TRACE_RING_PARTS / (2 * sizeof(struct event));

	return config->max_bytes && most < TRACE_EVENTS_MAX ? (size_t)most : TRACE_EVENTS_MAX;
}

int trace_writer_open(struct trace_writer **writer, const struct trace_writer_config *config)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return failed(-ENOMEM, "no memory for the recorder");
	w->flush_ns = config->flush_ns ? config->flush_ns : FLUSH_NS;
	w->flushed_ns = monotonic_ns();
	w->events_max = events_per_frame(config);
	w->column = calloc(2 * w->events_max, sizeof(*w->column));
	w->events = calloc(w->events_max, sizeof(*w->events));
	w->ticks = calloc(w->events_max, sizeof(*w->ticks));
	if (!w->column || !w->events || !w->ticks)
		err = failed(-ENOMEM, "no memory for the recorder's buffers");
	else
		err = trace_output_open(&w->output, config);
	if (err) {
		free_writer(w);
		return err;
	}
	*writer = w;
	return 0;
}

int trace_writer_commit(struct trace_writer *writer)
{
	return writer_keep_error(writer,
				 writer->error ?: trace_store_commit(&writer->output.store));
}

void trace_writer_stats(struct trace_writer *writer, struct trace_writer_stats *stats)
{
	trace_output_stats(&writer->output, stats);
	stats->events += writer->event_count;
	stats->incomplete_windows = writer->incomplete;
}

int trace_writer_close(struct trace_writer *writer)
{
	int err;

	if (!writer)
		return 0;
	if (!begin_record(writer) && !writer->output.store.ring) {
		trace_put_index(&writer->raw, &writer->output.index);
		end_record(writer, TRACE_INDEX);
	}
	writer_keep_error(writer, trace_output_close(&writer->output));
	err = writer->error;
	if (err)
		failed(err, "%s", writer->sentence);
	free_writer(writer);
	return err;
}
