/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's driver and application in one: fills descriptors in guest memory, rings doorbells,
 * reaps completions, verifies data when asked, keeps latency statistics. One thread per workload
 * (the guest CPU); it touches memory through the CPU mapping only.
 */
#ifndef FAULTLINE_WORKLOAD_H
#define FAULTLINE_WORKLOAD_H

#include <linux/types.h>
#include <stdbool.h>

#include "lib/analyze/histogram.h"

enum access_pattern { PATTERN_SEQUENTIAL, PATTERN_RANDOM, PATTERN_ZIPF };

#define WORKLOAD_SIZES 8

struct workload_config {
	char name[64];
	__u32 device;		     /* machine index */
	__u32 read_percent;	     /* of I/Os that read the disk (block) */
	__u64 sizes[WORKLOAD_SIZES]; /* block sizes, 4 KiB to 2 MiB, multiples of 4 KiB */
	__u32 size_weights[WORKLOAD_SIZES];
	__u32 size_count;
	enum access_pattern pattern; /* over buffers in memory and blocks on disk */
	double zipf_theta;	     /* 0 < theta < 2, not 1 */
	__u32 depth;		     /* I/Os in flight per queue, at most the queue's depth */
	double rate;		     /* I/Os per second over all queues, 0: as fast as possible */
	__u64 duration_ns;	     /* 0: until `count` */
	__u64 count;		     /* I/Os, 0: until duration */
	__u64 buffer_bytes;	     /* span of memory used for data, 0: half of the tenant's */
	bool verify;		     /* check the data of every read against what was written */
	__u64 seed;
};

struct workload_result {
	__u64 ios, errors, bytes, mismatches;
	__u64 start_ns, end_ns;
	__u64 blocked_ns;	  /* sum over queues of time spent paused on a fault */
	struct histogram latency; /* ns, submit to completion, as the guest saw it */
	__u64 window_min_ios;	  /* fewest I/Os completed in any whole 100 ms window */
};

#endif
