// SPDX-License-Identifier: GPL-2.0
/* Names of a flight recorder's files in a folder where others make files, too: numbers, lengths, what goes missing. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/pack.h"
#include "lib/trace/store.h"
#include "lib/base/clock.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

#define MIB    (1u << 20)
#define EVENTS 5003u

static char path[512];
static int rename_error; /* of the next calls; 0: none */

static int create_error; /* of segments; 0: none */
static int write_error;	 /* likewise */

int openat(int directory, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	if (create_error && (flags & O_CREAT)) {
		errno = create_error;
		return -1;
	}
	return (int)syscall(SYS_openat, directory, name, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	if (!write_error || fd <= STDERR_FILENO)
		return syscall(SYS_write, fd, bytes, size);
	errno = write_error;
	return -1;
}

int rename(const char *from, const char *to)
{
	errno = rename_error;
	return rename_error ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static int make_directory(void **state)
{
	int err = scratch_make(state);

	rename_error = create_error = write_error = 0;
	snprintf(path, sizeof(path), "%s/a.flt", scratch);
	return err;
}

static const char *in_scratch(const char *name)
{
	static char full[600];

	snprintf(full, sizeof(full), "%s/%s", scratch, name);
	return full;
}

static size_t files_like(const char *pattern)
{
	glob_t found;
	size_t count = glob(in_scratch(pattern), 0, NULL, &found) ? 0 : found.gl_pathc;

	globfree(&found);
	return count;
}

static bool is_there(const char *name)
{
	struct stat status;

	return !lstat(in_scratch(name), &status);
}

static struct trace_writer_config ring(void)
{
	return (struct trace_writer_config){.path = path, .max_bytes = MIB};
}

static struct trace_writer *open_ring(void)
{
	const struct trace_writer_config config = ring();

	return recording_open(&config);
}

static void push(struct trace_writer *writer, __u32 events)
{
	struct random_stream random = {.seed = events, .events = events};

	assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), 0);
}

static void make_empty(const char *name)
{
	int fd = open(in_scratch(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static __u64 events_of(const char *name)
{
	struct trace_summary summary;
	__u64 events;

	if (trace_summarize(in_scratch(name), &summary))
		fail_msg("%s", failure_text());
	assert_int_equal(summary.loss.damaged_frames, 0);
	events = summary.events;
	trace_summary_free(&summary);
	return events;
}

/* A recorder that wrote EVENTS into a segment or more and was killed. */
static void leave_dead(void)
{
	pid_t child = child_fork();
	int status;

	if (!child) {
		struct random_stream random = {.seed = 1, .events = EVENTS};
		struct trace_writer *writer = open_ring();

		assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), 0);
		assert_int_equal(trace_writer_flush(writer), 0);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, SIGKILL);
}

/* Of the segment, which becomes number `to`: by its name, and by what it tells of itself. */
static void renumber(unsigned int from, unsigned int to, unsigned int told)
{
	struct trace_file_header header;
	char name[600], new_name[600];
	int fd;

	snprintf(name, sizeof(name), "%s.%06u", path, from);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	header.segment = told;
	trace_seal_file(&header);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
	snprintf(new_name, sizeof(new_name), "%s.%06u", path, to);
	assert_int_equal(rename(name, new_name), 0);
}

/* As a recorder that died leaves it once its segments have been let go. */
static void make_ring(const char *name)
{
	struct trace_file_header header = {
		.version = TRACE_VERSION, .event_version = EVENT_VERSION, .flags = TRACE_FILE_RING};
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	trace_seal_file(&header);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
}

/* What is no segment, no segment of that number or a stranger's says nothing of what numbers are used up. */
static void names_of_others_decide_nothing(void **state)
{
	leave_dead();
	renumber(1, 2000000001, 2000000001);
	assert_int_equal(chown(in_scratch("a.flt.2000000001"), 65534, 65534), 0);
	leave_dead();
	assert_true(is_there("a.crashed-001.flt.2000000001") && is_there("a.flt.000001"));
	renumber(1, 2000000000, 1);
	make_empty("a.flt.4294967294");
	assert_int_equal(mkdir(in_scratch("a.flt.4294967295"), 0700), 0);
	make_empty("a.crashed-4294967295.flt");
	assert_int_equal(mkdir(in_scratch("a.flt.000002"), 0700), 0);
	leave_dead();
	assert_int_equal(events_of("a.crashed-002.flt"), EVENTS);
	assert_int_equal(events_of("a.flt"), EVENTS);
	assert_true(is_there("a.flt.000001"));
	assert_true(is_there("a.flt.4294967295"));
	assert_true(is_there("a.crashed-4294967295.flt"));
	/* The names that are taken are passed over. */
	leave_dead();
	assert_int_equal(events_of("a.crashed-003.flt"), EVENTS);
	assert_true(is_there("a.flt.000003"));
}

/* Ours have come to the last one: the next recorder begins with the first, as theirs are set aside. */
static void numbers_begin_anew(void **state)
{
	struct trace_writer *writer;

	leave_dead();
	renumber(1, UINT32_MAX, UINT32_MAX);
	writer = open_ring();
	push(writer, 997);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_of("a.crashed-001.flt"), EVENTS);
	assert_true(is_there("a.crashed-001.flt.4294967295"));
	assert_int_equal(events_of("a.flt"), 997);
	assert_true(is_there("a.flt.000001"));
	/* Half of them are as many as there will ever be. */
	renumber(1, UINT32_MAX / 2 + 2, UINT32_MAX / 2 + 2);
	leave_dead();
	assert_true(is_there("a.flt.000001"));
	/* And where others are replaced. */
	renumber(1, UINT32_MAX, UINT32_MAX);
	writer = recording_open(
		&(struct trace_writer_config){.path = path, .max_bytes = MIB, .overwrite = true});
	push(writer, 499);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(files_like("a.flt.*"), 1);
	assert_int_equal(events_of("a.flt"), 499);
}

