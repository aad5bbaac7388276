/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one run of a cluster gave: a row of numbers, columns of the result table and names in [expect]. The first are of all
 * users together, then some of each group (GROUP_ios ...).
 */
#ifndef FAULTLINE_CLUSTER_RESULTS_H
#define FAULTLINE_CLUSTER_RESULTS_H

#include "injectors/cluster/cluster.h"
#include "injectors/cluster/plan.h"
#include "lib/job/column.h"

enum cluster_column {
	CLUSTER_SECONDS,
	CLUSTER_IOS,
	CLUSTER_IOPS,
	CLUSTER_BYTES,
	CLUSTER_ERRORS,
	CLUSTER_WRONG,
	CLUSTER_ACKNOWLEDGED,
	CLUSTER_LATENCY,
	CLUSTER_LATENCY_MAX,
	CLUSTER_WAIT,
	CLUSTER_FAIRNESS,
	CLUSTER_SOFTWARE_STAGES,
	CLUSTER_COPIES,
	CLUSTER_BORROWS,
	CLUSTER_BORROWS_REFUSED,
	CLUSTER_BORROWS_RETURNED,
	CLUSTER_BORROWS_REVOKED,
	CLUSTER_BORROWS_LOST,
	CLUSTER_TIME_TO_BORROW,
	CLUSTER_FAILOVERS,
	CLUSTER_RESUBMITTED,
	CLUSTER_KNOWN_DONE,
	CLUSTER_UNKNOWN,
	CLUSTER_ADMIN_REFUSED,
	CLUSTER_PAIRS,
	CLUSTER_CLIENT_MAPS,
	CLUSTER_LONGEST_TURNS,
	CLUSTER_DELIVERIES,
	CLUSTER_GUESTS_PINNED,
	CLUSTER_GUESTS_INTERRUPTS,
	CLUSTER_GUESTS_LATE,
	CLUSTER_GUESTS_LOST,
	CLUSTER_GUESTS_UNMAPPED,
	CLUSTER_RESETS,
	CLUSTER_APPLIED_TWICE,
	CLUSTER_FUNCTION_TURNS,
	CLUSTER_LOST_WRITES,
	CLUSTER_ALL_ONES,
	CLUSTER_STRAY,
	CLUSTER_REFUSED,
	CLUSTER_FAULTS,
	CLUSTER_SPLITS,
	CLUSTER_FETCH_HOPS,
	CLUSTER_FETCH_HOPS_LEAST,
	CLUSTER_MMIO_HOPS,
	CLUSTER_DATA_HOPS,
	CLUSTER_DATA_WRITES,
	CLUSTER_WINDOWS_MOST,
	CLUSTER_WINDOWS_LEFT,
	CLUSTER_REQUESTERS_LEFT,
	CLUSTER_MAPPED_LEFT,
	CLUSTER_PINNED_LEFT,
	CLUSTER_MEMORY_CHANGED,
	CLUSTER_KILLED,
	CLUSTER_FAILED,
	CLUSTER_INJECTED,
	CLUSTER_SEEN_LOST,
	CLUSTER_COLUMNS,
};

/* Of each group, behind those. */
enum group_column {
	GROUP_IOS,
	GROUP_ERRORS,
	GROUP_WRONG,
	GROUP_ACKNOWLEDGED,
	GROUP_LATENCY,
	GROUP_WAIT,
	GROUP_FAIRNESS,
	GROUP_LEAST,
	GROUP_COLUMNS,
};
#define CLUSTER_VALUES (CLUSTER_COLUMNS + PLAN_GROUPS * GROUP_COLUMNS)

/* Those of all users: for the help, and jobs without a group. */
extern const struct job_columns cluster_columns;

/* Of one job. */
struct cluster_result_columns {
	struct job_columns columns;
	struct job_column column[CLUSTER_VALUES];
	char names[PLAN_GROUPS * GROUP_COLUMNS][96];
};
void cluster_columns_of(struct cluster_result_columns *columns, const struct cluster_plan *plan);

#define RESULT_NOTE_MORE 24 /* bytes for the number of those of whom there is no room to tell */

/* Sentences for people are "" if there is nothing to say. */
struct cluster_result {
	double values[CLUSTER_VALUES];
	char starved[256]; /* who had the least of what others of its group had */
	char note[900];	   /* users that failed, and why */
	char idle[256];	   /* injections that never fired */
};

/* What the run itself knows. */
struct cluster_outcome {
	__u64 run_ns;
	__u32 killed, failed, injected;
	__u64 windows_left, requesters_left, mapped_left, pinned_left;
	__u32 memory_changed; /* hosts */
};
void cluster_result_clear(struct cluster_result *result);
void cluster_result_fill(struct cluster_result *result, const struct cluster *cluster,
			 const struct cluster_plan *plan, const struct cluster_outcome *outcome);

#endif
