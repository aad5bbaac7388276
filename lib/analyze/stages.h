/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long each stage took: histograms of complete faults, for all, by device, by queue, by kind.
 *
 * Only complete faults count, so that every stage of one row stands for the same faults. The total
 * is detect to resume. Groups (a device, one of its queues, one of its kinds) are made when first
 * seen and bounded; beyond STAGES_GROUPS_MAX a fault counts for `all` only, and stages_dropped()
 * says how often.
 */
#ifndef FAULTLINE_STAGES_H
#define FAULTLINE_STAGES_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"

#define STAGES_GROUPS_MAX 8192

/* Minor or major, read or write: what VPRI section 2 and NPF figure 3 keep apart. */
enum fault_kind {
	FAULT_MINOR_READ,
	FAULT_MINOR_WRITE,
	FAULT_MAJOR_READ,
	FAULT_MAJOR_WRITE,
	FAULT_UNKNOWN_READ, /* what brought its page was not seen */
	FAULT_UNKNOWN_WRITE,
	FAULT_KINDS,
};

struct stage_group {
	__u64 faults;
	__u8 seen; /* bit per timestamp that any of them has */
	__u64 merged[STAGES];
	__u8 before[STAGES]; /* of so many stages before it some fault has the time in it */
	struct histogram stages[STAGES];
	struct histogram total;
};

void stage_group_init(struct stage_group *group);
/* One fault more: the timestamps it has, and its times. */
void stage_group_add(struct stage_group *group, __u8 seen, const struct stage_times *times,
		     __u64 total_ns);

struct faults;
struct live_latency;
struct stages;

enum fault_kind fault_kind_of(const struct fault *fault);

const struct stage_group *stages_all(const struct stages *stages);
/* NULL if no fault of it has completed. */
const struct stage_group *stages_of_device(const struct stages *stages, __u32 device);
const struct stage_group *stages_of_queue(const struct stages *stages, __u32 device, __u16 queue);
const struct stage_group *stages_of_kind(const struct stages *stages, __u32 device,
					 enum fault_kind kind);
/* Its name with those before it whose time it has in some fault: "resolve+map". */
const char *stage_group_label(const struct stage_group *group, unsigned int stage,
			      char text[STAGE_LABEL]);
/* The stage that took most time in sum, STAGES if there is none; its part of it, 0 to 1. */
unsigned int stage_group_slowest(const struct stage_group *group, double *share);
/* What a live view shows of it; NULL: nothing. */
void stage_group_latency(const struct stage_group *group, struct live_latency *latency);
__u64 stages_dropped(const struct stages *stages);

#endif
