/* SPDX-License-Identifier: GPL-2.0 */
/* What both models of lib/protect/population.h are made of. */
#ifndef FAULTLINE_POPULATION_PRIVATE_H
#define FAULTLINE_POPULATION_PRIVATE_H

#include <stdint.h>

#include "lib/base/random.h"
#include "lib/protect/population.h"

#define POPULATION_RUN UINT32_MAX /* in the queue: no page, but the next run of a block device */

/* When a page is used next. */
struct population_due {
	__u64 time_ns;
	__u32 page;
};

struct population_page {
	__u64 due_ns;	 /* an entry of the queue with another time is void */
	__u64 return_ns; /* block: of its run, 0: it does not return */
	__u32 run;
	__u16 left;    /* block: uses soon */
	__u16 returns; /* block: so far */
};

/*
 * Time within a device is time at work, in which it knows nothing of pauses; `away_ns` is what they have
 * taken so far, so that the sum is what people see.
 */
struct population {
	struct population_keys keys;
	struct population_device device;
	struct random random;
	__u64 runs_seed;
	__u64 away_ns, on_until_ns;    /* the latter at work */
	__u64 on_mean_ns, off_mean_ns; /* on_mean_ns 0: no pauses */
	struct population_due
		*queue; /* a heap: the earliest first, of equal times the lowest page */
	size_t queue_count, queue_room;
	struct population_page *pages;
	__u32 page_count, first_page;
	bool failed;
	__u32 hot; /* the first so many pages (nic: slots) are used all the time */
	/* nic */
	__u32 footprint; /* slots */
	__u32 *slots;	 /* page of a slot */
	__u64 drift_mean_ns;
	/* block */
	__u32 next_page, runs;
	__u64 run_mean_ns;
};

__u64 population_exponential(struct population *p, double mean_ns);
void population_put(struct population *p, __u64 time_ns, __u32 page);

/* A value between 0 and 1 for each device, all as often, in an order that `salt` mixes. */
double population_rank(const struct population_device *device, __u32 salt);
/* The value of that rank in a lognormal distribution with this mean. */
double population_lognormal(double mean, double sigma, double rank);

/* Puts the first accesses into the queue. */
int population_begin_nic(struct population *p);
int population_begin_block(struct population *p);
/* A page is used at `now_ns`: when it is next, 0: never. `count` of the access may be raised. */
__u64 population_again_nic(struct population *p, __u32 page, __u64 now_ns, __u32 *count);
__u64 population_again_block(struct population *p, __u32 page, __u64 now_ns);
void population_resume_nic(struct population *p, __u64 now_ns);
void population_run_block(struct population *p, __u64 now_ns);

#endif
