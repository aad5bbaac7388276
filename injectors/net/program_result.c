// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/program_result.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define BITS_PER_BYTE	8
#define REDIS_NUMBERS	7 /* of a row, behind the test's name */
#define REDIS_ROW	512
#define NS_PER_MS	1e6
#define NS_PER_US	1e3
#define IPERF3_ACCEPTED "accepted: all that `iperf3 -c HOST -J` prints"
#define SOCKPERF_HALVES 2 /* sockperf's latency is half a round trip, unless it is told otherwise */

const char *const result_formats[RESULT_FORMATS] = {
	[RESULT_NONE] = "none",	  [RESULT_IPERF3] = "iperf3",	  [RESULT_MEMCASLAP] = "memcaslap",
	[RESULT_REDIS] = "redis", [RESULT_SOCKPERF] = "sockperf",
};

/* More than any machine does in a second, or ms than any lives: no result, and it would overflow ns. */
#define AMOUNT_MOST 1e12

static bool is_amount(double number)
{
	return isfinite(number) && number >= 0 && number <= AMOUNT_MOST;
}

/* What is no number of something becomes none. */
static double json_amount(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double number = json_is_number(value) ? json_number_value(value) : NAN;

	return is_amount(number) ? number : NAN;
}

static int take_iperf3(const json_t *root, struct program_result *result)
{
	const json_t *end = json_object_get(root, "end");
	const char *error = json_string_value(json_object_get(root, "error"));
	double bits = json_amount(json_object_get(end, "sum_received"), "bits_per_second");

	/* Told to end before its time it has not asked the other side what arrived. */
	if (error)
		return failed(-EIO,
			      "result=iperf3: it reports '%s'; " IPERF3_ACCEPTED
			      ", to its end: -t shorter than its duration",
			      error);
	if (isnan(bits))
		return failed(
			-EIO,
			"result=iperf3: no end.sum_received.bits_per_second; " IPERF3_ACCEPTED);
	result->goodput = bits / BITS_PER_BYTE;
	result->bytes = json_amount(json_object_get(end, "sum_received"), "bytes");
	result->retransmits = json_amount(json_object_get(end, "sum_sent"), "retransmits");
	return 0;
}

static int parse_iperf3(const char *text, size_t size, struct program_result *result)
{
	json_error_t error;
	json_t *root = json_loadb(text, size, 0, &error);
	int err;

	if (!root)
		return failed(-EIO, "result=iperf3: no JSON: line %d: %s; " IPERF3_ACCEPTED,
			      error.line, error.text);
	err = take_iperf3(root, result);
	json_decref(root);
	return err;
}

/* A whole number behind its name at the start of some line. */
static bool line_count(const char *text, const char *name, unsigned long long *count)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		if (strncmp(line, name, length) != 0)
			continue;
		*count = strtoull(line + length, &end, 10);
		return *end == '\n';
	}
	return false;
}

/* Its run time has one decimal; operations and their rate tell it better. */
static int parse_memcaslap(const char *text, size_t size, struct program_result *result)
{
	const char *last = strstr(text, "\nRun time: ");
	unsigned long long operations, rate, received;
	double seconds, net;
	int whole = 0;

	(void)size;
	if (last)
		sscanf(last, "\nRun time: %lfs Ops: %llu TPS: %llu Net_rate: %lfM/s%n", &seconds,
		       &operations, &rate, &net, &whole);
	if (!whole || !line_count(text, "read_bytes: ", &received))
		return failed(
			-EIO,
			"result=memcaslap: no read_bytes and no last line 'Run time: ... Ops: "
			"... TPS: ...'; accepted: all that `memcaslap -s HOST:PORT -x N` prints");
	if (!operations || !rate)
		return failed(-EIO,
			      "result=memcaslap: %llu operations, %llu a second: nothing was "
			      "answered; accepted: a load that works",
			      operations, rate);
	result->requests = (double)operations;
	result->requests_per_s = (double)rate;
	result->goodput = (double)received * (double)rate / (double)operations;
	return 0;
}

/* The numbers of `"NAME","1.0",...`: from its end, as names hold anything. False if it is no such row. */
static bool redis_row(const char *line, size_t length, double numbers[REDIS_NUMBERS])
{
	char row[REDIS_ROW], *field, *end;

	if (length < 2 || length >= sizeof(row) || line[0] != '"' || line[length - 1] != '"')
		return false;
	memcpy(row, line, length - 1);
	row[length - 1] = '\0';
	for (unsigned int i = REDIS_NUMBERS; i-- > 0;) {
		field = strrchr(row, '"');
		if (!field || field < row + 2 || field[-1] != ',' || field[-2] != '"')
			return false;
		numbers[i] = strtod(field + 1, &end);
		if (end == field + 1 || *end || !is_amount(numbers[i]))
			return false;
		field[-2] = '\0';
	}
	return true;
}

