/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device in the process of its guest: the hello (hyv_layout.h), the guest's memory, and the handle by which verbs_control.h and
 * verbs_data.h work on it. What is in injectors/guest/ runs in guests alone, and in the preloaded library: it knows nothing of
 * the machine.
 */
#ifndef FAULTLINE_GUEST_OPEN_H
#define FAULTLINE_GUEST_OPEN_H

#include <sys/types.h>

#include "injectors/emu/verbs/verbs_data.h"

struct hyv_hello;

/* Says hello at a socket, which is the handle's from now on, also on failure. -EPIPE: the host has gone; -EPROTO, -ENOMEM; errors have a sentence. */
int guest_open(struct verbs_device **device, int socket);
const struct hyv_hello *guest_hello(const struct verbs_device *device);
void guest_close(struct verbs_device *device);

/*
 * Memory of the guest's for a program's use: page aligned, zeroed, contiguous in guest memory and in this process.
 * NULL: there is none left. Any thread.
 */
void *guest_allocate(struct verbs_device *device, __u64 bytes, __u64 *guest_address);
void guest_free(struct verbs_device *device, void *memory, __u64 bytes);
/* Bytes that guest_allocate() has to give, in all and now. */
void guest_room(struct verbs_device *device, __u64 *all, __u64 *free);

/* Becomes readable, or hangs up, when the host has gone. Nobody reads from it. */
int guest_end_descriptor(const struct verbs_device *device);
/* Can be read once verbs_get_failure() may have something that it had not before; by who then asks for all of that. */
int guest_alarm_descriptor(const struct verbs_device *device);
/* As the device has counted: kicks and injections of control, injections of events, forwarded posts. */
struct guest_exit_counts {
	__u64 kicks, injections, event_injections, forwarded_posts;
};
void guest_exits_counted(const struct verbs_device *device, struct guest_exit_counts *exits);

/*
 * A region of memory that this process has anywhere: the guest's, or private anonymous memory (heap, stack), each page of which
 * becomes a page of the guest's for as long as it is in a region, and the program's own again afterwards. Both happen where
 * it lies: whoever writes meanwhile, a system call included, waits and loses nothing.
 *
 * Memory that is not the guest's is there for the program only while it is pinned: the host may not take away what it does not know
 * that somebody sees. So its regions are VERBS_PINNED, in mode odp, too.
 */
struct guest_mr {
	struct verbs_mr mr;
	void *address;
	__u64 bytes;
	bool adopted;
	__u64 *list; /* of one that is, the guest addresses of its pages */
};
/*
 * `iova`: what work requests give for its first byte, of the same place within a page. As verbs_reg_range(); besides -EFAULT with a
 * sentence: not mapped, not writable, or shared with other processes or a file. All or nothing.
 */
int guest_reg_mr(struct verbs_device *device, struct guest_mr *region, __u32 domain, void *address,
		 __u64 bytes, __u64 iova, enum verbs_region kind, unsigned int rights);
/*
 * Returns once no DMA uses it. Memory that the program has unmapped since, or where it has mapped other, is left alone; what it has moved is its own
 * again where it is now. -EPIPE, besides: this is a child of the process that registered.
 */
int guest_dereg_mr(struct verbs_device *device, struct guest_mr *region);

/*
 * fork() for programs whose stack may be in a region, which parent and child would write both: on another one. A child has memory of its own
 * where its parent's regions are, with what they held when the parent called; this process goes on once it has. pthread_atfork() sees to
 * that for any fork().
 */
pid_t guest_fork(pid_t (*real)(void));

#endif
