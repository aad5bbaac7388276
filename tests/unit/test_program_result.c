// SPDX-License-Identifier: GPL-2.0
/* Results of programs, from what those of Debian 12 printed in the namespaces of a network: tests/data/programs. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/net/program_result.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define TEXT_MOST (16 << 10)

static char recorded[TEXT_MOST];

static size_t load(const char *name)
{
	char path[128];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "tests/data/programs/%s", name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: cannot be read; run from the top of the repository", path);
	size = fread(recorded, 1, sizeof(recorded) - 1, file);
	recorded[size] = '\0';
	fclose(file);
	assert_in_range(size, 1, sizeof(recorded) - 2);
	return size;
}

/* Of a copy of its own, so that a read beyond its end is one. */
static int parse(enum result_format format, const char *text, size_t size,
		 struct program_result *result)
{
	char *copy = malloc(size + 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, text, size);
	copy[size] = '\0';
	err = program_result_parse(format, copy, size, result);
	free(copy);
	return err;
}

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b);
}

static bool same_result(const struct program_result *a, const struct program_result *b)
{
	return same(a->goodput, b->goodput) && same(a->requests, b->requests) &&
	       same(a->requests_per_s, b->requests_per_s) &&
	       same(a->request_p50_ns, b->request_p50_ns) &&
	       same(a->request_p99_ns, b->request_p99_ns) && same(a->retransmits, b->retransmits) &&
	       same(a->bytes, b->bytes);
}

static const struct program_result nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static const struct {
	const char *file;
	enum result_format format;
	struct program_result result;
} results[] = {
	{"iperf3.json", RESULT_IPERF3, {95311683.490655 / 8, NAN, NAN, NAN, NAN, 0, 24006392}},
	{"iperf3-loss.json",
	 RESULT_IPERF3,
	 {89419450.4495558 / 8, NAN, NAN, NAN, NAN, 20, 2926408}},
	{"iperf3-udp.json",
	 RESULT_IPERF3,
	 {19772777.87660322 / 8, NAN, NAN, NAN, NAN, NAN, 2473184}},
	{"memcaslap.txt",
	 RESULT_MEMCASLAP,
	 {4783000 * 3673.0 / 5000, 5000, 3673, NAN, NAN, NAN, NAN}},
	{"memcaslap-statistics.txt",
	 RESULT_MEMCASLAP,
	 {4783000 * 2100.0 / 5000, 5000, 2100, NAN, NAN, NAN, NAN}},
	{"redis.csv",
	 RESULT_REDIS,
	 {NAN, NAN, 2 / (1 / 62500.0 + 1 / 52631.58), 63e3, 175e3, NAN, NAN}},
	{"redis-name.csv", RESULT_REDIS, {NAN, NAN, 17482.52, 143e3, 2719e3, NAN, NAN}},
	{"sockperf.txt",
	 RESULT_SOCKPERF,
	 {NAN, 7213, 3425 / 0.550, 2 * 69680, 2 * 204729, NAN, NAN}},
	{"sockperf-rtt.txt", RESULT_SOCKPERF, {NAN, 20, 10 / 0.450, 36960, 181563, NAN, NAN}},
	{"sockperf-throughput.txt", RESULT_SOCKPERF, {NAN, 12062, 12053, NAN, NAN, NAN, NAN}},
};

static void results_are_what_was_printed(void **state)
{
	struct program_result result;

	for (unsigned int i = 0; i < COUNT(results); i++) {
		size_t size = load(results[i].file);

		if (parse(results[i].format, recorded, size, &result))
			fail_msg("%s: %s", results[i].file, failure_text());
		if (!same_result(&result, &results[i].result))
			fail_msg("%s: %f %f %f %f %f %f %f", results[i].file, result.goodput,
				 result.requests, result.requests_per_s, result.request_p50_ns,
				 result.request_p99_ns, result.retransmits, result.bytes);
	}
}

static void is_refused(enum result_format format, const char *text, const char *said)
{
	struct program_result result;

	assert_int_equal(parse(format, text, strlen(text), &result), -EIO);
	assert_true(same_result(&result, &nothing));
	if (!strstr(failure_text(), said) || !strstr(failure_text(), "accepted: "))
		fail_msg("'%s' is not in '%s'", said, failure_text());
}

static void failures_of_programs_are_told(void **state)
{
	static const struct {
		const char *file;
		enum result_format format;
		const char *said;
	} failures[] = {
		{"iperf3-stopped.json", RESULT_IPERF3,
		 "it reports 'interrupt - the client has terminated'"},
		{"iperf3-refused.json", RESULT_IPERF3,
		 "it reports 'unable to connect to server: Connection refused'"},
		{"memcaslap-none.txt", RESULT_MEMCASLAP,
		 "no read_bytes and no last line 'Run time: "},
		{"sockperf-none.txt", RESULT_SOCKPERF, "no messages were received"},
	};

	for (unsigned int i = 0; i < COUNT(failures); i++) {
		load(failures[i].file);
		is_refused(failures[i].format, recorded, failures[i].said);
	}
}

