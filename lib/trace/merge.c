// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/columns.h"
#include "lib/trace/hosts.h"
#include "lib/trace/merge_private.h"
#include "lib/trace/pack.h"
#include "lib/trace/records.h"
#include "lib/trace/store.h"
#include "lib/trace/unpack.h"

#define READ_AHEAD_MOST (8u << 20) /* of all inputs together */
#define PROGRESS_FRAMES 64

struct host_merge {
	struct merge_inputs inputs;
	struct merge_input **heap; /* the least key first; of equal ones the input given first */
	size_t open;		   /* inputs in it */
	struct trace_store store;
	struct trace_unpacker unpacker;
	struct trace_buffer frame, raw;
	__u64 sequence;
	__u64 done; /* bytes of inputs that have come to their end */
};

static bool comes_before(const struct merge_input *a, const struct merge_input *b)
{
	return a->key != b->key ? a->key < b->key : a < b;
}

/* Moves the entry at `at` to where it belongs below. */
static void inputs_sink(struct host_merge *m, size_t at)
{
	struct merge_input *moved = m->heap[at];
	size_t child;

	for (; (child = 2 * at + 1) < m->open; at = child) {
		if (child + 1 < m->open && comes_before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!comes_before(m->heap[child], moved))
			break;
		m->heap[at] = m->heap[child];
	}
	m->heap[at] = moved;
}

static int put_frame(struct host_merge *m, struct trace_frame_header *header, size_t host,
		     const void *stored)
{
	header->recording = m->store.header.recording;
	header->sequence = m->sequence;
	header->host = (__u16)(host + 1);
	m->frame.size = 0;
	trace_seal(header, stored);
	trace_buffer_put(&m->frame, header, sizeof(*header));
	trace_buffer_put(&m->frame, stored, header->stored_length);
	if (m->frame.failed)
		return failed(-ENOMEM, "no memory for a frame");
	m->sequence++;
	return trace_store_append(&m->store, m->frame.bytes, m->frame.size, header->last_ns);
}

/* Uncompressed, of what the merge has to say itself. */
static int put_raw(struct host_merge *m, __u8 type, size_t host, __u64 time_ns)
{
	struct trace_frame_header header = {
		.type = type,
		.count = 1,
		.first_ns = time_ns,
		.last_ns = time_ns,
		.raw_length = (__u32)m->raw.size,
		.stored_length = (__u32)m->raw.size,
	};

	if (m->raw.failed)
		return failed(-ENOMEM, "no memory for a frame");
	return put_frame(m, &header, host, m->raw.bytes);
}

static int put_origins(struct host_merge *m)
{
	const struct trace_merged *result = m->inputs.result;
	int err = 0;

	for (size_t i = 0; !err && i < result->count; i++) {
		m->raw.size = 0;
		trace_put_origin(&m->raw, &result->hosts[i].origin, result->count);
		err = put_raw(m, TRACE_ORIGIN, i, 0);
	}
	return err;
}

/* Of which of all hosts the current frame is; false: of none, so it is damaged. */
static bool host_of_frame(const struct merge_input *input, size_t *host)
{
	size_t number = input->frames.header.host;

	*host = input->first;
	if (!input->frames.merged)
		return true;
	*host += number - 1;
	return number && number <= input->count;
}

/* Moves to the next frame that is to be copied: 1, 0 at the end, or a negative errno. */
static int input_next(struct host_merge *m, struct merge_input *input)
{
	const struct trace_frame_header *header = &input->frames.header;
	int found;

	while ((found = trace_frames_next(&input->frames)) > 0) {
		size_t host;
		__u64 time;

		if (header->type == TRACE_INDEX || header->type == TRACE_ORIGIN)
			continue;
		if (!host_of_frame(input, &host)) {
			trace_frames_reject(&input->frames);
			continue;
		}
		time = wall_clock_at(&m->inputs.hosts[host].clock, header->first_ns);
		/* Its order is kept, whatever its clock did. */
		if (time > input->key)
			input->key = time;
		return 1;
	}
	return found;
}

static int take_loss(struct host_merge *m, const struct trace_frame_header *header, size_t host,
		     const __u8 *stored)
{
	struct merge_host *own = &m->inputs.hosts[host];
	struct trace_cursor cursor;
	int err = trace_unpack(&m->unpacker, header, stored, &cursor);

	if (err)
		return err == -EBADMSG ? 0 : err;
	trace_get_loss(&cursor, &own->loss);
	own->as_of_ns = header->last_ns;
	return 0;
}

/* A frame without events: until when it was recorded is known by what is left of a damaged one, too. */
static int put_span(struct host_merge *m, const struct trace_frame_header *header, size_t host)
{
	struct trace_frame_header span = {
		.type = TRACE_EVENTS,
		.first_ns = header->first_ns,
		.last_ns = header->last_ns,
	};
	const struct event event = {0};
	const struct trace_tick tick = {0};
	__u64 scratch[2] = {0};

	m->raw.size = 0;
	trace_buffer_put_u32(&m->raw, 0);
	trace_columns_encode(&trace_event_layout, &event, 0, scratch, &m->raw, NULL);
	trace_columns_encode(&trace_tick_layout, &tick, 0, scratch, &m->raw, NULL);
	if (m->raw.failed)
		return failed(-ENOMEM, "no memory for a frame");
	span.raw_length = span.stored_length = (__u32)m->raw.size;
	return put_frame(m, &span, host, m->raw.bytes);
}

