// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/index.h"

void trace_index_add(struct trace_index *index, const struct trace_frame_header *header,
		     __u64 offset)
{
	if (header->type != TRACE_EVENTS && header->type != TRACE_AGGREGATE)
		return;
	if (!index->last_ns || header->first_ns < index->first_ns)
		index->first_ns = header->first_ns;
	if (header->last_ns > index->last_ns)
		index->last_ns = header->last_ns;
	if (header->type != TRACE_EVENTS)
		return;
	if (!index->stride)
		index->stride = 1;
	if (index->event_frames++ % index->stride == 0) {
		if (index->count == TRACE_INDEX_POINTS) {
			index->count /= 2;
			for (size_t i = 0; i < index->count; i++)
				index->points[i] = index->points[2 * i];
			index->stride *= 2;
		}
		index->points[index->count++] =
			(struct trace_index_point){offset, header->first_ns, index->events};
	}
	index->events += header->count;
}

void trace_put_index(struct trace_buffer *out, const struct trace_index *index)
{
	trace_buffer_put_u64(out, index->events);
	trace_buffer_put_u64(out, index->first_ns);
	trace_buffer_put_u64(out, index->last_ns);
	trace_buffer_put_u32(out, (__u32)index->count);
	for (size_t i = 0; i < index->count; i++) {
		trace_buffer_put_u64(out, index->points[i].offset);
		trace_buffer_put_u64(out, index->points[i].first_ns);
		trace_buffer_put_u64(out, index->points[i].events);
	}
	/* The file's last four bytes tell where this frame begins. */
	trace_buffer_put_u32(out, (__u32)(sizeof(struct trace_frame_header) + out->size + 4));
}
