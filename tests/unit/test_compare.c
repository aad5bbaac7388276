// SPDX-License-Identifier: GPL-2.0
/* Tests of whether two samples differ, held to exact numbers, to counting, and to what equal sources give. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/compare.h"
#include "lib/base/random.h"

#define MOST 2048

static void close_to(double found, double expected, double part)
{
	if (!(fabs(found - expected) <= part * fabs(expected)))
		fail_msg("%.12g instead of %.12g", found, expected);
}

struct drawn {
	__u16 values[MOST];
	__u8 blocks[MOST];
	size_t count;
};

static struct compare_sample sample_of(const struct drawn *drawn)
{
	return (struct compare_sample){drawn->values, drawn->blocks, drawn->count};
}

static struct comparison ranks_of(const struct drawn *a, const struct drawn *b)
{
	const struct compare_sample of_a = sample_of(a), of_b = sample_of(b);
	struct comparison result;

	compare_ranks(&of_a, &of_b, &result);
	return result;
}

static void set(struct drawn *drawn, const __u16 *values, size_t count)
{
	drawn->count = count;
	for (size_t i = 0; i < count; i++) {
		drawn->values[i] = values[i];
		drawn->blocks[i] = (__u8)(i % COMPARE_BLOCKS);
	}
}

/* Closed forms for one and for two degrees of freedom; the other numbers are those of printed tables, and normal ones. */
static void student_is_exact(void **state)
{
	for (double t = 0.03; t < 2000; t *= 1.7) {
		close_to(student_two_sided(t, 1), 2 * atan(1 / t) / M_PI, 1e-10);
		close_to(student_two_sided(-t, 2), 2 / (2 + t * t) / (1 + t / sqrt(2 + t * t)),
			 1e-10);
	}
	close_to(student_two_sided(2.228138852, 10), 0.05, 1e-8);
	close_to(student_two_sided(2.749995654, 30), 0.01, 1e-8);
	close_to(student_two_sided(3.646, 30), 0.001, 1e-3);
	close_to(student_two_sided(1.959963985, 1e9), 0.05, 1e-6);
	close_to(student_two_sided(6, 1e9), erfc(6 / M_SQRT2), 1e-5);
	assert_true(student_two_sided(0, 5) == 1);
	assert_true(student_two_sided(INFINITY, 5) == 0);
	assert_true(student_two_sided(1, 0) == 1);
	assert_true(student_two_sided(NAN, 5) == 1);
}

/* The example of a well-known implementation, whose asymptotic P with continuity is 0.11134688653314041. */
static void ranks_are_mann_whitney(void **state)
{
	static const __u16 males[] = {19, 22, 16, 29, 24}, females[] = {20, 11, 17, 12};
	static struct drawn a, b;
	struct comparison result;

	set(&a, males, COUNT(males));
	set(&b, females, COUNT(females));
	result = ranks_of(&a, &b);
	close_to(erfc(fabs(result.statistic) / M_SQRT2), 0.11134688653314041, 1e-12);
	close_to(result.difference, 3.0 / 20 - 0.5, 1e-12);
	assert_true(result.statistic < 0);
	result = ranks_of(&b, &a);
	close_to(result.difference, 17.0 / 20 - 0.5, 1e-12);
	assert_true(result.statistic > 0);
}

