/* SPDX-License-Identifier: GPL-2.0 */
/* Runs of the translation model for its tests: the trace of the calibration, and what comes out. */
#ifndef FAULTLINE_TESTS_MODEL_RUNS_H
#define FAULTLINE_TESTS_MODEL_RUNS_H

#include "lib/translate/model.h"
#include "lib/translate/tenants.h"

#define CALIBRATION_PACKETS 200000
#define PACKET_BITS	    (1542 * 8)

/* The synthetic trace of the calibration: ring, 32 data pages in runs of 1500, mailbox. */
void calibration_trace(struct tenants_config *trace, __u32 tenants, enum turns_order order,
		       __u32 turn);
/* Partitions as in table IV: 8 of the DevTLB, 32 and 64 of the walk caches. */
void partition(struct model_config *config);

/* With an oracle if the DevTLB's policy wants one. False if it does not run: fit for any thread. */
bool model_runs(const struct model_config *config, const struct tenants_config *trace,
		const struct model_observer *observer, struct model_stats *stats);

/* Of packets of PACKET_BITS. */
double gbit(const struct model_stats *stats);

#endif
