// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/histogram.h"

#define SAMPLES 99991

static const double percents[] = {0, 1, 10, 50, 90, 99, 99.9, 99.99, 100};

static double uniform(unsigned int *seed)
{
	return (rand_r(seed) + 1.0) / ((double)RAND_MAX + 2.0);
}

enum shape { FLAT, EXPONENTIAL, HEAVY_TAIL, TWO_PEAKS, CONSTANT, TINY, SHAPES };

static __u64 draw(enum shape shape, unsigned int *seed)
{
	double u = uniform(seed);

	switch (shape) {
	case FLAT:
		return (__u64)(u * 1e9);
	case EXPONENTIAL:
		return (__u64)(-log(u) * 50000);
	case HEAVY_TAIL:
		return (__u64)(10 / (u * u));
	case TWO_PEAKS:
		return u < 0.97 ? 20000 + (__u64)(u * 1000) : 5000000 + (__u64)(u * 1e6);
	case CONSTANT:
		return 123457;
	default:
		return (__u64)(u * 40);
	}
}

static int by_value(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static __u64 exact_percentile(const __u64 *sorted, size_t count, double percent)
{
	double rank = ceil(percent / 100.0 * (double)count);

	return sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

static void percentiles_are_within_the_documented_bound(void **state)
{
	__u64 *samples = calloc(SAMPLES, sizeof(*samples));
	struct histogram *h = malloc(sizeof(*h));
	const double bound = 1.0 / (1 << (HISTOGRAM_SUB_BITS + 1));

	for (int shape = 0; shape < SHAPES; shape++) {
		unsigned int seed = 7919 + (unsigned int)shape;
		double sum = 0;

		histogram_init(h);
		for (size_t i = 0; i < SAMPLES; i++) {
			samples[i] = draw((enum shape)shape, &seed);
			sum += (double)samples[i];
			histogram_add(h, samples[i]);
		}
		qsort(samples, SAMPLES, sizeof(*samples), by_value);
		for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p++) {
			double exact = (double)exact_percentile(samples, SAMPLES, percents[p]);
			double got = (double)histogram_percentile(h, percents[p]);

			if (fabs(got - exact) > exact * bound)
				fail_msg("shape %d p%g: %g, exactly %g", shape, percents[p], got,
					 exact);
		}
		assert_int_equal(h->min, samples[0]);
		assert_int_equal(h->max, samples[SAMPLES - 1]);
		assert_true(fabs(histogram_mean(h) - sum / SAMPLES) <= sum / SAMPLES * 1e-9);
	}
	free(h);
	free(samples);
}

static void every_bucket_holds_its_own_range_and_no_other(void **state)
{
	for (unsigned int b = 0; b < HISTOGRAM_BUCKETS; b++) {
		__u64 low = histogram_bucket_low(b), high = histogram_bucket_high(b);

		assert_true(low < high);
		assert_int_equal(histogram_bucket(low), b);
		assert_int_equal(histogram_bucket(high - 1), b);
		if (b)
			assert_int_equal(histogram_bucket_high(b - 1), low);
	}
	assert_int_equal(histogram_bucket_high(HISTOGRAM_BUCKETS - 1), 1ull << HISTOGRAM_MAX_BITS);
}

/* The kernel finds the highest bit by halving; the compiler's own answer is the reference. */
static void highest_bit_agrees_with_the_instruction(void **state)
{
	unsigned int seed = 104729;

	for (unsigned int bit = 0; bit < 64; bit++) {
		__u64 v = 1ull << bit;

		assert_int_equal(histogram_msb(v), bit);
		assert_int_equal(histogram_msb(v | (v - 1)), bit);
	}
	for (int i = 0; i < 100003; i++) {
		__u64 v = ((__u64)rand_r(&seed) << 33 ^ (__u64)rand_r(&seed) << 11) >>
			  (rand_r(&seed) % 60);

		if (v)
			assert_int_equal(histogram_msb(v), 63 - __builtin_clzll(v));
	}
}

static void merging_is_associative_and_equals_adding_to_one(void **state)
{
	struct histogram *part = calloc(6, sizeof(*part));
	unsigned int seed = 31;

	for (int i = 0; i < 6; i++)
		histogram_init(&part[i]);
	for (int i = 0; i < 10007; i++) {
		__u64 v = draw((enum shape)(i % SHAPES), &seed);

		histogram_add(&part[i % 3], v);
		histogram_add(&part[5], v);
	}
	/* (a + b) + c in part[3]; a + (b + c) in part[4] */
	histogram_merge(&part[3], &part[0]);
	histogram_merge(&part[3], &part[1]);
	histogram_merge(&part[3], &part[2]);
	histogram_merge(&part[4], &part[1]);
	histogram_merge(&part[4], &part[2]);
	histogram_merge(&part[4], &part[0]);
	assert_memory_equal(&part[3], &part[4], sizeof(*part));
	assert_memory_equal(&part[3], &part[5], sizeof(*part));
	free(part);
}

static void buckets_from_the_kernel_count_like_samples(void **state)
{
	struct histogram *h = calloc(2, sizeof(*h));
	unsigned int seed = 61;

	histogram_init(&h[0]);
	histogram_init(&h[1]);
	for (int i = 0; i < 10007; i++) {
		__u64 v = draw(EXPONENTIAL, &seed);

		histogram_add(&h[0], v);
		histogram_add_bucket(&h[1], histogram_bucket(v), 1);
	}
	histogram_add_bucket(&h[1], HISTOGRAM_BUCKETS, 5);
	assert_int_equal(h[0].count, h[1].count);
	assert_memory_equal(h[0].buckets, h[1].buckets, sizeof(h->buckets));
	assert_true(fabs(histogram_mean(&h[0]) / histogram_mean(&h[1]) - 1) < 1.0 / 64);
	free(h);
}

static void empty_and_extreme_values_are_answered(void **state)
{
	struct histogram *h = malloc(sizeof(*h));

	histogram_init(h);
	assert_int_equal(histogram_percentile(h, 99), 0);
	assert_true(histogram_mean(h) == 0);
	assert_int_equal(histogram_beyond(h, 50), 0);
	histogram_add(h, UINT64_MAX >> 1);
	histogram_add(h, 0);
	assert_int_equal(histogram_percentile(h, 100), UINT64_MAX >> 1);
	assert_int_equal(histogram_percentile(h, 50), 0);
	assert_int_equal(histogram_beyond(h, 50), 1);
	/* A full bucket stays full. */
	h->buckets[3] = UINT32_MAX;
	histogram_add(h, 3);
	assert_int_equal(h->buckets[3], UINT32_MAX);
	free(h);
}

static void samples_beyond_a_percentile_are_counted(void **state)
{
	struct histogram *h = malloc(sizeof(*h));

	histogram_init(h);
	for (int i = 0; i < 2003; i++)
		histogram_add(h, (__u64)i);
	assert_int_equal(histogram_beyond(h, 99), 20);
	assert_int_equal(histogram_beyond(h, 99.9), 2);
	assert_int_equal(histogram_beyond(h, 100), 0);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_within_the_documented_bound),
		cmocka_unit_test(every_bucket_holds_its_own_range_and_no_other),
		cmocka_unit_test(highest_bit_agrees_with_the_instruction),
		cmocka_unit_test(merging_is_associative_and_equals_adding_to_one),
		cmocka_unit_test(buckets_from_the_kernel_count_like_samples),
		cmocka_unit_test(empty_and_extreme_values_are_answered),
		cmocka_unit_test(samples_beyond_a_percentile_are_counted),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
