// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/job/result.h"
#include "lib/job/expression.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

/* A sweep of baseline + {serial, affined} x {1, 4, 16}, p99 as VPRI figure 15 has its shape. */
struct fixture {
	struct sweep sweep;
	struct result results[7];
	struct expression_scope scope, syntax;
	char measured[512];
};

static const char job[] = "[sweep]\n"
			  "baseline = storm.enabled=no\n"
			  "scheduler = machine.scheduler: serial, affined\n"
			  "tenants = vm.count: 1, 4, 16\n";

static int setup(void **state)
{
	static const double p99[] = {1e6, 5e6, 15e6, 50e6, 5e6, 5.5e6, 6e6};
	struct fixture *f = calloc(1, sizeof(*f));
	struct job_text *text;

	assert_int_equal(read_job(&text, job), 0);
	assert_int_equal(sweep_build(&f->sweep, text), 0);
	job_text_free(text);
	for (int i = 0; i < 7; i++) {
		result_clear(&f->results[i]);
		f->results[i].values[RESULT_LATENCY_P99] = p99[i];
		f->results[i].values[RESULT_IOPS] = 1000 - 10 * i;
		f->results[i].values[RESULT_OFF_TENANT] = 0;
	}
	f->scope = (struct expression_scope){&f->sweep, &job_columns, f->results[0].values};
	f->syntax = (struct expression_scope){&f->sweep, &job_columns, NULL};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sweep_free(&f->sweep);
	free(f);
	return 0;
}

static int evaluate(struct fixture *f, const char *text)
{
	return expression_evaluate(text, &f->scope, f->measured, sizeof(f->measured));
}

static void points_are_chosen_by_their_values(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(evaluate(f, "p99(scheduler=serial, tenants=16) == 50ms"), EXPECT_HOLDS);
	assert_string_equal(f->measured, "p99(scheduler=serial, tenants=16)=50ms");
	assert_int_equal(evaluate(f, "latency_p99(scheduler=affined,tenants=4) == 5.5ms"),
			 EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "p99(baseline) == 1ms"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "p99(scheduler=last, tenants=first) == 5ms"), EXPECT_HOLDS);
	assert_int_equal(
		evaluate(f, "p99(scheduler=serial,tenants=16) > 5*p99(scheduler=serial,tenants=1)"),
		EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "p99(scheduler=affined, tenants=16) > "
				     "5 * p99(scheduler=affined, tenants=1)"),
			 EXPECT_FAILS);
}

static void a_missing_dimension_means_each_value(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(evaluate(f, "off_tenant == 0"), EXPECT_HOLDS);
	f->results[4].values[RESULT_OFF_TENANT] = 1;
	assert_int_equal(evaluate(f, "off_tenant == 0"), EXPECT_FAILS);
	assert_int_equal(evaluate(f, "off_tenant(scheduler=serial) == 0"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "increasing(p99(scheduler=serial))"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "decreasing(p99(scheduler=serial))"), EXPECT_FAILS);
	assert_int_equal(
		evaluate(f, "max(p99(scheduler=affined)) < 1.5*min(p99(scheduler=affined))"),
		EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "p99(scheduler=serial) >= p99(scheduler=affined)"),
			 EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "tenants(scheduler=serial) * 5ms >= p99(scheduler=serial)"),
			 EXPECT_HOLDS);
	assert_int_equal(
		evaluate(f, "correlation(tenants(scheduler=serial), p99(scheduler=serial)) > 99%"),
		EXPECT_HOLDS);
}

static void arithmetic_has_its_usual_order(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(evaluate(f, "1 + 2 * 3 - 4 / 2 == 5"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "-(2 - 5) == 3 and 8 / 4 / 2 == 1"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "1 < 2 < 3"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "1 < 3 < 2"), EXPECT_FAILS);
	assert_int_equal(evaluate(f, "1 > 2 or 2 > 1 and 3 > 2"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "sum(iops(tenants=1)) == 1950 and abs(1 - 3) == 2"),
			 EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "mean(iops(scheduler=serial)) == 980"), EXPECT_HOLDS);
}

static void assert_wrong(struct fixture *f, const char *text, const char *sentence)
{
	assert_int_equal(expression_evaluate(text, &f->syntax, NULL, 0), -EBADMSG);
	if (!strstr(failure_text(), sentence))
		fail_msg("%s: said \"%s\", not \"%s\"", text, failure_text(), sentence);
}

/* Of what does not come in order, of an odd and of an even number; the list that it is of stays as it was. */
static void the_median_is_the_one_in_the_middle(void **state)
{
	struct fixture *f = *state;
	const double serial[] = {700, 100, 400};

	for (size_t i = 0; i < 3; i++)
		f->results[1 + i].values[RESULT_IOPS] = serial[i];
	assert_int_equal(evaluate(f, "median(iops(scheduler=serial)) == 400"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "median(iops(scheduler=serial) / 100) == 4"), EXPECT_HOLDS);
	f->results[4].values[RESULT_IOPS] = f->results[6].values[RESULT_IOPS] = 100;
	f->results[5].values[RESULT_IOPS] = 900;
	assert_int_equal(evaluate(f, "median(iops) == 250"), EXPECT_HOLDS);
	assert_int_equal(evaluate(f, "median(iops(scheduler=serial, tenants=1)) == 700"),
			 EXPECT_HOLDS);
	assert_wrong(f, "median(1 < 2) < 3", "median(): accepted: numbers");
}

