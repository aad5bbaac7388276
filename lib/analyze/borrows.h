/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Borrows of lent devices: from the request to how it ended, by the steps that both hosts tell.
 *
 * A borrow's number is its run's own, and runs are told apart by a number drawn for each. A request has none yet: it is the
 * first step of the next borrow of its device and host.
 */
#ifndef FAULTLINE_BORROWS_H
#define FAULTLINE_BORROWS_H

#include "lib/analyze/analyzer.h"

#define BORROWS_MAX 65536

enum borrow_end {
	BORROW_LASTS,
	BORROW_RETURNED,
	BORROW_REVOKED,
	BORROW_BORROWER_DEAD,
	BORROW_LENDER_DEAD,
	BORROW_DENIED,
	BORROW_FAILED, /* a step of it did, before anybody could use the device */
	BORROW_ENDS,
};

struct borrow_totals {
	__u32 run, number;
	__u32 borrower, lender; /* devices as either has it; DEVICE_NONE: that host told nothing */
	__u64 begin_ns, ready_ns, end_ns; /* 0: not seen */
	__u8 reached;			  /* enum cluster_step: the last before it ended */
	__u8 end;			  /* enum borrow_end */
	__u32 error;			  /* errno of a failed step, 0: none has */
	__u64 maps, unmaps, mapped_bytes, unmapped_bytes;
	__u32 known; /* lent_known() */
};

struct borrows;
size_t borrows_count(const struct borrows *borrows);
/* Steps and maps that found no room: numbers are floors. */
__u64 borrows_dropped(const struct borrows *borrows);
/* Of a device in a borrower's machine: the one that lasts now; NULL: none does. */
const struct borrow_totals *borrow_of_device(const struct borrows *borrows, __u32 device);

#endif
