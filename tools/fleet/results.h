/* SPDX-License-Identifier: GPL-2.0 */
/* What a point of a fleet comes to, and the tables of all points. */
#ifndef FAULTLINE_TOOLS_FLEET_RESULTS_H
#define FAULTLINE_TOOLS_FLEET_RESULTS_H

#include "lib/job/sweep_table.h"
#include "tools/fleet/fleet.h"

/* Of each model, in this order. */
enum fleet_column {
	FLEET_COUNT,
	FLEET_FAULTS,
	FLEET_MEAN,
	FLEET_P50,
	FLEET_P99,
	FLEET_MOST,
	FLEET_AVOIDED,
	FLEET_BURSTS,
	FLEET_PEAK,
	FLEET_FOOTPRINT,
	FLEET_FOOTPRINT_P95,
	FLEET_FOOTPRINT_P98,
	FLEET_PINNED,
	FLEET_PINNED_MOST,
	FLEET_PINNED_END,
	FLEET_RPR,
	FLEET_FIRST_PINNED,
	FLEET_USELESS,
	FLEET_SHRINKS,
	FLEET_GROWING,
	FLEET_PAGES_FEW,
	FLEET_PAGES_TWICE,
	FLEET_FAULTS_FEW,
	FLEET_FAULTS_SOME,
	FLEET_MODEL_COLUMNS,
};

/* Then these, of machines. */
enum fleet_machine_column {
	FLEET_MACHINES = POPULATION_MODELS * FLEET_MODEL_COLUMNS,
	FLEET_BURSTING,
	FLEET_MACHINE_PINNED,
	FLEET_ACCESSES,
	FLEET_COLUMNS,
};

/* All machines of a point. */
struct fleet_point {
	const struct fleet_config *config;
	struct fleet_outcome *outcomes; /* one a machine; their curves are in `curve` */
	struct fleet_curve curve;
	double values[FLEET_COLUMNS];
	__u32 machine_count;
};

/* -ENOMEM. */
int fleet_judge(struct fleet_point *point);

/* The names of the tables, for writer_announce(). */
extern const char *const fleet_tables[];
/* `whole`: all of them, not those that a terminal has room for. */
int fleet_write(struct writer *writer, const struct sweep *sweep, const struct fleet_point *points,
		bool whole);

/* Faults of each device and day of a model, ascending; NULL without memory. The caller frees it. */
__u64 *fleet_faults(const struct fleet_point *point, __u32 model, size_t *count);
/* The value that so many in a thousand do not exceed: nearest rank. `count` above 0. */
__u64 fleet_quantile(const __u64 *ascending, size_t count, unsigned int per_mille);

#endif
