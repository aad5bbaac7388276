// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/frames.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/pack.h"
#include "lib/trace/store.h"

#define HEADER	    sizeof(struct trace_frame_header)
#define FILE_HEADER sizeof(struct trace_file_header)
/* Bytes read for frames that were none: so many, and so many times those of sound ones. */
#define WASTE_MAX    (256u << 20)
#define WASTE_FACTOR 4
#define SEARCH_MAX   (1u << 20) /* without a file header, frames must begin within this */

static int no_recording(const struct trace_frames *frames, const char *why)
{
	return failed(-EPROTO, "%s: is no recording: %s", frames->path, why);
}

static int check_version(const struct trace_frames *frames, const struct trace_file_header *header)
{
	if ((header->version == TRACE_VERSION || header->version == TRACE_VERSION_MERGED) &&
	    header->event_version == EVENT_VERSION)
		return 0;
	return failed(-EPROTO,
		      "%s: is of format %u with events %u; this program reads formats %u and %u "
		      "with events %u",
		      frames->path, header->version, header->event_version, TRACE_VERSION,
		      TRACE_VERSION_MERGED, EVENT_VERSION);
}

/* Opens the next segment of this recording: 1, 0 if there is none, or a negative errno. */
static int open_segment(struct trace_frames *frames)
{
	char name[PATH_MAX];
	int err;

	while (frames->segment < frames->segments.count) {
		struct trace_file_header header;
		ssize_t n;

		trace_source_close(&frames->source);
		err = trace_segment_path(frames->path, frames->segments.all[frames->segment++],
					 name);
		err = err ? err : trace_source_open_segment(&frames->source, name);
		if (err == -ENOENT)
			continue; /* the recorder has deleted it since; it is none */
		if (err)
			return err;
		n = trace_source_need(&frames->source, frames->path, FILE_HEADER);
		if (n < 0)
			return (int)n;
		frames->repeats_wanted = !frames->counted || frames->damaged;
		if (n < (ssize_t)FILE_HEADER)
			return 1;
		memcpy(&header, trace_source_bytes(&frames->source), FILE_HEADER);
		if (!trace_file_header_is_sound(&header))
			return 1; /* damaged: its frames are told by the recording's number */
		if (header.recording != frames->recording)
			continue; /* a leftover of another one */
		frames->source.start += FILE_HEADER;
		frames->bytes += FILE_HEADER;
		return 1;
	}
	return 0;
}

static int frames_open_ring(struct trace_frames *frames)
{
	int found;

	if (!strcmp(frames->path, "-"))
		return failed(-EPROTO, "standard input: is a flight recorder's file without its "
				       "segments; name the file instead");
	frames->ring = true;
	found = trace_segments_list(frames->path, &frames->segments);
	if (found < 0)
		return found;
	found = open_segment(frames);
	if (found)
		return found < 0 ? found : 0;
	return failed(-EPROTO, "%s: is a flight recorder whose segments (%s.000001, ...) are gone",
		      frames->path, frames->path);
}

static int frames_open_file(struct trace_frames *frames)
{
	struct trace_file_header header;
	ssize_t n = trace_source_need(&frames->source, frames->path, FILE_HEADER);
	size_t magic = n < 8 ? (size_t)n : 8;
	int err;

	if (n < 0)
		return (int)n;
	if (!n)
		return no_recording(frames, "it is empty");
	if ((size_t)n < FILE_HEADER)
		return no_recording(
			frames, memcmp(trace_source_bytes(&frames->source), TRACE_FILE_MAGIC, magic)
					? "it begins with other bytes"
					: "it is cut inside its header");
	memcpy(&header, trace_source_bytes(&frames->source), FILE_HEADER);
	frames->counted = true;
	if (!trace_file_header_is_sound(&header))
		return 0; /* perhaps damaged: the first frames will tell */
	err = check_version(frames, &header);
	if (err)
		return err;
	frames->source.start += FILE_HEADER;
	frames->bytes += FILE_HEADER;
	frames->recording = header.recording;
	frames->identified = true;
	frames->merged = header.version == TRACE_VERSION_MERGED;
	if (header.flags & (TRACE_FILE_RING | TRACE_FILE_SEGMENT))
		frames->counted = false;
	return header.flags & TRACE_FILE_RING ? frames_open_ring(frames) : 0;
}

int trace_frames_open(struct trace_frames *frames, const char *path, bool strict)
{
	int err;

	memset(frames, 0, sizeof(*frames));
	frames->path = path;
	frames->strict = strict;
	frames->repeats_wanted = true;
	err = trace_source_open(&frames->source, path);
	err = err ? err : frames_open_file(frames);
	if (err)
		trace_frames_close(frames);
	return err;
}

static void frames_pass(struct trace_frames *frames, size_t size)
{
	frames->source.start += size;
	frames->bytes += size;
}

/* The byte at the window's start is not where a frame begins: skips to what may be one. */
static int skip_damage(struct trace_frames *frames)
{
	const __u32 magic = TRACE_FRAME_MAGIC;
	const __u8 *bytes = trace_source_bytes(&frames->source), *found;
	size_t size = frames->source.end - frames->source.start, distance;

	frames->skipping = true;
	if (frames->strict && !frames->short_frame)
		return failed(-EBADMSG, "%s: is damaged at byte %llu", frames->path,
			      (unsigned long long)frames->bytes);
	found = memmem(bytes + 1, size - 1, &magic, sizeof(magic));
	if (found)
		distance = (size_t)(found - bytes);
	else
		distance = size > sizeof(magic) ? size - (sizeof(magic) - 1) : 1;
	frames_pass(frames, distance);
	frames->damaged_bytes += distance;
	if (!frames->identified && frames->bytes > SEARCH_MAX)
		return no_recording(frames, "it begins with other bytes");
	return 0;
}