/* By the definition: pairs are counted, and with ties the ranks' own variance is taken. */
static double counted_statistic(const struct drawn *a, const struct drawn *b, double *superior)
{
	double n = (double)a->count, m = (double)b->count, u = 0, squares = 0, mean, variance, off;
	__u16 all[2 * MOST];
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			u += b->values[j] > a->values[i]    ? 1
			     : b->values[j] == a->values[i] ? 0.5
							    : 0;
	for (size_t i = 0; i < a->count; i++)
		all[count++] = a->values[i];
	for (size_t j = 0; j < b->count; j++)
		all[count++] = b->values[j];
	mean = (n + m + 1) / 2;
	for (size_t i = 0; i < count; i++) {
		double rank = 0.5;

		for (size_t j = 0; j < count; j++)
			rank += all[j] < all[i] ? 1 : all[j] == all[i] ? 0.5 : 0;
		squares += (rank - mean) * (rank - mean);
	}
	/* Of the sum of m ranks that are drawn without being put back. */
	variance = n * m / (n + m) * squares / (n + m - 1);
	off = fabs(u - n * m / 2) - 0.5;
	*superior = u / (n * m);
	return off > 0 && variance > 0 ? copysign(off / sqrt(variance), u - n * m / 2) : 0;
}

static void ranks_are_what_counting_gives(void **state)
{
	static struct drawn a, b;
	struct random random = {7};

	for (int round = 0; round < 211; round++) {
		__u64 range = 1 + random_below(&random, 60);
		struct comparison result;
		double expected, superior;

		a.count = 2 + random_below(&random, 40);
		b.count = 2 + random_below(&random, 40);
		for (size_t i = 0; i < MOST; i++) {
			a.values[i] = (__u16)random_below(&random, range);
			b.values[i] = (__u16)(random_below(&random, range) + (__u64)round % 5);
			a.blocks[i] = (__u8)random_below(&random, COMPARE_BLOCKS);
			b.blocks[i] = (__u8)random_below(&random, COMPARE_BLOCKS);
		}
		result = ranks_of(&a, &b);
		expected = counted_statistic(&a, &b, &superior);
		assert_true(fabs(result.statistic - expected) < 1e-9);
		assert_true(fabs(result.difference + 0.5 - superior) < 1e-12);
	}
}

/* How a source makes neighbours alike: they are drawn around a level that lasts for `run` values. */
static void draw(struct drawn *drawn, struct random *random, size_t count, size_t run, double shift)
{
	double level = 0;

	drawn->count = count;
	for (size_t i = 0; i < count; i++) {
		double own = random_unit(random) + random_unit(random) + random_unit(random) - 1.5;

		if (i % run == 0)
			level = 3 * (random_unit(random) - 0.5);
		drawn->values[i] = (__u16)(500 + 40 * ((run > 1 ? level : 0) + own) + shift);
		drawn->blocks[i] = (__u8)(i * COMPARE_BLOCKS / count);
	}
}

struct found {
	int found;	 /* by the test as it is */
	int independent; /* if each value were a draw of its own */
};

static struct found find(size_t run, double shift, double level)
{
	static struct drawn a, b;
	struct random random = {run * 1009 + (size_t)shift};
	struct found found = {0};

	for (int pair = 0; pair < 1000; pair++) {
		struct comparison result;

		draw(&a, &random, 480, run, 0);
		draw(&b, &random, 640, run, shift);
		result = ranks_of(&a, &b);
		found.found += result.p <= level;
		found.independent += erfc(fabs(result.statistic) / M_SQRT2) <= level;
	}
	return found;
}

/* 1000 pairs of one source: at a level of 1% about ten are found, whether values are independent or come in clusters. */
static void equal_sources_differ_as_often_as_they_may(void **state)
{
	assert_in_range(find(1, 0, 0.01).found, 1, 20);
	assert_in_range(find(1, 0, 0.05).found, 20, 70);
	assert_in_range(find(10, 0, 0.01).found, 0, 20);
	assert_in_range(find(10, 0, 0.05).found, 15, 70);
	/* Which taking each value for a draw of its own does not do. */
	assert_true(find(10, 0, 0.01).independent > 200);
}

static void a_shift_is_found(void **state)
{
	assert_true(find(1, 20, 0.001).found > 990);
	assert_true(find(10, 200, 0.001).found > 990);
}

