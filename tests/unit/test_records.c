// SPDX-License-Identifier: GPL-2.0
/* What a recording's payloads claim of themselves, behind checksums that hold. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/histogram.h"
#include "lib/trace/columns.h"
#include "lib/trace/pack.h"
#include "lib/trace/records.h"
#include "lib/trace/trace.h"
#include "tests/unit/stream_log.h"

#define BINS 8u
#define ROWS_AT \
	9 /* bytes before an aggregate's three counts: its window, and whether it is incomplete */

static struct trace_buffer payload, scratch, memory;

static int free_buffers(void **state)
{
	trace_buffer_free(&payload);
	trace_buffer_free(&scratch);
	trace_buffer_free(&memory);
	return 0;
}

/* A window of two rows, of which the second has these bins, the last of them of this bucket. */
static void put_window(__u32 histogram, __u32 bins, __u32 bucket)
{
	struct aggregate_row rows[2] = {{.bins = 1}, {.histogram = histogram, .bins = bins}};
	struct aggregate_bin all[BINS] = {{.bucket = 1, .count = 1}};
	struct aggregate_page page = {.page = 7, .device = 1, .reads = 1};
	const struct aggregate_frame frame = {.window = 5,
					      .rows = rows,
					      .row_count = 2,
					      .bins = all,
					      .bin_count = BINS,
					      .pages = &page,
					      .page_count = 1};

	all[BINS - 1].bucket = bucket;
	payload.size = 0;
	assert_int_equal(trace_put_aggregate(&payload, &frame, &scratch), 0);
}

/* From memory that ends where these bytes do, so that a sanitizer sees what is read behind them. */
static int get_window(size_t size, struct aggregate_frame *frame)
{
	__u8 *bytes = malloc(size + !size);
	struct trace_cursor cursor = {.next = bytes, .left = size};
	int err;

	memcpy(bytes, payload.bytes, size);
	err = trace_get_aggregate(&cursor, frame, &memory);
	free(bytes);
	return err;
}

static void the_bins_of_a_row_are_in_its_frame(void **state)
{
	static const struct {
		__u32 histogram, bins;
		int err;
	} rows[] = {
		{0, BINS, 0},
		{BINS - 1, 1, 0},
		{BINS, 0, 0},
		{BINS, 1, -EBADMSG},
		{0, BINS + 1, -EBADMSG},
		{BINS + 1, 0, -EBADMSG},
		{1, BINS, -EBADMSG},
		{BINS + 1, 1, -EBADMSG},
		{UINT32_MAX, 1, -EBADMSG},
		{1, UINT32_MAX, -EBADMSG},
	};
	struct aggregate_frame frame;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_window(rows[i].histogram, rows[i].bins, 1);
		assert_int_equal(get_window(payload.size, &frame), rows[i].err);
	}
}

static void a_bin_is_of_a_bucket_that_there_is(void **state)
{
	struct aggregate_frame frame;

	put_window(0, 1, HISTOGRAM_BUCKETS - 1);
	assert_int_equal(get_window(payload.size, &frame), 0);
	assert_int_equal(frame.bins[BINS - 1].bucket, HISTOGRAM_BUCKETS - 1);
	put_window(0, 1, HISTOGRAM_BUCKETS);
	assert_int_equal(get_window(payload.size, &frame), -EBADMSG);
	put_window(0, 1, UINT32_MAX);
	assert_int_equal(get_window(payload.size, &frame), -EBADMSG);
}

static void every_cut_of_a_window_is_malformed(void **state)
{
	struct aggregate_frame frame;

	put_window(1, 2, 3);
	for (size_t size = 0; size < payload.size; size++)
		assert_int_equal(get_window(size, &frame), -EBADMSG);
	assert_int_equal(get_window(payload.size, &frame), 0);
}

/* Columns of equal values have no bytes: only the count says how many records they are. */
static void a_windows_counts_have_limits(void **state)
{
	static const struct {
		size_t at;
		__u32 most;
	} counts[] = {{ROWS_AT, AGGREGATE_ROWS_MAX},
		      {ROWS_AT + 4, TRACE_RAW_MAX / sizeof(struct aggregate_bin)},
		      {ROWS_AT + 8, AGGREGATE_PAGES_MAX}};
	const struct aggregate_frame none = {.window = 5};
	struct aggregate_frame frame;

	for (size_t i = 0; i < 3; i++) {
		__u32 more = counts[i].most + 1;

		payload.size = 0;
		assert_int_equal(trace_put_aggregate(&payload, &none, &scratch), 0);
		memcpy(payload.bytes + counts[i].at, &more, sizeof(more));
		assert_int_equal(get_window(payload.size, &frame), -EBADMSG);
		memcpy(payload.bytes + counts[i].at, &counts[i].most, sizeof(more));
		assert_int_equal(get_window(payload.size, &frame), 0);
	}
	assert_int_equal(frame.page_count, AGGREGATE_PAGES_MAX);
}

/* Reads a recording of one frame of so many events and ticks, all equal. */
static int read_events(__u32 events, __u32 ticks, struct stream_log *log)
{
	size_t most = events > ticks ? events : ticks;
	struct trace_file_header file = {
		.version = TRACE_VERSION, .event_version = EVENT_VERSION, .recording = 7};
	struct trace_frame_header header = {
		.recording = 7, .type = TRACE_EVENTS, .count = events, .last_ns = 1};
	void *records = calloc(most, sizeof(struct event));
	__u64 *values = calloc(2 * most, sizeof(*values));
	struct trace_read_config reading;
	int fd = memfd_create("recording", MFD_CLOEXEC), err;
	char name[64];

	payload.size = 0;
	trace_buffer_put_u32(&payload, ticks);
	trace_columns_encode(&trace_event_layout, records, events, values, &payload, NULL);
	trace_columns_encode(&trace_tick_layout, records, ticks, values, &payload, NULL);
	header.raw_length = header.stored_length = (__u32)payload.size;
	trace_seal_file(&file);
	trace_seal(&header, payload.bytes);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, payload.bytes, payload.size), payload.size);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	reading = (struct trace_read_config){.path = name};
	err = trace_read(&reading, stream_log(log));
	close(fd);
	free(values);
	free(records);
	return err;
}

static void a_frame_has_so_many_events_and_ticks(void **state)
{
	struct stream_log log;

	assert_int_equal(read_events(TRACE_EVENTS_MAX, TRACE_EVENTS_MAX, &log), 0);
	assert_int_equal(log.events, TRACE_EVENTS_MAX);
	assert_int_equal(log.calls[LOG_TICK], TRACE_EVENTS_MAX);
	stream_log_free(&log);
	assert_int_equal(read_events(TRACE_EVENTS_MAX + 1, 1, &log), -EBADMSG);
	assert_int_equal(log.events, 0);
	stream_log_free(&log);
	assert_int_equal(read_events(1, TRACE_EVENTS_MAX + 1, &log), -EBADMSG);
	assert_int_equal(log.calls[LOG_TICK], 0);
	stream_log_free(&log);
}

#define WITH_BUFFERS(test) cmocka_unit_test_teardown(test, free_buffers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BUFFERS(the_bins_of_a_row_are_in_its_frame),
		WITH_BUFFERS(a_bin_is_of_a_bucket_that_there_is),
		WITH_BUFFERS(every_cut_of_a_window_is_malformed),
		WITH_BUFFERS(a_windows_counts_have_limits),
		WITH_BUFFERS(a_frame_has_so_many_events_and_ticks),
	};

	return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
