// SPDX-License-Identifier: GPL-2.0
/* The source: frames back into the calls that made them. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/trace/hosts.h"
#include "lib/trace/reader.h"

static int reader_read_frame(struct reader *reader)
{
	const struct trace_frame_header *header = &reader->shared->frames.header;
	bool timed = header->type == TRACE_EVENTS || header->type == TRACE_AGGREGATE;
	struct trace_cursor cursor;
	const __u8 *stored;
	int found, err;

	if (timed && !reader->first_ns)
		reader->first_ns = header->first_ns;
	if (timed && header->last_ns > reader->last_ns)
		reader->last_ns = header->last_ns;
	if (header->type == TRACE_INDEX || (timed && reader->shared->untimed))
		return 0;
	found = trace_frames_payload(&reader->shared->frames, &stored);
	if (found <= 0)
		return found;
	err = trace_unpack(&reader->shared->unpacker, header, stored, &cursor);
	if (err == -EBADMSG)
		return trace_frames_reject(&reader->shared->frames);
	err = err ? err : trace_deliver(reader, &cursor);
	return err == TRACE_MALFORMED ? trace_frames_reject(&reader->shared->frames) : err;
}

/* What reading itself found out, and the end. */
static int reader_finish(struct reader *reader)
{
	const struct trace_frames *frames = &reader->shared->frames;
	const struct stream_ops *ops = reader->sink.ops;
	__u64 end_ns = reader->has_end ? reader->end_ns : reader->last_ns;
	int err = 0;

	reader->loss.damaged_bytes += frames->damaged_bytes;
	reader->loss.damaged_frames += frames->damaged_frames;
	reader->loss.cut = !reader->has_end && !reader->shared->stopped;
	if (reader->loss.cut && end_ns > reader->loss.as_of_ns)
		reader->loss.unaccounted_ns = end_ns - (reader->loss.as_of_ns ?: reader->first_ns);
	if ((frames->damaged_bytes || frames->damaged_frames || reader->loss.cut) && ops->loss)
		err = ops->loss(reader->sink.self, &reader->loss);
	if (!err && ops->end)
		err = ops->end(reader->sink.self, end_ns);
	return err;
}

static int finish_all(struct reading *reading, struct reader *readers, size_t count)
{
	const struct trace_frames *frames = &reading->frames;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		if (readers[i].sink.ops)
			err = reader_finish(&readers[i]);
	if (err || !frames->damaged)
		return err;
	return failed(-EBADMSG, "%s: is damaged: %llu bytes were skipped, %llu frames are lost",
		      frames->path, (unsigned long long)frames->damaged_bytes,
		      (unsigned long long)frames->damaged_frames);
}

/* Whose the current frame is: 1, 0 if nobody asked for that host, or a negative errno. */
static int find_reader(const struct reading *reading, struct reader *readers, size_t count,
		       struct reader **reader)
{
	const struct trace_frames *frames = &reading->frames;
	size_t host = frames->header.host;

	if (!frames->merged && reading->of_hosts)
		return failed(-EINVAL, "%s: is the recording of one host, and no merged one",
			      frames->path);
	if (frames->merged && !reading->of_hosts)
		return trace_hosts_refuse(frames->path);
	if (frames->merged && (!host || host > count))
		return 0;
	*reader = &readers[frames->merged ? host - 1 : 0];
	return (*reader)->sink.ops != NULL;
}

static int read_frames_of_all(struct reading *reading, struct reader *readers, size_t count)
{
	struct reader *reader = NULL;
	int found, err = 0;

	while (!err) {
		found = trace_frames_next(&reading->frames);
		if (found <= 0)
			return found ? found : finish_all(reading, readers, count);
		found = find_reader(reading, readers, count, &reader);
		if (found <= 0) {
			err = found;
			continue;
		}
		err = reader_read_frame(reader);
		reading->stopped = !err && memory_ran_out();
		if (reading->stopped)
			return finish_all(reading, readers, count);
	}
	return err;
}

static int read_into(struct reading *reading, const struct trace_read_config *config,
		     struct reader *readers, size_t count)
{
	int err = trace_frames_open(&reading->frames, config->path, config->strict);

	if (err)
		return err;
	reading->untimed = config->untimed;
	reading->events = calloc(TRACE_BLOCK, sizeof(*reading->events));
	err = trace_unpacker_open(&reading->unpacker);
	if (!err && !reading->events)
		err = failed(-ENOMEM, "no memory to read a recording");
	err = err ? err : read_frames_of_all(reading, readers, count);
	trace_unpacker_close(&reading->unpacker);
	trace_buffer_free(&reading->memory);
	for (size_t i = 0; i < count; i++)
		for (size_t name = 0; name < NAMES; name++)
			free(readers[i].told[name]);
	free(reading->events);
	trace_frames_close(&reading->frames);
	return err;
}

int trace_read(const struct trace_read_config *config, struct stream sink)
{
	struct reading reading = {0};
	struct reader reader = {.shared = &reading, .sink = sink};
	struct stream *sinks;
	int err;

	if (!config->host)
		return read_into(&reading, config, &reader, 1);
	sinks = calloc(config->host, sizeof(*sinks));
	if (!sinks)
		return failed(-ENOMEM, "no memory to read a recording");
	sinks[config->host - 1] = sink;
	err = trace_read_hosts(config, sinks, config->host);
	free(sinks);
	return err;
}

int trace_read_hosts(const struct trace_read_config *config, const struct stream *sinks,
		     size_t count)
{
	struct reader *readers = calloc(count + 1, sizeof(*readers));
	struct reading reading = {.of_hosts = true};
	int err;

	if (!readers)
		return failed(-ENOMEM, "no memory to read a recording of %zu hosts", count);
	for (size_t i = 0; i < count; i++)
		readers[i] = (struct reader){.shared = &reading, .sink = sinks[i]};
	err = read_into(&reading, config, readers, count);
	free(readers);
	return err;
}
