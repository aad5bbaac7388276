/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests: a sink that remembers every call as bytes, and a source of random calls.
 *
 * Consecutive events() calls are one call to whoever compares: a stream has no batches. Text fields
 * are compared up to their terminator.
 */
#ifndef FAULTLINE_STREAM_LOG_H
#define FAULTLINE_STREAM_LOG_H

#include "lib/base/stream.h"

enum {
	LOG_HOST,
	LOG_CLOCK,
	LOG_PROBE,
	LOG_DEVICE,
	LOG_EVENTS,
	LOG_AGGREGATE,
	LOG_LOSS,
	LOG_TICK,
	LOG_END,
	LOG_STACK,
	LOG_PROCESS,
	LOG_KEPT,
	LOG_FLOW,
	LOG_CALLS
};

struct stream_log {
	char *bytes;
	size_t size;
	size_t capacity;
	size_t calls[LOG_CALLS];
	size_t events;
	size_t run;	       /* bytes index of the current run of events, 0: none */
	struct loss_info loss; /* the last */
	__u64 end_ns;
	__u64 first_ns, last_ns; /* of events */
};

struct stream stream_log(struct stream_log *log);
void stream_log_free(struct stream_log *log);

/* splitmix64: the same numbers everywhere for one seed. */
__u64 stream_log_random(__u64 *seed);

struct random_stream {
	__u64 seed;
	size_t events; /* exactly so many */
	bool wild;     /* any bits in any field, else like a page-fault storm */
	bool records;  /* devices, ticks, aggregates, loss in between */
	bool end;      /* end() closes it */
};

/* Returns the sink's first error. */
int random_stream_push(const struct random_stream *random, struct stream sink);

#endif
