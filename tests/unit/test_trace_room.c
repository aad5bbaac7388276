// SPDX-License-Identifier: GPL-2.0
/*
 * The flight recorder where room is short: many devices in small segments, a full disk, limits of a file's
 * size, and what recorders that died have left. All of it on a small disk of this process's own.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/pack.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

#define KIB	 1024u
#define MIB	 (1u << 20)
#define INTERVAL 100000ull /* ns from one event to the next */
#define DEVICES	 10007u	   /* most that a test tells of */

static char path[64], beside[64];

/* A file system without room for much, which nobody else sees and which goes with this process. */
static int make_disk(void **state)
{
	int err = scratch_make(state);

	snprintf(path, sizeof(path), "%s/always.flt", scratch);
	snprintf(beside, sizeof(beside), "%s/always.crashed-001.flt", scratch);
	return err || mount("none", scratch, "tmpfs", 0, "size=6m");
}

static int remove_disk(void **state)
{
	umount2(scratch, MNT_DETACH);
	return scratch_remove(state);
}

static size_t files_like(const char *tail)
{
	char pattern[96];
	glob_t found;
	size_t count;

	snprintf(pattern, sizeof(pattern), "%s/%s", scratch, tail);
	count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return count;
}

static __u64 bytes_like(const char *tail)
{
	char pattern[96];
	struct stat status;
	__u64 bytes = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%s", scratch, tail);
	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			bytes += stat(found.gl_pathv[i], &status) ? 0 : (__u64)status.st_size;
	globfree(&found);
	return bytes;
}

static void tell_device(struct trace_writer *writer, __u32 handle)
{
	struct device_info device = {.handle = handle,
				     .kind = DEVICE_EMULATED,
				     .pid = 1000 + handle,
				     .pid_start_ns = handle * 12345678901ull,
				     .first_ns = handle * 9876543219ull,
				     .memory = 64 * MIB};

	snprintf(device.name, sizeof(device.name), "tenant%u/disk0", handle);
	snprintf(device.vm, sizeof(device.vm), "tenant%u", handle);
	assert_int_equal(trace_writer_stream(writer).ops->device(writer, &device), 0);
}

static __u64 seed = 4099;

/* Event `n` of a device: what it holds besides that does not compress. */
static void tell_event(struct trace_writer *writer, __u32 n, __u32 device)
{
	const struct event event = {.time_ns = SECOND + n * INTERVAL,
				    .address = stream_log_random(&seed),
				    .value = stream_log_random(&seed),
				    .device = device,
				    .kind = EVENT_FAULT_DETECT,
				    .instance = n};

	if (stream_events(trace_writer_stream(writer), &event, 1))
		fail_msg("%s", failure_text());
}

static void tell_events(struct trace_writer *writer, __u32 from, __u32 count)
{
	for (__u32 n = from; n < from + count; n++) {
		tell_event(writer, n, 1);
		if (n % 97 == 0)
			assert_int_equal(trace_writer_flush(writer), 0);
	}
	assert_int_equal(trace_writer_flush(writer), 0);
}

/* What comes out again: each device is told once, before its first event. */
struct heard {
	bool devices[DEVICES];
	__u64 told, told_again, unnamed, events, incomplete, pages, rows;
	__u32 first, last;
	struct loss_info loss;
	struct kept_info kept;
	bool ended;
};

static int hear_device(void *self, const struct device_info *device)
{
	struct heard *heard = self;
	char name[NAME_TEXT];

	snprintf(name, sizeof(name), "tenant%u/disk0", device->handle);
	assert_string_equal(device->name, name);
	heard->told++;
	heard->told_again += heard->devices[device->handle];
	heard->devices[device->handle] = true;
	return 0;
}

static int hear_events(void *self, const struct event *events, size_t count)
{
	struct heard *heard = self;

	for (size_t i = 0; i < count; i++) {
		heard->unnamed += !heard->devices[events[i].device];
		if (!heard->events++)
			heard->first = events[i].instance;
		heard->last = events[i].instance;
	}
	return 0;
}

static int hear_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct heard *heard = self;

	heard->incomplete += frame->incomplete;
	heard->pages += frame->page_count;
	heard->rows += frame->row_count;
	for (size_t i = 0; i < frame->row_count; i++)
		heard->unnamed += !heard->devices[frame->rows[i].key.device];
	return 0;
}

