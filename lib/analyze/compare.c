// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a mean: its variance if draws were independent, and by how blocks differ. */
struct compare_spread {
	double mean;
	double independent;
	double clustered;
	double degrees;
};

/* Number i of a sample: its own, or what its value counts. */
struct counted {
	const double *scores;
	const __u16 *values; /* NULL: the scores are the numbers themselves */
	const __u8 *blocks;
	size_t count;
};

static double number_of(const struct counted *sample, size_t i)
{
	return sample->scores[sample->values ? sample->values[i] : i];
}

static void spread_between(const struct counted *sample, struct compare_spread *spread)
{
	double sums[COMPARE_BLOCKS] = {0}, squares = 0, between = 0, n = (double)sample->count;
	size_t members[COMPARE_BLOCKS] = {0}, blocks = 0;

	for (size_t i = 0; i < sample->count; i++) {
		double off = number_of(sample, i) - spread->mean;

		squares += off * off;
		sums[sample->blocks[i]] += off;
		members[sample->blocks[i]]++;
	}
	for (size_t k = 0; k < COMPARE_BLOCKS; k++) {
		blocks += members[k] > 0;
		between += sums[k] * sums[k];
	}
	spread->independent = squares / (n - 1) / n;
	if (blocks < 2)
		return;
	spread->degrees = (double)(blocks - 1);
	spread->clustered = between * (double)blocks / spread->degrees / (n * n);
}

static void spread_of_numbers(const struct counted *sample, struct compare_spread *spread)
{
	double sum = 0;

	*spread = (struct compare_spread){0};
	if (sample->count < 2)
		return;
	for (size_t i = 0; i < sample->count; i++)
		sum += number_of(sample, i);
	spread->mean = sum / (double)sample->count;
	spread_between(sample, spread);
}

/* `scores` says what each value counts. */
static void compare_spread_of(const struct compare_sample *sample, const double *scores,
			      struct compare_spread *spread)
{
	const struct counted counted = {scores, sample->values, sample->blocks, sample->count};

	spread_of_numbers(&counted, spread);
}

/* Of a difference of two means: the design effect, and Satterthwaite's degrees of freedom. */
static void compare_judge(const struct compare_spread *a, const struct compare_spread *b,
			  struct comparison *result)
{
	double independent = a->independent + b->independent;
	double clustered = a->clustered + b->clustered, parts = 0;

	if (!(a->degrees > 0) || !(b->degrees > 0))
		return;
	result->design = independent > 0 && clustered > independent ? clustered / independent : 1;
	parts = a->clustered * a->clustered / a->degrees + b->clustered * b->clustered / b->degrees;
	result->degrees = parts > 0 ? clustered * clustered / parts : a->degrees + b->degrees;
	result->p = student_two_sided(result->statistic / sqrt(result->design), result->degrees);
}

static void count_values(const struct compare_sample *sample, double counts[COMPARE_VALUES])
{
	memset(counts, 0, COMPARE_VALUES * sizeof(*counts));
	for (size_t i = 0; i < sample->count; i++)
		counts[sample->values[i]]++;
}

/* Of each value the share of others below it, with half of those that are equal. */
static void placements(const double counts[COMPARE_VALUES], double n, double places[COMPARE_VALUES])
{
	double below = 0;

	for (size_t v = 0; v < COMPARE_VALUES; v++) {
		places[v] = (below + counts[v] / 2) / n;
		below += counts[v];
	}
}

static double variance_of_u(const double *of_a, const double *of_b, double n, double m)
{
	double all = n + m, ties = 0;

	for (size_t v = 0; v < COMPARE_VALUES; v++) {
		double tied = of_a[v] + of_b[v];

		ties += tied * tied * tied - tied;
	}
	return n * m / 12 * (all + 1 - ties / (all * (all - 1)));
}

void compare_ranks(const struct compare_sample *a, const struct compare_sample *b,
		   struct comparison *result)
{
	double of_a[COMPARE_VALUES], of_b[COMPARE_VALUES], places[COMPARE_VALUES];
	double n = (double)a->count, m = (double)b->count, off, variance;
	struct compare_spread in_a, in_b;

	*result = (struct comparison){.design = 1, .p = 1};
	if (a->count < 2 || b->count < 2)
		return;
	count_values(a, of_a);
	count_values(b, of_b);
	placements(of_b, m, places);
	compare_spread_of(a, places, &in_a);
	placements(of_a, n, places);
	compare_spread_of(b, places, &in_b);
	result->difference = in_b.mean - 0.5;
	variance = variance_of_u(of_a, of_b, n, m);
	off = fabs(result->difference) * n * m - 0.5;
	if (!(variance > 0) || off <= 0)
		return;
	result->statistic = copysign(off / sqrt(variance), result->difference);
	compare_judge(&in_a, &in_b, result);
}

static void above(__u16 limit, double scores[COMPARE_VALUES])
{
	for (size_t v = 0; v < COMPARE_VALUES; v++)
		scores[v] = v > limit;
}

