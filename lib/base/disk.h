/* SPDX-License-Identifier: GPL-2.0 */
/* Who else uses a disk: loop devices, down to the file or device that one is made of, and up again. */
#ifndef FAULTLINE_DISK_H
#define FAULTLINE_DISK_H

#include <sys/stat.h>

/*
 * What is written would be changed behind the back of others that are made of the same: `status` of a file
 * or block device that this process has opened. -EBUSY with a sentence that begins with `path` if a loop
 * device is made of it, if another one is made of what it is made of, or if that is mounted or claimed.
 */
int disk_refuse_shared(const struct stat *status, const char *path);

#endif