static int hear_loss(void *self, const struct loss_info *loss)
{
	((struct heard *)self)->loss = *loss;
	return 0;
}

static int hear_kept(void *self, const struct kept_info *kept)
{
	((struct heard *)self)->kept = *kept;
	return 0;
}

static int hear(const char *name, struct heard *heard)
{
	static const struct stream_ops ops = {.device = hear_device,
					      .events = hear_events,
					      .aggregate = hear_aggregate,
					      .loss = hear_loss,
					      .kept = hear_kept};
	const struct trace_read_config reading = {.path = name};

	memset(heard, 0, sizeof(*heard));
	return trace_read(&reading, (struct stream){&ops, heard});
}

static void tell_account(struct trace_writer *writer, __u64 events)
{
	const struct loss_info loss = {.produced = events, .received = events};

	assert_int_equal(trace_writer_stream(writer).ops->loss(writer, &loss), 0);
}

static void tell_end(struct trace_writer *writer, __u32 events)
{
	tell_account(writer, events);
	assert_int_equal(trace_writer_stream(writer).ops->end(writer, SECOND + events * INTERVAL),
			 0);
}

/*
 * `rounds` times `tenants` machines, of which those of a round are busy and then gone. Every one of `events`
 * that were told is in the recording, counted as let go, or the test fails. How many bytes that took.
 */
static __u64 record_tenants(__u64 max_bytes, __u32 tenants, __u32 rounds, __u32 events,
			    struct heard *heard)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .max_bytes = max_bytes};
	struct trace_writer *writer = recording_open(&config);
	struct trace_writer_stats stats;
	__u32 n = 0;

	for (__u32 round = 0; round < rounds; round++) {
		for (__u32 i = 1; i <= tenants; i++)
			tell_device(writer, round * tenants + i);
		for (__u32 i = 0; i < events; i++)
			tell_event(writer, n++, round * tenants + 1 + i * 7 % tenants);
		assert_true(bytes_like("always.flt*") <= max_bytes);
	}
	tell_end(writer, n);
	trace_writer_stats(writer, &stats);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_true(bytes_like("always.flt*") <= max_bytes);
	assert_int_equal(hear(path, heard), 0);
	assert_int_equal(heard->unnamed, 0);
	assert_int_equal(heard->told_again, 0);
	assert_int_equal(heard->last, n - 1);
	assert_int_equal(heard->events + heard->kept.events, n);
	return stats.bytes;
}

static void segments_hold_the_names_that_they_use(void **state)
{
	const __u32 events = 20011;
	struct heard heard;
	__u64 one, many, kept;

	one = record_tenants(MIB, 1, 6, events, &heard);
	kept = heard.events;
	/* Each round's machines are told once and named in a few segments. */
	many = record_tenants(MIB, 1000, 6, events, &heard);
	assert_true(many < 2 * one);
	assert_true(heard.events > kept / 2);
	/* The last ones only: what is gone is told of no more. */
	assert_true(heard.told < 6000);
	many = record_tenants(4 * MIB, 1000, 6, events, &heard);
	assert_true(many < 2 * one);
}

static void every_segment_can_be_read_alone(void **state)
{
	char pattern[96];
	struct heard heard;
	glob_t found;

	record_tenants(2 * MIB, 499, 3, 40009, &heard);
	snprintf(pattern, sizeof(pattern), "%s.*", path);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc > 5);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		assert_int_equal(hear(found.gl_pathv[i], &heard), 0);
		assert_true(heard.events > 0);
		assert_int_equal(heard.unnamed, 0);
		assert_int_equal(heard.told_again, 0);
	}
	globfree(&found);
}

