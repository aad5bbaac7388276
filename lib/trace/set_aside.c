// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/set_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

bool trace_is_abandoned(const char *path, bool ended_too)
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
	return (!err || err == -EPROTO) && (ended_too || !ended);
}

/* What others may have put where a segment is to go: a rename would fail, or replace it. */
static bool segment_is_taken(const char *ring, __u32 number)
{
	struct stat status;
	char name[PATH_MAX];

	return trace_segment_path(ring, number, name) || !lstat(name, &status);
}

/* The next free name for a ring that is to get the segment `first`, as a file. */
static int create_file(const char *path, __u32 first, __u32 *number, char name[PATH_MAX])
{
	struct numbered_files files;
	int fd, err = numbered_files_beside(&files, path, WORD);

	err = err ? err : numbered_files_next(&files, trace_is_own_ring, number);
	if (err)
		return err;
	/* Behind the last number there is the first. */
	for (;; ++*number) {
		*number += !*number;
		err = numbered_files_path(&files, *number, name);
		if (err)
			return err;
		fd = segment_is_taken(name, first) ? -EEXIST : files_create(AT_FDCWD, name, 0600);
		if (fd != -EEXIST)
			return fd;
	}
}

/* A file for the segments of that recording, from number `first` on. */
static int create_ring(const char *path, __u32 recording, __u32 first, __u32 *number,
		       char name[PATH_MAX])
{
	struct trace_file_header header = {
		.version = TRACE_VERSION,
		.event_version = EVENT_VERSION,
		.recording = recording,
		.flags = TRACE_FILE_RING,
	};
	int closed, err, fd = create_file(path, first, number, name);

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

/* The ring that segments go to. */
struct aside {
	char path[PATH_MAX];
	__u32 number; /* 0: there is none yet */
	__u32 recording;
};

static int set_aside_one(const char *path, const char *name, __u32 recording, __u32 number,
			 struct aside *to)
{
	bool begin =
		!to->number || to->recording != recording || segment_is_taken(to->path, number);
	int err = begin ? create_ring(path, recording, number, &to->number, to->path) : 0;

	if (err)
		return err;
	to->recording = recording;
	err = segment_set_aside(name, to->path, number);
	/* A start that fails leaves no ring without segments. */
	if (err && begin)
		unlink(to->path);
	return err;
}

int trace_set_aside(const char *path, __u32 recording, __u32 *set_aside)
{
	struct aside to = {.number = 0};
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];
	bool recorded, ended;
	int err = trace_segments_list(path, &numbers);

	for (size_t i = 0; !err && i < numbers.count; i++) {
		err = trace_segment_path(path, numbers.all[i], name);
		if (err || !trace_segment_look(name, &file) || file.header.recording == recording)
			continue;
		/* What cannot be looked into is set aside like what holds something. */
		if (file.bytes <= sizeof(file.header) ||
		    (!look_into(name, &recorded, &ended) && !recorded)) {
			unlink(name);
			continue;
		}
		err = set_aside_one(path, name, file.header.recording, numbers.all[i], &to);
	}
	*set_aside = to.number;
	numbers_free(&numbers);
	return err;
}

/* Adds what is there of one name, but for what is of `recording`: files, and their blocks. */
static void recorder_measure(const char *path, __u32 recording, __u64 block, __u64 *files,
			     __u64 *blocks)
{
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];

	if (trace_segments_list(path, &numbers))
		return;
	for (size_t i = 0; i < numbers.count; i++) {
		if (trace_segment_path(path, numbers.all[i], name) ||
		    !trace_segment_look(name, &file) || file.header.recording == recording)
			continue;
		++*files;
		*blocks += (file.bytes + block - 1) / block;
	}
	numbers_free(&numbers);
}

bool trace_set_aside_has_room(const char *path, __u32 recording)
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
			recorder_measure(name, recording, disk.f_frsize, &files, &blocks);
	numbers_free(&numbers);
	recorder_measure(path, recording, disk.f_frsize, &files, &blocks);
	/* A file system may have no bound of files. */
	return (!disk.f_files || disk.f_favail + files >= START_LEAST) &&
	       disk.f_bavail + blocks >= START_LEAST;
}

/* The oldest segment of one recorder; counted if anything was in it. */
static bool delete_first(const char *path, __u32 recording, __u64 *deleted)
{
	struct trace_segment_file file;
	struct numbers numbers;
	char name[PATH_MAX];
	bool gone = false;

	if (trace_segments_list(path, &numbers))
		return false;
	for (size_t i = 0; !gone && i < numbers.count; i++)
		gone = !trace_segment_path(path, numbers.all[i], name) &&
		       trace_segment_look(name, &file) && file.header.recording != recording &&
		       !unlink(name);
	*deleted += gone && file.bytes > sizeof(file.header);
	numbers_free(&numbers);
	return gone;
}

bool trace_set_aside_give_up(const char *path, __u32 recording, __u64 *deleted)
{
	struct numbers numbers;
	char ring[PATH_MAX];
	bool gone = false;

	if (trace_set_aside_list(path, &numbers))
		return false;
	for (size_t i = 0; !gone && i < numbers.count; i++) {
		if (trace_set_aside_path(path, numbers.all[i], ring))
			continue;
		gone = delete_first(ring, recording, deleted);
		if (!gone)
			trace_set_aside_forget(ring);
	}
	numbers_free(&numbers);
	return gone || delete_first(path, recording, deleted);
}
