/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside `faultline fleet`: the machines of one point of a sweep, and what becomes of each.
 *
 * A machine is a number: its population, its devices and their accesses follow from it and the seed, so that
 * machines share nothing and may be simulated in any order.
 */
#ifndef FAULTLINE_TOOLS_FLEET_H
#define FAULTLINE_TOOLS_FLEET_H

#include "lib/job/idle_keys.h"
#include "lib/base/clock.h"
#include "lib/job/protector_options.h"
#include "lib/protect/population.h"

#define FLEET_POPULATIONS 16
#define FLEET_MEMORIES	  16
#define FLEET_POLICIES	  8 /* that one pass over the accesses may serve */
#define FLEET_DEVICES	  POPULATION_MODELS
#define FLEET_BURST	  5 /* faults within a second; more are a burst (VPRI section 2.2) */
#define FLEET_DAY_NS	  (86400ull * NSEC_PER_SEC)

struct fleet_memories {
	__u64 bytes[FLEET_MEMORIES];
	__u32 count;
};

struct fleet_population {
	char name[64];
	__u32 count;
	__u32 device; /* enum population_model, or POPULATION_MODELS: both */
	struct fleet_memories memory;
	struct population_keys keys;
};

struct fleet_config {
	struct protector_options protector;
	struct fleet_population populations[FLEET_POPULATIONS];
	__u32 population_count, machine_count;
	double hours, overcommit;
	__u64 seed, resolution_ns;
	__u64 length_ns, moment_ns;
	__u32 machines_per_host;
	struct what_if_config rule; /* without the policy's keys */
};

/* A device on one day. Pages are of 2 MiB. */
struct fleet_device {
	__u32 machine;
	__u8 population, model, day;
	__u64 memory_pages;
	__u64 accesses;
	__u64 footprint;		    /* pages that it has used so far */
	__u64 first_accesses, first_pinned; /* the latter: to pages that were pinned already */
	__u64 faults, unprotected;	    /* with the policy; with `none` */
	__u64 bursts, peak;		    /* the latter: most within one second */
	double pinned_mean;
	__u64 pinned_max, pinned_end;
	__u64 pins, useless;	/* the latter: let go though nobody had used them */
	__u64 samples, shrinks; /* of these, those that found less pinned than the one before */
	__u64 footprint_half;	/* in the middle of all time */
	/* On the last day: pages and their faults without a policy, by how often they were used in all of the time. */
	__u64 pages_few, pages_twice, faults_few, faults_some, faults_all;
};

#define FLEET_FEW  10 /* uses: fewer than that */
#define FLEET_SOME 50

/* All devices of a model at one time. Pages are of 2 MiB. */
struct fleet_moment {
	__u64 footprint, active, pinned, faults; /* so far */
};

/* The first FLEET_MOMENTS_MOST at most, config->moment_ns apart. */
struct fleet_curve {
	struct fleet_moment *moments; /* models by turns */
	size_t count;		      /* of times */
};
#define FLEET_MOMENTS_MOST 1440

struct fleet_burst {
	__u32 machine;
	__u8 population, model;
	__u64 from_ns, to_ns, faults, peak;
};

/* What one machine gives under one policy. */
struct fleet_outcome {
	struct fleet_device *devices; /* day by day, of a day in the order of models */
	size_t device_count, device_room;
	struct fleet_burst *bursts; /* in the order of their beginnings */
	size_t burst_count, burst_room;
	struct fleet_curve curve;
};

void fleet_outcome_free(struct fleet_outcome *outcome);
/* Adds a machine's curve to another, and frees it. */
void fleet_curve_add(struct fleet_curve *sum, struct fleet_curve *part);

/* Which machine of which population it is. */
struct fleet_machine {
	const struct fleet_population *population;
	__u8 population_number;
	__u32 number; /* of the fleet */
	__u32 own;    /* of its population */
	__u64 memory_pages;
	bool has[FLEET_DEVICES];
};
struct fleet_machine fleet_machine(const struct fleet_config *config, __u32 number);

/*
 * The accesses of a machine's devices in the order of times, of equal times in the order of models; domains are
 * the models' numbers. `false` at the end of `config->length_ns`, or without memory: see fleet_accesses_close().
 */
struct fleet_accesses {
	struct population *devices[FLEET_DEVICES];
	struct what_if_access next[FLEET_DEVICES];
	__u64 length_ns;
	int error;
};
int fleet_accesses_open(struct fleet_accesses *accesses, const struct fleet_config *config,
			const struct fleet_machine *machine);
bool fleet_accesses_next(struct fleet_accesses *accesses, struct what_if_access *access);
/* Returns the error that ended it, 0 if that was the time. */
int fleet_accesses_close(struct fleet_accesses *accesses);

/*
 * Simulates one machine under several policies in one pass. `configs` differ in the policy alone; the outcomes
 * are empty before.
 */
int fleet_simulate(const struct fleet_config *const *configs, size_t count, __u32 number,
		   struct fleet_outcome *const *outcomes);

#endif