void compare_above(const struct compare_sample *a, __u16 limit_a, const struct compare_sample *b,
		   __u16 limit_b, struct comparison *result)
{
	double scores[COMPARE_VALUES], n = (double)a->count, m = (double)b->count, share, off;
	struct compare_spread in_a, in_b;

	*result = (struct comparison){.design = 1, .p = 1};
	if (a->count < 2 || b->count < 2)
		return;
	above(limit_a, scores);
	compare_spread_of(a, scores, &in_a);
	above(limit_b, scores);
	compare_spread_of(b, scores, &in_b);
	result->difference = in_b.mean - in_a.mean;
	share = (in_a.mean * n + in_b.mean * m) / (n + m);
	/* Yates' continuity. */
	off = fabs(result->difference) - (1 / n + 1 / m) / 2;
	if (!(share > 0) || !(share < 1) || off <= 0)
		return;
	result->statistic =
		copysign(off / sqrt(share * (1 - share) * (1 / n + 1 / m)), result->difference);
	compare_judge(&in_a, &in_b, result);
}

void compare_above_known(const struct compare_sample *b, __u16 limit, double known,
			 struct comparison *result)
{
	double scores[COMPARE_VALUES], m = (double)b->count, off;
	struct compare_spread in_b, none = {0};

	*result = (struct comparison){.design = 1, .p = 1};
	if (b->count < 2)
		return;
	above(limit, scores);
	compare_spread_of(b, scores, &in_b);
	result->difference = in_b.mean - known;
	off = fabs(result->difference) - 0.5 / m;
	if (off <= 0)
		return;
	result->statistic = copysign(off / sqrt(known * (1 - known) / m), result->difference);
	none.degrees = in_b.degrees;
	compare_judge(&none, &in_b, result);
}

/* Of a number of occurrences: Poisson's variance if they are independent. */
static double spread_of_counts(const struct compare_counts *counts, struct compare_spread *spread)
{
	double sum = 0, between = 0;

	for (size_t k = 0; k < COMPARE_BLOCKS; k++)
		sum += counts->blocks[k];
	for (size_t k = 0; k < COMPARE_BLOCKS; k++) {
		double off = counts->blocks[k] - sum / COMPARE_BLOCKS;

		between += off * off;
	}
	*spread = (struct compare_spread){
		.mean = sum / counts->seconds,
		.independent = sum / counts->seconds / counts->seconds,
		.clustered = between * COMPARE_BLOCKS / (COMPARE_BLOCKS - 1) / counts->seconds /
			     counts->seconds,
		.degrees = COMPARE_BLOCKS - 1,
	};
	return sum;
}

static void scale(struct compare_spread *spread, double factor)
{
	spread->mean *= factor;
	spread->independent *= factor * factor;
	spread->clustered *= factor * factor;
}

void compare_counted_rates(const struct compare_counts *a, const struct compare_counts *b,
			   double factor, double offset, struct comparison *result)
{
	struct compare_spread in_a, in_b;

	*result = (struct comparison){.design = 1, .p = 1};
	if (!(a->seconds > 0) || !(b->seconds > 0) ||
	    spread_of_counts(a, &in_a) + spread_of_counts(b, &in_b) <= 0)
		return;
	scale(&in_a, factor);
	result->difference = in_b.mean - in_a.mean - offset;
	/* Against a number that is known the independent variance is what that number would have. */
	result->statistic = result->difference /
			    sqrt(fmax(in_a.independent + in_b.independent, offset / b->seconds));
	compare_judge(&in_a, &in_b, result);
}

void compare_means(const struct compare_numbers *a, const struct compare_numbers *b, double factor,
		   double offset, struct comparison *result)
{
	const struct counted of_a = {a->numbers, NULL, a->blocks, a->count};
	const struct counted of_b = {b->numbers, NULL, b->blocks, b->count};
	struct compare_spread in_a = {0}, in_b;
	double variance;

	*result = (struct comparison){.design = 1, .p = 1};
	if (b->count < 2 || (factor > 0 && a->count < 2))
		return;
	spread_of_numbers(&of_b, &in_b);
	if (factor > 0)
		spread_of_numbers(&of_a, &in_a);
	else
		in_a.degrees = in_b.degrees;
	scale(&in_a, factor);
	result->difference = in_b.mean - in_a.mean - offset;
	variance = in_a.independent + in_b.independent;
	if (!(variance > 0) && result->difference == 0)
		return;
	result->statistic = variance > 0 ? result->difference / sqrt(variance)
					 : copysign(INFINITY, result->difference);
	compare_judge(&in_a, &in_b, result);
}

/* Of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	result = d;
	for (int m = 1; m < 1000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + even / c;
		c = fabs(c) < tiny ? tiny : c;
		result *= c * d;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + odd / c;
		c = fabs(c) < tiny ? tiny : c;
		step = c * d;
		result *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return result;
}

/* The regularized incomplete beta function. */
static double beta_share(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double value, double degrees)
{
	if (!(degrees > 0) || isnan(value))
		return 1;
	return beta_share(degrees / 2, 0.5, degrees / (degrees + value * value));
}

static int by_size(const void *left, const void *right, void *numbers)
{
	double a = ((const double *)numbers)[*(const size_t *)left];
	double b = ((const double *)numbers)[*(const size_t *)right];

	return a < b ? -1 : a > b;
}

void compare_holm(double *p, size_t count, size_t tests, size_t *order)
{
	double least = 0;

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_size, p);
	for (size_t i = 0; i < count; i++) {
		double level = p[order[i]] * (double)(tests - i);

		least = level > least ? level : least;
		p[order[i]] = least < 1 ? least : 1;
	}
}
