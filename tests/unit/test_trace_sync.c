// SPDX-License-Identifier: GPL-2.0
/*
 * What a power failure leaves of recordings, and what they tell of a disk that fails. Stands between the
 * program and libc: it knows of each file how much of it was on the disk by then.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/sync.h"
#include "lib/trace/trace.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

#define MIB   (1u << 20)
#define FILES 4096u

static char path[128];

/* Held by whoever syncs; what `disk` says is under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	struct {
		ino_t inode;
		off_t bytes; /* on the disk */
		bool named;  /* likewise */
	} files[FILES];
	size_t count;
	unsigned int syncs;	/* of files, calls */
	unsigned int unsynced;	/* names given to files that were not on the disk as a whole */
	int sync_error;		/* of segments, from number `fail_from` on */
	int close_error;	/* likewise */
	unsigned int fail_from; /* 0: none */
	bool stuck;		/* segments wait until it is no more */
	unsigned int waiting;	/* for that */
} disk;

/* The number of the segment that the descriptor is of, or 0. */
static unsigned int segment_of(int fd)
{
	char link[32], name[256];
	unsigned int number = 0;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, sizeof(name) - 1);
	name[length < 0 ? 0 : length] = '\0';
	if (strncmp(name, path, strlen(path)) || sscanf(name + strlen(path), ".%u", &number) != 1)
		return 0;
	return number;
}

static bool fails(int fd)
{
	unsigned int number = segment_of(fd);

	return disk.fail_from && number >= disk.fail_from;
}

static size_t file_of(ino_t inode)
{
	size_t i = 0;

	while (i < disk.count && disk.files[i].inode != inode)
		i++;
	if (i == disk.count && disk.count < FILES)
		disk.files[disk.count++].inode = inode;
	return i < FILES ? i : FILES - 1;
}

static void name_all(void)
{
	char pattern[160];
	struct stat status;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*", scratch);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!stat(found.gl_pathv[i], &status))
			disk.files[file_of(status.st_ino)].named = true;
	globfree(&found);
}

int fsync(int fd)
{
	struct stat status;
	int err = 0;

	if (fstat(fd, &status))
		return -1;
	pthread_mutex_lock(&lock);
	if (S_ISREG(status.st_mode))
		disk.syncs++;
	disk.waiting++;
	pthread_cond_broadcast(&changed);
	while (disk.stuck && segment_of(fd))
		pthread_cond_wait(&changed, &lock);
	disk.waiting--;
	if (S_ISDIR(status.st_mode))
		name_all();
	else if (disk.sync_error && fails(fd))
		err = disk.sync_error;
	else
		disk.files[file_of(status.st_ino)].bytes = status.st_size;
	pthread_mutex_unlock(&lock);
	errno = err;
	return err ? -1 : 0;
}

int close(int fd)
{
	int err = 0;

	if (disk.close_error && fails(fd))
		err = disk.close_error;
	syscall(SYS_close, fd);
	errno = err ? err : errno;
	return err ? -1 : 0;
}

static void note_name(const char *of)
{
	struct stat status;

	if (stat(of, &status))
		return;
	pthread_mutex_lock(&lock);
	disk.unsynced += disk.files[file_of(status.st_ino)].bytes != status.st_size;
	pthread_mutex_unlock(&lock);
}

int linkat(int from, const char *of, int to, const char *name, int flags)
{
	note_name(of);
	return (int)syscall(SYS_linkat, from, of, to, name, flags);
}

int renameat(int from, const char *of, int to, const char *name)
{
	note_name(of);
	return (int)syscall(SYS_renameat2, from, of, to, name, 0);
}

/* How many files a power failure would take, or cut. */
static size_t lost_by_power_failure(void)
{
	char pattern[160];
	struct stat status;
	size_t lost = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*", scratch);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		size_t file;

		assert_int_equal(stat(found.gl_pathv[i], &status), 0);
		file = file_of(status.st_ino);
		lost += !disk.files[file].named || disk.files[file].bytes != status.st_size;
	}
	globfree(&found);
	return lost;
}

static int make_directory(void **state)
{
	int err = scratch_make(state);

	memset(&disk, 0, sizeof(disk));
	snprintf(path, sizeof(path), "%s/run.flt", scratch);
	return err;
}

static struct trace_writer *open_ring(void)
{
	return recording_open(&(struct trace_writer_config){.path = path, .max_bytes = MIB});
}

static void push(struct trace_writer *writer, __u32 events)
{
	struct random_stream random = {.seed = events, .events = events};

	assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), 0);
}

static struct trace_writer_stats stats_of(struct trace_writer *writer)
{
	struct trace_writer_stats stats;

	trace_writer_stats(writer, &stats);
	return stats;
}

/* Until there is a segment of that number, with little in it. */
static void push_segments(struct trace_writer *writer, unsigned int number)
{
	char name[160];

	snprintf(name, sizeof(name), "%s.%06u", path, number);
	for (unsigned int i = 0; access(name, F_OK); i++) {
		assert_true(i < 10000);
		push(writer, 251);
	}
}