/* A second of counts that no bound of this recorder can hold is cut, not its end. */
static void a_window_too_large_is_cut(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .max_bytes = MIB};
	struct aggregate_page *pages = calloc(MIB, sizeof(*pages));
	struct aggregate_row *rows = calloc(DEVICES - 1, sizeof(*rows));
	struct aggregate_frame frame = {.window = 1,
					.pages = pages,
					.page_count = MIB,
					.rows = rows,
					.row_count = DEVICES - 1};
	struct trace_writer *writer = recording_open(&config);
	struct trace_writer_stats stats;
	struct heard heard;

	for (__u32 i = 0; i < MIB; i++)
		pages[i] = (struct aggregate_page){
			.page = stream_log_random(&seed) >> 20,
			.device = 1,
			.reads = (__u32)stream_log_random(&seed),
		};
	for (__u32 i = 0; i < DEVICES - 1; i++) {
		tell_device(writer, i + 1);
		rows[i] = (struct aggregate_row){
			.key = {.window = 1, .device = i + 1, .kind = EVENT_IO_COMPLETE},
			.counts = {.count = stream_log_random(&seed)},
		};
	}
	for (; frame.window < 4; frame.window++)
		assert_int_equal(trace_writer_stream(writer).ops->aggregate(writer, &frame), 0);
	tell_end(writer, 0);
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.incomplete_windows, 3);
	assert_int_equal(stats.unwritten_windows, 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_true(bytes_like("always.flt*") <= MIB);
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.unnamed, 0);
	assert_true(heard.incomplete > 0 && heard.pages > 1000);
	assert_int_equal(heard.rows, heard.incomplete * (DEVICES - 1));
	free(pages);
	free(rows);
}

/* Names that are new make a window too large at most once: without them it is whole. */
static void a_window_is_not_cut_for_new_names(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .max_bytes = MIB};
	struct aggregate_page pages[499];
	const struct aggregate_frame frame = {.window = 1, .pages = pages, .page_count = 499};
	struct trace_writer *writer = recording_open(&config);
	struct trace_writer_stats stats;
	struct heard heard;

	for (size_t i = 0; i < 499; i++)
		pages[i] = (struct aggregate_page){
			.page = stream_log_random(&seed) >> 20, .device = 1, .reads = 1};
	/* What names them is more than half of the recorder's bound. */
	for (__u32 i = 1; i < 40000; i++)
		tell_device(writer, i % DEVICES ?: 1);
	assert_int_equal(trace_writer_stream(writer).ops->aggregate(writer, &frame), 0);
	tell_end(writer, 0);
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.incomplete_windows, 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.pages, 499);
	assert_int_equal(heard.incomplete, 0);
	assert_int_equal(heard.told, 1);
}

/* Takes what room there is. */
static void fill_disk(const char *name)
{
	static const char zeros[4096];
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	close(fd);
}

/* What was told is there, or counted as let go, or as unwritten. */
static void assert_account(struct trace_writer *writer, __u32 events)
{
	struct trace_writer_stats stats;
	struct heard heard;

	tell_end(writer, events);
	trace_writer_stats(writer, &stats);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(stats.events + stats.unwritten_events, events);
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.loss.unwritten_events, stats.unwritten_events);
	assert_int_equal(heard.events + heard.kept.events, stats.events);
	assert_int_equal(heard.unnamed, 0);
	assert_false(heard.loss.cut);
	assert_int_equal(heard.last, events - 1);
	assert_true(heard.events > 1000);
}

static void a_full_disk_takes_the_oldest(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = 3600 * SECOND};
	struct trace_writer *writer = recording_open(&config);
	struct trace_writer_stats stats;

	tell_device(writer, 1);
	/* One segment would hold all of it: it goes, and the next ones are smaller. */
	tell_events(writer, 0, 1200007);
	trace_writer_stats(writer, &stats);
	assert_true(stats.given_up_segments > 5);
	assert_false(stats.waiting);
	assert_int_equal(stats.unwritten_events, 0);
	assert_true(bytes_like("always.flt*") > 3 * MIB);
	assert_account(writer, 1200007);
}

/* Whoever reads a segment keeps its room. Returns how many are there. */
static size_t hold_segments(int fds[64])
{
	char pattern[96];
	glob_t found;
	size_t count;

	snprintf(pattern, sizeof(pattern), "%s.*", path);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	count = found.gl_pathc;
	assert_true(count < 64);
	for (size_t i = 0; i < count; i++)
		fds[i] = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	return count;
}

