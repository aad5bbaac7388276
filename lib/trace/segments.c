// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/segments.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/pack.h"
#include "lib/trace/store.h"
#include "lib/trace/trace.h"

/* The number in "BASE.NNNNNN", 0 if the name is another. */
static __u32 segment_number(const char *name, const char *base)
{
	size_t length = strlen(base);
	unsigned long number;
	char *end;

	if (strncmp(name, base, length) != 0 || name[length] != '.')
		return 0;
	name += length + 1;
	if (strlen(name) < TRACE_SEGMENT_DIGITS || !isdigit((unsigned char)*name))
		return 0;
	number = strtoul(name, &end, 10);
	return *end || number > UINT32_MAX ? 0 : (__u32)number;
}

static int compare(const void *a, const void *b)
{
	__u32 left = *(const __u32 *)a, right = *(const __u32 *)b;

	return left < right ? -1 : left > right;
}

static int add(struct trace_segments *segments, __u32 number)
{
	__u32 *numbers = realloc(segments->numbers, (segments->count + 1) * sizeof(*numbers));

	if (!numbers)
		return failed(-ENOMEM, "no memory for the list of segments");
	segments->numbers = numbers;
	numbers[segments->count++] = number;
	return 0;
}

int trace_segments_list(const char *path, struct trace_segments *segments)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char parent[PATH_MAX];
	struct dirent *entry;
	DIR *directory;
	int err = 0;

	memset(segments, 0, sizeof(*segments));
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	directory = opendir(parent);
	if (!directory)
		return failed(-errno, "%s: cannot list its segments: %s", path, strerror(errno));
	while (!err && (entry = readdir(directory))) {
		__u32 number = segment_number(entry->d_name, base);

		if (number)
			err = add(segments, number);
	}
	closedir(directory);
	if (segments->count)
		qsort(segments->numbers, segments->count, sizeof(*segments->numbers), compare);
	return err;
}

void trace_segments_free(struct trace_segments *segments)
{
	free(segments->numbers);
	memset(segments, 0, sizeof(*segments));
}

/* A segment, or what is left of one whose recorder was killed before its header was written. */
static bool is_segment(const char *path)
{
	struct trace_file_header header;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, &header, sizeof(header));
	close(fd);
	if (n == sizeof(header))
		return trace_file_header_is_sound(&header) && (header.flags & TRACE_FILE_SEGMENT);
	return n >= 0 &&
	       !memcmp(header.magic, TRACE_FILE_MAGIC,
		       n < (ssize_t)sizeof(header.magic) ? (size_t)n : sizeof(header.magic));
}

int trace_segments_remove(const char *path, __u32 end)
{
	struct trace_segments segments;
	char name[PATH_MAX];
	int err = trace_segments_list(path, &segments);

	for (size_t i = 0; !err && i < segments.count && segments.numbers[i] < end; i++) {
		err = trace_segment_path(path, segments.numbers[i], name);
		if (!err && is_segment(name) && unlink(name))
			err = failed(-errno, "%s: cannot be replaced: %s", name, strerror(errno));
	}
	trace_segments_free(&segments);
	return err;
}

bool trace_has_segment(const char *path, const struct stat *file)
{
	struct trace_segments segments;
	struct stat segment;
	char name[PATH_MAX];
	bool found = false;

	if (trace_segments_list(path, &segments))
		return false;
	for (size_t i = 0; !found && i < segments.count; i++)
		found = !trace_segment_path(path, segments.numbers[i], name) &&
			!stat(name, &segment) && same_file(&segment, file);
	trace_segments_free(&segments);
	return found;
}
