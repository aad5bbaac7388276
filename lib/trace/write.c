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
#include "lib/trace/index.h"
#include "lib/trace/pack.h"
#include "lib/trace/preamble.h"
#include "lib/trace/records.h"
#include "lib/trace/store.h"

#define FLUSH_NS 500000000ull

struct trace_writer {
	struct trace_store store;
	struct trace_packer packer;
	struct trace_preamble preamble;
	struct trace_index index;
	struct trace_buffer raw;   /* payload before compression */
	struct trace_buffer frame; /* what one write() takes */
	struct trace_buffer scratch;
	struct trace_cuts cuts;
	__u64 sequence;
	__u64 events_written;
	__u64 segments; /* begun before the current one */
	__u64 incomplete;
	__u64 flush_ns;
	__u64 flushed_ns; /* when the oldest buffered call can have been made at the earliest */
	__u64 now_ns;	  /* greatest time seen in the stream */
	size_t events_max;
	size_t event_count;
	size_t tick_count;
	__u64 *column; /* room to encode a column */
	struct event *events;
	struct trace_tick *ticks;
	int error;
	char sentence[512];
};

static int keep(struct trace_writer *writer, int err)
{
	if (err && !writer->error) {
		writer->error = err;
		snprintf(writer->sentence, sizeof(writer->sentence), "%s", failure_text());
	}
	return writer->error;
}

static struct trace_frame_header header_of(const struct trace_writer *writer, __u8 type, __u8 flags)
{
	return (struct trace_frame_header){
		.type = type,
		.flags = flags,
		.recording = writer->store.header.recording,
		.count = 1,
		.sequence = writer->sequence,
		.first_ns = writer->now_ns,
		.last_ns = writer->now_ns,
	};
}

static int put_repeated(void *self, __u8 type, const struct trace_buffer *payload)
{
	struct trace_writer *writer = self;
	struct trace_frame_header header = header_of(writer, type, TRACE_REPEATED);

	writer->sequence++;
	return trace_pack(&writer->packer, &header, payload, NULL, &writer->frame);
}

/* What is let go should the new segment become the oldest: all that was written before it. */
static int put_kept(struct trace_writer *writer, __u64 from_ns)
{
	struct kept_info *kept = &writer->store.newest->kept;

	*kept = (struct kept_info){
		.from_ns = from_ns,
		.segments = ++writer->segments,
		.events = writer->events_written,
	};
	writer->scratch.size = 0;
	trace_put_kept(&writer->scratch, kept);
	return put_repeated(writer, TRACE_KEPT, &writer->scratch);
}

/* Starts a segment that can be read without those before it. */
static int next_segment(struct trace_writer *writer)
{
	__u64 before_ns = writer->store.newest->last_ns;
	int err = trace_store_next_segment(&writer->store, writer->now_ns);

	writer->frame.size = 0;
	err = err ? err : put_kept(writer, before_ns);
	err = err ? err
		  : trace_preamble_each(&writer->preamble, &writer->scratch, put_repeated, writer);
	if (err || !writer->frame.size)
		return err;
	return trace_store_append(&writer->store, writer->frame.bytes, writer->frame.size,
				  writer->now_ns);
}

/* Packs writer->raw as one frame and appends it. */
static int put_frame(struct trace_writer *writer, struct trace_frame_header *header,
		     const struct trace_cuts *cuts)
{
	struct trace_packer *packer = header->type == TRACE_INDEX ? NULL : &writer->packer;
	struct trace_store *store = &writer->store;
	__u64 offset, last_ns;
	int err;

	writer->frame.size = 0;
	header->sequence = writer->sequence;
	err = trace_pack(packer, header, &writer->raw, cuts, &writer->frame);
	if (!err && trace_store_segment_is_full(store, writer->frame.size, writer->now_ns)) {
		err = next_segment(writer);
		/* Packed again, now with the number that follows the new segment's start. */
		writer->frame.size = 0;
		header->sequence = writer->sequence;
		header->flags &= (__u8)~TRACE_COMPRESSED;
		err = err ? err : trace_pack(packer, header, &writer->raw, cuts, &writer->frame);
	}
	offset = store->written;
	/* A window that is closed before its second is over reaches beyond now: nothing is older for it. */
	last_ns = header->last_ns < writer->now_ns ? header->last_ns : writer->now_ns;
	err = err ? err
		  : trace_store_append(store, writer->frame.bytes, writer->frame.size, last_ns);
	if (err)
		return keep(writer, err);
	writer->sequence++;
	trace_index_add(&writer->index, header, offset);
	return 0;
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
	struct trace_frame_header header = header_of(writer, TRACE_EVENTS, 0);
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
	err = put_frame(writer, &header, &writer->cuts);
	writer->events_written += writer->event_count;
	writer->event_count = 0;
	writer->tick_count = 0;
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

static void advance(struct trace_writer *writer, __u64 time_ns)
{
	if (time_ns > writer->now_ns)
		writer->now_ns = time_ns;
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
		advance(writer, events[-1].time_ns);
		if (writer->event_count == writer->events_max)
			trace_writer_flush(writer);
	}
	return flush_if_due(writer);
}

