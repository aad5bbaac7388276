// SPDX-License-Identifier: GPL-2.0
/* `faultline top` as a user calls it, over recordings with known (prime) numbers of faults. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "tools/verbs.h"

#define START	  (1000 * SECOND)
#define REALTIME  1795225143000000000ull /* 2026-11-21 01:39:03 UTC */
#define SECONDS	  5
#define DEVICES	  3
#define ARGUMENTS 16
#define OUTPUT	  (1 << 20)
#define RECEIVED  5003 /* no fewer than events are written */

/* Faults of each device, all within the first four of SECONDS seconds. */
static const unsigned int faults_of[DEVICES] = {7, 101, 53};

struct fixture {
	char recording[64];
	char output[64];
	char text[OUTPUT]; /* what the last call wrote to stdout */
	char errors[4096];
	int status;
};

static struct stream to;

static void write_dictionary(void)
{
	const struct host_info host = {.hostname = "moon", .cpus = 2, .start_ns = START};
	const struct clock_anchor anchor = {START, REALTIME};
	const struct probe_info on = {.name = "fault_detect", .state = PROBE_ON};
	const struct probe_info off = {.name = "iommu_map", .state = PROBE_OFF, .reason = "none"};

	to.ops->host(to.self, &host);
	to.ops->clock(to.self, &anchor);
	to.ops->probe(to.self, &on);
	to.ops->probe(to.self, &off);
	for (__u32 i = 0; i < DEVICES; i++) {
		struct device_info device = {.handle = i + 1,
					     .kind = DEVICE_EMULATED,
					     .comm = "qemu",
					     .pid = 4001 + i,
					     .iommu_group = -1,
					     .queues = 1};

		snprintf(device.name, sizeof(device.name), "tenant%u/disk0", i);
		to.ops->device(to.self, &device);
	}
}

/* DMA that the IOMMU refused, of memory that a process had mapped with a stack. */
static void write_refused_dma(void)
{
	const struct process_info process = {.pid = 4711, .comm = "mapper"};
	const struct stack_info stack = {.id = 5, .depth = 1, .text = "nic_fill+0x20"};
	const struct event events[] = {
		{.time_ns = START + 5,
		 .device = 1,
		 .address = 0x8000,
		 .pasid = PASID_NONE,
		 .kind = EVENT_IOMMU_FAULT,
		 .code = 5,
		 .flags = EVENT_WRITE},
		{.time_ns = START + 6,
		 .device = 1,
		 .address = 0x8000,
		 .length = 4096,
		 .pid = 4711,
		 .group = 5,
		 .value = START,
		 .kind = EVENT_FAULT_OWNER,
		 .code = OWNER_MAPPED},
	};

	to.ops->process(to.self, &process);
	to.ops->stack(to.self, &stack);
	assert_int_equal(to.ops->events(to.self, events, 2), 0);
}

/* One fault; each stage takes 1 us but the resolve stage, which takes 100 us. */
static void write_fault(__u32 device, __u32 instance, __u64 time_ns)
{
	struct event events[FAULT_STAGES];

	for (int k = 0; k < FAULT_STAGES; k++) {
		events[k] =
			(struct event){.time_ns = time_ns + (__u64)k * 1000 + (k >= 4 ? 99000 : 0),
				       .address = 0x1000ull * (instance + 1),
				       .length = 4096,
				       .device = device,
				       .pasid = PASID_NONE,
				       .group = instance,
				       .instance = instance,
				       .kind = (__u16)(EVENT_FAULT_DETECT + k),
				       .flags = EVENT_WRITE};
		if (k == 3 || k >= 6)
			events[k].flags |= EVENT_GROUP;
		if (k == 1)
			events[k].flags |= EVENT_LAST;
	}
	assert_int_equal(to.ops->events(to.self, events, FAULT_STAGES), 0);
}

/* Devices share the time line without overlap: fault i of device d begins at its own slot. */
static void write_faults(void)
{
	__u32 written[DEVICES] = {0};

	for (__u32 slot = 0; slot < 4000; slot++) {
		__u32 d = slot % DEVICES;
		__u32 due = (slot + 1) * faults_of[d] / 4000 + 1;

		if (written[d] < faults_of[d] && written[d] < due)
			write_fault(d + 1, written[d]++, START + slot * 1000000ull + 1);
	}
	for (__u32 d = 0; d < DEVICES; d++)
		assert_int_equal(written[d], faults_of[d]);
}

