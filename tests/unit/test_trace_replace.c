// SPDX-License-Identifier: GPL-2.0
/*
 * A recording replaces another one whole or not at all, also where the file system knows no files
 * without a name.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

#define MIB (1u << 20)

static char path[128];
static bool no_unnamed_files;

/* In the place of libc's: NFS, vfat and others refuse O_TMPFILE like this. */
int openat(int directory, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, directory, name, flags, mode);
}

static int make_directory(void **state)
{
	int err = scratch_make(state);

	no_unnamed_files = false;
	snprintf(path, sizeof(path), "%s/run.flt", scratch);
	return err;
}

static int make_directory_of_nfs(void **state)
{
	int err = make_directory(state);

	no_unnamed_files = true;
	return err;
}

static void push(struct trace_writer *writer, __u32 events)
{
	struct random_stream random = {.seed = events, .events = events};

	assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), 0);
}

static void record(const struct trace_writer_config *config, __u32 events)
{
	struct trace_writer *writer = recording_open(config);

	push(writer, events);
	assert_int_equal(trace_writer_close(writer), 0);
}

static __u64 events_at_path(void)
{
	struct trace_summary summary;

	assert_int_equal(trace_summarize(path, &summary), 0);
	assert_int_equal(summary.loss.damaged_frames, 0);
	trace_summary_free(&summary);
	return summary.events;
}

/* Files in the scratch directory whose names begin like the recording's. */
static size_t files_here(void)
{
	char pattern[160];
	glob_t found;
	size_t count;

	snprintf(pattern, sizeof(pattern), "%s/*", scratch);
	count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return count;
}

static void what_was_never_committed_changes_nothing(const struct trace_writer_config *how)
{
	struct trace_writer_config config = *how;
	struct trace_writer *writer;
	size_t before = files_here();
	__u64 events = events_at_path();

	config.held = true;
	writer = recording_open(&config);
	assert_int_equal(events_at_path(), events);
	push(writer, 20011);
	assert_int_equal(events_at_path(), events);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_at_path(), events);
	assert_int_equal(files_here(), before);
}

static void the_committed_one_takes_its_place(const struct trace_writer_config *how)
{
	struct trace_writer_config config = *how;
	struct trace_writer *writer;
	__u64 events = events_at_path();

	config.held = true;
	writer = recording_open(&config);
	push(writer, 1009);
	assert_int_equal(events_at_path(), events);
	assert_int_equal(trace_writer_commit(writer), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_at_path(), 1009);
}

static void a_recording_is_replaced_at_its_commit(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true};

	record(&config, 503);
	what_was_never_committed_changes_nothing(&config);
	the_committed_one_takes_its_place(&config);
	assert_int_equal(files_here(), 1);
}

static void a_flight_recorder_is_replaced_at_its_commit(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = 4 * MIB};

	record(&config, 503);
	what_was_never_committed_changes_nothing(&config);
	the_committed_one_takes_its_place(&config);
	assert_int_equal(files_here(), 2); /* its header and one segment, none of the old */
}

static void each_kind_replaces_the_other(void **state)
{
	const struct trace_writer_config plain = {.path = path, .overwrite = true};
	const struct trace_writer_config ring = {
		.path = path, .overwrite = true, .max_bytes = 4 * MIB};

	record(&plain, 503);
	what_was_never_committed_changes_nothing(&ring);
	the_committed_one_takes_its_place(&ring);
	what_was_never_committed_changes_nothing(&plain);
	the_committed_one_takes_its_place(&plain);
	assert_int_equal(files_here(), 1);
}

static void a_killed_start_leaves_the_old_recording(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .held = true, .max_bytes = 4 * MIB};
	const struct trace_writer_config plain = {.path = path, .overwrite = true};
	int status;
	pid_t child;

	record(&plain, 503);
	child = child_fork();
	if (!child) {
		push(recording_open(&config), 20011);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(events_at_path(), 503);
	/* Nor do the segments that it left belong to whatever comes then. */
	the_committed_one_takes_its_place(&config);
	assert_int_equal(files_here(), 2);
}

static void an_unforced_start_refuses_and_leaves_nothing(void **state)
{
	struct trace_writer_config config = {.path = path, .held = true};
	struct trace_writer *writer = recording_open(&config);

	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(files_here(), 0);
	writer = recording_open(&config);
	push(writer, 503);
	assert_int_equal(trace_writer_commit(writer), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	assert_int_equal(events_at_path(), 503);
}

static void a_failed_snapshot_leaves_the_old_one(void **state)
{
	const struct trace_writer_config config = {.path = path};
	char from[160];
	FILE *file;

	record(&config, 503);
	snprintf(from, sizeof(from), "%s/from.flt", scratch);
	file = fopen(from, "w");
	fputs("no recording at all", file);
	fclose(file);
	assert_int_equal(trace_snapshot(from, path, true, 0, 0), -EPROTO);
	assert_int_equal(events_at_path(), 503);
	assert_int_equal(files_here(), 2);
}

static void links_and_directories_are_not_replaced(void **state)
{
	char link[160];
	int fd;

	snprintf(link, sizeof(link), "%s/link", scratch);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(files_create_unnamed(AT_FDCWD, link, 0600, true), -EEXIST);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(files_create_unnamed(AT_FDCWD, path, 0600, true), -EEXIST);
	assert_int_equal(rmdir(path), 0);
	/* Nor where they come between the two steps. */
	fd = files_create_unnamed(AT_FDCWD, path, 0600, true);
	assert_true(fd >= 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(files_name(fd, AT_FDCWD, path, true), -EEXIST);
	files_discard(fd, AT_FDCWD, path, true);
	close(fd);
	assert_int_equal(files_here(), 2);
}

static void two_names_may_be_of_one_file(void **state)
{
	struct stat first, second, other;
	char link_path[160];

	snprintf(link_path, sizeof(link_path), "%s/link", scratch);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(link(path, link_path), 0);
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(stat(link_path, &second), 0);
	assert_int_equal(stat(scratch, &other), 0);
	assert_true(same_file(&first, &second));
	assert_false(same_file(&first, &other));
	/* A number means nothing on another file system. */
	second.st_dev++;
	assert_false(same_file(&first, &second));
}

#define BOTH(test)                                                             \
	cmocka_unit_test_setup_teardown(test, make_directory, scratch_remove), \
		cmocka_unit_test_setup_teardown(test, make_directory_of_nfs, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_recording_is_replaced_at_its_commit),
		BOTH(a_flight_recorder_is_replaced_at_its_commit),
		BOTH(each_kind_replaces_the_other),
		BOTH(a_killed_start_leaves_the_old_recording),
		BOTH(an_unforced_start_refuses_and_leaves_nothing),
		BOTH(a_failed_snapshot_leaves_the_old_one),
		BOTH(links_and_directories_are_not_replaced),
		cmocka_unit_test_setup_teardown(two_names_may_be_of_one_file, make_directory,
						scratch_remove),
	};

	return cmocka_run_group_tests_name("trace_replace", tests, NULL, NULL);
}