/* A recorder whose numbers run out ends with a sentence, before it begins with the first. */
static void numbers_never_wrap(void **state)
{
	const struct trace_writer_config config = ring();
	struct trace_store store;

	assert_int_equal(trace_store_open(&store, &config), 0);
	assert_int_equal(trace_store_commit(&store), 0);
	store.next = UINT32_MAX - 1;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(trace_store_next_segment(&store, SECOND), 0);
		assert_int_equal(trace_store_append(&store, "frame", 5, SECOND), 0);
	}
	assert_int_equal(trace_store_next_segment(&store, SECOND), -EOVERFLOW);
	assert_non_null(strstr(failure_text(), "no number is left"));
	assert_int_equal(trace_store_close(&store), 0);
	assert_true(is_there("a.flt.4294967294") && is_there("a.flt.4294967295"));
	assert_false(is_there("a.flt.000000"));
	/* Nor where the last one is taken. */
	assert_int_equal(trace_store_open(&store, &config), 0);
	store.next = UINT32_MAX;
	assert_int_equal(trace_store_next_segment(&store, SECOND), -EOVERFLOW);
	trace_store_close(&store);
}

/* Where others have taken the name that a segment is to get, its ring gets another one. */
static void what_died_is_set_aside_past_names_of_others(void **state)
{
	leave_dead();
	assert_int_equal(mkdir(in_scratch("a.crashed-001.flt.000001"), 0700), 0);
	make_empty("a.crashed-002.flt.000001");
	leave_dead();
	assert_int_equal(events_of("a.crashed-003.flt"), EVENTS);
	assert_false(is_there("a.crashed-001.flt"));
	assert_false(is_there("a.crashed-002.flt"));
}

static void a_start_that_sets_nothing_aside_leaves_nothing(void **state)
{
	const struct trace_writer_config config = ring();
	struct trace_writer *writer;

	leave_dead();
	for (int i = 0; i < 3; i++) {
		rename_error = EROFS;
		assert_int_equal(trace_writer_open(&writer, &config), -EROFS);
		assert_int_equal(files_like("*"), 2);
	}
	rename_error = 0;
	leave_dead();
	assert_int_equal(events_of("a.crashed-001.flt"), EVENTS);
}

