/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Made-up devices of virtual machines: which 2 MiB page each uses when, with the shape that VPRI reports of a
 * fleet (section 4.2, observations O1 to O4; figures 9 to 11). A model: docs/fleet.md says what it leaves out.
 *
 * A device is drawn from a population by its number, and its accesses from a seed: equal arguments give equal
 * accesses, in the order of times, whatever else is made. Memory is what its pages need (24 bytes each).
 *
 * `nic`: a bounded set of pages. A share of it is ring and buffers that are used all the time, the rest are
 * buffers that a load now and then needs; slowly they move to other pages. Traffic pauses; when it comes back,
 * all of the first kind is used within seconds.
 * `block`: while the device is at work a small set of pages is used all the time, and the page cache grows by runs of
 * pages, used a few times soon. A share of them is read again after minutes, run by run, some more often, the others
 * never. Where the cache may not grow any more the oldest page makes room for the newest.
 */
#ifndef FAULTLINE_POPULATION_H
#define FAULTLINE_POPULATION_H

#include "lib/protect/what_if.h"

enum population_model { POPULATION_NIC, POPULATION_BLOCK, POPULATION_MODELS };

/* "nic", "block" */
extern const char *const population_model_names[];

/* Shares are those of the machine's memory unless said otherwise, 0 to 1; times in ns. */
struct population_keys {
	/* nic */
	double nic_least, nic_most;	  /* footprint of a device: between these, all as often */
	double nic_large, nic_large_most; /* so many devices of all have one of up to that */
	double nic_hot;			  /* share of the footprint that is used all the time */
	__u64 nic_hot_gap_ns;		  /* on average, between two uses of such a page */
	__u64 nic_gap_ns;		  /* likewise of the others, exponentially distributed */
	double nic_drift;		  /* moves to other pages, an hour */
	double nic_bound;		  /* all pages that it ever moves to */
	double nic_pauses, nic_pauses_spread; /* a day: mean over devices; sigma of the lognormal */
	__u64 nic_pause_ns;		      /* mean */
	double nic_rate;		      /* pages a second, at the end of a pause */
	/* block */
	double block_growth;	/* an hour of work */
	double block_bound;	/* of the page cache */
	double block_run;	/* pages: mean */
	double block_rate;	/* pages a second: of the fastest run */
	double block_once;	/* share of pages that are not used again soon */
	double block_hot;	/* of memory: used all the time */
	__u64 block_hot_gap_ns; /* on average, between two uses of such a page */
	double block_returning; /* share of runs */
	double block_returns;	/* how often, on average */
	__u64 block_return_least_ns, block_return_most_ns;
	double block_sessions, block_sessions_spread; /* of work, a day; 0: it is always at work */
	__u64 block_session_ns;			      /* mean */
};

void population_default(struct population_keys *keys);

/* One device. */
struct population_device {
	enum population_model model;
	__u32 number, count; /* of so many machines of this population */
	__u32 domain;	     /* of its accesses */
	__u64 memory_pages;
	__u64 seed; /* of the fleet; another machine's accesses are others with the same one */
	__u64 resolution_ns; /* uses of a page within one such step are one access with a count */
};

/* The pages that a device of such a machine may use: from `first` on, before `end`. Those of two models are apart. */
void population_range(const struct population_keys *keys, enum population_model model,
		      __u64 memory_pages, __u32 *first, __u32 *end);

struct population;

/* -ENOMEM; -EINVAL for keys out of range or that contradict each other, with a sentence. */
int population_check(const struct population_keys *keys);
int population_create(struct population **population, const struct population_keys *keys,
		      const struct population_device *device);
void population_destroy(struct population *population);

/* The next access, in the order of times from 0 on. There is no last one. False without memory. */
bool population_next(struct population *population, struct what_if_access *access);

#endif
