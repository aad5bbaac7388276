// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/set_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/pack.h"
#include "lib/trace/segments.h"
#include "lib/trace/trace.h"

#define WORD "crashed"
/* What a start needs, of files and of blocks: the ring's own and a segment. */
#define START_LEAST 2

int trace_set_aside_path(const char *path, __u32 number, char name[PATH_MAX])
{
	struct numbered_files files;

	return numbered_files_beside(&files, path, WORD)
		       ?: numbered_files_path(&files, number, name);
}

int trace_set_aside_list(const char *path, struct numbers *numbers)
{
	struct numbered_files files;

	*numbers = (struct numbers){0};
	return numbered_files_beside(&files, path, WORD) ?: numbered_files_list(&files, numbers);
}

/* A file that holds a ring's name and nothing else. */
static bool read_ring(const char *path, struct trace_file_header *header)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char more;
	bool ours;

	if (fd < 0)
		return false;
	ours = read(fd, header, sizeof(*header)) == sizeof(*header) && !read(fd, &more, 1) &&
	       trace_file_header_is_sound(header) && (header->flags & TRACE_FILE_RING);
	close(fd);
	return ours;
}

void trace_set_aside_forget(const char *path)
{
	struct trace_file_header header;

	if (read_ring(path, &header))
		unlink(path);
}

/*
 * Whether anything was recorded in it, and whether the recorder came to its end. What cannot be looked into, for
 * want of memory or descriptors, may hold everything: an error.
 */
static int look_into(const char *name, bool *recorded, bool *ended)
{
	struct trace_summary summary;
	int err = trace_summarize(name, &summary);

	*recorded = summary.last_ns;
	*ended = !err && !summary.loss.cut;
	trace_summary_free(&summary);
	return err;
}

bool trace_is_abandoned(const char *path)
{
	struct trace_segment_file file;
	struct trace_file_header ring;
	struct numbers numbers;
	char name[PATH_MAX];
	bool ended = false, recorded, found = false;
	int err = 0;

	if (!read_ring(path, &ring) || trace_segments_list(path, &numbers))
		return false;
	for (size_t i = numbers.count; i-- > 0 && !found;) {
		if (trace_segment_path(path, numbers.all[i], name) ||
		    !trace_segment_look(name, &file) || file.header.recording != ring.recording)
			continue;
		found = true;
		err = look_into(name, &recorded, &ended);
	}
	numbers_free(&numbers);
	/* Of another version: its recorder is gone, or it would hold the lock, and what it left is set aside. */
	return (!err || err == -EPROTO) && !ended;
}

/* A file for the segments of that recording. */
static int create_ring(const char *path, __u32 recording, __u32 *number, char name[PATH_MAX])
{
	struct trace_file_header header = {
		.version = TRACE_VERSION,
		.event_version = EVENT_VERSION,
		.recording = recording,
		.flags = TRACE_FILE_RING,
	};
	struct numbered_files files;
	int fd, closed, err = numbered_files_beside(&files, path, WORD);

	err = err ? err : numbered_files_next(&files, number);
	err = err ? err : numbered_files_path(&files, *number, name);
	if (err)
		return err;
	fd = files_create(AT_FDCWD, name, 0600);
	if (fd < 0)
		return fd;
	trace_seal_file(&header);
	err = files_write(fd, name, &header, sizeof(header), NULL) ?: files_sync(fd, name);
	closed = files_close(fd, name);
	err = err ? err : closed;
	if (err)
		unlink(name);
	return err;
}

static int segment_set_aside(const char *name, const char *ring, __u32 number)
{
	char to[PATH_MAX];
	int err = trace_segment_path(ring, number, to);

	if (!err && rename(name, to))
		err = failed(-errno, "%s: cannot be set aside: %s", name, strerror(errno));
	return err;
}

int trace_set_aside(const char *path, __u32 end, __u32 *set_aside)
{
	struct trace_segment_file file;
	char name[PATH_MAX], ring[PATH_MAX];
	struct numbers numbers;
	__u32 recording = 0;
	bool recorded, ended;
	int err = trace_segments_list(path, &numbers);

	*set_aside = 0;
	for (size_t i = 0; !err && i < numbers.count && numbers.all[i] < end; i++) {
		err = trace_segment_path(path, numbers.all[i], name);
		if (err || !trace_segment_look(name, &file))
			continue;
		/* What cannot be looked into is set aside like what holds something. */
		if (file.bytes <= sizeof(file.header) ||
		    (!look_into(name, &recorded, &ended) && !recorded)) {
			unlink(name);
			continue;
		}
		if (!*set_aside || file.header.recording != recording)
			err = create_ring(path, file.header.recording, set_aside, ring);
		recording = file.header.recording;
		err = err ? err : segment_set_aside(name, ring, numbers.all[i]);
	}
	numbers_free(&numbers);
	return err;
}

/* Adds what is there of one recorder: files, and their blocks. */
static void recorder_measure(const char *path, __u32 end, __u64 block, __u64 *files, __u64 *blocks)
{
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];

	if (trace_segments_list(path, &numbers))
		return;
	for (size_t i = 0; i < numbers.count && numbers.all[i] < end; i++) {
		if (trace_segment_path(path, numbers.all[i], name) ||
		    !trace_segment_look(name, &file))
			continue;
		++*files;
		*blocks += (file.bytes + block - 1) / block;
	}
	numbers_free(&numbers);
}

bool trace_set_aside_has_room(const char *path, __u32 end)
{
	__u64 files = 0, blocks = 0;
	char name[PATH_MAX];
	struct numbers numbers;
	struct statvfs disk;

	if (statvfs(files_folder(path, name), &disk) || !disk.f_frsize ||
	    trace_set_aside_list(path, &numbers))
		return false;
	for (size_t i = 0; i < numbers.count; i++)
		if (!trace_set_aside_path(path, numbers.all[i], name))
			recorder_measure(name, UINT32_MAX, disk.f_frsize, &files, &blocks);
	numbers_free(&numbers);
	recorder_measure(path, end, disk.f_frsize, &files, &blocks);
	/* A file system may have no bound of files. */
	return (!disk.f_files || disk.f_favail + files >= START_LEAST) &&
	       disk.f_bavail + blocks >= START_LEAST;
}

/* The oldest segment of one recorder; counted if anything was in it. */
static bool delete_first(const char *path, __u32 end, __u64 *deleted)
{
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];
	bool gone = false;

	if (trace_segments_list(path, &numbers))
		return false;
	for (size_t i = 0; !gone && i < numbers.count && numbers.all[i] < end; i++)
		gone = !trace_segment_path(path, numbers.all[i], name) &&
		       trace_segment_look(name, &file) && !unlink(name);
	*deleted += gone && file.bytes > sizeof(file.header);
	numbers_free(&numbers);
	return gone;
}

bool trace_set_aside_give_up(const char *path, __u32 end, __u64 *deleted)
{
	struct numbers numbers;
	char ring[PATH_MAX];
	bool gone = false;

	if (trace_set_aside_list(path, &numbers))
		return false;
	for (size_t i = 0; !gone && i < numbers.count; i++) {
		if (trace_set_aside_path(path, numbers.all[i], ring))
			continue;
		gone = delete_first(ring, UINT32_MAX, deleted);
		if (!gone)
			trace_set_aside_forget(ring);
	}
	numbers_free(&numbers);
	return gone || delete_first(path, end, deleted);
}
