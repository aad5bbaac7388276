/* SPDX-License-Identifier: GPL-2.0 */
/* The one clock of events, truth and schedules: CLOCK_MONOTONIC in nanoseconds. */
#ifndef FAULTLINE_CLOCK_H
#define FAULTLINE_CLOCK_H

#include <linux/types.h>
#include <time.h>

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define PSEC_PER_SEC  1000000000000ull /* of the translation model's virtual time */

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

static inline __u64 monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of_ns(__u64 ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NSEC_PER_SEC),
				 .tv_nsec = (long)(ns % NSEC_PER_SEC)};
}

#endif
