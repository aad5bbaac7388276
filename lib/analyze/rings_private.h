/* SPDX-License-Identifier: GPL-2.0 */
/* Inside rings.c and rings_tables.c. */
#ifndef FAULTLINE_RINGS_PRIVATE_H
#define FAULTLINE_RINGS_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/throughput.h"

struct ring_key {
	__u32 device;
	__u16 queue, side;
};

/* What a ring has told, newest first: its event's fields. */
struct ring_told {
	__u64 time_ns, frames, bytes; /* time_ns 0: nothing so far */
	__u32 lost, interrupts;
};

struct ring_account {
	struct ring_key key;
	struct ring_totals totals;
	struct ring_told last;
	struct ring_window window; /* that is not long enough yet */
	struct throughput throughput;
	__u64 round; /* of its device, in which it has told */
	/* Of the whole stream: lost as its counter says, as runs say that began before it last told, and after. */
	__u64 counted, told, told_since;
	UT_hash_handle hh;
};

struct rings_device {
	struct ring_totals totals;
	__u64 rings;
	__u64 round, before_ns, began_ns; /* this round's, and the one's before */
	bool over;			  /* this round is: nobody has told for long */
	struct ring_window sum;		  /* of this round */
	struct ring_window window;
	struct throughput throughput;
};

struct rings {
	const struct session *session;
	struct ring_account *accounts;
	struct slots devices; /* struct rings_device */
	struct ring_sink sinks[RING_SUBSCRIBERS];
	size_t sink_count;
	__u64 dropped;
};

#endif
