/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings of NICs: what their counters say (every 100 ms), and the runs of frames that were lost or held.
 *
 * A ring's counters are since it was made. Of a machine that began while it was recorded all of them count,
 * of one that was met later what came after they were first told. Within a period counts what lies between
 * two tellings that have a part in it.
 *
 * A device's throughput is judged by rounds: all of its rings have told once. One from the second to the last
 * but one that had frames counts, and what is between them: before, after and beside nobody may have sent any.
 */
#ifndef FAULTLINE_RINGS_H
#define FAULTLINE_RINGS_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/histogram.h"

#define RINGS_MAX	     16384
#define RING_SUBSCRIBERS     4
#define RING_WINDOW_LEAST_NS 50000000ull /* a shorter one has no throughput */

/* What came between two tellings. */
struct ring_window {
	__u64 from_ns, to_ns;
	__u64 frames, bytes; /* delivered */
};

struct ring_sink {
	/* A round of a device is over; of whatever period. */
	void (*round)(void *self, __u32 device, const struct ring_window *window);
	/* Throughput of a device that is to be judged: a round, or the silence between two. */
	void (*judged)(void *self, __u32 device, const struct ring_window *window);
	void *self;
};

struct ring_totals {
	__u64 frames, bytes;				/* delivered */
	__u64 counted;					/* frames lost as the rings' counters say */
	__u64 lost[LOSS_REASONS], all_lost, lost_bytes; /* as the runs say */
	__u64 held, heads, interrupts;
	__u64 held_now, posted;
	__u64 watched_ns; /* between the first and the last telling */
	__u64 least;	  /* throughput, bytes a second; UINT64_MAX: none was to be judged */
	struct histogram
		*hold; /* of runs: from their first frame's arrival to their buffers; NULL: none */
};

struct rings;
struct session;

int rings_create(struct rings **rings, const struct session *session);
struct stream rings_stream(struct rings *rings);
void rings_destroy(struct rings *rings);
/* -ENOSPC beyond RING_SUBSCRIBERS. */
int rings_subscribe(struct rings *rings, struct ring_sink sink);
/* All of its rings; NULL: the device has told of none. */
const struct ring_totals *rings_of_device(const struct rings *rings, __u32 device);
/* Frames that its rings of one side (enum ring_side) delivered. */
__u64 rings_frames_of_side(const struct rings *rings, __u32 device, unsigned int side);
/* Lost frames that its rings have counted and no run told of; whatever the period. */
__u64 rings_untold(const struct rings *rings, __u32 device);
/* Frames that NICs lost, by what runs say. */
__u64 rings_frames_lost(const struct rings *rings);
/* Rings that have told anything. */
__u64 rings_count(const struct rings *rings);
/* Rings that found no room. */
__u64 rings_dropped(const struct rings *rings);
/* Of each device a row of all its rings, then its rings. */
analyzer_write rings_write;

#endif
