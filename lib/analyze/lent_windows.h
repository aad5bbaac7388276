/* SPDX-License-Identifier: GPL-2.0 */
/* Windows: the tables of NTB adapters, and the DMA windows of borrows, as their gauges tell them. */
#ifndef FAULTLINE_LENT_WINDOWS_H
#define FAULTLINE_LENT_WINDOWS_H

#include "lib/analyze/analyzer.h"

#define WINDOWS_MAX 65536

struct window_totals {
	__u32 device, run, borrow; /* borrow LENT_NONE: an adapter's tables */
	__u64 told_ns;		   /* last; 0: its gauges were not */
	/* An adapter's. */
	__u32 slots, slots_used, slots_most;
	__u32 requesters, requesters_used;
	__u64 mapped_bytes;		    /* of windows, now */
	__u64 bytes, lost_writes, all_ones; /* passed, vanished */
	__u64 maps, unmaps, adds, removes;  /* of windows, of requester entries */
	__u64 downs, wipes;
	/* A borrow's. */
	__u64 charged, charged_most, window_bytes;
	__u32 known; /* lent_known() */
};

struct lent_windows;
/* Events that found no room: numbers are floors. */
__u64 lent_windows_dropped(const struct lent_windows *windows);
/* Of a device in a borrower's machine, by its newest borrow; NULL: nothing was told. */
const struct window_totals *window_of_device(const struct lent_windows *windows, __u32 device);

#endif