/* All of B above all of A: a few dozen values are enough, and P is not 0 by a variance that was not seen. */
static void whole_separation_is_no_division_by_zero(void **state)
{
	static struct drawn a, b;
	struct comparison result;

	for (size_t i = 0; i < 37; i++) {
		a.values[i] = 100;
		b.values[i] = 900;
		a.blocks[i] = b.blocks[i] = (__u8)(i % COMPARE_BLOCKS);
	}
	a.count = b.count = 37;
	result = ranks_of(&a, &b);
	assert_true(result.p > 0 && result.p < 1e-6);
	close_to(result.difference, 0.5, 1e-12);
	/* Nothing to rank: all are one value. */
	b = a;
	assert_true(ranks_of(&a, &b).p == 1);
	a.count = 1;
	assert_true(ranks_of(&a, &b).p == 1);
	/* One block says nothing of how blocks vary. */
	a.count = 37;
	memset(a.blocks, 0, sizeof(a.blocks));
	for (size_t i = 0; i < 37; i++)
		b.values[i] = 900;
	assert_true(ranks_of(&a, &b).p == 1);
}

/* The share above a limit: with independent values it is the test of two proportions. */
static void tails_are_two_proportions(void **state)
{
	static struct drawn a, b;
	struct compare_sample of_a, of_b;
	struct comparison result;

	a.count = 400;
	b.count = 400;
	for (size_t i = 0; i < 400; i++) {
		a.values[i] = i % 20 == 0 ? 700 : 300;
		b.values[i] = i % 10 == 0 ? 700 : 300;
		a.blocks[i] = b.blocks[i] = (__u8)(i / 25);
	}
	of_a = sample_of(&a);
	of_b = sample_of(&b);
	compare_above(&of_a, 699, &of_b, 699, &result);
	/* 20 and 40 of 400: (0.05 - 1/400) / sqrt(0.075 * 0.925 * 2 / 400) */
	close_to(result.statistic, 0.0475 / sqrt(0.075 * 0.925 / 200), 1e-12);
	close_to(result.difference, 0.05, 1e-12);
	compare_above(&of_a, 700, &of_b, 700, &result);
	assert_true(result.p == 1);
	compare_above(&of_a, 699, &of_b, 700, &result);
	assert_true(result.difference < 0 && result.p < 0.001);
	compare_above_known(&of_b, 699, 0.01, &result);
	close_to(result.statistic, (0.09 - 0.5 / 400) / sqrt(0.01 * 0.99 / 400), 1e-12);
	assert_true(result.p < 0.001);
	compare_above_known(&of_b, 699, 0.1, &result);
	assert_true(result.p == 1);
}

static void rates_know_bursts(void **state)
{
	struct compare_counts steady = {.seconds = 10}, more = {.seconds = 10};
	struct compare_counts bursts = {.seconds = 10}, other = {.seconds = 5};
	struct comparison result;

	for (size_t k = 0; k < COMPARE_BLOCKS; k++) {
		steady.blocks[k] = 100;
		more.blocks[k] = 110;
		bursts.blocks[k] = k % 8 == 3 ? 880 : 0;
		other.blocks[k] = 50;
	}
	compare_counted_rates(&steady, &more, 1, 0, &result);
	close_to(result.difference, 16, 1e-12);
	close_to(result.statistic, 160 / sqrt(1600 + 1760), 1e-12);
	assert_true(result.p < 0.02 && result.design == 1);
	/* As many more, but all of them in two bursts, which could as well have been three. */
	compare_counted_rates(&steady, &bursts, 1, 0, &result);
	assert_true(result.p > 0.3 && result.design > 10);
	/* Half the time, half as many. */
	compare_counted_rates(&steady, &other, 1, 0, &result);
	assert_true(result.p == 1);
	compare_counted_rates(&steady, &other, 0.5, 0, &result);
	assert_true(result.p < 1e-6);
	compare_counted_rates(&steady, &more, 0, 176, &result);
	assert_true(fabs(result.difference) < 1e-9);
	compare_counted_rates(&steady, &more, 0, 100, &result);
	assert_true(result.p < 1e-6);
}

