// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

#define READ_AHEAD	(64u << 10)
#define READ_AFTER_SEEK (4u << 10) /* often a header alone is wanted there */

static int source_begin(struct trace_source *source, const char *path, struct stat *status)
{
	source->start = source->end = 0;
	source->ended = false;
	source->sought = false;
	if (source->fd < 0)
		return failed(-errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(source->fd, status))
		return failed(-errno, "%s: %s", path, strerror(errno));
	source->seekable = S_ISREG(status->st_mode);
	return 0;
}

int trace_source_open(struct trace_source *source, const char *path)
{
	struct stat status;
	int err;

	if (strcmp(path, "-") != 0)
		source->fd = files_open_input(path, "a recording");
	else if ((source->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) < 0)
		source->fd = -errno;
	if (source->fd == -EISDIR || source->fd == -EPROTO)
		return source->fd;
	if (source->fd < 0)
		errno = -source->fd;
	err = source_begin(source, path, &status);
	if (!err && S_ISDIR(status.st_mode))
		return failed(-EISDIR, "%s: is a directory; accepted: a recording", path);
	return err;
}

int trace_source_open_segment(struct trace_source *source, const char *path)
{
	struct stat status;
	int err;

	source->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (source->fd < 0 &&
	    (errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == ENODEV))
		return -ENOENT;
	err = source_begin(source, path, &status);
	return !err && !source->seekable ? -ENOENT : err;
}

/* Moves the window to the front and makes room for `size` bytes and some read-ahead. */
static int source_make_room(struct trace_source *source, size_t size)
{
	size_t capacity = size + READ_AHEAD;
	__u8 *bytes;

	if (source->start) {
		memmove(source->bytes, source->bytes + source->start, source->end - source->start);
		source->end -= source->start;
		source->start = 0;
	}
	if (capacity <= source->capacity)
		return 0;
	bytes = realloc(source->bytes, capacity);
	if (!bytes)
		return failed(-ENOMEM, "no memory for a frame of %zu bytes", size);
	source->bytes = bytes;
	source->capacity = capacity;
	return 0;
}

ssize_t trace_source_need(struct trace_source *source, const char *path, size_t size)
{
	while (source->end - source->start < size && !source->ended) {
		size_t room;
		ssize_t n;
		int err = 0;

		if (source->capacity - source->start < size + READ_AHEAD)
			err = source_make_room(source, size);
		if (err)
			return err;
		room = source->capacity - source->end;
		if (source->sought && size <= READ_AFTER_SEEK)
			room = READ_AFTER_SEEK;
		source->sought = false;
		n = read(source->fd, source->bytes + source->end, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(-errno, "%s: cannot be read: %s", path, strerror(errno));
		source->end += (size_t)n;
		source->ended = n == 0;
	}
	return (ssize_t)(source->end - source->start);
}

const __u8 *trace_source_bytes(const struct trace_source *source)
{
	return source->bytes + source->start;
}

static __s64 source_seek(struct trace_source *source, const char *path, __u64 size)
{
	off_t to = lseek(source->fd, (off_t)size, SEEK_CUR);
	struct stat status;

	if (to < 0 || fstat(source->fd, &status))
		return failed(-errno, "%s: cannot seek: %s", path, strerror(errno));
	source->sought = true;
	if (to <= status.st_size)
		return 0;
	source->ended = true;
	return to - status.st_size;
}

__s64 trace_source_skip(struct trace_source *source, const char *path, __u64 size)
{
	while (true) {
		size_t have = source->end - source->start;
		ssize_t n;

		if (have > size)
			have = (size_t)size;
		source->start += have;
		size -= have;
		if (!size || source->ended)
			return (__s64)size;
		if (source->seekable)
			return source_seek(source, path, size);
		n = trace_source_need(source, path, 1);
		if (n < 0)
			return n;
	}
}

void trace_source_trim(struct trace_source *source)
{
	off_t ahead = (off_t)(source->end - source->start);

	if (!source->seekable || lseek(source->fd, -ahead, SEEK_CUR) < 0)
		return;
	free(source->bytes);
	source->bytes = NULL;
	source->capacity = source->start = source->end = 0;
	source->ended = false;
	source->sought = true;
}

void trace_source_close(struct trace_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
	free(source->bytes);
	source->bytes = NULL;
	source->capacity = 0;
}