static bool name_is_on_disk(void)
{
	struct stat status;

	return !stat(path, &status) && disk.files[file_of(status.st_ino)].named;
}

static void what_was_closed_is_on_the_disk(void **state)
{
	struct trace_writer_config config = {.path = path, .held = true};
	struct trace_writer *writer;

	for (int ring = 0; ring < 2; ring++) {
		config.max_bytes = ring ? MIB : 0;
		config.overwrite = ring;
		writer = recording_open(&config);
		push(writer, 1009);
		assert_int_equal(trace_writer_commit(writer), 0);
		assert_true(name_is_on_disk());
		push(writer, 50021);
		assert_int_equal(trace_writer_close(writer), 0);
		assert_int_equal(lost_by_power_failure(), 0);
		assert_int_equal(disk.unsynced, 0);
	}
	assert_true(disk.syncs > 4);
}

static void a_snapshot_has_its_name_once_it_is_on_the_disk(void **state)
{
	struct trace_writer *writer = open_ring();
	char to[160];

	snprintf(to, sizeof(to), "%s/snapshot.flt", scratch);
	push(writer, 20011);
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		assert_int_equal(trace_snapshot(path, to, overwrite, 1, 0), 0);
		assert_int_equal(disk.unsynced, 0);
	}
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(lost_by_power_failure(), 0);
}

static void a_finished_segment_gets_to_the_disk_meanwhile(void **state)
{
	struct trace_writer *writer = open_ring();

	push_segments(writer, 5);
	assert_int_equal(trace_writer_settle(writer), 0);
	assert_int_equal(lost_by_power_failure(), 1); /* the one that is being written */
	assert_int_equal(trace_writer_close(writer), 0);
}

/* The disk does nothing at all: what is recorded goes on for as many segments as may wait, and farther. */
static void nobody_waits_for_the_disk(void **state)
{
	struct trace_writer *writer = open_ring();
	struct trace_writer_stats stats;

	disk.stuck = true;
	push_segments(writer, TRACE_SYNC_MOST + 1);
	stats = stats_of(writer);
	assert_int_equal(stats.unsynced_segments, 0);
	push_segments(writer, TRACE_SYNC_MOST + 3);
	stats = stats_of(writer);
	assert_int_equal(stats.unsynced_segments, 2);
	assert_int_equal(stats.unsynced_error, -EAGAIN);
	pthread_mutex_lock(&lock);
	while (!disk.waiting)
		pthread_cond_wait(&changed, &lock);
	assert_int_equal(disk.waiting, 1);
	disk.stuck = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	assert_int_equal(trace_writer_settle(writer), 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void a_segment_that_fails_is_counted(void **state)
{
	struct trace_writer *writer = open_ring();
	struct trace_writer_stats stats;

	disk.fail_from = 2;
	disk.sync_error = EIO;
	push_segments(writer, 4);
	assert_int_equal(trace_writer_settle(writer), 0);
	stats = stats_of(writer);
	assert_int_equal(stats.unsynced_segments, 2);
	assert_int_equal(stats.unsynced_number, 3);
	assert_int_equal(stats.unsynced_error, -EIO);
	assert_int_equal(stats.given_up_segments, 0);
	/* The last one fails, too: that is the result. */
	assert_int_equal(trace_writer_close(writer), -EIO);
	assert_non_null(strstr(failure_text(), "run.flt.000004: cannot be written to the disk"));
}

/* As NFS: no room is told when the file is closed. The oldest goes, as on any full disk. */
static void no_room_that_is_told_late_gives_up_the_oldest(void **state)
{
	struct trace_writer *writer = open_ring();
	struct trace_writer_stats stats;

	push_segments(writer, 3);
	disk.fail_from = 3;
	disk.close_error = ENOSPC;
	push_segments(writer, 4);
	assert_int_equal(trace_writer_settle(writer), 0);
	disk.fail_from = 0;
	push_segments(writer, 5);
	stats = stats_of(writer);
	assert_int_equal(stats.unsynced_segments, 1);
	assert_int_equal(stats.unsynced_error, -ENOSPC);
	assert_int_equal(stats.given_up_segments, 1);
	assert_int_equal(access(path, F_OK), 0);
	push_segments(writer, 6);
	assert_int_equal(stats_of(writer).given_up_segments, 1);
	assert_int_equal(trace_writer_close(writer), 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, make_directory, scratch_remove)
	const struct CMUnitTest tests[] = {
		TEST(what_was_closed_is_on_the_disk),
		TEST(a_snapshot_has_its_name_once_it_is_on_the_disk),
		TEST(a_finished_segment_gets_to_the_disk_meanwhile),
		TEST(nobody_waits_for_the_disk),
		TEST(a_segment_that_fails_is_counted),
		TEST(no_room_that_is_told_late_gives_up_the_oldest),
	};

	return cmocka_run_group_tests_name("trace_sync", tests, NULL, NULL);
}
