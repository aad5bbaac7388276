// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/cut.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/fail.h"

int trace_cut_open(struct trace_cut *cut, __u64 since_ns, __u64 until_ns)
{
	*cut = (struct trace_cut){
		.since_ns = since_ns,
		.until_ns = until_ns,
		.events = calloc(TRACE_EVENTS_MAX, sizeof(*cut->events)),
		.ticks = calloc(TRACE_EVENTS_MAX, sizeof(*cut->ticks)),
		.column = calloc(TRACE_EVENTS_MAX, 2 * sizeof(*cut->column)),
	};
	return cut->events && cut->ticks && cut->column
		       ? 0
		       : failed(-ENOMEM, "no memory to copy a part of a recording");
}

void trace_cut_close(struct trace_cut *cut)
{
	free(cut->events);
	free(cut->ticks);
	free(cut->column);
}

static int cut_decode(struct trace_cut *cut, struct trace_cursor *cursor, size_t events,
		      size_t *ticks)
{
	struct trace_columns columns[2];
	size_t done = 0, n;

	*ticks = trace_cursor_u32(cursor);
	if (events > TRACE_EVENTS_MAX || *ticks > TRACE_EVENTS_MAX ||
	    trace_columns_open(&columns[0], &trace_event_layout, events, cursor) ||
	    trace_columns_open(&columns[1], &trace_tick_layout, *ticks, cursor))
		return -EBADMSG;
	while ((n = trace_columns_next(&columns[0], cut->events + done)))
		done += n;
	for (done = 0; (n = trace_columns_next(&columns[1], cut->ticks + done));)
		done += n;
	return 0;
}

static bool cut_takes(const struct trace_cut *cut, __u64 time_ns, struct trace_frame_header *header)
{
	if (time_ns < cut->since_ns || time_ns >= cut->until_ns)
		return false;
	header->first_ns = time_ns < header->first_ns ? time_ns : header->first_ns;
	header->last_ns = time_ns > header->last_ns ? time_ns : header->last_ns;
	return true;
}

int trace_cut_events(struct trace_cut *cut, struct trace_cursor *cursor,
		     struct trace_frame_header *header, struct trace_buffer *raw,
		     struct trace_cuts *cuts)
{
	size_t count = header->count, events = 0, ticks = 0, tick = 0, tick_count;
	int err = cut_decode(cut, cursor, count, &tick_count);

	if (err)
		return err;
	header->first_ns = UINT64_MAX;
	header->last_ns = 0;
	/* A tick stays between the events that were around it. */
	for (size_t i = 0; i <= count; i++) {
		for (; tick < tick_count && (cut->ticks[tick].position <= i || i == count); tick++)
			if (cut_takes(cut, cut->ticks[tick].now_ns, header))
				cut->ticks[ticks++] =
					(struct trace_tick){events, cut->ticks[tick].now_ns};
		if (i == count)
			break;
		cut->before += cut->events[i].time_ns < cut->since_ns;
		if (cut_takes(cut, cut->events[i].time_ns, header))
			cut->events[events++] = cut->events[i];
	}
	raw->size = 0;
	cuts->count = 0;
	header->count = (__u32)events;
	if (!events && !ticks)
		return 0;
	trace_buffer_put_u32(raw, (__u32)ticks);
	trace_columns_encode(&trace_event_layout, cut->events, events, cut->column, raw, cuts);
	trace_columns_encode(&trace_tick_layout, cut->ticks, ticks, cut->column, raw, NULL);
	return raw->failed ? failed(-ENOMEM, "no memory for a frame") : 0;
}
