/* SPDX-License-Identifier: GPL-2.0 */
/* Where cgroups of version 2 are, and a process's own. */
#ifndef FAULTLINE_CGROUP_H
#define FAULTLINE_CGROUP_H

#include <stddef.h>
#include <sys/types.h>

/* Where version 2 is mounted: by itself, or beside version 1. NULL: it is not where it is expected. */
const char *cgroup_root(void);

/*
 * The directory of the cgroup that a process of our pid namespace is in. Returns 0, -ENOENT (nothing is mounted, no such
 * process, or it is in none) or -ENAMETOOLONG, without a sentence; "" then.
 */
int cgroup_of(pid_t pid, char *directory, size_t size);

#endif