static void a_disk_filled_by_others_is_waited_for(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = 3600 * SECOND, .max_bytes = 4 * MIB};
	struct trace_writer *writer = recording_open(&config);
	struct trace_writer_stats stats;
	__u32 n = 20011;
	char filler[64];
	int held[64];

	snprintf(filler, sizeof(filler), "%s/filler", scratch);
	tell_device(writer, 1);
	tell_events(writer, 0, n);
	for (__u32 turn = 0; turn < 2; turn++) {
		size_t count = hold_segments(held);

		fill_disk(filler);
		tell_events(writer, n, 9973);
		n += 9973;
		trace_writer_stats(writer, &stats);
		assert_true(stats.waiting);
		assert_true(stats.unwritten_events > 9000 * (turn + 1));
		tell_device(writer, 2); /* told while nothing can be */
		unlink(filler);
		while (count--)
			close(held[count]);
		usleep(1100000);
		tell_event(writer, n++, 2);
		tell_events(writer, n, 9973);
		n += 9973;
		trace_writer_stats(writer, &stats);
		assert_false(stats.waiting);
	}
	assert_account(writer, n);
}

/* ulimit -f: what one file cannot hold the next one does. */
static void a_limit_of_files_begins_the_next(void **state)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = 3600 * SECOND};
	const struct rlimit limit = {128 * KIB, RLIM_INFINITY},
			    none = {RLIM_INFINITY, RLIM_INFINITY}, least = {4 * KIB, RLIM_INFINITY};
	struct trace_writer *writer;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	writer = recording_open(&config);
	tell_device(writer, 1);
	tell_events(writer, 0, 40009);
	assert_true(files_like("always.flt.*") > 3);
	assert_account(writer, 40009);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EFBIG);
	assert_non_null(strstr(failure_text(), "ulimit -f"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
}

/* Probes that say much: what a segment begins with is longer than `least`. */
static void tell_probes(struct trace_writer *writer, size_t least)
{
	for (size_t i = 0; i * sizeof(((struct probe_info *)NULL)->reason) < 2 * least; i++) {
		struct probe_info probe = {.state = 2};

		snprintf(probe.name, sizeof(probe.name), "probe%zu", i);
		for (size_t k = 0; k + 1 < sizeof(probe.reason); k++)
			probe.reason[k] = (char)('!' + stream_log_random(&seed) % 90);
		assert_int_equal(trace_writer_stream(writer).ops->probe(writer, &probe), 0);
	}
}

static void limit_files(rlim_t bytes)
{
	const struct rlimit limit = {bytes, RLIM_INFINITY};

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Until there is no room for anything but a segment's header. Returns how many events were told. */
static __u32 record_into_a_wall(struct trace_writer **writer)
{
	const struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = 3600 * SECOND, .max_bytes = MIB};
	struct trace_writer_stats stats;

	*writer = recording_open(&config);
	tell_device(*writer, 1);
	tell_probes(*writer, 4 * KIB);
	tell_events(*writer, 0, 4001);
	limit_files(2 * KIB);
	tell_events(*writer, 4001, 4001);
	trace_writer_stats(*writer, &stats);
	assert_true(stats.waiting);
	assert_true(stats.unwritten_events > 0);
	return 8002;
}

/* Room that comes back within the second before the next try is room for the account and the end. */
static void the_end_is_tried_at_once(void **state)
{
	struct trace_writer *writer;
	struct trace_writer_stats stats;
	struct heard heard;
	__u32 n = record_into_a_wall(&writer);

	limit_files(RLIM_INFINITY);
	tell_end(writer, n);
	trace_writer_stats(writer, &stats);
	assert_false(stats.waiting);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(hear(path, &heard), 0);
	assert_false(heard.loss.cut);
	assert_int_equal(heard.loss.produced, n);
	assert_int_equal(heard.loss.unwritten_events, stats.unwritten_events);
	assert_int_equal(heard.events + heard.loss.unwritten_events, n);
}

/* Where there is none the writer says so, as the recording does. */
static void an_end_without_room_is_said(void **state)
{
	struct trace_writer *writer;
	struct trace_writer_stats stats;
	struct heard heard;
	__u32 n = record_into_a_wall(&writer);

	tell_end(writer, n);
	trace_writer_stats(writer, &stats);
	assert_true(stats.waiting);
	assert_int_equal(trace_writer_close(writer), 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(hear(path, &heard), 0);
	assert_true(heard.loss.cut);
	assert_int_equal(heard.events + stats.unwritten_events, n);
}

/* A segment of which only the header found room is none: it goes, and is not counted. */
static void segments_without_content_are_not_counted(void **state)
{
	struct trace_writer *writer;
	char newest[96];
	struct heard heard;
	__u32 n = record_into_a_wall(&writer);
	struct stat status;
	size_t files = 0;

	for (int turn = 0; turn < 2; turn++) {
		usleep(1100000);
		tell_events(writer, n, 101);
		n += 101;
	}
	limit_files(RLIM_INFINITY);
	tell_end(writer, n);
	assert_int_equal(trace_writer_close(writer), 0);
	for (unsigned int number = 1; number < 99; number++) {
		char name[96];

		snprintf(name, sizeof(name), "%s.%06u", path, number);
		if (stat(name, &status))
			continue;
		assert_true((size_t)status.st_size > sizeof(struct trace_file_header));
		snprintf(newest, sizeof(newest), "%s", name);
		files++;
	}
	assert_in_range(files, 2, 8);
	assert_int_equal(hear(newest, &heard), 0);
	assert_int_equal(heard.kept.segments, files - 1);
	assert_int_equal(hear(path, &heard), 0);
	assert_false(heard.loss.cut);
}

/* A recorder that gets so far and is killed. */
enum how_far { OPENED, COMMITTED, ENDED };

static void killed_after(const struct trace_writer_config *config, enum how_far how_far,
			 __u32 events)
{
	pid_t child = child_fork();
	int status;

	if (!child) {
		struct trace_writer_config held = *config;
		struct trace_writer *writer;

		held.held = true;
		if (trace_writer_open(&writer, &held)) {
			fprintf(stderr, "%s\n", failure_text());
			_exit(1);
		}
		tell_device(writer, 1);
		if (how_far > OPENED && trace_writer_commit(writer))
			_exit(2);
		if (how_far > OPENED)
			tell_events(writer, 0, events);
		if (how_far == ENDED)
			tell_end(writer, events);
		if (how_far == ENDED)
			trace_writer_close(writer);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, SIGKILL); /* and not by an assertion */
}

static void a_start_that_was_killed_leaves_no_obstacle(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = MIB};
	struct trace_writer *writer;
	struct trace_writer_stats stats;

	for (int i = 0; i < 3; i++)
		killed_after(&config, OPENED, 0);
	writer = recording_open(&config);
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.set_aside, 0);
	assert_int_equal(files_like("*"), 2);
	tell_end(writer, 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void what_died_is_set_aside(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = 2 * MIB};
	struct trace_writer *writer;
	struct trace_writer_stats stats;
	struct heard heard;

	killed_after(&config, COMMITTED, 5003);
	writer = recording_open(&config);
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.set_aside, 1);
	assert_int_equal(hear(beside, &heard), 0);
	assert_int_equal(heard.events, 5003);
	assert_true(heard.loss.cut);
	/* The bounds are of both: what was set aside goes first. */
	tell_device(writer, 1);
	tell_events(writer, 0, 10007);
	assert_int_equal(hear(beside, &heard), 0);
	for (__u32 n = 10007; n < 150001; n += 10007) {
		tell_events(writer, n, 10007);
		assert_true(bytes_like("always*") <= 2 * MIB + 40);
	}
	assert_int_equal(files_like("always.crashed*"), 0);
	trace_writer_stats(writer, &stats);
	assert_true(stats.kept.events > 0);
	tell_end(writer, 150105);
	assert_int_equal(trace_writer_close(writer), 0);
	/* One that came to its end is nobody's to move. */
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	assert_non_null(strstr(failure_text(), "exists already"));
	assert_int_equal(hear(path, &heard), 0);
}