static void record(struct fixture *f, __u64 lost, __u64 end_ns)
{
	const struct trace_writer_config config = {.path = f->recording, .overwrite = true};
	const struct loss_info loss = {
		.produced = RECEIVED + lost, .received = RECEIVED, .lost = lost};
	struct trace_writer *writer;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	to = trace_writer_stream(writer);
	write_dictionary();
	write_refused_dma();
	write_faults();
	to.ops->loss(to.self, &loss);
	to.ops->end(to.self, end_ns);
	assert_int_equal(trace_writer_close(writer), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (scratch_make(state))
		return -1;
	snprintf(f->recording, sizeof(f->recording), "%s/run.flt", scratch);
	snprintf(f->output, sizeof(f->output), "%s/output", scratch);
	record(f, 0, START + SECONDS * SECOND);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return scratch_remove(state);
}

static void read_back(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
	unlink(path);
}

/* Calls the verb in a child, as argp and signals are the process's own. */
static void top(struct fixture *f, ...)
{
	char *argv[ARGUMENTS] = {"faultline top"};
	char errors[80];
	int argc = 1;
	va_list more;
	pid_t child;

	va_start(more, f);
	while ((argv[argc] = va_arg(more, char *)))
		argc++;
	va_end(more);
	snprintf(errors, sizeof(errors), "%s.errors", f->output);
	child = child_fork();
	if (!child) {
		if (!freopen(f->output, "w", stdout) || !freopen(errors, "w", stderr))
			_exit(99);
		exit(verb_top(argc, argv));
	}
	assert_int_equal(waitpid(child, &f->status, 0), child);
	assert_true(WIFEXITED(f->status));
	f->status = WEXITSTATUS(f->status);
	read_back(f->output, f->text, sizeof(f->text));
	read_back(errors, f->errors, sizeof(f->errors));
}

static json_t *rows_of(struct fixture *f)
{
	json_error_t error;
	json_t *root = json_loads(f->text, 0, &error);

	if (!root)
		fail_msg("%s at %d: %s", error.text, error.position, f->text);
	return root;
}

static json_int_t number(json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

static void last_interval_has_every_fault(void **state)
{
	struct fixture *f = *state;
	json_t *root, *rows;
	size_t count;

	top(f, "-i", f->recording, "--json", NULL);
	assert_int_equal(f->status, EXIT_OK);
	root = rows_of(f);
	rows = json_object_get(json_object_get(root, "tables"), "top");
	count = json_array_size(rows);
	assert_int_equal(count, SECONDS * (DEVICES + 1));
	/* Sorted by rate, then total; the sum comes first. */
	assert_int_equal(number(json_array_get(rows, count - 4), "faults"), 7 + 101 + 53);
	assert_int_equal(number(json_array_get(rows, count - 3), "faults"), 101);
	assert_int_equal(number(json_array_get(rows, count - 2), "faults"), 53);
	assert_int_equal(number(json_array_get(rows, count - 1), "faults"), 7);
	for (size_t i = count - 3; i < count; i++) {
		json_t *row = json_array_get(rows, i);

		/* 106 us, within the histogram's 1.6 %; the maximum is exact */
		assert_in_range(number(row, "p99_ns"), 104000, 108000);
		assert_int_equal(number(row, "max_ns"), 106000);
		assert_int_equal(number(row, "open"), 0);
		assert_int_equal(number(row, "inconsistent"), 0);
		assert_string_equal(json_string_value(json_object_get(row, "slowest")), "resolve");
	}
	json_decref(root);
}

static void rates_add_up_to_the_total(void **state)
{
	struct fixture *f = *state;
	double sum = 0;
	json_t *root, *row;
	size_t i;

	top(f, "-i", f->recording, "--json", NULL);
	root = rows_of(f);
	json_array_foreach(json_object_get(json_object_get(root, "tables"), "top"), i, row)
		if (!strcmp(json_string_value(json_object_get(row, "device")), "all"))
			sum += json_number_value(json_object_get(row, "rate_per_s"));
	assert_true(sum > 160.999 && sum < 161.001);
	json_decref(root);
}

static void text_fits_eighty_columns(void **state)
{
	struct fixture *f = *state;

	top(f, "-i", f->recording, "-b", NULL);
	assert_int_equal(f->status, EXIT_OK);
	assert_non_null(strstr(f->text, "2026-11-21 01:39:08 UTC"));
	assert_non_null(strstr(f->text, "tenant1/disk0"));
	assert_non_null(strstr(f->text, "lost 0 of 5003"));
	assert_non_null(strstr(f->text, "self "));
	for (char *line = strtok(f->text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
}

static void csv_is_one_rectangle(void **state)
{
	struct fixture *f = *state;
	int lines = 0, fields = 0;

	top(f, "-i", f->recording, "--csv", NULL);
	assert_memory_equal(f->text, "time,device,owner,rate_per_s,faults,", 36);
	for (char *line = strtok(f->text, "\r\n"); line; line = strtok(NULL, "\r\n"), lines++) {
		int commas = 0;

		for (char *c = line; *c; c++)
			commas += *c == ',';
		if (!lines)
			fields = commas;
		assert_int_equal(commas, fields);
	}
	assert_int_equal(lines, 1 + SECONDS * (DEVICES + 1));
}

/* Names and stacks are told by the stream, too: a replay must pass all of it on. */
static void a_view_of_a_recording_has_names_and_stacks(void **state)
{
	struct fixture *f = *state;

	top(f, "-i", f->recording, "--csv", "--view", "iommu", NULL);
	assert_int_equal(f->status, EXIT_OK);
	assert_memory_equal(f->text, "time,device,driver,faults,", 26);
	assert_non_null(strstr(f->text, ",mapped,mapper,4711,"));
	assert_non_null(strstr(f->text, "nic_fill+0x20"));
}

static void filters_and_rows_choose_devices(void **state)
{
	struct fixture *f = *state;

	top(f, "-i", f->recording, "-b", "-d", "tenant[12]/*", "10", NULL);
	/* Rows begin a line; the finding, of whatever there is, does not begin with a name. */
	assert_non_null(strstr(f->text, "\ntenant1/disk0"));
	assert_non_null(strstr(f->text, "\ntenant2/disk0"));
	assert_null(strstr(f->text, "\ntenant0/disk0"));
	top(f, "-i", f->recording, "-b", "-p", "4001", "10", NULL);
	assert_non_null(strstr(f->text, "\ntenant0/disk0"));
	assert_null(strstr(f->text, "\ntenant1/disk0"));
	top(f, "-i", f->recording, "-b", "-r", "1", "-s", "-total", "10", NULL);
	assert_non_null(strstr(f->text, "\ntenant0/disk0"));
	assert_null(strstr(f->text, "\ntenant1/disk0"));
}

static void count_ends_it(void **state)
{
	struct fixture *f = *state;
	int intervals = 0;

	top(f, "-i", f->recording, "-b", "1", "3", NULL);
	assert_int_equal(f->status, EXIT_OK);
	for (char *at = f->text; (at = strstr(at, " UTC:")); at++)
		intervals++;
	assert_int_equal(intervals, 3);
}

/* The first column of a table, without its head. To be freed. */
static char *times_of(const char *table)
{
	char *times = calloc(1, strlen(table) + 1);

	while ((table = strchr(table, '\n')) && *++table)
		strncat(times, table, strcspn(table, ","));
	return times;
}

/* With a unit, or a bare number of seconds. */
static void intervals_are_durations(void **state)
{
	static const char *const same[][2] = {{"0.5", "500ms"}, {"2", "2s"}, {"0.1", "100ms"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *bare, *with_unit;

		/* Times of rows; what watching costs differs. */
		top(f, "-i", f->recording, "-b", "--csv", same[i][0], "3", NULL);
		assert_int_equal(f->status, EXIT_OK);
		bare = times_of(f->text);
		top(f, "-i", f->recording, "-b", "--csv", same[i][1], "3", NULL);
		assert_int_equal(f->status, EXIT_OK);
		with_unit = times_of(f->text);
		assert_true(strlen(bare) > 90);
		assert_string_equal(bare, with_unit);
		free(bare);
		free(with_unit);
	}
}

static void loss_is_told_and_is_the_exit_status(void **state)
{
	struct fixture *f = *state;

	record(f, 17, START + SECONDS * SECOND);
	top(f, "-i", f->recording, "-b", NULL);
	assert_int_equal(f->status, EXIT_LOSS);
	assert_non_null(strstr(f->text, "lost 17 of 5020"));
}

/* A year without anything is not shown second by second. */
static void gap_in_a_recording_does_not_hang(void **state)
{
	struct fixture *f = *state;
	clock_t begin = clock();

	record(f, 0, START + 365ull * 86400 * SECOND);
	top(f, "-i", f->recording, "--csv", NULL);
	assert_int_equal(f->status, EXIT_OK);
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
	assert_true(strlen(f->text) < OUTPUT / 2);
}

/* What the replay asks to sleep, in place of the C library's: how long that takes is up to the machine. */
static __u64 asked_ns;

int nanosleep(const struct timespec *time, struct timespec *left)
{
	asked_ns += (__u64)time->tv_sec * SECOND + (__u64)time->tv_nsec;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left) ? -1 : 0;
}

static void speed_paces_the_replay(void **state)
{
	struct fixture *f = *state;
	struct timespec from, to_time;
	double seconds;

	asked_ns = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	top(f, "-i", f->recording, "-b", "--speed", "10", NULL);
	clock_gettime(CLOCK_MONOTONIC, &to_time);
	seconds = (double)(to_time.tv_sec - from.tv_sec) +
		  (double)(to_time.tv_nsec - from.tv_nsec) / 1e9;
	assert_true(seconds >= (SECONDS - 1) / 10.0);
	assert_true(asked_ns <= (SECONDS + 1) * SECOND / 10);
}

static void damage_is_reported_after_what_can_be_read(void **state)
{
	struct fixture *f = *state;
	FILE *file = fopen(f->recording, "r+");

	assert_non_null(file);
	fseek(file, -200, SEEK_END);
	assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
	fclose(file);
	top(f, "-i", f->recording, "-b", NULL);
	/* The end is missing: what came before is shown, the numbers are floors. */
	assert_int_equal(f->status, EXIT_LOSS);
	assert_non_null(strstr(f->text, "tenant1/disk0"));
	file = fopen(f->recording, "w");
	fputs("no recording at all, but long enough to look like one: ................", file);
	fclose(file);
	top(f, "-i", f->recording, "-b", NULL);
	assert_int_equal(f->status, EXIT_INPUT);
	assert_memory_equal(f->errors, "faultline: ", 11);
}

static void wrong_options_get_one_sentence(void **state)
{
	static const char *const wrong[][3] = {
		{"-s", "speed", "--sort speed: no such column; accepted: rate, total"},
		{"--view", "vifo",
		 "--view: no view 'vifo'; accepted: faults, iommu, dma, vfio, rdma, nic, qp, lent, pins"},
		{"--window", "0", "--window"},
		{"--window", "2h",
		 "--window: '2h' is out of range; accepted: a duration from 1ns to 1h"},
		{"-r", "0", "--rows"},
		{"-r", "-1", "--rows"},
		{"-p", "x", "--pid"},
		{"-p", "0", "--pid"},
		{"-p", "99999999", "--pid"},
		{"--speed", "0", "--speed: invalid speed '0'; accepted"},
		{"--speed", "nan", "--speed: invalid speed 'nan'; accepted"},
		{"--speed", "2x", "--speed: invalid speed '2x'; accepted"},
		{"0", "1", "interval 0: accepted: 100ms to 1h, or seconds"},
		{"0s", "1", "interval 0s: accepted: 100ms to 1h, or seconds"},
		{"99ms", "1", "interval 99ms: accepted: 100ms to 1h, or seconds"},
		{"61m", "1", "interval 61m: accepted: 100ms to 1h, or seconds"},
		{"5x", "1", "interval: invalid duration '5x'"},
		{"x", "1", "interval: invalid duration 'x'"},
		{"1", "0", "count"},
		{"1", "1.5", "count"},
		{"--csv", "--json", "exclude each other"},
		{"-c", "/nonexistent/slo.ini", "/nonexistent/slo.ini"},
		{"-i", "/nonexistent/run.flt", "/nonexistent/run.flt"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		top(f, wrong[i][0], wrong[i][1], NULL);
		/* In the first line; behind a wrong option comes where help is. */
		if (!f->status || strncmp(f->errors, "faultline", 9) != 0 ||
		    !strstr(f->errors, wrong[i][2]) ||
		    strstr(f->errors, wrong[i][2]) > strchr(f->errors, '\n'))
			fail_msg("%s %s: status %d, \"%s\"", wrong[i][0], wrong[i][1], f->status,
				 f->errors);
		assert_string_equal(f->text, "");
	}
	top(f, "--speed", "2", NULL);
	assert_int_equal(f->status, EXIT_USAGE);
	assert_non_null(strstr(f->errors, "-i FILE"));
}

#define with_recording(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_recording(last_interval_has_every_fault),
		with_recording(rates_add_up_to_the_total),
		with_recording(text_fits_eighty_columns),
		with_recording(csv_is_one_rectangle),
		with_recording(a_view_of_a_recording_has_names_and_stacks),
		with_recording(filters_and_rows_choose_devices),
		with_recording(count_ends_it),
		with_recording(intervals_are_durations),
		with_recording(loss_is_told_and_is_the_exit_status),
		with_recording(gap_in_a_recording_does_not_hang),
		with_recording(speed_paces_the_replay),
		with_recording(damage_is_reported_after_what_can_be_read),
		with_recording(wrong_options_get_one_sentence),
	};

	return cmocka_run_group_tests_name("top replay", tests, NULL, NULL);
}