static int write_tick(void *self, __u64 now_ns)
{
	struct trace_writer *writer = self;

	writer->ticks[writer->tick_count++] = (struct trace_tick){writer->event_count, now_ns};
	advance(writer, now_ns);
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
	struct trace_frame_header header = header_of(writer, type, 0);

	return put_frame(writer, &header, NULL);
}

static int write_host(void *self, const struct host_info *host)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	advance(writer, host->start_ns);
	writer->preamble.host = *host;
	writer->preamble.has_host = true;
	trace_put_host(&writer->raw, host);
	return end_record(writer, TRACE_HOST);
}

static int write_clock(void *self, const struct clock_anchor *anchor)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	advance(writer, anchor->monotonic_ns);
	writer->preamble.anchor = *anchor;
	writer->preamble.has_anchor = true;
	trace_put_clock(&writer->raw, anchor);
	return end_record(writer, TRACE_CLOCK);
}

static int write_probe(void *self, const struct probe_info *probe)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	if (writer->store.ring && keep(writer, trace_preamble_probe(&writer->preamble, probe)))
		return writer->error;
	trace_put_probe(&writer->raw, probe);
	return end_record(writer, TRACE_PROBE);
}

static int write_device(void *self, const struct device_info *device)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	if (writer->store.ring && keep(writer, trace_preamble_device(&writer->preamble, device)))
		return writer->error;
	trace_put_device(&writer->raw, device);
	return end_record(writer, TRACE_DEVICE);
}

static int write_stack(void *self, const struct stack_info *stack)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	trace_put_stack(&writer->raw, stack);
	if (writer->store.ring &&
	    keep(writer, trace_preamble_record(&writer->preamble, TRACE_STACK, &writer->raw)))
		return writer->error;
	return end_record(writer, TRACE_STACK);
}

static int write_process(void *self, const struct process_info *process)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	trace_put_process(&writer->raw, process);
	if (writer->store.ring &&
	    keep(writer, trace_preamble_record(&writer->preamble, TRACE_PROCESS, &writer->raw)))
		return writer->error;
	return end_record(writer, TRACE_PROCESS);
}

static int write_loss(void *self, const struct loss_info *loss)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	writer->preamble.loss = *loss;
	writer->preamble.has_loss = true;
	trace_put_loss(&writer->raw, loss);
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

static int write_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct aggregate_frame kept = *frame;
	struct trace_frame_header header;
	struct trace_writer *writer = self;

	if (kept.page_count > AGGREGATE_PAGES_MAX) {
		kept.page_count = AGGREGATE_PAGES_MAX;
		kept.incomplete = true;
	}
	writer->incomplete += kept.incomplete;
	if (begin_record(writer) ||
	    keep(writer, trace_put_aggregate(&writer->raw, &kept, &writer->scratch)))
		return writer->error;
	header = header_of(writer, TRACE_AGGREGATE, 0);
	header.first_ns = frame->window * AGGREGATE_WINDOW_NS;
	header.last_ns = header.first_ns + AGGREGATE_WINDOW_NS - 1;
	advance(writer, header.first_ns);
	return put_frame(writer, &header, NULL);
}

static int write_end(void *self, __u64 end_ns)
{
	struct trace_writer *writer = self;

	if (begin_record(writer))
		return writer->error;
	advance(writer, end_ns);
	trace_buffer_put_u64(&writer->raw, end_ns);
	return end_record(writer, TRACE_END);
}

static const struct stream_ops writer_ops = {
	.host = write_host,
	.clock = write_clock,
	.probe = write_probe,
	.device = write_device,
	.stack = write_stack,
	.process = write_process,
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
	trace_packer_close(&writer->packer);
	trace_preamble_free(&writer->preamble);
	trace_buffer_free(&writer->raw);
	trace_buffer_free(&writer->frame);
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
	err = trace_packer_open(&w->packer, config->level);
	if (!err && (!w->column || !w->events || !w->ticks))
		err = failed(-ENOMEM, "no memory for the recorder's buffers");
	err = err ? err : trace_store_open(&w->store, config);
	if (!err && !config->held && (err = trace_store_commit(&w->store)))
		trace_store_close(&w->store);
	if (err) {
		free_writer(w);
		return err;
	}
	*writer = w;
	return 0;
}

int trace_writer_commit(struct trace_writer *writer)
{
	return keep(writer, writer->error ?: trace_store_commit(&writer->store));
}

void trace_writer_stats(const struct trace_writer *writer, struct trace_writer_stats *stats)
{
	stats->events = writer->events_written + writer->event_count;
	stats->frames = writer->sequence;
	stats->bytes = writer->store.written;
	stats->dropped_segments = writer->store.dropped;
	stats->incomplete_windows = writer->incomplete;
	stats->kept = writer->store.oldest ? writer->store.oldest->kept : (struct kept_info){0};
}

int trace_writer_close(struct trace_writer *writer)
{
	int err;

	if (!writer)
		return 0;
	if (!begin_record(writer) && !writer->store.ring) {
		trace_put_index(&writer->raw, &writer->index);
		end_record(writer, TRACE_INDEX);
	}
	keep(writer, trace_store_close(&writer->store));
	err = writer->error;
	if (err)
		failed(err, "%s", writer->sentence);
	free_writer(writer);
	return err;
}
