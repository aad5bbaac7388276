/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pins that are the kernel's: registered buffers of an io_uring, one ring a pinner. The pages stay where they are, counted in
 * VmPin of the process that pinned them (once for each pin), until they are unpinned or the ring is closed. Needs no memlock of root.
 *
 * Exact for pages of 4 KiB: of a huge page VmPin counts all, however little of it is pinned. Memory of guests has none.
 * What is pinned and absent is faulted in, as by a write of the calling thread: with a userfaultfd who serves it must be another.
 */
#ifndef FAULTLINE_KERNEL_PINS_H
#define FAULTLINE_KERNEL_PINS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* The kernel's, of one ring; a pin takes one for each GiB that it begins. */
#define PINNER_SLOTS (1u << 14)

struct pinner;

/* -EPERM with a sentence: io_uring is off (kernel.io_uring_disabled, or a seccomp filter), exit status 4; -ENOMEM, -EMFILE. */
int pinner_create(struct pinner **pinner);
/* All its pins have ended when it returns. NULL: nothing. */
void pinner_destroy(struct pinner *pinner);
/* Pins the whole pages that a range of this process lies in, of any length; *pin: to unpin it by. -ENOMEM with a sentence:
 * RLIMIT_MEMLOCK, or no memory; -ENOSPC: too many; -EFAULT: not mapped, or not writable. All or none. Any thread. */
int pinner_pin(struct pinner *pinner, void *address, __u64 bytes, __u32 *pin);
/* Returns once the kernel counts it no more, if it counts. -EINVAL: there is no such pin. */
int pinner_unpin(struct pinner *pinner, __u32 pin);
/* Bytes pinned now, whole pages. */
__u64 pinner_bytes(const struct pinner *pinner);
/* Whether VmPin tells of pins of this process: not where the kernel leaves out who has CAP_IPC_LOCK, and RLIMIT_MEMLOCK, which holds
 * without it, cannot be lifted. Tried once, at the first question or pinner. */
bool pins_are_counted(void);
/* What the kernel says: bytes, of /proc/PID/status VmPin; 0: self. -errno if it cannot be read (-ESRCH: it has ended). */
__s64 pinned_by_kernel(pid_t pid);

#endif
