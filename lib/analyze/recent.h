/* SPDX-License-Identifier: GPL-2.0 */
/* The newest finished faults of each device, for a live view's detail screen. */
#ifndef FAULTLINE_RECENT_H
#define FAULTLINE_RECENT_H

#include "lib/analyze/analyzer.h"

struct faults;
struct recent;

struct recent_counts {
	__u64 began;
	__u64 finished;
	__u64 complete;
	__u64 unfinished;
	__u64 inconsistent;
	__u64 overflowed;
	__u64 discarded;
	__u64 abandoned; /* with those that were given up and not handed over yet, as the host still has them */
	__u64 open; /* began, and neither resumed nor was given up */
};

/* keep: faults per device, 0: 64 */
int recent_create(struct recent **recent, struct faults *faults, size_t keep);
void recent_destroy(struct recent *recent);
/* Newest first; returns how many were filled. */
size_t recent_faults(const struct recent *recent, __u32 device, struct fault *faults, size_t max);
struct recent_counts recent_counts(const struct recent *recent, __u32 device);

#endif
