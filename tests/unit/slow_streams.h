/* SPDX-License-Identifier: GPL-2.0 */
/* Runs of accesses as `spatial` sees them, by docs/protect.md. */
#ifndef FAULTLINE_SLOW_STREAMS_H
#define FAULTLINE_SLOW_STREAMS_H

#include <linux/types.h>
#include <stddef.h>

#define SLOW_STREAMS 16

struct slow_stream {
	__u64 last, access; /* the how manieth access it took last */
	__int128 stride;
	__u64 steps;
};

struct slow_streams {
	struct slow_stream streams[SLOW_STREAMS];
	size_t count;
};

/* The stream that the access to a page goes on with, or begins; NULL if it is nothing new. */
struct slow_stream *slow_streams_access(struct slow_streams *all, __u64 run, __u64 access,
					__u64 page);

#endif
