/* SPDX-License-Identifier: GPL-2.0 */
/* Filling a result: a file for each kind of source. */
#ifndef FAULTLINE_JOB_RESULT_PRIVATE_H
#define FAULTLINE_JOB_RESULT_PRIVATE_H

#include <math.h>

#include "injectors/job/result.h"

/* A sum of which some are not known, and that is not known if none is. */
static inline void result_add(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

/* Percentiles that have samples enough. */
void result_fill_latency(struct result *result, const struct histogram *latency);

/* Bytes of a run on all of its wires: what landed once, and all that was sent. NAN: there is none. */
struct result_wires {
	double useful, sent;
	bool unknown; /* a program does not tell what it received */
};

/* In this order, after the workloads': what programs say themselves counts. */
void result_fill_frames(struct result *result, const struct result_input *input,
			struct result_wires *wires);
void result_fill_ranks(struct result *result, const struct result_input *input,
		       struct result_wires *wires);
/* After the ranks'. */
void result_fill_verbs(struct result *result, const struct result_input *input);
void result_fill_programs(struct result *result, const struct result_input *input,
			  struct result_wires *wires);
void result_fill_kvstores(struct result *result, const struct result_input *input,
			  struct result_wires *wires);
/* After the workloads', of which a machine may have none. */
void result_fill_vms(struct result *result, const struct result_input *input,
		     const struct machine_totals *totals);
void result_fill_limit(struct result *result, const struct memory_limit_stats *limit);

#endif
