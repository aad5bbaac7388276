// SPDX-License-Identifier: GPL-2.0
/* Windows in wall-clock and relative time, resolved against a recording. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common.h"

/* 2026-11-20T23:59:30Z at monotonic 100 s; the recording runs from there to 200 s. */
static const struct clock_anchor anchor = {100 * SECOND, 1795219170 * SECOND};
static char path[] = "/tmp/faultline-common-XXXXXX";

static int record(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true};
	struct host_info host = {.start_ns = 100 * SECOND, .hostname = "node1"};
	struct event events[2] = {{.time_ns = 100 * SECOND + 7}, {.time_ns = 200 * SECOND}};
	struct trace_writer *writer;
	struct stream stream;

	close(mkstemp(path));
	if (trace_writer_open(&writer, &config))
		return -1;
	stream = trace_writer_stream(writer);
	stream.ops->host(stream.self, &host);
	stream.ops->clock(stream.self, &anchor);
	stream.ops->events(stream.self, events, 2);
	stream.ops->end(stream.self, 200 * SECOND);
	return trace_writer_close(writer);
}

static int discard(void **state)
{
	return unlink(path);
}

static int open_and_forget(const char *name, const struct window_options *window,
			   struct period *period)
{
	struct trace_summary summary;
	int err = common_open_recording(name, window, period, &summary);

	trace_summary_free(&summary);
	return err;
}

static int open_window(const char *since, const char *until, struct period *period)
{
	struct window_options window = {.has_since = since, .has_until = until};

	window.since_text = since;
	window.until_text = until;
	if (since)
		assert_int_equal(units_parse_time(since, &window.since), 0);
	if (until)
		assert_int_equal(units_parse_time(until, &window.until), 0);
	return open_and_forget(path, &window, period);
}

static void times_become_monotonic(void **state)
{
	static const struct {
		const char *text;
		__u64 ns;
	} cases[] = {
		{"2026-11-20T23:59:40Z", 110 * SECOND},
		{"@1795219170", 100 * SECOND},
		{"23:59:40", 110 * SECOND},
		{"00:00:10", 140 * SECOND}, /* past midnight: the recording goes on there */
		{"23:59:20", 90 * SECOND},  /* before its start, but not a day later */
		{"+5s", 105 * SECOND},
		{"-5s", 195 * SECOND},
		{"-5h", 0},
		{"2001-01-01", 0},
	};
	struct period period;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(open_window(cases[i].text, NULL, &period), 0);
		assert_int_equal(period.since_ns, cases[i].ns);
		assert_int_equal(period.until_ns, 0);
	}
}

static void empty_windows_are_refused(void **state)
{
	struct period period;

	assert_int_equal(open_window("+5s", "+6s", &period), 0);
	assert_int_equal(period.until_ns, 106 * SECOND);
	assert_int_equal(open_window("+6s", "+5s", &period), -EINVAL);
	assert_string_equal(failure_text(), "--until +5s is not after --since +6s");
	assert_int_equal(open_window(NULL, "2001-01-01", &period), -EINVAL);
}

static void stdin_takes_no_window(void **state)
{
	struct window_options window = {.has_since = true, .since_text = "+5s"};
	struct period period;

	assert_int_equal(open_and_forget("-", &window, &period), -EINVAL);
	window.has_since = false;
	assert_int_equal(open_and_forget("-", &window, &period), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_become_monotonic),
		cmocka_unit_test(empty_windows_are_refused),
		cmocka_unit_test(stdin_takes_no_window),
	};

	return cmocka_run_group_tests_name("common", tests, record, discard);
}
