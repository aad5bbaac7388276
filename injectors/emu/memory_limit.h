/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A limit on the host memory of all guests together: what overcommitted tenants share (NPF 6.2, table 5 and figure 7).
 *
 * What counts is what the kernel says: the frames that the guests' memory holds, mapped or not; in a memory cgroup
 * (job/memory_group.h) also what the guests' programs hold, but neither the machine's own heap nor the page cache of
 * files, which the kernel takes back itself.
 * A thread keeps that below the limit: like the kernel's kswapd it is woken some way below it, and evicts to the
 * pager's file or to swap, in the safe order (machine_private.h), what has not been used for longest
 * (page_clock.h). A guest that takes pages faster than they leave waits for them, as with memory.high; where all
 * is pinned or in use the limit is exceeded by a few pages rather than that anything hangs or is killed.
 *
 * Pinned pages never leave. So they have a limit of their own, a sixteenth below: what is pinned beyond is
 * refused, as RLIMIT_MEMLOCK or a hypervisor's admission would.
 */
#ifndef FAULTLINE_MEMORY_LIMIT_H
#define FAULTLINE_MEMORY_LIMIT_H

#include <linux/types.h>
#include <stdbool.h>

struct machine;
struct memory_limit;

/* Bytes. Less is not enough for the rings and buffers of one device. */
#define MEMORY_LIMIT_LEAST (2ull << 20)

/* Of the machine's memory_limit and memory_group; before its tenants are built. No limit: *limit is NULL. */
int memory_limit_create(struct memory_limit **limit, struct machine *machine);
void memory_limit_destroy(struct memory_limit *limit);
int memory_limit_start(struct memory_limit *limit);
void memory_limit_stop(struct memory_limit *limit);

/* Called by a pager before it brings a page: waits while the limit is reached, until the reclaimer
 * has looked for more in vain, 100 ms at most. `argument` is the limit. */
void memory_limit_wait_room(void *argument);

/* Takes a page of what may be pinned, or returns false. NULL: there is no limit. */
bool memory_limit_pin(struct memory_limit *limit);
void memory_limit_unpin(struct memory_limit *limit);
/* Bytes that still may be pinned. */
__u64 memory_limit_left(const struct memory_limit *limit);

struct memory_limit_stats {
	__u64 limit;	    /* bytes; 0: none, and all else is 0 */
	__u64 present;	    /* bytes of frames that the guests held when the machine stopped */
	__u64 present_most; /* the most that was seen, at each look of the reclaimer */
	__u64 pinnable;	    /* bytes that could be pinned at most */
	__u64 reclaimed;    /* pages that it evicted */
	__u64 looked_at;    /* pages that it looked at for that */
	__u64 waits;	    /* times that a pager had to wait for room */
	bool in_group;	    /* a memory cgroup holds the machine, too */
};
void memory_limit_stats(const struct memory_limit *limit, struct memory_limit_stats *stats);

#endif
