/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is mounted where every program looks for it. In a chroot or a mount namespace /sys and /proc may be
 * missing, or be plain folders: what is not found there then says nothing of the kernel.
 */
#ifndef FAULTLINE_MOUNT_H
#define FAULTLINE_MOUNT_H

#include <stdbool.h>

/*
 * Mounts a file system of this type, read-only, in no directory and in no one else's sight: it goes with
 * the descriptor. Returns that or a negative errno, without a sentence.
 */
int mount_unseen(const char *type);

/* Whether /sys is sysfs, or its /sys/kernel is; whether /proc is procfs. */
bool mount_has_sys(void);
bool mount_has_proc(void);
/* "/sys is not mounted", likewise of /proc or of both; NULL: both are. */
const char *mount_lacking(void);
/* The commands that mount what is lacking. */
const char *mount_remedy(void);

#endif
