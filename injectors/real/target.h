/* SPDX-License-Identifier: GPL-2.0 */
/* A process to be disturbed: the one that was meant, and no successor under the same number. */
#ifndef FAULTLINE_REAL_TARGET_H
#define FAULTLINE_REAL_TARGET_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "injectors/real/verb.h"

struct target {
	pid_t pid;
	__u64 start; /* clock ticks since boot */
	int pidfd;
	char name[16];
	bool ours; /* an emulated machine, or started by faultline or faultline-inject */
};

/*
 * Opens the process and checks that it is still the one that was looked at. What is not ours needs
 * consent by its pid, or by `device` if that is how it was found (NULL: it was not). -ESRCH: there
 * is none; -EPERM: consent or privilege is missing; -EINVAL: it has no memory of its own.
 */
int target_open(struct target *target, pid_t pid, const char *device,
		const struct verb_options *options);
void target_close(struct target *target);
bool target_alive(const struct target *target);

/*
 * Processes that hold a device: those with the character device file `device` (a path) open, such
 * as /dev/vfio/12 or /dev/infiniband/uverbs0; or, without a slash in front, the emulated machine
 * that has a device of this name ("tenant/device"). Which of a process's memory the device may use
 * is not told by this. Returns their number, at most `most`; -ENOENT with a sentence for none.
 */
int target_holders(const char *device, pid_t *pids, size_t most);

#endif
