// SPDX-License-Identifier: GPL-2.0
/* As much as there is room for of what job and SLO files say, and one more. */
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/slo.h"
#include "lib/base/fail.h"
#include "lib/job/options.h"
#include "lib/job/sweep.h"
#include "tests/unit/job_files.h"

static char text[16384];

/* `head`, then `count` times `format` of its number. */
static void repeat(const char *head, const char *format, int count)
{
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", head);

	for (int i = 0; i < count; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, format, i);
		assert_true(used < sizeof(text));
	}
}

/* Reads them into memory that ends where they do, so that a sanitizer sees one more. */
static int read_objectives(size_t *count)
{
	struct slo_set *set = malloc(sizeof(*set));
	FILE *file = fopen(JOB_PATH, "w");
	int err;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	err = slo_read(JOB_PATH, set);
	unlink(JOB_PATH);
	*count = set->count;
	free(set);
	return err;
}

static void there_are_so_many_objectives(void **state)
{
	size_t count;

	repeat("", "[slo a%d]\nburst = 1\n", SLO_MAX);
	assert_int_equal(read_objectives(&count), 0);
	assert_int_equal(count, SLO_MAX);
	repeat("", "[slo a%d]\nburst = 1\n", SLO_MAX + 1);
	assert_int_equal(read_objectives(&count), -EBADMSG);
	assert_non_null(strstr(failure_text(), "accepted: up to 64 objectives"));
}

static void a_text_is_no_longer_than_its_place(void **state)
{
	size_t count;

	snprintf(text, sizeof(text), "[slo a]\nburst = 1\ndevice = %0*d\n", NAME_TEXT - 1, 0);
	assert_int_equal(read_objectives(&count), 0);
	snprintf(text, sizeof(text), "[slo a]\nburst = 1\ndevice = %0*d\n", NAME_TEXT, 0);
	assert_int_equal(read_objectives(&count), -EBADMSG);
	assert_non_null(strstr(failure_text(), "accepted: 1 to 63 characters"));
}

static int build(struct sweep *sweep)
{
	struct job_text *job;
	int err;

	assert_int_equal(read_job(&job, text), 0);
	err = sweep_build(sweep, job);
	job_text_free(job);
	return err;
}

static void a_sweep_has_so_many_dimensions(void **state)
{
	struct sweep sweep;

	repeat("[sweep]\n", "d%d = a.b: 1\n", SWEEP_DIMENSIONS);
	assert_int_equal(build(&sweep), 0);
	assert_int_equal(sweep.dimension_count, SWEEP_DIMENSIONS);
	sweep_free(&sweep);
	repeat("[sweep]\n", "d%d = a.b: 1\n", SWEEP_DIMENSIONS + 1);
	assert_int_equal(build(&sweep), -EBADMSG);
}

static void a_dimension_has_so_many_values(void **state)
{
	struct sweep sweep;

	repeat("[sweep]\nd = a.b: x", ", %d", SWEEP_VALUES - 1);
	assert_int_equal(build(&sweep), 0);
	assert_int_equal(sweep.points, SWEEP_VALUES);
	sweep_free(&sweep);
	repeat("[sweep]\nd = a.b: x", ", %d", SWEEP_VALUES);
	assert_int_equal(build(&sweep), -EBADMSG);
	assert_non_null(strstr(failure_text(), "more than 64 values"));
}

static void a_grid_has_so_many_points(void **state)
{
	struct sweep sweep;

	repeat("[sweep]\n", "d%d = a.b: 1, 2, 3, 4, 5, 6, 7, 8\n", 4);
	assert_int_equal(build(&sweep), 0);
	assert_int_equal(sweep.points, SWEEP_POINTS);
	sweep_free(&sweep);
	repeat("[sweep]\ne = a.b: 1, 2\n", "d%d = a.b: 1, 2, 3, 4, 5, 6, 7, 8\n", 4);
	assert_int_equal(build(&sweep), -EBADMSG);
}

static void a_cpu_has_a_number_that_there_is(void **state)
{
	static const struct option_row row = {"tenant",		 "cpus",	 OPTION_CPUS, 0,
					      sizeof(cpu_set_t), .otherwise = ""};
	static const struct option_table table = {.rows = &row, .row_count = 1};
	static const char *const wrong[] = {"1024", "0-1024", "0-18446744073709551615"};

	cpu_set_t cpus;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct job_text *job;

		snprintf(text, sizeof(text), "[tenant t]\ncpus = %s\n", wrong[i]);
		assert_int_equal(read_job(&job, text), 0);
		assert_int_equal(options_fill(&table, &job->sections[0], &cpus), -EBADMSG);
		assert_non_null(strstr(failure_text(), "each below 1024"));
		job_text_free(job);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_so_many_objectives),
		cmocka_unit_test(a_text_is_no_longer_than_its_place),
		cmocka_unit_test(a_sweep_has_so_many_dimensions),
		cmocka_unit_test(a_dimension_has_so_many_values),
		cmocka_unit_test(a_grid_has_so_many_points),
		cmocka_unit_test(a_cpu_has_a_number_that_there_is),
	};

	return cmocka_run_group_tests_name("file bounds", tests, NULL, NULL);
}
