/* SPDX-License-Identifier: GPL-2.0 */
/* Inside nic.c and nic_tables.c. */
#ifndef FAULTLINE_NIC_PRIVATE_H
#define FAULTLINE_NIC_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/nic.h"
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

struct nic_ring {
	struct ring_key key;
	struct nic_totals totals;
	struct ring_told last;
	struct nic_window window; /* that is not long enough yet */
	struct throughput throughput;
	__u64 round; /* of its device, in which it has told */
	/* Of the whole stream: lost as its counter says, as runs say that began before it last told, and after. */
	__u64 counted, told, told_since;
	UT_hash_handle hh;
};

struct nic_device {
	struct nic_totals totals;
	__u64 rings;
	__u64 round, before_ns, began_ns; /* this round's, and the one's before */
	struct nic_window sum;		  /* of this round */
	struct nic_window window;
	struct throughput throughput;
};

struct nic {
	const struct session *session;
	struct nic_ring *rings;
	struct slots devices; /* struct nic_device */
	struct nic_sink sinks[NIC_SUBSCRIBERS];
	size_t sink_count;
	__u64 dropped;
};

#endif