static void means_may_be_of_a_factor(void **state)
{
	static double a[300], b[300];
	static __u8 blocks[300];
	struct compare_numbers of_a = {a, blocks, 300}, of_b = {b, blocks, 300};
	struct random random = {3};
	struct comparison result;

	for (size_t i = 0; i < 300; i++) {
		a[i] = 100 + 20 * random_unit(&random);
		b[i] = 1.5 * (100 + 20 * random_unit(&random));
		blocks[i] = (__u8)(i * COMPARE_BLOCKS / 300);
	}
	compare_means(&of_a, &of_b, 1, 0, &result);
	assert_true(result.p < 1e-6 && result.difference > 50);
	compare_means(&of_a, &of_b, 1.5, 0, &result);
	assert_true(result.p > 0.01);
	compare_means(&of_a, &of_b, 1, 55, &result);
	assert_true(result.p > 0.01);
	compare_means(&of_a, &of_b, 0, 165, &result);
	assert_true(result.p > 0.01);
	compare_means(&of_a, &of_b, 0, 150, &result);
	assert_true(result.p < 1e-6);
}

/* Two numbers are the fewest that have a mean and a spread; without A's there is a number that is known. */
static void the_fewest_say_something(void **state)
{
	static const double low[] = {1, 2}, high[] = {1001, 1002};
	static const __u8 blocks[] = {0, 1};
	const struct compare_numbers none = {0}, one = {low, blocks, 1};
	const struct compare_numbers a = {low, blocks, 2}, b = {high, blocks, 2};
	const struct compare_counts never = {0};
	struct comparison result;

	compare_means(&a, &b, 1, 0, &result);
	close_to(result.statistic, 1000 / sqrt(0.5), 1e-12);
	close_to(result.degrees, 2, 1e-12);
	assert_true(result.p < 1e-5 && result.design == 1);
	compare_means(&none, &b, 0, 1, &result);
	close_to(result.difference, 1000.5, 1e-12);
	/* Of one degree of freedom: Cauchy's distribution. */
	close_to(result.p, 2 / M_PI * atan(0.5 / 1000.5), 1e-6);
	compare_means(&one, &b, 1, 0, &result);
	assert_true(result.p == 1 && result.difference == 0 && result.design == 1);
	compare_means(&a, &one, 1, 0, &result);
	assert_true(result.p == 1 && result.difference == 0);
	compare_means(&a, &a, 1, 0, &result);
	assert_true(result.p == 1);
	compare_counted_rates(&never, &never, 1, 0, &result);
	assert_true(result.p == 1 && result.difference == 0 && result.design == 1);
}

static void holm_pays_for_all_tests(void **state)
{
	double p[] = {0.02, 0.001, 0.5, 0.004};
	size_t order[COUNT(p)];

	compare_holm(p, COUNT(p), 10, order);
	close_to(p[1], 0.010, 1e-12);
	close_to(p[3], 0.036, 1e-12);
	close_to(p[0], 0.16, 1e-12);
	assert_true(p[2] == 1);
	/* A smaller p never has a larger level. */
	p[0] = 0.010, p[1] = 0.011;
	compare_holm(p, 2, 2, order);
	close_to(p[0], 0.020, 1e-12);
	close_to(p[1], 0.020, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_is_exact),
		cmocka_unit_test(ranks_are_mann_whitney),
		cmocka_unit_test(ranks_are_what_counting_gives),
		cmocka_unit_test(equal_sources_differ_as_often_as_they_may),
		cmocka_unit_test(a_shift_is_found),
		cmocka_unit_test(whole_separation_is_no_division_by_zero),
		cmocka_unit_test(tails_are_two_proportions),
		cmocka_unit_test(rates_know_bursts),
		cmocka_unit_test(means_may_be_of_a_factor),
		cmocka_unit_test(the_fewest_say_something),
		cmocka_unit_test(holm_pays_for_all_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
