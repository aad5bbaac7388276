// SPDX-License-Identifier: GPL-2.0
/* Reading equals writing, call by call; windows, streams and what is refused. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

static char path[128];

static int make_directory(void **state)
{
	int err = scratch_make(state);

	snprintf(path, sizeof(path), "%s/run.flt", scratch);
	return err;
}

static void record(const struct random_stream *random, const struct trace_writer_config *config)
{
	struct trace_writer *writer;

	assert_int_equal(trace_writer_open(&writer, config), 0);
	assert_int_equal(random_stream_push(random, trace_writer_stream(writer)), 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void assert_same(const struct stream_log *a, const struct stream_log *b)
{
	for (size_t i = 0; i < LOG_CALLS; i++)
		assert_int_equal(a->calls[i], b->calls[i]);
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void check_round_trip(const struct random_stream *random)
{
	struct trace_writer_config config = {.path = path, .overwrite = true};
	struct trace_read_config reading = {.path = path};
	struct stream_log expected, found;

	assert_int_equal(random_stream_push(random, stream_log(&expected)), 0);
	record(random, &config);
	assert_int_equal(trace_read(&reading, stream_log(&found)), 0);
	assert_same(&expected, &found);
	stream_log_free(&expected);
	stream_log_free(&found);
}

static void reading_equals_writing(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 3, 511, 512, 513, 16381, 16384, 16411, 50021};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (__u64 variant = 0; variant < 4; variant++) {
			struct random_stream random = {
				.seed = 13 * i + variant,
				.events = sizes[i],
				.wild = variant & 1,
				.records = variant & 2,
				.end = true,
			};

			check_round_trip(&random);
		}
	}
}

static void summary_needs_no_decoding(void **state)
{
	struct random_stream random = {.seed = 7, .events = 40009, .records = true, .end = true};
	struct trace_writer_config config = {.path = path, .overwrite = true};
	struct trace_read_config reading = {.path = path};
	struct trace_summary summary;
	struct stream_log log;
	struct stat status;

	record(&random, &config);
	assert_int_equal(trace_read(&reading, stream_log(&log)), 0);
	assert_int_equal(trace_summarize(path, &summary), 0);
	assert_int_equal(summary.events, 40009);
	/* The last aggregate's window reaches beyond the last event. */
	assert_in_range(summary.last_ns, log.last_ns, log.last_ns + AGGREGATE_WINDOW_NS);
	assert_string_equal(summary.host.hostname, "node1");
	assert_true(summary.clock.count > 0);
	assert_int_equal(summary.clock.anchors[0].realtime_ns, 1795269723000000000);
	assert_int_equal(summary.loss.produced, log.loss.produced);
	assert_false(summary.loss.cut);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(summary.bytes, status.st_size);
	trace_summary_free(&summary);
	stream_log_free(&log);
}

/* Puts the read or write end of a pipe in the place of a standard stream. */
static int replace(int fd, int standard)
{
	int saved = dup(standard);

	assert_true(dup2(fd, standard) >= 0);
	close(fd);
	return saved;
}

static void restore(int saved, int standard)
{
	assert_true(dup2(saved, standard) >= 0);
	close(saved);
}

static void recordings_stream_through_pipes(void **state)
{
	struct random_stream random = {.seed = 11, .events = 70001, .records = true, .end = true};
	struct trace_read_config reading = {.path = "-"};
	struct stream_log expected, found;
	int ends[2], saved, status;
	pid_t child;

	assert_int_equal(random_stream_push(&random, stream_log(&expected)), 0);
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	child = child_fork();
	if (!child) {
		struct trace_writer_config config = {.path = "-"};
		struct trace_writer *writer;

		close(ends[0]);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[1]);
		_exit(trace_writer_open(&writer, &config) ||
		      random_stream_push(&random, trace_writer_stream(writer)) ||
		      trace_writer_close(writer));
	}
	close(ends[1]);
	saved = replace(ends[0], STDIN_FILENO);
	assert_int_equal(trace_read(&reading, stream_log(&found)), 0);
	restore(saved, STDIN_FILENO);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_same(&expected, &found);
	stream_log_free(&expected);
	stream_log_free(&found);
}

static void a_closed_pipe_is_reported(void **state)
{
	struct random_stream random = {.seed = 3, .events = 20011};
	struct trace_writer_config config = {.path = "-"};
	struct trace_writer *writer;
	int ends[2], saved;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	saved = replace(ends[1], STDOUT_FILENO);
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	close(ends[0]);
	random_stream_push(&random, trace_writer_stream(writer));
	assert_int_equal(trace_writer_close(writer), -EPIPE);
	restore(saved, STDOUT_FILENO);
	assert_string_equal(failure_text(), "standard output: cannot be written: Broken pipe");
}

/* A recorder that cannot write any more says so and leaves whole frames. */
static void check_full(const char *where, int error)
{
	struct random_stream random = {.seed = 5, .events = 100003, .wild = true};
	struct trace_writer_config config = {.path = where};
	struct trace_read_config reading = {.path = where};
	struct stream_log expected, found;
	struct trace_writer *writer;

	random_stream_push(&random, stream_log(&expected));
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), error);
	assert_int_equal(trace_writer_close(writer), error);
	assert_non_null(strstr(failure_text(), "cannot be written"));
	assert_int_equal(trace_read(&reading, stream_log(&found)), 0);
	assert_true(found.loss.cut);
	assert_int_equal(found.loss.damaged_bytes, 0);
	assert_true(found.events > 0 && found.events < expected.events);
	/* What was kept is the beginning of what was pushed; behind it come only loss and end. */
	found.size -= 1 + offsetof(struct loss_info, damaged_bytes) + 1 + 8;
	assert_memory_equal(expected.bytes, found.bytes, found.size);
	stream_log_free(&expected);
	stream_log_free(&found);
}