static void each_that_died_has_its_place(void **state)
{
	const struct trace_writer_config config = {.path = path, .keep_ns = 3600 * SECOND};
	struct trace_writer_config force = config;
	struct trace_writer *writer;
	struct heard heard;

	for (__u32 i = 1; i < 4; i++)
		killed_after(&config, COMMITTED, i * 1009);
	writer = recording_open(&config);
	tell_end(writer, 0);
	assert_int_equal(trace_writer_close(writer), 0);
	for (__u32 i = 1; i < 4; i++) {
		beside[strlen(beside) - 5] = (char)('0' + i);
		assert_int_equal(hear(beside, &heard), 0);
		assert_int_equal(heard.events, i * 1009);
	}
	/* Asked to replace, it replaces what has its name. */
	force.overwrite = true;
	killed_after(&force, ENDED, 499);
	killed_after(&force, COMMITTED, 499);
	writer = recording_open(&force);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(files_like("always.crashed*flt"), 3);
}

/* On a full disk the next one begins all the same, in the room of what died. */
static void the_dead_make_room(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = 16 * MIB};
	struct trace_writer *writer;
	struct heard heard;
	char filler[64];

	snprintf(filler, sizeof(filler), "%s/filler", scratch);
	killed_after(&config, COMMITTED, 20011);
	killed_after(&config, COMMITTED, 20011);
	for (int turn = 0; turn < 5; turn++) {
		fill_disk(filler);
		killed_after(&config, COMMITTED, 5003);
		assert_int_equal(hear(path, &heard), 0);
		/* Each leaves less, as the filler takes the rest. */
		assert_in_range(heard.events, turn < 2 ? 5003 : 97, 5003);
		assert_int_equal(heard.last, 5002);
	}
	unlink(filler);
	/* But not in that of one that lives, or came to its end. */
	writer = recording_open(&config);
	tell_events(writer, 0, 5003);
	fill_disk(filler);
	assert_int_equal(trace_writer_open(&(struct trace_writer *){NULL}, &config), -EBUSY);
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.events, 5003);
	unlink(filler);
	tell_end(writer, 5003);
	assert_int_equal(trace_writer_close(writer), 0);
	fill_disk(filler);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.events, 5003);
}

