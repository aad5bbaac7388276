// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/frames.h"
#include "lib/trace/unpack.h"

#define NAMES_ROOM 400 /* of those that a sentence tells */

void trace_put_origin(struct trace_buffer *out, const struct trace_origin *origin, size_t hosts)
{
	trace_buffer_put_text(out, origin->name, sizeof(origin->name));
	trace_buffer_put_u32(out, origin->recording);
	trace_buffer_put_u32(out, (__u32)hosts);
}

void trace_get_origin(struct trace_cursor *in, struct trace_origin *origin, size_t *hosts)
{
	trace_cursor_text(in, origin->name, sizeof(origin->name));
	origin->recording = trace_cursor_u32(in);
	*hosts = trace_cursor_u32(in);
}

static int hosts_grow(struct trace_hosts *hosts, size_t count)
{
	struct trace_origin *all;

	if (count > TRACE_HOSTS_MAX)
		count = TRACE_HOSTS_MAX;
	if (count <= hosts->count)
		return 0;
	all = realloc(hosts->all, count * sizeof(*all));
	if (!all)
		return failed(-ENOMEM, "no memory for the names of %zu hosts", count);
	memset(all + hosts->count, 0, (count - hosts->count) * sizeof(*all));
	hosts->all = all;
	hosts->count = count;
	return 0;
}

static int take_origin(struct trace_hosts *hosts, struct trace_frames *frames,
		       struct trace_unpacker *unpacker)
{
	size_t host = frames->header.host, count;
	struct trace_origin origin;
	struct trace_cursor cursor;
	const __u8 *stored;
	int found = trace_frames_payload(frames, &stored), err;

	if (found <= 0)
		return found;
	err = trace_unpack(unpacker, &frames->header, stored, &cursor);
	if (err)
		return err == -EBADMSG ? 0 : err;
	trace_get_origin(&cursor, &origin, &count);
	err = hosts_grow(hosts, count > host ? count : host);
	if (!err && host && host <= hosts->count)
		hosts->all[host - 1] = origin;
	return err;
}

/* They come first; where none of these frames is sound those of all others tell how many there are. */
static int find_hosts(struct trace_hosts *hosts, struct trace_frames *frames,
		      struct trace_unpacker *unpacker)
{
	bool told = false;
	int found, err = 0;

	while (!err && (found = trace_frames_next(frames))) {
		if (found < 0)
			return found;
		if (!frames->merged || (told && frames->header.type != TRACE_ORIGIN))
			return 0;
		if (frames->header.type == TRACE_ORIGIN)
			err = take_origin(hosts, frames, unpacker);
		else
			err = hosts_grow(hosts, frames->header.host);
		told |= frames->header.type == TRACE_ORIGIN && hosts->count;
	}
	return err;
}

int trace_hosts_read(const char *path, struct trace_hosts *hosts)
{
	struct trace_unpacker unpacker;
	struct trace_frames frames;
	int err;

	*hosts = (struct trace_hosts){0};
	if (!strcmp(path, "-"))
		return 0;
	err = trace_frames_open(&frames, path, false);
	if (err)
		return err;
	err = trace_unpacker_open(&unpacker);
	err = err ? err : find_hosts(hosts, &frames, &unpacker);
	for (size_t i = 0; i < hosts->count; i++)
		if (!hosts->all[i].name[0])
			snprintf(hosts->all[i].name, sizeof(hosts->all[i].name), "host %zu", i + 1);
	trace_unpacker_close(&unpacker);
	trace_frames_close(&frames);
	if (err)
		trace_hosts_free(hosts);
	return err;
}

void trace_hosts_free(struct trace_hosts *hosts)
{
	free(hosts->all);
	*hosts = (struct trace_hosts){0};
}

int trace_hosts_refuse(const char *path)
{
	char names[NAMES_ROOM] = "";
	struct trace_hosts hosts;
	size_t used = 0, told = 0;

	if (!strcmp(path, "-"))
		return failed(-EINVAL, "standard input: is a merged recording; name the file, so "
				       "that its hosts can be read first");
	if (trace_hosts_read(path, &hosts))
		return -EINVAL;
	while (told < hosts.count && used + strlen(hosts.all[told].name) + 3 < sizeof(names)) {
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 told ? ", " : "", hosts.all[told].name);
		told++;
	}
	failed(-EINVAL, "%s: is of %zu hosts; choose one with --host: %s%s", path, hosts.count,
	       names, told < hosts.count ? ", ..." : "");
	trace_hosts_free(&hosts);
	return -EINVAL;
}