/* tenants are 1, 4, 16. */
static void a_line_is_fitted_by_relative_errors(void **state)
{
	struct fixture *f = *state;
	const double on_it[] = {100 + 10, 100 + 40, 100 + 160};

	for (size_t i = 0; i < 3; i++)
		f->results[1 + i].values[RESULT_IOPS] = on_it[i];
	assert_int_equal(evaluate(f, "abs(slope(tenants(scheduler=serial), iops(scheduler=serial)) "
				     "- 10) < 0.000001"),
			 EXPECT_HOLDS);
	assert_non_null(strstr(f->measured, "; slope=10"));
	assert_int_equal(evaluate(f, "abs(knee(tenants(scheduler=serial), iops(scheduler=serial)) "
				     "- 10) < 0.000001"),
			 EXPECT_HOLDS);
	assert_non_null(strstr(f->measured, "; knee=10"));
	/* A tenth more at the small end moves the knee to 11.75; of absolute errors that would be 11.33. */
	f->results[1].values[RESULT_IOPS] *= 1.1;
	assert_int_equal(evaluate(f, "knee(tenants(scheduler=serial), iops(scheduler=serial)) > "
				     "11.5"),
			 EXPECT_HOLDS);
	f->results[1].values[RESULT_IOPS] = 0;
	assert_int_equal(evaluate(f, "slope(tenants(scheduler=serial), iops(scheduler=serial)) > "
				     "0"),
			 -ENODATA);
	assert_non_null(strstr(failure_text(), "slope() has no line"));
	f->results[1].values[RESULT_IOPS] = 400;
	f->results[3].values[RESULT_IOPS] = 50;
	assert_int_equal(evaluate(f, "knee(tenants(scheduler=serial), iops(scheduler=serial)) > 0"),
			 -ENODATA);
	assert_non_null(strstr(failure_text(), "knee() of what does not rise"));
	assert_int_equal(evaluate(f, "slope(tenants(scheduler=serial) * 0, "
				     "iops(scheduler=serial)) > 0"),
			 -ENODATA);
	assert_wrong(f, "knee(tenants, iops(tenants=1)) > 0", "3 or more");
}

static void mistakes_are_named_with_their_column(void **state)
{
	struct fixture *f = *state;

	assert_wrong(f, "p99(tenants=1) >", "column 17: the expression ends");
	assert_wrong(f, "p98(tenants=1) > 1", "column 1: p98: no such column");
	assert_wrong(f, "1 < latecny_p99", "did you mean latency_p99?");
	assert_wrong(f, "p99(rate=1) > 1", "column 5: rate: no such dimension");
	assert_wrong(f, "p99(tenants=2) > 1", "column 13: 2: not a value of tenants");
	assert_wrong(f, "p99(tenants=1 > 1", "not a value of tenants");
	assert_wrong(f, "iops", "is a number");
	assert_wrong(f, "", "the expression ends");
	assert_wrong(f, "1 < 2 )", "column 7: \")\"");
	assert_wrong(f, "5parsec < 6", "5parsec: accepted: a number");
	assert_wrong(f, "iops(scheduler=serial) < iops(tenants=1)", "lists of 3 and 2 numbers");
	assert_wrong(f, "(1 < 2) + 1 < 3", "accepted: numbers on both sides");
	assert_wrong(f, "1 and 2", "accepted: comparisons on both sides");
	assert_wrong(f, "max(1 < 2) < 3", "max(): accepted: numbers");
	assert_wrong(f, "correlation(iops(tenants=1), iops(tenants=1)) > 0", "3 or more");
	assert_wrong(f, "scheduler < 3", "a value that is not a number");
	assert_wrong(f, "max(1", "accepted here: \")\"");
}

static void nesting_is_bounded(void **state)
{
	struct fixture *f = *state;
	char text[1000];

	memset(text, '(', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_wrong(f, text, "nested deeper");
	memset(text, '-', sizeof(text) - 1);
	assert_wrong(f, text, "nested deeper");
}

static void an_unknown_number_is_an_error_not_a_verdict(void **state)
{
	struct fixture *f = *state;

	f->results[3].values[RESULT_LATENCY_P99] = NAN;
	assert_int_equal(evaluate(f, "p99(scheduler=serial, tenants=16) < 1s"), -ENODATA);
	assert_non_null(strstr(failure_text(), "point 4 (scheduler=serial, tenants=16)"));
	assert_int_equal(evaluate(f, "iops > 0 or p99 > 0"), -ENODATA);
	assert_int_equal(evaluate(f, "1 / 0 > 1"), -ENODATA);
	assert_int_equal(evaluate(f, "p99(scheduler=affined) < 1s"), EXPECT_HOLDS);
	/* Before the run nothing is known: that two columns differ, neither. */
	assert_int_equal(expression_evaluate("p99 / (iops - p99) > 0", &f->syntax, NULL, 0) >= 0,
			 1);
	assert_int_equal(evaluate(f, "p99 / (iops - iops) > 0"), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(points_are_chosen_by_their_values, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_dimension_means_each_value, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arithmetic_has_its_usual_order, setup, teardown),
		cmocka_unit_test_setup_teardown(the_median_is_the_one_in_the_middle, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_line_is_fitted_by_relative_errors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mistakes_are_named_with_their_column, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nesting_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unknown_number_is_an_error_not_a_verdict, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("expression", tests, NULL, NULL);
}
