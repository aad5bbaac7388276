// SPDX-License-Identifier: GPL-2.0
/* Reading equals writing, call by call; windows, streams and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tests/unit/stream_log.h"

static char directory[] = "/tmp/faultline-trace-XXXXXX";
static char path[128];

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/faultline-trace-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/run.flt", directory);
	return 0;
}

static int remove_directory(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
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
	for (size_t i = 0; i < 9; i++)
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

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_equals_writing),
	};

	return cmocka_run_group_tests_name("trace", tests, make_directory, remove_directory);
}