/* The longest name is one of which every other one can be made, and has no room for a byte more. */
static void a_name_has_room_for_those_made_of_it(void **state)
{
	static const struct {
		const char *ending;
		size_t most;
	} names[] = {{".flt", 225}, {"", 221}};
	char whole[PATH_MAX + 64];

	for (size_t i = 0; i < 2; i++) {
		const struct trace_writer_config config = ring();
		struct trace_writer *writer;
		size_t before = strlen(scratch) + 1;

		memset(path, 'n', sizeof(path));
		memcpy(path, scratch, before - 1);
		path[before - 1] = '/';
		strcpy(path + before + names[i].most + 1 - strlen(names[i].ending),
		       names[i].ending);
		assert_int_equal(trace_writer_open(&writer, &config), -ENAMETOOLONG);
		snprintf(whole, sizeof(whole), "accepted: up to %zu bytes", names[i].most);
		assert_non_null(strstr(failure_text(), whole));
		assert_int_equal(files_like("*"), 0);
		strcpy(path + before + names[i].most - strlen(names[i].ending), names[i].ending);
		/* A segment that is set aside has the longest: of the last number in the last ring. */
		leave_dead();
		renumber(1, UINT32_MAX, UINT32_MAX);
		snprintf(whole, sizeof(whole), "%.*s.crashed-4294967294.flt",
			 (int)(strlen(path) - strlen(names[i].ending)), path);
		make_ring(whole);
		leave_dead();
		assert_int_equal(files_like("*.crashed-4294967295.flt.4294967295"), 1);
		assert_int_equal(scratch_remove(state) || scratch_make(state), 0);
	}
	/* The path as a whole has a limit, too. */
	memset(whole, '/', PATH_MAX - 1);
	memcpy(whole, scratch, strlen(scratch));
	strcpy(whole + PATH_MAX - 1 - 5, "a.flt");
	assert_int_equal(
		trace_writer_open(&(struct trace_writer *){NULL},
				  &(struct trace_writer_config){.path = whole, .max_bytes = MIB}),
		-ENAMETOOLONG);
	assert_non_null(strstr(failure_text(), "the path is too long for a flight recorder; "
					       "accepted: up to 4065 bytes"));
}

/* Until there is a segment of that number, with little in it. Returns how many events that took. */
static __u32 push_segments(struct trace_writer *writer, unsigned int number)
{
	char name[32];
	__u32 events = 0;

	snprintf(name, sizeof(name), "a.flt.%06u", number);
	for (; !is_there(name); events += 251)
		push(writer, 251);
	return events;
}