/* No other program's output is taken for its own. */
static void every_other_output_is_refused(void **state)
{
	static const char *const said[RESULT_FORMATS] = {
		NULL,
		"result=iperf3: ", "result=memcaslap: ", "result=redis: ", "result=sockperf: "};

	for (unsigned int i = 0; i < COUNT(results); i++) {
		load(results[i].file);
		for (enum result_format format = RESULT_IPERF3; format < RESULT_FORMATS; format++)
			if (format != results[i].format)
				is_refused(format, recorded, said[format]);
	}
	for (enum result_format format = RESULT_IPERF3; format < RESULT_FORMATS; format++)
		is_refused(format, "", said[format]);
}

/* Either refused, or what was printed: what is missing was only behind it. */
static void no_truncated_output_gives_other_numbers(void **state)
{
	struct program_result result;

	for (unsigned int i = 0; i < COUNT(results); i++) {
		size_t size = load(results[i].file), taken = 0;

		for (size_t cut = 0; cut < size; cut++) {
			int err = parse(results[i].format, recorded, cut, &result);

			if (!err && results[i].format == RESULT_REDIS)
				continue; /* whole rows are whole tests */
			if (!same_result(&result, err ? &nothing : &results[i].result))
				fail_msg("%s: its first %zu bytes give other numbers",
					 results[i].file, cut);
			taken += !err;
		}
		/* sockperf prints its largest percentiles first, and the bandwidth last. */
		if (results[i].format != RESULT_SOCKPERF)
			assert_in_range(taken, 0, 1);
	}
}

/* Never more than numbers that are none. */
static void damaged_output_does_no_harm(void **state)
{
	struct program_result result;
	struct random random = {12};

	for (unsigned int i = 0; i < COUNT(results); i++) {
		size_t size = load(results[i].file);

		for (unsigned int round = 0; round < 2000; round++) {
			size_t at = random_below(&random, size);
			char was = recorded[at];

			recorded[at] = (char)random_below(&random, 256);
			if (!parse(results[i].format, recorded, size, &result)) {
				assert_false(result.goodput < 0 || isinf(result.goodput));
				assert_false(result.requests < 0 || isinf(result.requests));
				assert_false(result.requests_per_s < 0 ||
					     isinf(result.requests_per_s));
				assert_false(result.request_p99_ns < 0 ||
					     isinf(result.request_p99_ns));
			}
			recorded[at] = was;
		}
	}
}

static void numbers_that_are_none_are_refused(void **state)
{
	static const char heading[] =
		"\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\","
		"\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";
	static const char *const rows[] = {
		"\"GET\",\"0\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
		"\"GET\",\"nan\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
		"\"GET\",\"inf\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
		"\"GET\",\"9\",\"1\",\"1\",\"-1\",\"1\",\"1\",\"1\"\n",
		"\"9\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
		"\"GET\",\"9\",\"1\",\"1\",\"1\",\"1\",\"1\",\"\"\n",
		"\n",
		"\"GET\",\"9\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"",
	};
	char text[1024];

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "%s%s", heading, rows[i]);
		is_refused(RESULT_REDIS, text, "is no whole row");
	}
	is_refused(RESULT_REDIS, heading, "no test with its results");
	is_refused(RESULT_MEMCASLAP,
		   "read_bytes: 12x\n\nRun time: 1.0s Ops: 1 TPS: 1 Net_rate: 0.0M/s\n",
		   "no read_bytes");
	is_refused(
		RESULT_SOCKPERF,
		"[Total Run] a; b; c; ReceivedMessages=1\n[Valid Duration] RunTime=1 sec; c; ReceivedMessages=1\n"
		"percentile 99.000 = 5\npercentile 50.000 = 5x\n",
		"no results");
	is_refused(RESULT_MEMCASLAP,
		   "read_bytes: 12\n\nRun time: 0.0s Ops: 0 TPS: 0 Net_rate: 0.0M/s\n",
		   "nothing was answered");
	is_refused(RESULT_IPERF3, "{\"end\":{\"sum_received\":{\"bits_per_second\":-1}}}",
		   "no end.sum_received.bits_per_second");
	is_refused(RESULT_IPERF3, "{\"end\":{\"sum_received\":{\"bits_per_second\":\"1\"}}}",
		   "no end.sum_received.bits_per_second");
	is_refused(RESULT_IPERF3, "[]", "no end.sum_received.bits_per_second");
	is_refused(RESULT_SOCKPERF,
		   "sockperf: Total of -1 messages sent\nSummary: Message Rate is 1 [msg/sec]\n",
		   "a number below 0");
	is_refused(RESULT_SOCKPERF,
		   "sockperf: Total of 1 messages sent\nSummary: Message Rate is inf [msg/sec]\n",
		   "a number below 0 or without end");
	is_refused(RESULT_SOCKPERF, "sockperf: Total of 12 messages sent in 1 sec\n", "no results");
}

static void without_a_format_nothing_is_told(void **state)
{
	struct program_result result;

	assert_int_equal(program_result_parse(RESULT_NONE, "", 0, &result), 0);
	assert_true(same_result(&result, &nothing));
	assert_string_equal(result_formats[RESULT_SOCKPERF], "sockperf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_what_was_printed),
		cmocka_unit_test(failures_of_programs_are_told),
		cmocka_unit_test(every_other_output_is_refused),
		cmocka_unit_test(no_truncated_output_gives_other_numbers),
		cmocka_unit_test(damaged_output_does_no_harm),
		cmocka_unit_test(numbers_that_are_none_are_refused),
		cmocka_unit_test(without_a_format_nothing_is_told),
	};

	return cmocka_run_group_tests_name("program_result", tests, NULL, NULL);
}
