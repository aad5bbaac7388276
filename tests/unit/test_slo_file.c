// SPDX-License-Identifier: GPL-2.0
/* Files of objectives: what is read, what is refused, and with which words. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/job/job.h"
#include "lib/analyze/slo.h"
#include "lib/base/fail.h"
#include "lib/job/quantity.h"

static char path[] = "/tmp/faultline-slo-XXXXXX";

static int read_text(const char *text, struct slo_set *set)
{
	char name[sizeof(path)];
	FILE *file;
	int error;

	strcpy(name, path);
	file = fdopen(mkstemp(name), "w");
	fputs(text, file);
	fclose(file);
	error = slo_read(name, set);
	unlink(name);
	return error;
}

static void a_file_is_read(void **state)
{
	struct slo_set set;

	assert_int_equal(
		read_text("[machine]\nfoo=1\n"
			  "[slo gold]\ndevice = tenant0/* ; a comment\n"
			  "latency_target=2ms\nlatency_percentile=99.9\nlatency_window=5s\n"
			  "[slo net]\nmin_bandwidth=10M\nmin_iops=1.5\nfault_rate=0\n"
			  "burst=5\n[slo wire]\nloss=0.1%\nmax_stall=50ms\nmin_throughput=10M\n"
			  "[slo none]\nloss=0\n[slo all]\nloss=100\n",
			  &set),
		0);
	assert_int_equal(set.count, 5);
	assert_string_equal(set.objectives[0].name, "gold");
	assert_string_equal(set.objectives[0].device, "tenant0/*");
	assert_int_equal(set.objectives[0].latency_target_ns, 2 * MS);
	assert_true(set.objectives[0].latency_percentile > 99.89);
	assert_int_equal(set.objectives[0].window_ns, 5 * SECOND);
	assert_string_equal(set.objectives[1].device, "*");
	assert_int_equal(set.objectives[1].min_bandwidth, 10 << 20);
	assert_true(set.objectives[1].has_fault_rate && set.objectives[1].has_burst);
	assert_int_equal(set.objectives[1].burst, 5);
	assert_false(set.objectives[1].has_loss);
	assert_true(set.objectives[2].has_loss && set.objectives[2].loss == 0.1);
	assert_int_equal(set.objectives[2].max_stall_ns, 50 * MS);
	assert_int_equal(set.objectives[2].min_throughput, 10 << 20);
	assert_true(set.objectives[3].has_loss && set.objectives[3].loss == 0);
	assert_true(set.objectives[4].loss == 100);
}

/* What a job file says of its injections and what it says of its objectives read alike. */
static void units_are_those_of_job_files(void **state)
{
	static const struct {
		const char *text;
		double per_s;
	} rates[] = {{"10", 10},    {"10/s", 10},   {"600/m", 10},
		     {"6e2/m", 10}, {"0.5/s", 0.5}, {"1e3", 1000}};
	struct slo_set set;
	char text[128];
	double value;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		snprintf(text, sizeof(text), "[slo a]\nfault_rate = %s\nmin_iops = %s\n",
			 rates[i].text, rates[i].text);
		assert_int_equal(read_text(text, &set), 0);
		assert_true(set.objectives[0].fault_rate == rates[i].per_s);
		assert_true(set.objectives[0].min_iops == rates[i].per_s);
		assert_int_equal(quantity_parse(rates[i].text, QUANTITY_RATE, &value), 0);
		assert_true(value == rates[i].per_s);
	}
	assert_int_equal(
		read_text("[slo a]\nlatency_target=1m\nlatency_percentile=99.9%\nburst=1e2\n"
			  "min_bandwidth=1.5GiB\n",
			  &set),
		0);
	assert_true(set.objectives[0].latency_percentile == 99.9);
	assert_int_equal(set.objectives[0].burst, 100);
	assert_int_equal(set.objectives[0].latency_target_ns, 60 * SECOND);
	assert_int_equal(set.objectives[0].min_bandwidth, 3ull << 29);
}

/*
 * What inih takes for a heading and what our own look at the line does must be the same: entries went to the
 * objective before the first once, where a mark or blank of another kind stood before "[".
 */
static void what_stands_before_a_section_is_no_objective(void **state)
{
	static const char *const marks[] = {"",	  "\xef\xbb\xbf", "\v", "\f", "\r", " ",
					    "\t", "\xc2\xa0",	  ";",	"]",  "="};
	struct slo_set set;
	char text[128];
	unsigned int read = 0;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		for (size_t j = 0; j < sizeof(marks) / sizeof(marks[0]); j++)
			for (int line = 0; line < 2; line++) {
				snprintf(text, sizeof(text),
					 "%s%s%s[slo a]%s\nburst=5\n%s[slo b]\nburst=7\n",
					 line ? "\n" : "", marks[i], marks[j], marks[j], marks[i]);
				if (read_text(text, &set))
					continue;
				read++;
				assert_true(set.count <= 2);
				for (unsigned int k = 0; k < set.count; k++)
					assert_int_equal(set.objectives[k].burst,
							 set.objectives[k].name[0] == 'a' ? 5 : 7);
			}
	assert_true(read > 20);
}

