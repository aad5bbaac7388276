/* SPDX-License-Identifier: GPL-2.0 */
/* What files of guests share. */
#ifndef FAULTLINE_CLUSTER_GUEST_PRIVATE_H
#define FAULTLINE_CLUSTER_GUEST_PRIVATE_H

#include "injectors/cluster/agent.h"
#include "injectors/cluster/guest.h"
#include "injectors/cluster/memory.h"
#include "lib/base/cluster_step.h"

#define GUEST_CHUNKS 1024u	   /* pieces of host RAM that a region has at most */
#define GUEST_CHUNK  (64ull << 10) /* bytes of one at least */
/* Where the borrower's IOMMU has the two parts: multiples of any window's size, and apart by more than a host has RAM. */
#define GUEST_IO_ADDRESS(region) ((1ull << 36) + (__u64)(region)*GUEST_HIGH)
#define GUEST_LOW_BARS		 0xd0000000ull /* guest-physical, in the hole below 4 GiB */
#define GUEST_HIGH_BARS		 (1ull << 40)

enum guest_region_kind { GUEST_LOW_RAM, GUEST_HIGH_RAM, GUEST_ADDED_RAM, GUEST_REGIONS };

struct guest_shared { /* in shared memory; by its own process where nothing else is said */
	struct guest_results results;
	__u64 bars[FUNCTION_BARS];
	__u32 relayed; /* number of the borrow whose interrupts its lender relays, by the lender */
	/* By the host that it runs on, beside its eventfds. */
	__u32 interrupts[GUEST_VECTORS];
	int eventfds[GUEST_VECTORS];
};
struct guests {
	__u32 count;
	struct mediator *targets; /* target_private.h */
	struct guest_shared guests[];
};
struct guest_shared *guest_of(const struct cluster *cluster, __u32 vm);

struct guest_region {		  /* of the guest's own process */
	__u64 start, bytes;	  /* guest-physical */
	__u64 chunk_bytes;	  /* all but the last */
	__u32 chunks;		  /* that it has */
	__u64 host[GUEST_CHUNKS]; /* addresses in its host's RAM */
	__u8 *view;		  /* as its CPUs see it: contiguous */
	__u64 *used;		  /* bitmap of pages that its kernel has given away */
	__u64 pinned;		  /* bytes from its start on */
	__u64 window;		  /* lender's address of it; 0: none */
};

struct bus_guest {
	struct bus *bus;
	struct guest_shared *guest;
	const struct vm_config *config;
	__u32 vm;
	struct guest_region regions[GUEST_REGIONS];
	__u32 turn; /* allocations so far: they take turns between the regions */
	struct lend_borrow borrow;
	bool borrowed, bus_master, added_given;
	__u32 domain;	 /* of the borrower's IOMMU; 0: none */
	bool own_domain; /* it is ours, not its borrow's */
	__u64 msix[GUEST_VECTORS][2];
	__u32 bar_registers[FUNCTION_BARS];
	int error; /* of a trap, which cannot return one */
};

static inline struct bus_guest *guest_private(const struct bus *bus)
{
	return bus->private;
}

/* bus_guest.c */
extern const struct bus_ops guest_bus_ops;

/* guest_memory.c */
int guest_region_create(struct bus_guest *guest, enum guest_region_kind kind, __u64 start,
			__u64 bytes);
void guest_region_destroy(struct bus_guest *guest, enum guest_region_kind kind);
/* Page of host RAM behind a guest-physical address. -EFAULT: the guest has no memory there. */
int guest_resolve(const struct bus_guest *guest, __u64 address, __u64 *host);
void *guest_pages(struct bus_guest *guest, __u64 bytes, __u64 mask, bool queue);
void guest_pages_free(struct bus_guest *guest, void *memory, __u64 bytes);
/* Guest-physical address of a pointer. -EFAULT: not into its memory. */
int guest_physical(const struct bus_guest *guest, const void *memory, __u64 bytes, __u64 *address);

/* guest_map.c: what Bus Master sets off, and its undoing; before that a domain in which nothing is. */
int guest_domain(struct bus_guest *guest);
int guest_map(struct bus_guest *guest);
void guest_unmap(struct bus_guest *guest);
void guest_step(const struct bus_guest *guest, enum cluster_step step, __u64 address,
		__u64 begin_ns, int error);

#endif
