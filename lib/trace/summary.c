// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/frames.h"
#include "lib/trace/records.h"
#include "lib/trace/trace.h"
#include "lib/trace/unpack.h"

struct summarized {
	struct trace_summary *summary;
	bool has_host;
	bool has_end;
};

struct summarizer {
	struct trace_frames frames;
	struct trace_unpacker unpacker;
	struct summarized *hosts;
	size_t count;
};

static void summary_count(const struct summarizer *s, struct trace_summary *summary)
{
	const struct trace_frame_header *header = &s->frames.header;

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

static int summary_inspect(struct summarizer *s, struct summarized *host)
{
	struct trace_frame_header *header = &s->frames.header;
	struct trace_summary *summary = host->summary;
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	summary_count(s, summary);
	if (!(header->type == TRACE_HOST && !host->has_host) && header->type != TRACE_CLOCK &&
	    header->type != TRACE_LOSS && header->type != TRACE_END)
		return 0;
	found = trace_frames_payload(&s->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&s->unpacker, header, stored, &cursor);
	if (err)
		return err == -EBADMSG ? trace_frames_reject(&s->frames) : err;
	if (header->type == TRACE_HOST)
		trace_get_host(&cursor, &summary->host);
	else if (header->type == TRACE_CLOCK)
		take_anchor(summary, &cursor);
	else if (header->type == TRACE_LOSS)
		trace_get_loss(&cursor, &summary->loss);
	host->has_host |= header->type == TRACE_HOST;
	host->has_end |= header->type == TRACE_END;
	return 0;
}

/* NULL: of none of those asked for. */
static struct summarized *summary_host(const struct summarizer *s)
{
	size_t host = s->frames.header.host;

	if (!s->frames.merged || s->count == 1)
		return &s->hosts[0];
	return host && host <= s->count ? &s->hosts[host - 1] : NULL;
}

static int summarize_all(struct summarizer *s, const char *path)
{
	struct summarized *host;
	int found = 0, err = trace_frames_open(&s->frames, path, false);

	if (err)
		return err;
	err = trace_unpacker_open(&s->unpacker);
	while (!err && (found = trace_frames_next(&s->frames)) > 0) {
		host = summary_host(s);
		err = host ? summary_inspect(s, host) : 0;
	}
	for (size_t i = 0; i < s->count; i++) {
		struct trace_summary *summary = s->hosts[i].summary;

		summary->bytes = s->frames.bytes;
		summary->recording = s->frames.recording;
		summary->loss.damaged_bytes += s->frames.damaged_bytes;
		summary->loss.damaged_frames += s->frames.damaged_frames;
		summary->loss.cut = !s->hosts[i].has_end;
	}
	trace_unpacker_close(&s->unpacker);
	trace_frames_close(&s->frames);
	return err ? err : found;
}

int trace_summarize_hosts(const char *path, struct trace_summary *summaries, size_t count)
{
	struct summarizer s = {.hosts = calloc(count + 1, sizeof(*s.hosts)), .count = count};
	int err;

	memset(summaries, 0, count * sizeof(*summaries));
	if (!strcmp(path, "-"))
		err = failed(-ESPIPE, "standard input cannot be read twice; name a file");
	else if (!s.hosts)
		err = failed(-ENOMEM, "no memory to look at a recording");
	else {
		for (size_t i = 0; i < count; i++)
			s.hosts[i].summary = &summaries[i];
		err = summarize_all(&s, path);
	}
	free(s.hosts);
	return err;
}

int trace_summarize(const char *path, struct trace_summary *summary)
{
	return trace_summarize_hosts(path, summary, 1);
}

void trace_summary_free(struct trace_summary *summary)
{
	wall_clock_free(&summary->clock);
}
