/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's driver and application in one: fills descriptors in guest memory, rings doorbells,
 * reaps completions, verifies data when asked, keeps latency statistics. One thread per workload
 * (the guest CPU); it touches memory through the CPU mapping only. A device has one workload.
 *
 * Latency: with a rate, the n-th I/O has its time on an absolute schedule and its latency runs from
 * there, whether or not it could be submitted then, so that a frozen device is charged for
 * what it held up (no coordinated omission). One that was never sent counts with the time from
 * there to the end: it took longer. Without a rate latency runs from the submission.
 */
#ifndef FAULTLINE_WORKLOAD_H
#define FAULTLINE_WORKLOAD_H

#include <linux/types.h>
#include <stdbool.h>

#include "injectors/emu/channel.h"
#include "injectors/emu/memory.h"
#include "lib/analyze/histogram.h"

enum access_pattern { PATTERN_SEQUENTIAL, PATTERN_RANDOM, PATTERN_ZIPF };

#define WORKLOAD_SIZES	   8
#define WORKLOAD_DEPTH_MAX 1024 /* of the queues of a device that it drives */

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
	__u64 buffer_bytes; /* span of memory used for data, 0: half of the device's share */
	bool verify;	    /* check the data of every read against what was written */
	__u64 seed;
};

struct workload_result {
	__u64 ios, errors, bytes, mismatches;
	__u64 start_ns, end_ns;
	/* Were due (rate) before the end and not sent: the queue was full, or the guest late. */
	__u64 unsent;
	__u64 blocked_ns;	  /* sum over queues of time in which a fault was open */
	struct histogram latency; /* ns, as the guest saw it; of ios + unsent */
	__u64 window_min_ios;	  /* fewest I/Os completed in any whole 100 ms window */
};

struct workload;

/* Its largest I/O, bytes. */
__u64 workload_largest(const struct workload_config *config);
/* Checks the configuration against the channel: -EINVAL with a sentence. Keeps both pointers. */
int workload_create(struct workload **workload, const struct workload_config *config,
		    struct guest_memory *memory, struct channel *channel);
/* The data it works on begins at the channel's data_address and has so many bytes. */
__u64 workload_buffer_bytes(const struct workload *workload);
/* Clears the rings and starts the thread. */
int workload_start(struct workload *workload);
/* 0 once it has done all its I/O, -ETIMEDOUT. timeout 0 asks only. */
int workload_wait(struct workload *workload, __u64 timeout_ns);
/* Ends it now, wherever it is, and joins; I/O in flight is not waited for. May be called twice. */
void workload_stop(struct workload *workload);
/*
 * For EVICT_NEXT, in an injector's thread: writes the guest addresses of up to `limit` different
 * pages that the next I/Os will touch, in their order, and returns their number. These I/Os are not
 * sent before workload_send_next(), while the workload goes on with others. Waits up to `wait_ns`
 * for the I/Os of the call before to be sent; 0: they are not yet, or there is no further I/O.
 * -ENOMEM. One caller at a time.
 */
long workload_next_pages(struct workload *workload, __u64 *pages, __u32 limit, __u64 wait_ns);
/* After each of these that returned more than 0. */
void workload_send_next(struct workload *workload);
/* After workload_wait() has returned 0 or workload_stop(). */
const struct workload_result *workload_result(const struct workload *workload);
void workload_destroy(struct workload *workload);

#endif
