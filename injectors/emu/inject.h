/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The points at which an injection can shake the machine.
 *
 * The machine asks inject_delay()/inject_fire() where hardware or host would act; the campaign
 * layer (injectors/job) arms and disarms. An unarmed point costs one relaxed load. Names and
 * meaning of probability, interval and times are those of the kernel's fault_attr.
 */
#ifndef FAULTLINE_INJECT_H
#define FAULTLINE_INJECT_H

#include <stdbool.h>

#include "bpf/event.h"
#include "lib/base/inject_point.h"

enum inject_distribution { INJECT_FIXED, INJECT_UNIFORM, INJECT_EXPONENTIAL };

struct injection {
	enum inject_point point;
	__u32 device; /* machine index, or DEVICE_ALL */
	/* With DEVICE_ALL: only devices marked here, by machine index; NULL: each. Borrowed. */
	const bool *devices;
	__u32 id;	   /* of the [inject NAME] section, for events and truth */
	__u32 probability; /* percent, 1-100 */
	__u32 interval;	   /* every Nth candidate, 1: each */
	__s64 times;	   /* at most so often, -1: no limit */
	enum inject_distribution distribution;
	__u64 delay_ns;	    /* fixed value, exponential's mean, uniform's lower bound */
	__u64 delay_max_ns; /* uniform's upper bound */
	__u64 seed;
};

struct inject_table; /* all that is armed in one machine */

int inject_table_create(struct inject_table **table);
void inject_table_destroy(struct inject_table *table);

/* Arms; several injections of one point act independently (delays add up). -ENOSPC past 64. */
int inject_arm(struct inject_table *table, const struct injection *injection);
/* After return no thread acts on it any more. Returns how often it fired. */
__u64 inject_disarm(struct inject_table *table, __u32 id);

/* The table may be NULL below: nothing is armed. */

/* Nanoseconds to wait at this point for this device now; the caller sleeps, or has others wait. */
__u64 inject_delay(struct inject_table *table, enum inject_point point, __u32 device);
bool inject_fire(struct inject_table *table, enum inject_point point, __u32 device);
/* Sleeps what inject_delay() said, to the microsecond; inject_stop() cuts it short. */
void inject_sleep(struct inject_table *table, __u64 delay_ns);

/* The machine ends: nothing fires any more, whoever sleeps goes on at once. */
void inject_stop(struct inject_table *table);

#endif
