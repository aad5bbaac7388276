// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/frames.h"
#include "lib/trace/records.h"
#include "lib/trace/trace.h"
#include "lib/trace/unpack.h"

struct summarizer {
	struct trace_frames frames;
	struct trace_unpacker unpacker;
	struct trace_summary *summary;
	bool has_host;
	bool has_end;
};

static void summary_count(struct summarizer *s)
{
	const struct trace_frame_header *header = &s->frames.header;
	struct trace_summary *summary = s->summary;

	summary->frames++;
	if (header->type == TRACE_EVENTS)
		summary->events += header->count;
	if (header->type != TRACE_EVENTS && header->type != TRACE_AGGREGATE)
		return;
	if (!summary->last_ns || header->first_ns < summary->first_ns)
		summary->first_ns = header->first_ns;
	if (header->last_ns > summary->last_ns)
		summary->last_ns = header->last_ns;
}

static void take_anchor(struct trace_summary *summary, struct trace_cursor *cursor)
{
	struct clock_anchor anchor;

	trace_get_clock(cursor, &anchor);
	wall_clock_add(&summary->clock, &anchor);
}

static int summary_inspect(struct summarizer *s)
{
	struct trace_frame_header *header = &s->frames.header;
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	summary_count(s);
	if (!(header->type == TRACE_HOST && !s->has_host) && header->type != TRACE_CLOCK &&
	    header->type != TRACE_LOSS && header->type != TRACE_END)
		return 0;
	found = trace_frames_payload(&s->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&s->unpacker, header, stored, &cursor);
	if (err)
		return err == -EBADMSG ? trace_frames_reject(&s->frames) : err;
	if (header->type == TRACE_HOST)
		trace_get_host(&cursor, &s->summary->host);
	else if (header->type == TRACE_CLOCK)
		take_anchor(s->summary, &cursor);
	else if (header->type == TRACE_LOSS)
		trace_get_loss(&cursor, &s->summary->loss);
	s->has_host |= header->type == TRACE_HOST;
	s->has_end |= header->type == TRACE_END;
	return 0;
}

int trace_summarize(const char *path, struct trace_summary *summary)
{
	struct summarizer s = {.summary = summary};
	int found = 0, err;

	memset(summary, 0, sizeof(*summary));
	if (!strcmp(path, "-"))
		return failed(-ESPIPE, "standard input cannot be read twice; name a file");
	err = trace_frames_open(&s.frames, path, false);
	if (err)
		return err;
	err = trace_unpacker_open(&s.unpacker);
	while (!err && (found = trace_frames_next(&s.frames)) > 0)
		err = summary_inspect(&s);
	summary->bytes = s.frames.bytes;
	summary->loss.damaged_bytes += s.frames.damaged_bytes;
	summary->loss.damaged_frames += s.frames.damaged_frames;
	summary->loss.cut = !s.has_end;
	trace_unpacker_close(&s.unpacker);
	trace_frames_close(&s.frames);
	return err ? err : found;
}

void trace_summary_free(struct trace_summary *summary)
{
	wall_clock_free(&summary->clock);
}
