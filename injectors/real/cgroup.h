/* SPDX-License-Identifier: GPL-2.0 */
/* Reclaim of a cgroup (v2: memory.reclaim), which takes from all of its processes. */
#ifndef FAULTLINE_REAL_CGROUP_H
#define FAULTLINE_REAL_CGROUP_H

#include "injectors/real/target.h"

/*
 * Opens memory.reclaim of `directory`, or of the target's own cgroup if that is NULL, and leaves
 * the directory's name in `name`. Other processes in it, or below it, need consent to the directory.
 */
int cgroup_open_reclaim(const char *directory, const struct target *target,
			const struct verb_options *options, int *descriptor, char *name,
			size_t size);

#endif
