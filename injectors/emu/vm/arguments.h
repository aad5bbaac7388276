/* SPDX-License-Identifier: GPL-2.0 */
/* What QEMU's arguments say of a guest whose memory is to be evictable: what cannot work is refused before it starts. */
#ifndef FAULTLINE_EMU_VM_ARGUMENTS_H
#define FAULTLINE_EMU_VM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* Of the ids of chardevs to the job's own back-ends; no other vhost-user back-end is accepted. */
#define VM_CHARDEV_PREFIX "faultline-"

struct vm_arguments {
	char name[64]; /* of -name, "" if there is none */
	bool kvm;      /* asked for */
};

/*
 * `arguments`: those behind the program's name. -EINVAL with a sentence that names the argument and what to do: the guest's memory
 * would be of huge pages, private, locked or a file's; or would be reached past the pager: O_DIRECT drives, vfio, the kernel's vhost,
 * other vhost-user back-ends than ours, incoming migration. What a file (-readconfig) or the monitor says the library finds.
 */
int vm_arguments_check(const char *const *arguments, size_t count, struct vm_arguments *said);

/*
 * Of the host: -ENOTSUP with a sentence if shared memory gets huge pages unasked (shmem_enabled), for a hole in one of them is zeroes
 * without a fault.
 */
int vm_host_check(void);

#endif