static void bad_files_name_line_and_accepted_values(void **state)
{
	const struct {
		const char *text, *says;
	} cases[] = {
		{"[slo a]\nlatency_target=0\n", ":2: latency_target=0: accepted: 1ns to 24h"},
		{"[slo a]\nlatency_target=5\n", ":2: latency_target=5"},
		{"[slo a]\n\nlatency_window=1500ms\n", ":3: latency_window=1500ms"},
		{"[slo a]\nlatency_window=2d\n", "1s to 24h, a multiple of 1s"},
		{"[slo a]\nlatency_percentile=101\n", "more than 0 to 100"},
		{"[slo a]\nlatency_percentile=0\n", "more than 0 to 100"},
		{"[slo a]\nlatency_percentile=nan\n", "accepted: such as 99.9"},
		{"[slo a]\nlatency_percentile=inf\n", "accepted: such as 99.9"},
		{"[slo a]\nmin_iops=0/s\n", "accepted: 0.001 to"},
		{"[slo a]\nmin_iops=-1\n", ":2: min_iops=-1: accepted: 0.001 to"},
		{"[slo a]\nmin_iops=0x10\n", ":2: min_iops=0x10"},
		{"[slo a]\nfault_rate=10/d\n", ":2: fault_rate=10/d: accepted: 0 to"},
		{"[slo a]\nfault_rate=10 /s\n", ":2: fault_rate=10 /s: accepted: 0 to"},
		{"[slo a]\nmin_iops=many\n", ":2: min_iops=many"},
		{"[slo a]\nmin_bandwidth=0\n", ":2: min_bandwidth=0: accepted: 1 to"},
		{"[slo a]\nburst=0\n", ":2: burst=0"},
		{"[slo a]\nburst=1001\n", "1 to 1000"},
		{"[slo a]\nfault_rate=-2\n", "accepted: 0 to"},
		{"[slo a]\nfualt_rate=2\n", ":2: fualt_rate: no such key in [slo]; did you mean "
					    "fault_rate?"},
		{"[slo a]\nzzzzzzzzzzzzzz=2\n", "no such key in [slo]; accepted: device"},
		{"[slo a]\ndevice=\nburst=5\n", ":2: device=: accepted: 1 to 63 characters"},
		{"[slo a]\nloss=101\n", ":2: loss=101: accepted: such as 0.1, 0 to 100"},
		{"[slo a]\nloss=-1\n", ":2: loss=-1: accepted: such as 0.1, 0 to 100"},
		{"[slo a]\nloss=some\n", ":2: loss=some: accepted: such as 0.1, 0 to 100"},
		{"[slo a]\nmax_stall=0\n", ":2: max_stall=0: accepted: "},
		{"[slo a]\nmin_throughput=0\n", ":2: min_throughput=0: accepted: "},
		{"[slo a]\nlatency_percentile=0\nlatency_target=1s\n",
		 ":2: latency_percentile=0: accepted: such as 99.9, more than 0 to 100"},
		{"[slo a]\ndevice=x\n", ":1: [slo a] states no objective"},
		{"[slo a]\n", ":1: [slo a] states no objective"},
		{"[slo]\nburst=5\n", ":1: [slo]: accepted: [slo NAME]"},
		{"[slo a]\nburst=5\n[slo a]\nburst=6\n", ":3: [slo a] is already at "},
		{"[slo a]\nburst=5\nburst=6\n", ":3: burst is already set at "},
		{"[slo a]\nburst=5\n[sol b]\nburst=6\n",
		 ":3: [sol]: accepted: slo, machine, protector, tenant, device, workload, traffic, program, "
		 "kvstore, ranks, verbs, inject, sweep, expect, short; did you mean slo?"},
		{"[slo a]\nburst=5\n[device b]\n[device b]\n", ":4: [device b] is already at "},
		{"[slo a]\nburst=5\nlatency_percentile=99\n",
		 ":3: latency_percentile=99: has no effect with latency_target=; accepted: with "
		 "latency_target above 0"},
		{"[slo a]\nwhat is this\n", ":2: accepted: [SECTION], KEY = VALUE"},
		{"[slo a\nburst=5\n", ":1: [slo a: accepted: [TYPE]"},
		{"burst=5\n", ":1: burst: accepted: entries after a [SECTION]"},
		{"", "is empty; accepted: an SLO file with [SECTION]s"},
	};
	struct slo_set set;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int error = read_text(cases[i].text, &set);

		if (error != -EBADMSG || !strstr(failure_text(), cases[i].says))
			fail_msg("%s: %d: %s", cases[i].text, error, failure_text());
	}
	assert_int_equal(read_text("[device b]\n", &set), -ENODATA);
	assert_non_null(strstr(failure_text(), "no [slo NAME] section"));
	assert_int_equal(slo_read("/nonexistent/slo.ini", &set), -ENOENT);
	assert_non_null(strstr(failure_text(), "/nonexistent/slo.ini"));
}

/* A job file is one of objectives, too, whatever section it has. */
static void the_sections_of_a_job_are_known(void **state)
{
	for (size_t i = 0; i < job_options()->section_count; i++) {
		const struct option_section *known =
			option_section(&slo_options, job_options()->sections[i].type);

		assert_non_null(known);
		assert_int_equal(known->named, job_options()->sections[i].named);
	}
	assert_int_equal(slo_options.section_count, job_options()->section_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(units_are_those_of_job_files),
		cmocka_unit_test(what_stands_before_a_section_is_no_objective),
		cmocka_unit_test(bad_files_name_line_and_accepted_values),
		cmocka_unit_test(the_sections_of_a_job_are_known),
	};

	return cmocka_run_group_tests_name("slo_file", tests, NULL, NULL);
}
