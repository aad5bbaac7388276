/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device Lending: a lender's functions, and those who have borrowed them (PV section 4).
 *
 * available -> granted -> mapped -> in use -> returning -> reset -> available; by the lender, in shared memory that outlives it:
 * whoever is dead is cleaned up after by who lives. See docs/smartio-lending.md, "Taking back and dying".
 *
 * Windows, requester entries and domains belong to the process that has made them: who reaps it gives back, with ntb_release() and
 * host_iommu_release(), what it was killed over before it could be recorded. Everything recorded is given back by lend_look().
 */
#ifndef FAULTLINE_CLUSTER_LEND_H
#define FAULTLINE_CLUSTER_LEND_H

#include "injectors/cluster/access.h"
#include "injectors/cluster/bus.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/ntb.h"

enum lend_state {
	LEND_UNREGISTERED,
	LEND_AVAILABLE,
	LEND_GRANTED,
	LEND_MAPPED,
	LEND_RETURNING,
	LEND_RESETTING, /* also: its last borrower still has windows onto it */
	LEND_LOST
};

/* Why a borrow is none any more. */
enum lend_end {
	LEND_END_NONE, /* it lasts */
	LEND_END_RETURNED,
	LEND_END_REVOKED,
	LEND_END_BORROWER_DEAD,
	LEND_END_LENDER_DEAD,
	LEND_END_WIPED,	 /* an adapter on its way has lost its tables */
	LEND_END_FAILED, /* a step before its windows were there */
	LEND_ENDS
};

struct lend_borrow {			  /* one that lasts, or has lasted */
	__u32 number;			  /* never used again in a run, never 0 */
	__u32 function, lender, borrower; /* hosts; equal: a device of one's own, without windows */
	__u32 agent;			  /* who borrows: a host's own, a guest, a manager */
	bool shared;			  /* open to others afterwards (share.h) */
	bool guest;			  /* without a DMA and an MSI window of ours (guest.h) */
	__u64 bars[FUNCTION_BARS];	  /* on the borrower's bus; 0: there is none */
	__u64 dma_device, dma_far,
		dma_bytes; /* the window: for the device, on the borrower's side, its size */
	__u64 msi_device;  /* what the device writes to, for the borrower's MSI_ADDRESS of it */
	__u32 lender_domain, borrower_domain;	/* 0: none */
	__u32 lender_adapter, borrower_adapter; /* nodes */
};

/* Lender, as its host begins and ends. Begun anew it takes back what its former life has lent. -EALREADY: it has. */
int lend_register(struct cluster *cluster, __u32 function);
void lend_unregister(struct cluster *cluster, __u32 function);
enum lend_state lend_state(const struct cluster *cluster, __u32 function);

/* Borrower: everything from the request to the mapped windows; nothing is left of it on failure. -EBUSY: somebody else's. */
struct lend_wish {
	__u32 function;
	__u32 adapters
		[2];  /* of the borrower and the lender; CLUSTER_NONE: those of the shortest way */
	__u64 window; /* a multiple of a page */
	bool shared;
	/* A guest's: no DMA window of ours; guest.c maps its own two. */
	bool guest;
};
int lend_borrow(struct cluster *cluster, const struct lend_wish *wish, struct lend_borrow *borrow);
/* Its own side is gone whatever it returns; an error is that of the message to the lender, who then finds out by itself. */
int lend_return(struct cluster *cluster, struct lend_borrow *borrow);
/* Still ours? -ENODEV, -EHOSTDOWN (its lender is dead) with the reason as a sentence; also once the way to it was down for dead_ns. */
int lend_check(const struct cluster *cluster, const struct lend_borrow *borrow);
/* The same at the price of a load: nobody has ended it yet. */
bool lend_lasts(const struct cluster *cluster, __u32 number);
/* Its lender wants it back (lend_revoke()): who uses it had better return it. */
bool lend_asked_back(const struct cluster *cluster, __u32 number);
enum lend_end lend_end_of(const struct cluster *cluster, __u32 number);
/* Lender's own window onto an address of a host on behalf of a borrow (a guest's RAM, a segment, a peer), by message. Lasts as long as the
 * borrow unless it is dropped. Where the lender has an IOMMU its address is the same in the function's domain. */
int lend_window(struct cluster *cluster, struct lend_borrow *borrow, enum window_kind kind,
		__u32 far_host, __u64 far, __u64 bytes, __u64 *device_address);
int lend_window_drop(struct cluster *cluster, const struct lend_borrow *borrow,
		     __u64 device_address);

/* bus_lent.c: the shadow device. `own` adds: maps by offset in the window and the borrower's IOMMU, which costs no message. */
int bus_lent_open(struct bus *bus, struct cluster *cluster, struct lend_borrow *borrow);
void bus_lent_close(struct bus *bus);

/*
 * Of a host's process: looks after its lent functions and borrows when others die or links go; every so often and at each event.
 * Sends no message that it would have to wait for. Of who has begun all (cluster->host CLUSTER_NONE): after those of dead hosts.
 */
void lend_look(struct cluster *cluster);
/*
 * Injection and administrator, on the lender: forced take-back, after grace_ns in which the borrower may return it. Returns at once;
 * lend_look() does the rest. -ENOENT: it is not lent.
 */
int lend_revoke(struct cluster *cluster, __u32 function, __u64 grace_ns);

/* Of a borrow's life so far: what crosses to its lender, and what does not. */
struct lend_counts {
	__u64 messages;		 /* of the borrower to the lender on its behalf */
	__u64 lender_windows;	 /* that the lender has mapped for it */
	__u64 maps, unmaps;	 /* by its driver's DMA API */
	__u64 bytes, bytes_most; /* charged to its window now, page-rounded, and at most */
	__u64 early;		 /* unmapped while the device still had them (unmap_in_flight) */
	__u64 refused;		 /* maps, as its window was full */
	__u64 intx_masked;	 /* legacy interrupts that went nowhere */
	__u64 borrow_ns;	 /* from the request to the mapped windows */
};
/* False: there was no such borrow. */
bool lend_counts_of(const struct cluster *cluster, __u32 number, struct lend_counts *counts);
/* Borrows of which something is still mapped; 0 after a run. */
__u32 lends_left(const struct cluster *cluster);

/* Of a [borrow] section, for results; in shared memory, one writer. */
struct borrow_results {
	__u32 tries, borrows, refused; /* refused: -EBUSY and the like */
	__u32 returned, revoked, lost; /* lost: lender dead, tables gone */
	__u32 last;		       /* number of its last borrow, 0: it has had none */
	__s32 error;		       /* of its driver's last run, or of its last refusal */
	char text[256];		       /* sentence of its last refusal, or of what ended it */
	__u64 borrow_ns;	       /* the last one's */
	bool over;		       /* it asks no more */
	bool failed; /* its device was lost before it was done, and it tries no more */
};
const struct borrow_results *borrow_results_of(const struct cluster *cluster, __u32 borrow);

/* Runs a host's [borrow] sections: a thread each. */
int borrows_start(struct cluster *cluster);
void borrows_stop(struct cluster *cluster);

#endif
