/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether two samples differ by more than chance, where what was sampled comes in clusters.
 *
 * Faults are not independent: a burst, a slow second of storage or a busy CPU makes neighbours alike, and a test that
 * takes each for a draw of its own finds differences between any two runs. So the time of a sample is cut into
 * COMPARE_BLOCKS equal blocks. A test statistic is that of independent draws; its variance is multiplied by how much more
 * the sums of blocks vary than independent draws would (the design effect, never below 1), and it is held against
 * Student's t with as many degrees of freedom as the blocks give (Satterthwaite).
 *
 * Values are bucket numbers of lib/analyze/histogram.h: what is in one bucket, within 3%, is a tie.
 */
#ifndef FAULTLINE_COMPARE_H
#define FAULTLINE_COMPARE_H

#include <linux/types.h>
#include <stddef.h>

#define COMPARE_BLOCKS 16
#define COMPARE_VALUES 1152 /* values are below; as many as a histogram has buckets */

struct compare_sample {
	const __u16 *values;
	const __u8 *blocks; /* each below COMPARE_BLOCKS */
	size_t count;
};

struct comparison {
	double difference; /* of B over A, in the test's own terms; 0 where nothing can be said */
	double statistic;  /* approximately normal for independent draws */
	double design;	   /* so many times the variance of independent draws */
	double degrees;	   /* of freedom of t = statistic / sqrt(design) */
	double p;	   /* two-sided; 1 where nothing can be said */
};

/*
 * Mann-Whitney's test with ties and continuity. The difference is P(B > A) + P(B = A) / 2 - 1/2: 0 if neither
 * tends to be larger, 0.5 if all of B are.
 */
void compare_ranks(const struct compare_sample *a, const struct compare_sample *b,
		   struct comparison *result);
/* Of the shares of values above a limit, a limit for each: share of B minus share of A. */
void compare_above(const struct compare_sample *a, __u16 limit_a, const struct compare_sample *b,
		   __u16 limit_b, struct comparison *result);
/* Of the share of B above the limit against a share that is known. */
void compare_above_known(const struct compare_sample *b, __u16 limit, double known,
			 struct comparison *result);

/* How many there were in each block of equal time. */
struct compare_counts {
	double blocks[COMPARE_BLOCKS];
	double seconds; /* of all blocks */
};

/* Of the rates: that of B minus `factor` times that of A minus `offset`, per second. */
void compare_counted_rates(const struct compare_counts *a, const struct compare_counts *b,
			   double factor, double offset, struct comparison *result);

/* Numbers instead of buckets. */
struct compare_numbers {
	const double *numbers;
	const __u8 *blocks;
	size_t count;
};

/* Of the means: that of B minus `factor` times that of A minus `offset`. */
void compare_means(const struct compare_numbers *a, const struct compare_numbers *b, double factor,
		   double offset, struct comparison *result);

/* P(|t| > |value|) of Student's t. */
double student_two_sided(double value, double degrees);

/*
 * Holm's correction: in place of each p the smallest level, for all tests together, at which it is found. `tests` of them
 * were made; those that are not among the `count` had a larger p. `order` is room for `count`.
 */
void compare_holm(double *p, size_t count, size_t tests, size_t *order);

#endif
