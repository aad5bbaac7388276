/* SPDX-License-Identifier: GPL-2.0 */
/* Takes snapshots of an analysis: from struct live_device to the model of the live view. */
#ifndef FAULTLINE_TOP_COLLECT_H
#define FAULTLINE_TOP_COLLECT_H

#include "tools/top/model.h"

#define COLLECT_FILTERS 16

/* Which devices are shown; both lists empty: all. */
struct collect_filter {
	const char *devices[COLLECT_FILTERS]; /* names or fnmatch patterns */
	size_t device_count;
	__u32 pids[COLLECT_FILTERS]; /* of owners */
	size_t pid_count;
};

struct collector;

/* `analysis` and `filter` are borrowed until destroy. */
int collector_create(struct collector **collector, struct analysis *analysis,
		     const struct collect_filter *filter);
void collector_destroy(struct collector *collector);

/*
 * Looks at the analysis as of now_ns (CLOCK_MONOTONIC), with rates over interval_ns: extends the
 * curves and measures this process. Called every interval, also while the screen is paused. -ENOMEM.
 */
int collect_observe(struct collector *collector, __u64 now_ns, __u64 interval_ns);
/* Fills the model with what the last collect_observe() saw. -ENOMEM. */
int collect_model(struct collector *collector, struct top_model *model);
/* Fills the detail of a device; leaves it empty if the analysis does not know it. */
void collect_detail(struct collector *collector, struct top_detail *detail, __u32 device);

#endif
