// SPDX-License-Identifier: GPL-2.0
/* Merged recordings: each host's part is its own recording, whatever the others are called and numbered. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/merge.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"
#include "tests/unit/synthetic.h"
#include "tests/unit/verbs.h"

#define HOSTS 5
#define WALL  1700000000000000000ull /* of the first host when its events begin */
#define HOUR  (3600 * SECOND)

static char files[HOSTS][128], fleet[128];

static int make_files(void **state)
{
	int err = scratch_make(state);

	for (int i = 0; i < HOSTS; i++)
		snprintf(files[i], sizeof(files[i]), "%s/host%d.flt", scratch, i);
	snprintf(fleet, sizeof(fleet), "%s/fleet.flt", scratch);
	return err;
}

static int forget_fleet(void **state)
{
	(void)state;
	unlink(fleet);
	return 0;
}

static int merge_files(struct trace_merged *merged, size_t count, const char *const *inputs)
{
	const struct trace_merge_config config = {.path = fleet, .inputs = inputs, .count = count};

	return trace_merge(&config, merged);
}

static void merge_hosts(struct trace_merged *merged, size_t count)
{
	const char *inputs[HOSTS];

	for (size_t i = 0; i < count; i++)
		inputs[i] = files[i];
	if (merge_files(merged, count, inputs))
		fail_msg("%s", failure_text());
	assert_int_equal(merged->count, count);
}

static void assert_same_calls(const struct stream_log *own, const struct stream_log *found)
{
	for (size_t i = 0; i < LOG_CALLS; i++)
		assert_int_equal(own->calls[i], found->calls[i]);
	assert_int_equal(own->size, found->size);
	assert_memory_equal(own->bytes, found->bytes, own->size);
}

/* Each host of the merged one, alone and beside the others, is told call by call what its file tells. */
static void check_calls(size_t count)
{
	const struct trace_read_config merged = {.path = fleet};
	struct stream_log logs[HOSTS], own, alone;
	struct stream sinks[HOSTS] = {0};

	for (size_t i = 0; i < count; i++)
		sinks[i] = stream_log(&logs[i]);
	assert_int_equal(trace_read_hosts(&merged, sinks, count), 0);
	for (size_t i = 0; i < count; i++) {
		const struct trace_read_config one = {.path = fleet, .host = (__u32)i + 1};
		const struct trace_read_config file = {.path = files[i]};
		int err = trace_read(&file, stream_log(&own));

		assert_true(!err || err == -EBADMSG);
		assert_int_equal(trace_read(&one, stream_log(&alone)), 0);
		assert_same_calls(&own, &logs[i]);
		assert_same_calls(&own, &alone);
		stream_log_free(&own);
		stream_log_free(&alone);
		stream_log_free(&logs[i]);
	}
}

