/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other processes that have a tenant's memory file mapped (backend pager): guests in a process of their own.
 *
 * A view is served by a thread of the machine: who touches an absent page there waits until the page is back, as the guest's CPUs
 * of this process do. Major evictions protect a page in every view from writes before they copy it, and take it from each. A view whose
 * process has ended is gone by itself, and costs nothing until it is removed.
 *
 * Minor evictions leave a view's mapping: the kernel has no call by which a process drops another's. Nor does who looks for idle pages
 * (guest_memory_look(), guest_memory_unmap()) see what is touched through a view alone.
 *
 * The process maps the whole file once, MAP_SHARED and MADV_DONTFORK, and what it maps of it elsewhere is not served: an absent page
 * reads as zeros there, and what is written there is lost if the page is evicted at that instant. Only pinned pages may be.
 * It may keep its userfaultfd, to register what it maps anew in the view (an overlay's end): before the page is unpinned. When
 * the last descriptor is closed, the machine's by its end, all who wait go on; who kept one closes it once the host is gone.
 */
#ifndef FAULTLINE_MEMORY_VIEWS_H
#define FAULTLINE_MEMORY_VIEWS_H

#include <linux/types.h>

struct guest_memory;
struct memory_view;

/* The file; to be handed to the process. Its length is sealed. -1 with backend swap. */
int guest_memory_file(const struct guest_memory *memory);
__u64 guest_memory_bytes(const struct guest_memory *memory);
/*
 * `faults`: the process's userfaultfd, in which [base, base + bytes of the memory) is registered for missing pages and
 * write-protect; the view's from now on, also on failure. It may be userfaultfd(2)'s or USERFAULTFD_IOC_NEW's of
 * /dev/userfaultfd, with no features but those for shared memory and write-protect, THREAD_ID and EXACT_ADDRESS. -EINVAL with a
 * sentence: it is not such a descriptor, or the range is not registered. -ENOMEM, -EAGAIN: no thread.
 */
int memory_view_add(struct memory_view **view, struct guest_memory *memory, int faults, __u64 base);
/* Likewise of a process that has mapped a part of the file, whole pages from `start` on, as memory that is plugged into a virtual machine. */
struct memory_part {
	__u64 base; /* in the process */
	__u64 start, bytes;
};
int memory_view_add_part(struct memory_view **view, struct guest_memory *memory, int faults,
			 const struct memory_part *part);
/*
 * Which of the memory a process with a view has at `address` of its own: what a virtual machine says of memory that was plugged in is an
 * offset from the beginning of its part, not of the file's. -ENOENT: none, or not all of the bytes. Any thread.
 */
int guest_memory_of_view(struct guest_memory *memory, __u64 address, __u64 bytes,
			 __u64 *guest_address);
/*
 * Waits for who serves it, and before the memory is destroyed. What waits in it is let go (its process is to end): absent pages
 * read as zeros there from now on. NULL: nothing.
 */
void memory_view_remove(struct memory_view *view);

/*
 * Host-owned pages under guest addresses (HyV, bottom-up mapping): this process's views of [guest_address, + bytes) become those of
 * `file` at `offset`, at once for all who look later. The pages have been pinned (pins.h) and stay so until the guest's own are
 * put back, whose content is as it was. The guest's own process maps the same by itself.
 *
 * -EINVAL with a sentence: not whole pages of the memory, or a page that no pin has brought; -EBUSY: one is under an overlay already.
 * All or none. An eviction of such a page is refused (-EBUSY). The end may be of a part; -EINVAL: a page is under none.
 */
int guest_memory_overlay(struct guest_memory *memory, __u64 guest_address, __u64 bytes, int file,
			 __u64 offset);
int guest_memory_overlay_end(struct guest_memory *memory, __u64 guest_address, __u64 bytes);

#endif
