/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest pages that a device keeps: the host pins them while a device may use them without asking, as VFIO does
 * with all of a guest's memory and NPF's baseline with its rings and buffers. A page may be pinned by many.
 *
 * With [machine] memory_limit what all tenants pin is limited (memory_limit.h), and -ENOMEM with both numbers beyond.
 *
 * An eviction and the reclaimer pass over a pinned page and count it, and it is locked (mlock). Both a pin and an eviction hold the
 * page's eviction lock from their first look to their last step: none comes in between the other's.
 *
 * A tenant may have a limit, its memlock. It is held against what was pinned by each machine_pin(), whole pages, as the kernel's
 * RLIMIT_MEMLOCK is against pinned_vm: a page that is pinned twice counts twice.
 */
#ifndef FAULTLINE_PINS_H
#define FAULTLINE_PINS_H

#include <linux/types.h>
#include <stdbool.h>

struct machine;
struct pins; /* a tenant's account */

/*
 * Pins the pages of a range of the device's tenant; they are present, in the IOPT and known to the device's lookup
 * when it returns, as after a fault of each (`write`: by a write). All or none. -EFAULT with a sentence for what the
 * device could not fault in, -ENOMEM with one that has both numbers: the tenant's memlock does not allow so much, nothing was
 * brought in; else as the page's resolve failed. Any thread that holds no DMA.
 */
int machine_pin(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes,
		bool write);
/* Once for each pin of the range. They stay as they are until they are evicted. -EINVAL: one is not pinned. */
int machine_unpin(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes);

/* Brings the pages in and makes them known to the device as a pin does, and keeps none: what ibv_advise_mr() asks for. Errors
 * as a pin's but for the limit; those before the page that fails stay. */
int machine_advise(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes,
		   bool write);

/* `pages` of memory, `limit`: bytes that may be pinned, 0: no limit. */
int pins_create(struct pins **pins, __u64 pages, __u64 limit);
void pins_destroy(struct pins *pins);
/* With the page's eviction lock. If it is pinned, the eviction that asks is counted as skipped. */
bool pins_skip(struct pins *pins, __u64 page);
/* Whether it is pinned just now, without the lock: for who looks for pages that may go. */
bool pins_hold(struct pins *pins, __u64 page);

struct pins_stats {
	__u64 pinned;  /* pages now */
	__u64 most;    /* of them at once */
	__u64 skipped; /* evictions that met a pinned page */
	/* Bytes, a page as often as it is pinned: what the limit is held against. */
	__u64 limit; /* 0: none */
	__u64 locked, locked_most;
	__u64 refused;	      /* pins that it did not allow, and ... */
	__u64 refused_locked; /* ... what the last of them would have made `locked` */
};
void pins_stats(const struct pins *pins, struct pins_stats *stats);

#endif