/* What had to go is counted; where it could not begin even so, nothing goes. */
static void the_dead_go_with_a_word_and_not_in_vain(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = 16 * MIB};
	struct trace_writer_stats stats;
	struct trace_writer *writer;
	struct heard heard;
	char filler[64];

	snprintf(filler, sizeof(filler), "%s/filler", scratch);
	killed_after(&config, COMMITTED, 5003);
	assert_int_equal(files_like("always.flt.*"), 1);
	/* The folder, the ring, its segment and the filler are all the files that there may be. */
	fill_disk(filler);
	assert_int_equal(mount(NULL, scratch, "tmpfs", MS_REMOUNT, "size=6m,nr_inodes=4"), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -ENOSPC);
	assert_non_null(strstr(failure_text(), "No space left"));
	assert_int_equal(hear(path, &heard), 0);
	assert_int_equal(heard.events, 5003);
	assert_int_equal(mount(NULL, scratch, "tmpfs", MS_REMOUNT, "size=6m,nr_inodes=100"), 0);
	writer = recording_open(&config);
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.displaced_segments, 1);
	tell_end(writer, 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

/* Age is the age of the files: what was recorded before the recorder died gets old as well. */
/* Of another version here; without memory or descriptors, or after an error of the disk, it is the same. */
static void what_cannot_be_looked_into_is_not_deleted(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = 2 * MIB};
	struct trace_file_header header;
	struct trace_writer *writer;
	char segment[96];
	int fd;

	killed_after(&config, COMMITTED, 5003);
	snprintf(segment, sizeof(segment), "%s.000001", path);
	fd = open(segment, O_RDWR | O_CLOEXEC);
	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	header.event_version++;
	trace_seal_file(&header);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
	writer = recording_open(&config);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(files_like("always.crashed-001.flt.*"), 1);
}

