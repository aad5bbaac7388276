// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz targets link with --wrap: what the reader of a recording takes apart lies in memory that ends where it
 * does, and not within a larger buffer, in which nobody would see what is read behind it.
 */
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/records.h"
#include "lib/trace/unpack.h"

#define GAP 16 /* bytes between the parts of an aggregate that nobody may touch */

int __real_trace_unpack(struct trace_unpacker *unpacker, const struct trace_frame_header *header,
			const __u8 *stored, struct trace_cursor *cursor);
int __wrap_trace_unpack(struct trace_unpacker *unpacker, const struct trace_frame_header *header,
			const __u8 *stored, struct trace_cursor *cursor);
int __real_trace_get_aggregate(struct trace_cursor *in, struct aggregate_frame *frame,
			       struct trace_buffer *memory);
int __wrap_trace_get_aggregate(struct trace_cursor *in, struct aggregate_frame *frame,
			       struct trace_buffer *memory);

static struct trace_buffer exactly(size_t size)
{
	struct trace_buffer buffer = {.bytes = malloc(size), .size = size, .capacity = size};

	if (!buffer.bytes)
		abort();
	return buffer;
}

int __wrap_trace_unpack(struct trace_unpacker *unpacker, const struct trace_frame_header *header,
			const __u8 *stored, struct trace_cursor *cursor)
{
	int err = __real_trace_unpack(unpacker, header, stored, cursor);
	struct trace_buffer payload;

	if (err)
		return err;
	payload = exactly(cursor->left);
	memcpy(payload.bytes, cursor->next, cursor->left);
	trace_buffer_free(&unpacker->raw);
	unpacker->raw = payload;
	cursor->next = payload.bytes;
	return 0;
}

static const void *put_part(struct trace_buffer *parts, const void *bytes, size_t size)
{
	__u8 *part = parts->bytes + parts->size;

	memcpy(part, bytes, size);
	ASAN_POISON_MEMORY_REGION(part + size, GAP);
	parts->size += size + GAP;
	return part;
}

int __wrap_trace_get_aggregate(struct trace_cursor *in, struct aggregate_frame *frame,
			       struct trace_buffer *memory)
{
	size_t rows_size, bins_size, pages_size;
	struct trace_buffer parts;
	int err;

	trace_buffer_free(memory);
	err = __real_trace_get_aggregate(in, frame, memory);
	if (err)
		return err;
	rows_size = frame->row_count * sizeof(*frame->rows);
	bins_size = frame->bin_count * sizeof(*frame->bins);
	pages_size = frame->page_count * sizeof(*frame->pages);
	parts = exactly(rows_size + bins_size + pages_size + 3 * GAP);
	parts.size = 0;
	frame->rows = put_part(&parts, frame->rows, rows_size);
	frame->bins = put_part(&parts, frame->bins, bins_size);
	frame->pages = put_part(&parts, frame->pages, pages_size);
	trace_buffer_free(memory);
	*memory = parts;
	return 0;
}