static void record_random(size_t host, bool wild)
{
	const struct random_stream random = {
		.seed = host + 1, .events = 30011, .wild = wild, .records = true, .end = true};
	const struct trace_writer_config config = {
		.path = files[host],
		.overwrite = true,
		/* One of them is a flight recorder, which has let go what came first. */
		.max_bytes = host == 2 ? TRACE_RING_MINIMUM : 0,
	};
	struct trace_writer *writer = recording_open(&config);

	assert_int_equal(random_stream_push(&random, trace_writer_stream(writer)), 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void each_host_is_told_what_its_recording_tells(void **state)
{
	struct trace_merged merged;

	for (int wild = 0; wild < 2; wild++) {
		for (size_t i = 0; i < HOSTS; i++)
			record_random(i, wild);
		merge_hosts(&merged, HOSTS);
		check_calls(HOSTS);
		trace_merged_free(&merged);
		unlink(fleet);
	}
}

/* Cut in the middle of a frame: what is missing is told as its own recording tells it. */
static void a_cut_recording_stays_cut(void **state)
{
	struct trace_merged merged;
	struct stat status;

	record_random(0, false);
	record_random(1, false);
	assert_int_equal(stat(files[1], &status), 0);
	assert_int_equal(truncate(files[1], status.st_size / 2 + 7), 0);
	merge_hosts(&merged, 2);
	assert_false(merged.hosts[0].loss.cut);
	assert_true(merged.hosts[1].loss.cut);
	for (__u32 i = 0; i < 2; i++) {
		const struct trace_read_config one = {.path = fleet, .host = i + 1};
		const struct trace_read_config file = {.path = files[i]};
		struct stream_log own, alone;

		assert_int_equal(trace_read(&file, stream_log(&own)), 0);
		assert_int_equal(trace_read(&one, stream_log(&alone)), 0);
		assert_memory_equal(&own.loss, &alone.loss, sizeof(own.loss));
		assert_int_equal(own.events, alone.events);
		assert_int_equal(own.end_ns, alone.end_ns);
		stream_log_free(&own);
		stream_log_free(&alone);
	}
	trace_merged_free(&merged);
}

static void flip_bytes(const char *path, long at, size_t count)
{
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	while (count--)
		fputc('?', file);
	fclose(file);
}

static void damage_is_a_loss_of_its_host(void **state)
{
	const struct trace_read_config damaged = {.path = files[1]};
	struct trace_merged merged;
	struct stream_log own;

	record_random(0, false);
	record_random(1, false);
	flip_bytes(files[1], 70001, 97);
	merge_hosts(&merged, 2);
	assert_int_equal(trace_read(&damaged, stream_log(&own)), -EBADMSG);
	assert_true(own.loss.damaged_frames);
	assert_int_equal(merged.hosts[1].loss.damaged_frames, own.loss.damaged_frames);
	assert_int_equal(merged.hosts[0].loss.damaged_frames, 0);
	stream_log_free(&own);
	check_calls(2);
	trace_merged_free(&merged);
}

/* Two hosts that are alike in all but their clocks: names, pids, groups, instances, handles, times. */
static void record_alike(size_t host, const struct clock_anchor *step)
{
	const struct synthetic_config config = {
		.groups = 307, .requests_max = 3, .missing = 30, .cpu_noise = 2, .frames = true};
	const struct trace_writer_config writing = {.path = files[host], .overwrite = true};
	struct trace_writer *writer = recording_open(&writing);
	struct stream stream = trace_writer_stream(writer);
	struct synthetic synthetic;

	synthetic_make(&synthetic, &config);
	snprintf(synthetic.host.boot_id, sizeof(synthetic.host.boot_id), "boot%zu", host);
	synthetic.clock.realtime_ns =
		WALL + host * 7 * MS - synthetic.host.start_ns + synthetic.clock.monotonic_ns;
	stream.ops->host(stream.self, &synthetic.host);
	if (step)
		stream.ops->clock(stream.self, step);
	assert_int_equal(synthetic_feed(&synthetic, stream, 53), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	synthetic_free(&synthetic);
}

static char *output_of(const char *verb, const char *path, const char *more, int *status)
{
	char line[512];
	struct verb_run run;

	snprintf(line, sizeof(line), "%s %s%s", verb, path, more);
	run = verb_run(line);
	*status = run.status;
	free(run.err);
	return run.out;
}

/* Only the fact of its name tells them apart: "fleet.flt" is "host0.flt". */
static void give_name(char *text, const char *path)
{
	char *at;

	while ((at = strstr(text, fleet)))
		memcpy(at, path, strlen(path));
}

static void assert_same_output(const char *verb, size_t host, const char *name)
{
	char more[64];
	int own_status, status;
	char *own = output_of(verb, files[host], "", &own_status), *found;

	snprintf(more, sizeof(more), " --host %s", name);
	found = output_of(verb, fleet, more, &status);
	assert_int_equal(own_status, status);
	assert_true(strlen(own) > 100);
	give_name(found, files[host]);
	assert_string_equal(own, found);
	free(own);
	free(found);
}

/* The rows of a host in the tables of all, without their first column, in one text. */
static char *rows_of(const char *json, const char *host)
{
	char *rows = calloc(1, strlen(json) + 1), *to = rows, prefix[64] = "{";
	size_t length;

	if (host)
		snprintf(prefix, sizeof(prefix), "{\"host\":\"%s\",", host);
	length = strlen(prefix);
	for (const char *line = json; *line;
	     line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0)) {
		size_t size = strcspn(line, "\n");

		while (size && strchr(",]}", line[size - 1]))
			size--;
		if (strncmp(line, prefix, length) != 0)
			continue;
		to = mempcpy(to, line + length, size > length ? size - length : 0);
		*to++ = '\n';
	}
	return rows;
}

static void assert_rows_among_all(const char *verb, size_t host, const char *name)
{
	int status;
	char *own = output_of(verb, files[host], "", &status);
	char *all = output_of(verb, fleet, "", &status);
	char *own_rows = rows_of(strchr(own, '\n'), NULL), *rows,
	     *hosts = strstr(all, "\"hosts\":[");

	/* A table of their own, which no recording of one host has. */
	if (hosts)
		*hosts = '\0';
	rows = rows_of(all, name);
	assert_true(strlen(own_rows) > 100);
	assert_string_equal(own_rows, rows);
	free(own);
	free(all);
	free(own_rows);
	free(rows);
}

static const char *const verbs[] = {
	"report --json",
	"footprint --json",
	"timeline --all --json",
	"report",
	"footprint",
	"timeline --all",
	"report --json --raw-time",
	"report --json --since +100ms --until +400ms",
};

static void hosts_that_are_alike_stay_apart(void **state)
{
	static const char *const names[] = {"synthetic", "synthetic#2", "synthetic#3"};
	struct trace_merged merged;

	for (size_t i = 0; i < 3; i++)
		record_alike(i, NULL);
	merge_hosts(&merged, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(merged.hosts[i].origin.name, names[i]);
		assert_int_equal(merged.hosts[i].step.count, 0);
		for (size_t v = 0; v < COUNT(verbs); v++)
			assert_same_output(verbs[v], i, names[i]);
		for (size_t v = 0; v < 3; v++)
			assert_rows_among_all(verbs[v], i, names[i]);
	}
	trace_merged_free(&merged);
}

/* Its order is kept, its times are by the clock as it was, and whoever reads it is told. */
static void a_clock_that_stepped_is_told(void **state)
{
	const struct clock_anchor back = {1000 * SECOND + 300 * MS, WALL - HOUR};
	struct trace_merged merged;
	struct verb_run run;
	char line[512];

	record_alike(0, NULL);
	record_alike(1, &back);
	merge_hosts(&merged, 2);
	assert_int_equal(merged.hosts[0].step.count, 0);
	assert_int_equal(merged.hosts[1].step.count, 1);
	assert_true(merged.hosts[1].step.by_ns < -(__s64)HOUR + (__s64)SECOND);
	for (size_t v = 0; v < COUNT(verbs); v++)
		assert_same_output(verbs[v], 1, "synthetic#2");
	trace_merged_free(&merged);
	snprintf(line, sizeof(line), "report %s --json", fleet);
	run = verb_run(line);
	assert_non_null(strstr(run.out, "\"hosts_clock_stepped\":\"1\""));
	verb_run_free(&run);
	unlink(fleet);
	snprintf(line, sizeof(line), "merge -o %s %s %s", fleet, files[0], files[1]);
	run = verb_run(line);
	assert_int_equal(run.status, 0);
	assert_non_null(strstr(run.err, "synthetic#2: its clock was set back by 1h00m"));
	verb_run_free(&run);
}

struct order {
	__u64 last, offset[2]; /* from a host's own time to the wall clock */
	size_t events;
};

struct order_of {
	struct order *order;
	size_t host;
};

static int hear_in_order(void *self, const struct event *events, size_t count)
{
	const struct order_of *of = self;

	for (size_t i = 0; i < count; i++) {
		__u64 wall = events[i].time_ns + of->order->offset[of->host];

		assert_true(wall >= of->order->last);
		of->order->last = wall;
		of->order->events++;
	}
	return 0;
}

/* Each event in a frame of its own: those of two hosts alternate, whenever either was started. */
static void frames_are_in_wall_clock_order(void **state)
{
	static const struct stream_ops ops = {.events = hear_in_order};
	const __u64 starts[] = {5 * HOUR, 3 * SECOND};
	struct order order = {.last = 0};
	struct order_of of[] = {{&order, 0}, {&order, 1}};
	struct trace_merged merged;

	for (size_t host = 0; host < 2; host++) {
		const struct trace_writer_config config = {.path = files[host], .overwrite = true};
		struct trace_writer *writer;
		struct stream stream =
			recording_begin(&writer, &config, starts[host], WALL + host * MS);

		order.offset[host] = WALL + host * MS - starts[host];
		for (__u64 i = 0; i < 101; i++) {
			stream_events(stream,
				      &(struct event){.time_ns = starts[host] + i * 2 * MS + 1,
						      .kind = EVENT_CPU_FAULT},
				      1);
			trace_writer_flush(writer);
		}
		stream.ops->end(stream.self, starts[host] + SECOND);
		assert_int_equal(trace_writer_close(writer), 0);
	}
	merge_hosts(&merged, 2);
	trace_merged_free(&merged);
	assert_int_equal(trace_read_hosts(&(struct trace_read_config){.path = fleet},
					  (struct stream[]){{&ops, &of[0]}, {&ops, &of[1]}}, 2),
			 0);
	assert_int_equal(order.events, 202);
}

static void copy_file(const char *from, const char *to)
{
	char command[400];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

static void what_is_given_twice_is_refused(void **state)
{
	struct trace_merged merged;

	record_alike(0, NULL);
	record_alike(1, NULL);
	copy_file(files[0], files[2]);
	assert_int_equal(
		merge_files(&merged, 3, (const char *const[]){files[0], files[1], files[2]}),
		-EINVAL);
	trace_merged_free(&merged);
	assert_non_null(strstr(failure_text(), "is of the same recording of host synthetic as"));
	assert_int_equal(access(fleet, F_OK), -1);
	/* Inside one that is merged already, too. */
	merge_hosts(&merged, 2);
	trace_merged_free(&merged);
	rename(fleet, files[3]);
	assert_int_equal(merge_files(&merged, 2, (const char *const[]){files[3], files[0]}),
			 -EINVAL);
	trace_merged_free(&merged);
	assert_int_equal(access(fleet, F_OK), -1);
}

static void merged_ones_can_be_merged(void **state)
{
	static const char *const names[] = {"synthetic", "synthetic#2", "synthetic#3"};
	struct trace_merged merged;

	for (size_t i = 0; i < 3; i++)
		record_alike(i, NULL);
	merge_hosts(&merged, 2);
	trace_merged_free(&merged);
	rename(fleet, files[3]);
	assert_int_equal(merge_files(&merged, 2, (const char *const[]){files[3], files[2]}), 0);
	assert_int_equal(merged.count, 3);
	trace_merged_free(&merged);
	for (size_t i = 0; i < 3; i++)
		assert_same_output("report --json", i, names[i]);
}

static void nothing_is_overwritten(void **state)
{
	struct trace_merged merged;
	const struct trace_merge_config over = {
		.path = files[0],
		.overwrite = true,
		.inputs = (const char *const[]){files[0], files[1]},
		.count = 2,
	};

	record_alike(0, NULL);
	record_alike(1, NULL);
	merge_hosts(&merged, 2);
	trace_merged_free(&merged);
	assert_int_equal(merge_files(&merged, 2, (const char *const[]){files[0], files[1]}),
			 -EEXIST);
	trace_merged_free(&merged);
	assert_int_equal(trace_merge(&over, &merged), -EINVAL);
	assert_non_null(strstr(failure_text(), "is the input"));
	trace_merged_free(&merged);
	check_calls(2);
}

/* Who reads one host is told of several, with their names; so is who asks for one that is not there. */
static void a_host_must_be_chosen(void **state)
{
	struct trace_merged merged;
	struct stream_log log;
	struct verb_run run;
	char line[512];

	record_alike(0, NULL);
	record_alike(1, NULL);
	merge_hosts(&merged, 2);
	trace_merged_free(&merged);
	assert_int_equal(trace_read(&(struct trace_read_config){.path = fleet}, stream_log(&log)),
			 -EINVAL);
	stream_log_free(&log);
	assert_non_null(strstr(failure_text(), "choose one with --host: synthetic, synthetic#2"));
	assert_int_equal(trace_read(&(struct trace_read_config){.path = files[0], .host = 1},
				    stream_log(&log)),
			 -EINVAL);
	stream_log_free(&log);
	snprintf(line, sizeof(line), "report %s --host elsewhere", fleet);
	run = verb_run(line);
	assert_int_equal(run.status, EXIT_USAGE);
	assert_non_null(strstr(run.err, "accepted: synthetic, synthetic#2"));
	verb_run_free(&run);
	snprintf(line, sizeof(line), "report %s --host elsewhere", files[0]);
	run = verb_run(line);
	assert_int_equal(run.status, EXIT_USAGE);
	verb_run_free(&run);
}

/* Of all hosts together the facts are sums. */
static void loss_adds_up(void **state)
{
	struct trace_merged merged;
	struct verb_run run;
	char line[512];

	for (size_t host = 0; host < 3; host++) {
		const struct trace_writer_config config = {.path = files[host], .overwrite = true};
		struct loss_info loss = {
			.produced = 100, .received = 100 - 7 * host, .lost = 7 * host};
		struct trace_writer *writer;
		struct stream stream = recording_begin(&writer, &config, (host + 1) * SECOND, WALL);

		stream_events(stream, &(struct event){.time_ns = (host + 1) * SECOND + 1}, 1);
		stream.ops->loss(stream.self, &loss);
		stream.ops->end(stream.self, (host + 2) * SECOND);
		assert_int_equal(trace_writer_close(writer), 0);
	}
	merge_hosts(&merged, 3);
	trace_merged_free(&merged);
	snprintf(line, sizeof(line), "report %s --json", fleet);
	run = verb_run(line);
	assert_int_equal(run.status, EXIT_LOSS);
	assert_non_null(strstr(run.out, "\"lost\":\"21\""));
	assert_non_null(strstr(run.out, "\"events\":\"3\""));
	assert_non_null(strstr(run.out, "\"floor\":\"events were lost\""));
	verb_run_free(&run);
	snprintf(line, sizeof(line), "report %s --json --host node", fleet);
	run = verb_run(line);
	assert_int_equal(run.status, EXIT_OK);
	verb_run_free(&run);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_host_is_told_what_its_recording_tells, forget_fleet),
		cmocka_unit_test_teardown(a_cut_recording_stays_cut, forget_fleet),
		cmocka_unit_test_teardown(damage_is_a_loss_of_its_host, forget_fleet),
		cmocka_unit_test_teardown(hosts_that_are_alike_stay_apart, forget_fleet),
		cmocka_unit_test_teardown(a_clock_that_stepped_is_told, forget_fleet),
		cmocka_unit_test_teardown(frames_are_in_wall_clock_order, forget_fleet),
		cmocka_unit_test_teardown(what_is_given_twice_is_refused, forget_fleet),
		cmocka_unit_test_teardown(merged_ones_can_be_merged, forget_fleet),
		cmocka_unit_test_teardown(nothing_is_overwritten, forget_fleet),
		cmocka_unit_test_teardown(a_host_must_be_chosen, forget_fleet),
		cmocka_unit_test_teardown(loss_adds_up, forget_fleet),
	};

	return cmocka_run_group_tests(tests, make_files, scratch_remove);
}