/* A limit of what a file may hold is not made good by deleting others. */
static void a_limit_of_files_deletes_nothing(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = 2 * MIB};
	struct rlimit before, least;
	struct trace_writer *writer;

	killed_after(&config, COMMITTED, 5003);
	assert_int_equal(trace_writer_close(recording_open(&config)), 0);
	assert_int_equal(files_like("always.crashed*"), 2);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	least = (struct rlimit){.rlim_cur = 32768, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	assert_int_equal(trace_writer_open(&writer, &config), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(files_like("always.crashed*"), 2);
}

static void what_was_set_aside_gets_old(void **state)
{
	const struct trace_writer_config config = {.path = path, .keep_ns = 5 * SECOND};
	const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	struct trace_writer *writer;
	char segment[96];

	killed_after(&config, COMMITTED, 1009);
	snprintf(segment, sizeof(segment), "%s.000001", path);
	assert_int_equal(utimensat(AT_FDCWD, segment, old, 0), 0);
	writer = recording_open(&config);
	assert_int_equal(files_like("always.crashed*"), 2);
	trace_writer_stream(writer).ops->tick(writer, monotonic_ns());
	assert_int_equal(trace_writer_flush(writer), 0);
	assert_int_equal(files_like("always.crashed*"), 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void a_living_recorder_is_left_alone(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = MIB};
	struct trace_writer_config held = config, force = config;
	struct trace_writer *writer, *other, *third;

	force.overwrite = held.held = true;
	writer = recording_open(&config);
	assert_int_equal(trace_writer_open(&other, &config), -EBUSY);
	assert_int_equal(trace_writer_open(&other, &force), -EBUSY);
	assert_non_null(strstr(failure_text(), "another recorder is writing"));
	assert_int_equal(trace_writer_close(writer), 0);
	unlink(path);
	/* Two that begin at the same time: one gets the name, the other one takes nothing of it. */
	writer = recording_open(&held);
	other = recording_open(&held);
	assert_int_equal(trace_writer_commit(other), 0);
	assert_int_equal(trace_writer_commit(writer), -EEXIST);
	trace_writer_close(writer);
	third = recording_open(&(struct trace_writer_config){.path = beside});
	assert_int_equal(trace_writer_close(third), 0);
	assert_int_equal(trace_writer_close(other), 0);
	assert_int_equal(files_like("always.crashed*"), 1);
}

static void names_of_others_are_stepped_over(void **state)
{
	const struct trace_writer_config config = {.path = path, .max_bytes = MIB};
	struct trace_writer *writer = recording_open(&config);
	char name[96];

	for (int i = 2; i < 5; i++) {
		snprintf(name, sizeof(name), "%s.%06d", path, i);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	tell_device(writer, 1);
	tell_events(writer, 0, 40009);
	assert_account(writer, 40009);
}

/* In a namespace of this process, as a container may not have one. */
static bool own_mounts(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/tmp", "tmpfs", 0, "size=64k") && !umount2("/tmp", MNT_DETACH);
}

/* Stands for all tests where there is none. */
static void a_small_disk_can_be_mounted(void **state)
{
	skip();
}

#define ON_A_DISK(test) cmocka_unit_test_setup_teardown(test, make_disk, remove_disk)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_DISK(segments_hold_the_names_that_they_use),
		ON_A_DISK(every_segment_can_be_read_alone),
		ON_A_DISK(a_window_too_large_is_cut),
		ON_A_DISK(a_window_is_not_cut_for_new_names),
		ON_A_DISK(a_full_disk_takes_the_oldest),
		ON_A_DISK(a_disk_filled_by_others_is_waited_for),
		ON_A_DISK(a_limit_of_files_begins_the_next),
		ON_A_DISK(the_end_is_tried_at_once),
		ON_A_DISK(an_end_without_room_is_said),
		ON_A_DISK(segments_without_content_are_not_counted),
		ON_A_DISK(a_start_that_was_killed_leaves_no_obstacle),
		ON_A_DISK(what_died_is_set_aside),
		ON_A_DISK(each_that_died_has_its_place),
		ON_A_DISK(the_dead_make_room),
		ON_A_DISK(the_dead_go_with_a_word_and_not_in_vain),
		ON_A_DISK(what_cannot_be_looked_into_is_not_deleted),
		ON_A_DISK(a_limit_of_files_deletes_nothing),
		ON_A_DISK(what_was_set_aside_gets_old),
		ON_A_DISK(a_living_recorder_is_left_alone),
		ON_A_DISK(names_of_others_are_stepped_over),
	};

	const struct CMUnitTest none[] = {cmocka_unit_test(a_small_disk_can_be_mounted)};

	if (!own_mounts())
		return cmocka_run_group_tests_name("trace room", none, NULL, NULL);
	return cmocka_run_group_tests_name("trace room", tests, NULL, NULL);
}
