/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A contiguous mapping of scattered guest pages, for a driver that takes but one range (HyV, section 4.2, figure 5): made, used
 * while the driver pins, and gone. Pages that follow each other in guest memory become one mapping: each process may have
 * 65,530 of them, and what needs more than there is room for is refused before anything is mapped. Some are left to others
 * (stacks of threads, large allocations).
 *
 * To pin an absent page through it would make an empty one behind the pager's back: the pages have been pinned (pins.h).
 */
#ifndef FAULTLINE_HYV_SCRATCH_H
#define FAULTLINE_HYV_SCRATCH_H

#include <linux/types.h>
#include <stddef.h>

#define SCRATCH_SPARE 512 /* mappings that are left to others */

struct scratch {
	unsigned char *at; /* NULL: there is none */
	__u64 bytes;
	__u32 runs; /* mappings that it took */
};

/*
 * Guest addresses of pages, in the order wanted, of the memory file `memory`. -ENOMEM with a sentence: more runs than mappings are left;
 * of fewer than SCRATCH_SPARE runs they are not counted, which takes as long as there are many: the kernel refuses them, and
 * those made before go. -EINVAL with a sentence: not whole pages within the file.
 */
int scratch_map(struct scratch *scratch, int memory, const __u64 *pages, __u32 count);
void scratch_unmap(struct scratch *scratch);
/* How many runs of adjacent pages. */
__u32 scratch_runs(const __u64 *pages, __u32 count);

#endif