/* Tests of one run follow each other, with as many requests each. */
static int parse_redis(const char *text, size_t size, struct program_result *result)
{
	static const char heading[] =
		"\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\","
		"\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";
	enum { RATE, P50 = 3, P99 = 5 };
	const char *line = strstr(text, heading);
	double seconds = 0, p50 = 0, p99 = 0, numbers[REDIS_NUMBERS];
	unsigned int rows = 0;
	size_t length;

	(void)size;
	for (line = line ? line + strlen(heading) : ""; *line; line += length + 1) {
		length = strcspn(line, "\n");
		if (!line[length] || !redis_row(line, length, numbers) || numbers[RATE] <= 0)
			return failed(-EIO,
				      "result=redis: '%.*s' is no whole row; accepted: all that "
				      "`redis-benchmark -h HOST --csv` prints",
				      length > 64 ? 64 : (int)length, line);
		seconds += 1 / numbers[RATE];
		p50 = fmax(p50, numbers[P50]);
		p99 = fmax(p99, numbers[P99]);
		rows++;
	}
	if (!rows)
		return failed(-EIO, "result=redis: no test with its results; accepted: all that "
				    "`redis-benchmark -h HOST --csv` of redis 7 prints");
	result->requests_per_s = rows / seconds;
	result->request_p50_ns = p50 * NS_PER_MS;
	result->request_p99_ns = p99 * NS_PER_MS;
	return 0;
}

/* "---> percentile 50.000 =    5.215\n" */
static double sockperf_percentile(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	double value;
	char end;

	if (!line || sscanf(line + strlen(name), " = %lf%c", &value, &end) != 2 || end != '\n' ||
	    !is_amount(value))
		return NAN;
	return value;
}

static bool sockperf_throughput(const char *text, struct program_result *result)
{
	const char *total = strstr(text, "sockperf: Total of "),
		   *rate = strstr(text, "Summary: Message Rate is ");
	int whole = 0, whole_rate = 0;

	if (!total || !rate)
		return false;
	sscanf(total, "sockperf: Total of %lf messages sent%n", &result->requests, &whole);
	sscanf(rate, "Summary: Message Rate is %lf [msg/sec]%n", &result->requests_per_s,
	       &whole_rate);
	return whole && whole_rate;
}

static bool sockperf_latency(const char *text, struct program_result *result)
{
	const char *total = strstr(text, "[Total Run] "),
		   *valid = strstr(text, "[Valid Duration] ");
	double halves = strstr(text, "====> avg-rtt=") ? 1 : SOCKPERF_HALVES, seconds = 0, received;
	int whole = 0;

	if (!total || !valid)
		return false;
	sscanf(total, "%*[^;];%*[^;];%*[^;]; ReceivedMessages=%lf%n", &result->requests, &whole);
	if (!whole)
		return false;
	whole = 0;
	sscanf(valid, "[Valid Duration] RunTime=%lf sec;%*[^;]; ReceivedMessages=%lf%n", &seconds,
	       &received, &whole);
	result->requests_per_s = seconds > 0 ? received / seconds : NAN;
	result->request_p50_ns =
		sockperf_percentile(text, "percentile 50.000") * halves * NS_PER_US;
	result->request_p99_ns =
		sockperf_percentile(text, "percentile 99.000") * halves * NS_PER_US;
	return whole && !isnan(result->requests_per_s) && !isnan(result->request_p50_ns) &&
	       !isnan(result->request_p99_ns);
}

static int parse_sockperf(const char *text, size_t size, struct program_result *result)
{
	(void)size;
	if (sockperf_latency(text, result) || sockperf_throughput(text, result))
		return 0;
	if (strstr(text, "No messages were received"))
		return failed(-EIO,
			      "result=sockperf: no messages were received; accepted: a server that "
			      "answers");
	return failed(-EIO,
		      "result=sockperf: no results; accepted: all that sockperf 3.7's ping-pong, "
		      "under-load or throughput prints");
}

static bool amount_is_sound(double amount)
{
	return isnan(amount) || (isfinite(amount) && amount >= 0);
}

static bool result_is_sound(const struct program_result *result)
{
	return amount_is_sound(result->goodput) && amount_is_sound(result->requests) &&
	       amount_is_sound(result->requests_per_s) && amount_is_sound(result->request_p50_ns) &&
	       amount_is_sound(result->request_p99_ns) && amount_is_sound(result->retransmits) &&
	       amount_is_sound(result->bytes);
}

int program_result_parse(enum result_format format, const char *text, size_t size,
			 struct program_result *result)
{
	static int (*const parsers[RESULT_FORMATS])(const char *text, size_t size,
						    struct program_result *result) = {
		[RESULT_IPERF3] = parse_iperf3,
		[RESULT_MEMCASLAP] = parse_memcaslap,
		[RESULT_REDIS] = parse_redis,
		[RESULT_SOCKPERF] = parse_sockperf,
	};
	struct program_result found = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	int err = parsers[format] ? parsers[format](text, size, &found) : 0;

	if (!err && !result_is_sound(&found))
		err = failed(
			-EIO,
			"result=%s: a number below 0 or without end; accepted: all that it prints",
			result_formats[format]);
	*result = err ? (struct program_result){NAN, NAN, NAN, NAN, NAN, NAN, NAN} : found;
	return err;
}