static void a_file_size_limit_leaves_whole_frames(void **state)
{
	struct rlimit old, limit;

	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 3000017;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_full(path, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	unlink(path);
}

static void a_full_disk_leaves_whole_frames(void **state)
{
	char mount_point[160], file[192];

	snprintf(mount_point, sizeof(mount_point), "%s/small", scratch);
	snprintf(file, sizeof(file), "%s/run.flt", mount_point);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	if (mount("none", mount_point, "tmpfs", 0, "size=2500k"))
		skip(); /* needs root */
	check_full(file, -ENOSPC);
	assert_int_equal(umount(mount_point), 0);
}

static void what_is_no_recording_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"", 0},
		{"x", 1},
		{"\x89"
		 "FL",
		 3},
		{"a,b\n1,2\n", 8},
		{"PERFILE2 and then some more bytes that mean something else entirely", 67},
	};
	struct trace_read_config reading = {.path = path};
	struct stream_log log;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *file = fopen(path, "w");

		fwrite(cases[i].bytes, 1, cases[i].size, file);
		fclose(file);
		assert_int_equal(trace_read(&reading, stream_log(&log)), -EPROTO);
		assert_int_equal(log.size, 0);
	}
	unlink(path);
	assert_int_equal(trace_read(&reading, stream_log(&log)), -ENOENT);
	reading.path = scratch;
	assert_int_equal(trace_read(&reading, stream_log(&log)), -EISDIR);
	reading.path = "/dev/zero";
	assert_int_equal(trace_read(&reading, stream_log(&log)), -EPROTO);
}

static void a_closed_standard_input_is_said(void **state)
{
	struct trace_read_config reading = {.path = "-"};
	int input = dup(STDIN_FILENO);
	struct stream_log log;

	close(STDIN_FILENO);
	assert_int_equal(trace_read(&reading, stream_log(&log)), -EBADF);
	if (input >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
}

static void nothing_is_replaced_unasked(void **state)
{
	struct trace_writer_config config = {.path = path};
	struct trace_writer *writer;
	char link[160];

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	snprintf(link, sizeof(link), "%s/link", scratch);
	assert_int_equal(symlink(path, link), 0);
	config.path = link;
	config.overwrite = true;
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	config.path = "/nonexistent/run.flt";
	assert_int_equal(trace_writer_open(&writer, &config), -ENOENT);
	config.path = path;
	config.level = 99;
	assert_int_equal(trace_writer_open(&writer, &config), -EINVAL);
	unlink(path);
}

static void buffered_calls_reach_the_file_in_time(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .flush_ns = 1000000};
	struct trace_read_config reading = {.path = path};
	struct event event = {.time_ns = 7, .kind = EVENT_CPU_FAULT};
	struct trace_writer *writer;
	struct stream_log log;
	struct stream stream;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	stream = trace_writer_stream(writer);
	assert_int_equal(stream_events(stream, &event, 1), 0);
	usleep(2000);
	assert_int_equal(stream.ops->tick(stream.self, 8), 0);
	/* The recorder is still at work: what it has flushed is there, the end is not. */
	assert_int_equal(trace_read(&reading, stream_log(&log)), 0);
	assert_int_equal(log.events, 1);
	assert_true(log.loss.cut);
	assert_int_equal(log.end_ns, 8);
	stream_log_free(&log);
	assert_int_equal(trace_writer_close(writer), 0);
}

static int stop_at_third_call(void *self, const struct event *events, size_t count)
{
	(void)events;
	(void)count;
	return ++*(int *)self == 3 ? -ECANCELED : 0;
}

static void a_sink_stops_the_source(void **state)
{
	static const struct stream_ops ops = {.events = stop_at_third_call};
	struct random_stream random = {.seed = 7, .events = 40009};
	struct trace_writer_config config = {.path = path, .overwrite = true};
	struct trace_read_config reading = {.path = path};
	int calls = 0;

	record(&random, &config);
	assert_int_equal(trace_read(&reading, (struct stream){&ops, &calls}), -ECANCELED);
	assert_int_equal(calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_equals_writing),
		cmocka_unit_test(summary_needs_no_decoding),
		cmocka_unit_test(recordings_stream_through_pipes),
		cmocka_unit_test(a_closed_pipe_is_reported),
		cmocka_unit_test(a_file_size_limit_leaves_whole_frames),
		cmocka_unit_test(a_full_disk_leaves_whole_frames),
		cmocka_unit_test(what_is_no_recording_is_refused),
		cmocka_unit_test(a_closed_standard_input_is_said),
		cmocka_unit_test(nothing_is_replaced_unasked),
		cmocka_unit_test(buffered_calls_reach_the_file_in_time),
		cmocka_unit_test(a_sink_stops_the_source),
	};

	return cmocka_run_group_tests_name("trace", tests, make_directory, scratch_remove);
}
