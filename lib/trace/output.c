// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/output.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/records.h"

#define RETRY_NS NSEC_PER_SEC

int trace_output_open(struct trace_output *output, const struct trace_writer_config *config)
{
	int err = trace_packer_open(&output->packer, config->level);

	err = err ? err : trace_store_open(&output->store, config);
	if (!err && !config->held && (err = trace_store_commit(&output->store)))
		trace_store_close(&output->store);
	if (err)
		trace_packer_close(&output->packer);
	return err;
}

static void begin_write(struct trace_output *output)
{
	output->frame.size = 0;
	output->packed = 0;
}

static int output_pack(struct trace_output *output, struct trace_frame_header *header,
		       const struct trace_buffer *raw, const struct trace_cuts *cuts)
{
	struct trace_packer *packer = header->type == TRACE_INDEX ? NULL : &output->packer;

	header->sequence = output->sequence + output->packed++;
	header->flags &= (__u8)~TRACE_COMPRESSED;
	return trace_pack(packer, header, raw, cuts, &output->frame);
}

static int pack_record(struct trace_output *output, __u8 type, __u8 flags,
		       const struct trace_buffer *payload)
{
	struct trace_frame_header header = {
		.type = type,
		.flags = flags,
		.recording = output->store.header.recording,
		.count = 1,
		.first_ns = output->now_ns,
		.last_ns = output->now_ns,
	};

	return output_pack(output, &header, payload, NULL);
}

static int put_repeated(void *self, __u8 type, const struct trace_buffer *payload)
{
	struct trace_output *output = self;

	return pack_record(output, type, type == TRACE_HOST ? TRACE_REPEATED : output->repeat_flags,
			   payload);
}

static int output_write_out(struct trace_output *output, __u64 last_ns)
{
	int err = trace_store_append(&output->store, output->frame.bytes, output->frame.size,
				     last_ns);

	output->refused = err;
	if (!err)
		output->sequence += output->packed;
	return err;
}

/* What is let go should the new segment become the oldest: all that was written before it. */
static int output_put_kept(struct trace_output *output, __u64 from_ns)
{
	struct kept_info *kept = &output->store.newest->kept;

	*kept = (struct kept_info){
		.from_ns = from_ns,
		.segments = output->store.begun - 1,
		.events = output->events,
	};
	output->scratch.size = 0;
	trace_put_kept(&output->scratch, kept);
	return pack_record(output, TRACE_KEPT, TRACE_REPEATED, &output->scratch);
}

/*
 * Starts a segment that can be read without those before it. `news`: what it begins with has not been told
 * before, since nothing could be.
 */
static int next_segment(struct trace_output *output, bool news)
{
	struct trace_store *store = &output->store;
	struct trace_preamble preamble = output->preamble;
	__u64 before_ns = store->last_ns;
	int err = trace_store_next_segment(store, output->now_ns);

	output->refused = err;
	if (err)
		return err;
	trace_dictionary_next_segment(&output->dictionary);
	output->repeat_flags = news ? 0 : TRACE_REPEATED;
	preamble.loss.unwritten_events += output->unwritten_events;
	preamble.loss.unwritten_windows += output->unwritten_windows;
	begin_write(output);
	err = output_put_kept(output, before_ns);
	err = err ? err : trace_preamble_each(&preamble, &output->scratch, put_repeated, output);
	err = err ? err : output_write_out(output, output->now_ns);
	store->start_bytes = store->segment_bytes;
	return err;
}

/* The frame, behind what is new to the dictionary and the names that its segment does not hold. */
static int pack_with_names(struct trace_output *output, struct trace_frame_header *header,
			   const struct trace_content *content)
{
	struct trace_dictionary *dictionary = &output->dictionary;
	int err = 0;

	begin_write(output);
	output->names.size = 0;
	if (output->store.ring && content->events)
		trace_dictionary_use_events(dictionary, content->events, header->count,
					    &output->names);
	if (output->store.ring && content->frame)
		trace_dictionary_use_frame(dictionary, content->frame, &output->names);
	if (dictionary->news.size || dictionary->news.failed)
		err = pack_record(output, TRACE_RECORDS, 0, &dictionary->news);
	if (!err && (output->names.size || output->names.failed))
		err = pack_record(output, TRACE_RECORDS, TRACE_NAMED, &output->names);
	return err ? err : output_pack(output, header, content->raw, content->cuts);
}