static int merge_copy(struct host_merge *m, struct merge_input *input)
{
	struct trace_frame_header header = input->frames.header;
	const __u8 *stored;
	size_t host;
	int found = trace_frames_payload(&input->frames, &stored), err = 0;

	/* It was looked at when the input came to it. */
	host_of_frame(input, &host);
	if (!found && (header.type == TRACE_EVENTS || header.type == TRACE_AGGREGATE))
		return put_span(m, &header, host);
	if (found <= 0)
		return found;
	if (header.type == TRACE_LOSS)
		err = take_loss(m, &header, host, stored);
	err = err ? err : put_frame(m, &header, host, stored);
	if (input->frames.source.capacity > READ_AHEAD_MOST / m->inputs.count)
		trace_source_trim(&input->frames.source);
	return err;
}

/* What could not be read of it is a loss of its hosts, which nobody would see else. */
static int input_end(struct host_merge *m, struct merge_input *input)
{
	const struct trace_frames *frames = &input->frames;
	int err = 0;

	m->done += frames->bytes;
	if (!frames->damaged_bytes && !frames->damaged_frames)
		return 0;
	for (size_t i = input->first; !err && i < input->first + input->count; i++) {
		struct merge_host *host = &m->inputs.hosts[i];

		host->loss.damaged_bytes += frames->damaged_bytes;
		host->loss.damaged_frames += frames->damaged_frames;
		m->inputs.result->hosts[i].loss.damaged_bytes = host->loss.damaged_bytes;
		m->inputs.result->hosts[i].loss.damaged_frames = host->loss.damaged_frames;
		m->raw.size = 0;
		trace_put_loss(&m->raw, &host->loss);
		/* What is counted is as old as before. */
		err = put_raw(m, TRACE_LOSS, i, host->as_of_ns);
	}
	return err;
}

static int open_inputs(struct host_merge *m)
{
	m->heap = calloc(m->inputs.count + 1, sizeof(struct merge_input *));
	if (!m->heap)
		return failed(-ENOMEM, "no memory for %zu recordings", m->inputs.count);
	for (size_t i = 0; i < m->inputs.count; i++) {
		struct merge_input *input = &m->inputs.all[i];
		int found = trace_frames_open(&input->frames, input->path, false);

		found = found ? found : input_next(m, input);
		if (found < 0)
			return found;
		if (found)
			m->heap[m->open++] = input;
		else if ((found = input_end(m, input)))
			return found;
		if (input->frames.source.capacity > READ_AHEAD_MOST / m->inputs.count)
			trace_source_trim(&input->frames.source);
	}
	for (size_t i = m->open / 2; i-- > 0;)
		inputs_sink(m, i);
	return 0;
}

static int tell_progress(const struct host_merge *m, const struct trace_merge_config *config)
{
	__u64 done = m->done;

	if (!config->progress || m->sequence % PROGRESS_FRAMES)
		return 0;
	for (size_t i = 0; i < m->open; i++)
		done += m->heap[i]->frames.bytes;
	return config->progress(config->self, done, m->inputs.bytes);
}

static int copy_all(struct host_merge *m, const struct trace_merge_config *config)
{
	int err = 0, found;

	while (!err && m->open) {
		struct merge_input *input = m->heap[0];

		err = merge_copy(m, input);
		found = err ? 0 : input_next(m, input);
		if (err || found < 0)
			return err ? err : found;
		if (!found) {
			err = input_end(m, input);
			trace_frames_close(&input->frames);
			m->heap[0] = m->heap[--m->open];
		}
		if (m->open)
			inputs_sink(m, 0);
		err = err ? err : tell_progress(m, config);
	}
	return err;
}

static int merge_into(struct host_merge *m, const struct trace_merge_config *config,
		      struct trace_merged *merged)
{
	int err = merge_look(&m->inputs, config, merged), closed;
	struct trace_writer_config writing = {
		.path = config->path, .overwrite = config->overwrite, .merged = true};

	err = err ?: trace_unpacker_open(&m->unpacker);
	err = err ?: trace_store_open(&m->store, &writing);
	if (err)
		return err;
	err = put_origins(m) ?: open_inputs(m);
	err = err ?: copy_all(m, config);
	err = err ?: trace_store_commit(&m->store);
	merged->frames = m->sequence;
	merged->bytes = m->store.written;
	closed = trace_store_close(&m->store);
	return err ? err : closed;
}

int trace_merge(const struct trace_merge_config *config, struct trace_merged *merged)
{
	struct host_merge m = {.sequence = 0};
	int err;

	*merged = (struct trace_merged){0};
	err = merge_into(&m, config, merged);
	for (size_t i = 0; i < m.inputs.count; i++)
		trace_frames_close(&m.inputs.all[i].frames);
	merge_forget(&m.inputs);
	free(m.heap);
	trace_buffer_free(&m.frame);
	trace_buffer_free(&m.raw);
	trace_unpacker_close(&m.unpacker);
	return err;
}

void trace_merged_free(struct trace_merged *merged)
{
	free(merged->hosts);
	*merged = (struct trace_merged){0};
}
