/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stalls of TCP flows: from a flow's first lost frame until all that was lost had been delivered.
 *
 * What was lost, what was delivered since and what was sent again are tied by sequence numbers, never by
 * time: a retransmission belongs to a stall if it has a byte that the stall lost, and was sent after
 * the first frame of that run was lost. Ranges that are lost while a stall of their flow is open extend
 * it. One whose connection ended with an error is aborted then; one that was not over by the end of the
 * stream is open. A range that has come though its loss was not told is a stall of which no frame is known.
 *
 * The faults that cost frames are named by the events; how long they took is known once they are over,
 * which may be before or after a run of frames that they cost is told.
 */
#ifndef FAULTLINE_STALLS_H
#define FAULTLINE_STALLS_H

#include "lib/analyze/blame.h"

#define STALLS_KEPT 10000 /* the longest; further ones are counted only */

/* An error of a connection that none was told of. */
#define STALL_UNTOLD (-1)

struct stall {
	__u64 from_ns, to_ns; /* to_ns 0: it is open */
	__u32 flow, device;
	__u16 queue; /* that lost the first of its frames for which one is known */
	__u64 frames, bytes;
	__u64 lost[LOSS_REASONS]; /* frames, by reason */
	struct blamed blamed;
	/* Retransmissions of what was lost. */
	__u32 timeouts, probes, fast, slow_start, synacks;
	__u64 timeout_ns; /* the longest of these timeouts */
	/* With which its connection ended, or STALL_UNTOLD; 0: it was recovered, or is open */
	int error;
	__u64 serial;
};

struct stall_flow_totals {
	__u64 stalls, longest_ns; /* that are over, of the period */
	const struct stall *open; /* NULL: none */
};

struct stalls;
struct session;

struct stall_sink {
	/* One is over, whenever it began. The stall is borrowed. */
	void (*closed)(void *self, const struct stall *stall);
	void *self;
};

struct faults;
int stalls_create(struct stalls **stalls, const struct session *session, struct faults *faults);
struct stream stalls_stream(struct stalls *stalls);
void stalls_destroy(struct stalls *stalls);
#define STALL_SINKS 2
/* -ENOSPC beyond STALL_SINKS. */
int stalls_subscribe(struct stalls *stalls, struct stall_sink sink);
/* Those that are open, of whatever period. */
void stalls_each_open(const struct stalls *stalls,
		      void (*each)(void *argument, const struct stall *stall), void *argument);

struct stall_flow_totals stalls_of_flow(const struct stalls *stalls, __u32 flow);
/* Those of a device that are over, of the period, and how long they were together. */
struct stall_device_totals {
	__u64 stalls, ns;
};
struct stall_device_totals stalls_of_device(const struct stalls *stalls, __u32 device);
/* Of the period, that are over. */
__u64 stalls_count(const struct stalls *stalls);
/* How often a bounded table was full: then counts are floors. */
__u64 stalls_dropped(const struct stalls *stalls);
/*
 * The kept ones and the open ones of the period, longest first; NULL without memory. The caller frees
 * it. `now_ns` is when those that are open end for now.
 */
const struct stall **stalls_longest(const struct stalls *stalls, __u64 now_ns, size_t *count);
static inline __u64 stall_ns(const struct stall *stall, __u64 now_ns)
{
	__u64 to = stall->to_ns ? stall->to_ns : now_ns;

	return to > stall->from_ns ? to - stall->from_ns : 0;
}

/*
 * "302 ms stall of A > B (vm/net rx 0): 9 frames lost to 1 fault (drop; 5.0 ms, resolve 4.9 ms); recovered by 1
 * retransmission timeout of 204 ms"
 */
struct sentence;
void stall_tell(const struct stall *stall, const struct session *session, struct sentence *words);
/* "9 frames lost to 1 fault (...), 3 to the wire; recovered by ...": the same without its beginning. */
void stall_tell_cause(const struct stall *stall, const struct session *session,
		      struct sentence *words);
/* "9 frames lost to FAULTS, 3 to the wire", by LOSS_REASONS; "no frame lost". */
void stall_tell_lost(const __u64 *lost, const char *faults, struct sentence *words);
/* "302 ms", "5.0 ms": two digits at least. */
#define STALL_DURATION_TEXT 24
const char *stall_duration(__u64 ns, char text[STALL_DURATION_TEXT]);
analyzer_write stalls_write;

#endif
