/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: a flight recorder's finished segments on their way to the disk. A thread waits for
 * it, since capture must not: a busy disk takes seconds, and to close a file of a server's is to send it.
 */
#ifndef FAULTLINE_TRACE_SYNC_H
#define FAULTLINE_TRACE_SYNC_H

#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>

#define TRACE_SYNC_MOST 16 /* segments that wait */

struct trace_sync_segment {
	int fd;
	__u32 number;
};

struct trace_sync_result {
	__u64 unsynced; /* segments that may not be on the disk */
	__u32 number;	/* of the newest of these */
	int error;	/* likewise, a negative errno; -EAGAIN: too many waited */
};

struct trace_sync {
	const char *path; /* of the ring */
	pthread_t thread;
	bool started; /* with the first segment */
	bool ending;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	struct trace_sync_segment waiting[TRACE_SYNC_MOST];
	unsigned int count;
	struct trace_sync_result result;
};

/* `path` stays the caller's and has to stay. */
void trace_sync_open(struct trace_sync *sync, const char *path);
/* Takes the descriptor over: it is closed once the segment is on the disk, or has failed to get there. */
void trace_sync_put(struct trace_sync *sync, int fd, __u32 number);
/* Until none waits. */
void trace_sync_wait(struct trace_sync *sync);
struct trace_sync_result trace_sync_result(struct trace_sync *sync);
/* Waits for those that are left, and ends the thread. */
void trace_sync_close(struct trace_sync *sync);

#endif
