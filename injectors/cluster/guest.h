/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VMs whose device is on another host (PV section 5): docs/smartio-lending.md, "Guests".
 *
 * A guest's RAM is pages of its host's, scattered; its IOMMUs make it whole again: the borrower's puts the pages into one range, the
 * lender's has it, by a window each for the low and the high part, at the addresses that the guest itself uses.
 */
#ifndef FAULTLINE_CLUSTER_GUEST_H
#define FAULTLINE_CLUSTER_GUEST_H

#include "injectors/cluster/lend.h"

#define GUEST_HIGH (1ull << 32) /* where x86 memory goes on above the hole */
/* Vectors that are relayed: a table's further ones stay masked. INTx is relayed as vector 0. */
#define GUEST_VECTORS 4u

/* bus_guest.c: registers trapped or mapped, addresses as the guest's own, interrupts by eventfd. Nothing is borrowed yet. -EPERM: an
 * IOMMU that it needs is off. */
int bus_guest_open(struct bus *bus, struct cluster *cluster, __u32 vm);
/* Returns the device if the guest has it; RAM, pins, maps and windows as before. */
void bus_guest_close(struct bus *bus);
/* The guest's boot: resets its device, upon which it is borrowed, and gives its BARs addresses. -EBUSY: somebody else's. */
int guest_boot(struct bus *bus);
/* Plugs in what [vm] added= says. */
int guest_memory_added(struct bus *bus);

/* Of a guest, for results; in shared memory, one writer each. */
struct guest_results {
	__u64 pinned_low, pinned_high;		/* bytes now */
	__u64 most_pinned;			/* of both */
	__u64 windows;				/* bytes of the lender's two windows now */
	__u64 added;				/* bytes of memory that its device cannot reach */
	__u64 unmapped;				/* buffers that were given to the device there */
	__u64 interrupts;			/* that reached it */
	__u64 interrupts_late, interrupts_lost; /* injected; by the lender */
	__u64 relay_ns, relay_longest_ns; /* real time, from the lender's handler to the eventfd */
	__u32 borrows;
	__s32 error; /* why it ended */
};
const struct guest_results *guest_results_of(const struct cluster *cluster, __u32 vm);
/* Where the guest has put BAR `bar`, guest-physical: what its lender's IOMMU gives peers of it. 0: nowhere. */
__u64 guest_bar_address(const struct cluster *cluster, __u32 vm, __u32 bar);

/* Of a host's process: threads that handle the interrupts of its functions that guests elsewhere have. */
int guests_start(struct cluster *cluster);
void guests_stop(struct cluster *cluster);

#endif
