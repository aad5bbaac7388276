/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages no device has used for longest, by the accessed bits of the IOPTs: each scan takes the bits of all
 * devices and notes its own number at the pages that had one. Uses by guests' CPUs are not seen, as a host does not see them
 * in I/O page tables. Of a virtual machine's pages one thing is: those that have come since the scan before count as used, too,
 * without which those of CPUs alone would go again and again, and the devices' never.
 */
#ifndef FAULTLINE_IDLE_PAGES_H
#define FAULTLINE_IDLE_PAGES_H

#include <linux/types.h>

struct machine;
struct idle_pages;

#define IDLE_PAGES_MOST 256 /* of one idle_pages_find() */

/* Once the machine's tenants are built. */
int idle_pages_create(struct idle_pages **idle, struct machine *machine);
void idle_pages_destroy(struct idle_pages *idle);

/* By one thread at a time. */
void idle_pages_scan(struct idle_pages *idle);

/*
 * Of `pages` pages of the tenant from `first` on those that are present and that nobody has pinned, `want` at
 * most, the longest idle first: of equals in the order of addresses, from the last that was found the time before. Returns how
 * many. Any thread.
 */
__u32 idle_pages_find(struct idle_pages *idle, __u32 tenant, __u64 first, __u64 pages, __u32 want,
		      __u64 found[IDLE_PAGES_MOST]);

#endif