static int pack_frame(struct trace_output *output, struct trace_frame_header *header,
		      const struct trace_content *content)
{
	bool again;
	int err;

	do {
		again = output->dictionary.news.size;
		err = pack_with_names(output, header, content);
		if (err || !output->store.ring || output->frame.size <= output->store.frame_most)
			return err;
		/* Names are told with what uses them, then. */
		trace_dictionary_forget_told(&output->dictionary);
	} while (again);
	return failed(-E2BIG, "a frame of %zu bytes is too large for this recorder",
		      output->frame.size);
}

static int output_place(struct trace_output *output, struct trace_frame_header *header,
			const struct trace_content *content, bool begin)
{
	struct trace_store *store = &output->store;
	int err = begin ? next_segment(output, true) : 0;
	__u64 last_ns, offset;

	err = err ? err : pack_frame(output, header, content);
	if (!err && trace_store_segment_is_full(store, output->frame.size, output->now_ns)) {
		err = next_segment(output, false);
		err = err ? err : pack_frame(output, header, content);
	}
	if (err)
		return err;
	/* A window that is closed before its second is over reaches beyond now: nothing is older for it. */
	last_ns = header->last_ns < output->now_ns ? header->last_ns : output->now_ns;
	offset = store->written;
	err = output_write_out(output, last_ns);
	if (!err)
		trace_index_add(&output->index, header, offset);
	return err;
}

/* All but events and windows is told anew when there is room. */
static void output_leave_out(struct trace_output *output, const struct trace_frame_header *header)
{
	if (header->type == TRACE_EVENTS)
		output->unwritten_events += header->count;
	else if (header->type == TRACE_AGGREGATE)
		output->unwritten_windows++;
}

int trace_output_put(struct trace_output *output, struct trace_frame_header *header,
		     const struct trace_content *content)
{
	bool ring = output->store.ring;
	int err;

	if (output->full && !output->ending && monotonic_ns() < output->retry_ns) {
		output_leave_out(output, header);
		return 0;
	}
	output->refused = 0;
	err = output_place(output, header, content, output->full);
	/* The segment itself has filled the disk: it goes as well. */
	if (ring && !output->full && trace_has_no_room(err))
		err = output_place(output, header, content, true);
	if (ring && err == output->refused && trace_store_may_pass(err)) {
		output->full = true;
		output->unwritten_error = err;
		output->retry_ns = monotonic_ns() + RETRY_NS;
		output_leave_out(output, header);
		return 0;
	}
	if (err)
		return err;
	output->full = false;
	output->dictionary.news.size = 0;
	if (header->type == TRACE_EVENTS)
		output->events += header->count;
	return 0;
}

/* Of what is let go with the next two segments: whoever wants it has at least the time of one. */
static __u64 next_from_ns(const struct trace_store *store, const struct trace_segment *oldest)
{
	bool full = store->given_up ||
		    (store->max_bytes && store->bytes + store->segment_now > store->max_bytes);

	if (!full || !oldest || oldest != store->oldest || !oldest->next)
		return 0;
	return oldest->next->next ? oldest->next->next->kept.from_ns : oldest->next->kept.from_ns;
}

void trace_output_stats(struct trace_output *output, struct trace_writer_stats *stats)
{
	const struct trace_sync_result synced = trace_sync_result(&output->store.sync);
	const struct trace_segment *oldest = output->store.oldest;

	while (oldest && oldest->set_aside)
		oldest = oldest->next;
	*stats = (struct trace_writer_stats){
		.events = output->events,
		.frames = output->sequence,
		.bytes = output->store.written,
		.dropped_segments = output->store.dropped,
		.given_up_segments = output->store.given_up,
		.unwritten_events = output->unwritten_events,
		.unwritten_windows = output->unwritten_windows,
		.displaced_segments = output->store.displaced,
		.set_aside = output->store.set_aside,
		.waiting = output->full,
		.unwritten_error = output->unwritten_error,
		.unsynced_segments = synced.unsynced,
		.unsynced_number = synced.number,
		.unsynced_error = synced.error,
	};
	if (oldest)
		stats->kept = oldest->kept;
	stats->next_from_ns = next_from_ns(&output->store, oldest);
}

int trace_output_close(struct trace_output *output)
{
	int err = trace_store_close(&output->store);

	trace_packer_close(&output->packer);
	trace_preamble_free(&output->preamble);
	trace_dictionary_free(&output->dictionary);
	trace_buffer_free(&output->frame);
	trace_buffer_free(&output->names);
	trace_buffer_free(&output->scratch);
	return err;
}
