/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bounded number of a device's faults, evenly chosen: what tests of their order need and a histogram has not.
 *
 * Each fault is kept until there are FAULT_SAMPLES_MAX; then every second one goes, and so on.
 */
#ifndef FAULTLINE_FAULT_SAMPLES_H
#define FAULTLINE_FAULT_SAMPLES_H

#include "lib/analyze/compare.h"
#include "lib/analyze/stage.h"

#define FAULT_SAMPLES_MAX 16384
#define FAULT_TIMES	  (STAGES + 1) /* of stages, and the total */
#define FAULT_UNTIMED	  0xffff

struct fault_sample {
	__u64 known_ns;
	/* Buckets of lib/analyze/histogram.h; FAULT_UNTIMED: not measured, in all of them: it did not complete. */
	__u16 times[FAULT_TIMES];
};

/* All zero is empty. */
struct fault_samples {
	struct fault_sample *all;
	size_t count, room;
	__u64 seen;
	__u64 incomplete; /* of these */
	__u64 each;	  /* one of so many is kept; 0: none came */
};

/* -ENOMEM. */
int fault_samples_add(struct fault_samples *samples, const struct fault *fault);
void fault_samples_free(struct fault_samples *samples);

/* The values of a stage, STAGES: of totals, in blocks of [from_ns, to_ns]; room for samples->count of both. */
void fault_samples_values(const struct fault_samples *samples, unsigned int stage, __u64 from_ns,
			  __u64 to_ns, __u16 *values, __u8 *blocks, struct compare_sample *sample);
/* How many there were in each block: of all, or of those that did not complete. */
void fault_samples_counts(const struct fault_samples *samples, bool incomplete, __u64 from_ns,
			  __u64 to_ns, struct compare_counts *counts);

#endif
