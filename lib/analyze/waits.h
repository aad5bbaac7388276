/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits of queue pairs: for a peer that was not ready (RNR), for pages of their own, for an acknowledgement.
 *
 * What belongs to a wait says its token, on both devices: the NAK and the fault that it was sent for, the packets that were
 * dropped and those that were sent again. Nothing is tied by time. A token is its machine's: another one may have the same.
 *
 * A wait is told once somebody waited: of a NAK that nobody is known to have heeded, there is none. What belongs
 * to it may be told up to WAIT_LINGER_NS after it is over.
 */
#ifndef FAULTLINE_WAITS_H
#define FAULTLINE_WAITS_H

#include "lib/analyze/blame.h"

#define WAITS_KEPT     10000 /* the longest; further ones are counted only */
#define WAITS_AT_ONCE  65536
#define WAIT_LINGER_NS 1000000000ull

struct wait_key {
	__u64 token;
	__u64 machine; /* inside waits.c */
};

struct wait {
	struct wait_key key;
	__u64 from_ns, to_ns;  /* to_ns 0: it is open; from_ns 0: nobody waits */
	__u64 timer_ns;	       /* of RNR */
	__u64 dropped, resent; /* packets */
	__u32 device, pair;    /* that waits; DEVICE_NONE: not known */
	__u32 peer, peer_pair; /* that sent the NAK, likewise */
	struct blamed blamed;  /* at the peer of RNR, else its own */
	__u8 kind;	       /* enum rdma_wait */
	__u8 side;	       /* enum rdma_side, where the page is absent; RDMA_SIDES: not known */
	__u8 status;	       /* enum verbs_status of the error that it ended with, 0: none */
	bool ended;	       /* with its pair or its device: it did not go on */
	bool nothing_posted;   /* the NAK was sent for want of a receive, not of a page */
	__u64 stamp_ns;	       /* lingers since then */
	struct wait *older, *newer; /* of those that linger */
	__u64 serial;
	UT_hash_handle hh;
};

struct waits;
struct session;
struct faults;
struct sentence;

int waits_create(struct waits **waits, const struct session *session, struct faults *faults);
struct stream waits_stream(struct waits *waits);
void waits_destroy(struct waits *waits);

/* Of the period, those that are open included. */
__u64 waits_count(const struct waits *waits);
/* NAKs of the period that nobody is known to have waited for. */
__u64 waits_unheeded(const struct waits *waits);
/* How often a bounded table was full: then counts are floors. */
__u64 waits_dropped(const struct waits *waits);
/* The kept ones and the open ones of the period, longest first; NULL without memory. The caller frees it. */
const struct wait **waits_longest(const struct waits *waits, __u64 now_ns, size_t *count);

static inline __u64 wait_ns(const struct wait *wait, __u64 now_ns)
{
	__u64 to = wait->to_ns ? wait->to_ns : now_ns;

	return to > wait->from_ns ? to - wait->from_ns : 0;
}

/* "QP 17 of vm0/hca waited 660 us: RNR (timer 640 us) for 1 fault of 310 us at vm1/hca; 14 packets dropped, 14 sent
 * again" */
void wait_tell(const struct wait *wait, const struct session *session, struct sentence *words);
analyzer_write waits_write;

#endif