static void a_name_that_is_removed_is_written_again(void **state)
{
	struct trace_writer *writer = open_ring(), *other;
	const struct trace_writer_config config = ring();
	__u32 events = push_segments(writer, 2);

	assert_int_equal(unlink(path), 0);
	events += push_segments(writer, 3);
	assert_int_equal(trace_writer_flush(writer), 0);
	assert_int_equal(events_of("a.flt"), events);
	assert_int_equal(trace_writer_open(&other, &config), -EBUSY);
	/* Also for the end. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_of("a.flt"), events);
}

/* What somebody else has put there is theirs. */
static void a_name_that_others_have_taken_stays_theirs(void **state)
{
	struct trace_writer *writer = open_ring();

	assert_int_equal(unlink(path), 0);
	make_empty("a.flt");
	push_segments(writer, 2);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(trace_summarize(path, &(struct trace_summary){0}), -EPROTO);
	assert_non_null(strstr(failure_text(), "it is empty"));
}

static struct trace_writer_stats stats_of(struct trace_writer *writer)
{
	struct trace_writer_stats stats;

	trace_writer_stats(writer, &stats);
	return stats;
}

/* Until nothing can be written. Returns how many events that took. */
static __u32 push_until_waiting(struct trace_writer *writer)
{
	__u32 events = 0;

	for (; !stats_of(writer).waiting; events += 251) {
		assert_true(events < 1000000);
		push(writer, 251);
		assert_int_equal(trace_writer_flush(writer), 0);
	}
	return events;
}

/* What was told is in the recording, or counted there. */
static void assert_account(struct trace_writer *writer, __u32 events)
{
	struct trace_writer_stats stats;
	struct trace_summary summary;

	assert_int_equal(trace_writer_stream(writer).ops->loss(writer, &(struct loss_info){0}), 0);
	assert_int_equal(trace_writer_stream(writer).ops->end(writer, 3600 * SECOND), 0);
	stats = stats_of(writer);
	assert_false(stats.waiting);
	assert_true(stats.unwritten_events > 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(trace_summarize(path, &summary), 0);
	assert_int_equal(summary.events + summary.loss.unwritten_events, events);
	assert_int_equal(summary.loss.unwritten_events, stats.unwritten_events);
	trace_summary_free(&summary);
}

/* Whatever a file system says once it has begun: the recorder waits, and goes on where it can be written again. */
static void what_a_file_system_says_is_waited_for(void **state)
{
	static const int errors[] = {EIO,   EROFS,     ESTALE,	 EACCES,  EPERM,
				     ENXIO, ETIMEDOUT, ENOTCONN, EUCLEAN, ESHUTDOWN};

	for (size_t i = 0; i < 2 * sizeof(errors) / sizeof(*errors); i++) {
		struct trace_writer *writer = open_ring();
		__u32 events = 4 * 251;

		push(writer, events);
		assert_int_equal(trace_writer_flush(writer), 0);
		*(i % 2 ? &create_error : &write_error) = errors[i / 2];
		events += push_until_waiting(writer);
		assert_int_equal(stats_of(writer).unwritten_error, -errors[i / 2]);
		create_error = write_error = 0;
		assert_account(writer, events);
		assert_int_equal(unlink(path), 0);
	}
}

/* A recorder into a folder of its own, by the name `folder`. */
static struct trace_writer *open_in_folder(void)
{
	snprintf(path, sizeof(path), "%s/folder/a.flt", scratch);
	assert_int_equal(mkdir(in_scratch("folder"), 0700), 0);
	return open_ring();
}

static void move(const char *from, const char *to)
{
	char name[600];

	snprintf(name, sizeof(name), "%s", in_scratch(from));
	assert_int_equal(rename(name, in_scratch(to)), 0);
}

/* For longer than until the next try. */
static void push_later(struct trace_writer *writer, __u32 events)
{
	usleep(1100000);
	push(writer, events);
	assert_int_equal(trace_writer_flush(writer), 0);
}

static void a_folder_that_is_gone_is_waited_for(void **state)
{
	struct trace_writer *writer = open_in_folder();
	__u32 events;

	push(writer, 251);
	move("folder", "elsewhere");
	events = 251 + push_until_waiting(writer);
	assert_int_equal(stats_of(writer).unwritten_error, -ENOENT);
	make_empty("folder");
	push_later(writer, 251);
	assert_int_equal(stats_of(writer).unwritten_error, -ENOTDIR);
	assert_int_equal(unlink(in_scratch("folder")), 0);
	move("elsewhere", "folder");
	push_later(writer, 997);
	assert_false(stats_of(writer).waiting);
	assert_account(writer, events + 251 + 997);
}

/* A new folder gets all that belongs to a recording. */
static void a_new_folder_is_recorded_into(void **state)
{
	struct trace_writer *writer = open_in_folder();

	move("folder", "elsewhere");
	push_until_waiting(writer);
	assert_int_equal(mkdir(in_scratch("folder"), 0700), 0);
	push_later(writer, 997);
	assert_false(stats_of(writer).waiting);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_of("folder/a.flt"), 997);
}

/* One that came to its end stays in the way, unless it was asked to be set aside, too; what is no ring never goes. */
static void what_ended_is_set_aside_if_asked(void **state)
{
	struct trace_writer_config config = ring();
	struct trace_writer *writer = open_ring();

	push(writer, EVENTS);
	assert_int_equal(trace_writer_stream(writer).ops->end(writer, NSEC_PER_SEC * 3600), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	assert_int_equal(events_of("a.flt"), EVENTS);
	config.set_aside = true;
	writer = recording_open(&config);
	push(writer, 997);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(events_of("a.crashed-001.flt"), EVENTS);
	assert_int_equal(events_of("a.flt"), 997);
	config.path = in_scratch("b.flt");
	assert_int_equal(close(open(config.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, make_directory, scratch_remove)
	const struct CMUnitTest tests[] = {
		TEST(names_of_others_decide_nothing),
		TEST(numbers_begin_anew),
		TEST(numbers_never_wrap),
		TEST(what_died_is_set_aside_past_names_of_others),
		TEST(a_start_that_sets_nothing_aside_leaves_nothing),
		TEST(a_name_has_room_for_those_made_of_it),
		TEST(a_name_that_is_removed_is_written_again),
		TEST(a_name_that_others_have_taken_stays_theirs),
		TEST(what_a_file_system_says_is_waited_for),
		TEST(a_folder_that_is_gone_is_waited_for),
		TEST(a_new_folder_is_recorded_into),
		TEST(what_ended_is_set_aside_if_asked),
	};

	return cmocka_run_group_tests_name("trace_names", tests, NULL, NULL);
}
