// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/pack.h"
#include "lib/trace/trace.h"

int trace_segment_path(const char *path, __u32 number, char name[PATH_MAX])
{
	struct numbered_files files;

	return numbered_files_behind(&files, path) ?: numbered_files_path(&files, number, name);
}

int trace_segments_list(const char *path, struct numbers *numbers)
{
	struct numbered_files files;

	*numbers = (struct numbers){0};
	return numbered_files_behind(&files, path) ?: numbered_files_list(&files, numbers);
}

/* The header of a file that nobody is writing: how many of its bytes are there, or -1. */
static ssize_t segment_look(const char *name, struct trace_segment_file *file)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	ssize_t n = -1;

	*file = (struct trace_segment_file){0};
	if (fd < 0)
		return -1;
	/* A file system may know no locks. */
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) &&
	    (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)) {
		n = read(fd, &file->header, sizeof(file->header));
		file->bytes = (__u64)status.st_size;
		file->modified_ns =
			(__u64)status.st_mtim.tv_sec * NSEC_PER_SEC + (__u64)status.st_mtim.tv_nsec;
	}
	close(fd);
	return n;
}

bool trace_segment_look(const char *name, struct trace_segment_file *file)
{
	ssize_t n = segment_look(name, file);
	size_t magic = sizeof(file->header.magic);
	bool ours;

	if (n == sizeof(file->header))
		return trace_file_header_is_sound(&file->header) &&
		       (file->header.flags & TRACE_FILE_SEGMENT);
	/* Or what is left of one whose recorder was killed before its header was written. */
	ours = n >= 0 &&
	       !memcmp(file->header.magic, TRACE_FILE_MAGIC, (size_t)n < magic ? (size_t)n : magic);
	file->header = (struct trace_file_header){0};
	return ours;
}

bool trace_is_recording(const char *path, __u64 *bytes)
{
	struct trace_segment_file file;
	ssize_t n = segment_look(path, &file);

	*bytes = file.bytes;
	return n == sizeof(file.header) && trace_file_header_is_sound(&file.header) &&
	       !file.header.flags;
}

static bool own_header(const char *name, struct trace_file_header *header)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool ours;

	if (fd < 0)
		return false;
	ours = !fstat(fd, &status) && file_is_ours(&status) &&
	       read(fd, header, sizeof(*header)) == sizeof(*header) &&
	       trace_file_header_is_sound(header);
	close(fd);
	return ours;
}

bool trace_is_own_segment(const char *name, __u32 number)
{
	struct trace_file_header header;

	return own_header(name, &header) && (header.flags & TRACE_FILE_SEGMENT) &&
	       header.segment == number;
}

bool trace_is_own_ring(const char *name, __u32 number)
{
	struct trace_file_header header;

	(void)number;
	return own_header(name, &header) && (header.flags & TRACE_FILE_RING);
}

bool trace_is_own_recording(const char *name, __u32 number)
{
	struct trace_file_header header;

	(void)number;
	return own_header(name, &header) && !header.flags;
}

int trace_segments_remove(const char *path, __u32 recording)
{
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];
	int err = trace_segments_list(path, &numbers);

	for (size_t i = 0; !err && i < numbers.count; i++) {
		err = trace_segment_path(path, numbers.all[i], name);
		if (!err && trace_segment_look(name, &file) && file.header.recording != recording &&
		    unlink(name))
			err = failed(-errno, "%s: cannot be replaced: %s", name, strerror(errno));
	}
	numbers_free(&numbers);
	return err;
}

bool trace_segment_is_of_living(const char *path)
{
	const char *dot = strrchr(path, '.');
	unsigned long number = dot ? strtoul(dot + 1, NULL, 10) : 0;
	struct trace_file_header header;
	char ring[PATH_MAX], name[PATH_MAX];
	bool living;
	int fd;

	if (!number || number > UINT32_MAX)
		return false;
	snprintf(ring, sizeof(ring), "%.*s", (int)(dot - path), path);
	if (trace_segment_path(ring, (__u32)number, name) || strcmp(name, path) != 0)
		return false;
	fd = open(ring, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	living = read(fd, &header, sizeof(header)) == sizeof(header) &&
		 trace_file_header_is_sound(&header) && (header.flags & TRACE_FILE_RING) &&
		 flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return living;
}

bool trace_has_segment(const char *path, const struct stat *file)
{
	struct numbers numbers;
	struct stat segment;
	char name[PATH_MAX];
	bool found = false;

	if (trace_segments_list(path, &numbers))
		return false;
	for (size_t i = 0; !found && i < numbers.count; i++)
		found = !trace_segment_path(path, numbers.all[i], name) && !stat(name, &segment) &&
			same_file(&segment, file);
	numbers_free(&numbers);
	return found;
}