/* What is left of this file is no frame. */
static int end_of_file(struct trace_frames *frames, size_t left)
{
	const __u32 magic = TRACE_FRAME_MAGIC;
	const __u8 *bytes = trace_source_bytes(&frames->source);
	bool cut = frames->short_frame;

	if (left && !frames->skipping)
		cut = !memcmp(bytes, &magic, left < sizeof(magic) ? left : sizeof(magic));
	if (left || frames->skipping) {
		frames_pass(frames, left);
		frames->damaged_bytes += left;
		frames->damaged_frames++;
		frames->damaged = frames->damaged || !cut;
		/* Told now, the gap in the numbers is not counted twice. */
		frames->sequence++;
	}
	frames->skipping = false;
	frames->short_frame = false;
	if (!frames->identified)
		return no_recording(frames, "it begins with other bytes");
	if (frames->strict && frames->damaged)
		return failed(-EBADMSG, "%s: is damaged at its end", frames->path);
	return 0;
}

/* Leaves the current frame behind. */
static int frames_leave(struct trace_frames *frames)
{
	__u64 size = HEADER + frames->header.stored_length;
	__s64 missing = trace_source_skip(&frames->source, frames->path, size);

	frames->current = false;
	if (missing < 0)
		return (int)missing;
	frames->sequence = frames->header.sequence + 1;
	frames->bytes += size - (__u64)missing;
	if (missing) {
		frames->damaged_bytes += size - (__u64)missing;
		frames->damaged_frames++;
	}
	return 0;
}

static bool frame_belongs(const struct trace_frames *frames,
			  const struct trace_frame_header *header)
{
	return trace_header_is_sound(header) &&
	       (!frames->identified || header->recording == frames->recording) &&
	       (!frames->counted || header->sequence >= frames->sequence);
}

static int frames_accept(struct trace_frames *frames, const struct trace_frame_header *header)
{
	__u64 missed = frames->counted ? header->sequence - frames->sequence : 0;

	frames->header = *header;
	if (!frames->identified)
		frames->merged = header->host != 0;
	frames->recording = header->recording;
	frames->identified = true;
	frames->counted = true;
	frames->sequence = header->sequence;
	frames->current = true;
	frames->damaged_frames += missed;
	if (missed || frames->skipping) {
		frames->damaged = true;
		frames->repeats_wanted = true;
	}
	frames->skipping = false;
	frames->short_frame = false;
	if (missed && frames->strict)
		return failed(-EBADMSG, "%s: %llu frames are missing before byte %llu",
			      frames->path, (unsigned long long)missed,
			      (unsigned long long)frames->bytes);
	return 1;
}

/* The next sound header of this file: 1, 0 at its end, or a negative errno. */
static int next_in_file(struct trace_frames *frames)
{
	struct trace_frame_header header;
	int err;

	while (true) {
		ssize_t n = trace_source_need(&frames->source, frames->path, HEADER);

		if (n < 0)
			return (int)n;
		if (n < (ssize_t)HEADER)
			return end_of_file(frames, (size_t)n);
		memcpy(&header, trace_source_bytes(&frames->source), HEADER);
		if (frame_belongs(frames, &header))
			return frames_accept(frames, &header);
		err = skip_damage(frames);
		if (err)
			return err;
	}
}

int trace_frames_next(struct trace_frames *frames)
{
	int found;

	do {
		found = frames->current ? frames_leave(frames) : 0;
		if (found)
			return found;
		found = next_in_file(frames);
		while (!found && frames->ring) {
			found = open_segment(frames);
			if (found <= 0)
				return found;
			found = next_in_file(frames);
		}
	} while (found > 0 && (frames->header.flags & TRACE_REPEATED) && !frames->repeats_wanted);
	return found;
}

int trace_frames_payload(struct trace_frames *frames, const __u8 **payload)
{
	size_t size = HEADER + frames->header.stored_length;
	ssize_t n = trace_source_need(&frames->source, frames->path, size);

	if (n < 0)
		return (int)n;
	*payload = trace_source_bytes(&frames->source) + HEADER;
	if ((size_t)n >= size && trace_payload_is_sound(&frames->header, *payload))
		return 1;
	frames->short_frame = (size_t)n < size;
	frames->wasted += (size_t)n;
	/* A forged file could make every byte cost a whole frame: then frames are left as a whole. */
	if (!frames->short_frame && frames->wasted > WASTE_MAX + WASTE_FACTOR * frames->bytes)
		return trace_frames_reject(frames);
	/* Its length may be a lie of the past: what follows is searched from here on. */
	frames->current = false;
	return skip_damage(frames);
}

int trace_frames_reject(struct trace_frames *frames)
{
	frames->damaged = true;
	frames->damaged_frames++;
	frames->damaged_bytes += HEADER + frames->header.stored_length;
	if (!frames->strict)
		return 0;
	return failed(-EBADMSG, "%s: frame %llu at byte %llu is malformed", frames->path,
		      (unsigned long long)frames->header.sequence,
		      (unsigned long long)frames->bytes);
}

void trace_frames_close(struct trace_frames *frames)
{
	trace_source_close(&frames->source);
	numbers_free(&frames->segments);
}
