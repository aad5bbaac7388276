/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory cgroup (version 2) of a run's own for [machine] memory_limit: the machine's process is in it, and the
 * programs of its guests, and nothing else of the host changes. It is a directory below the root of the hierarchy, if
 * the memory controller is there already: to enable it for all would be a change of the host's.
 *
 * Its name has the run's guardian, so that no two runs meet: faultline-PID-START. Whoever is left removes it: the
 * guardian once the machine has ended, the machine if the guardian was killed, and if both were, the next run with a
 * limit or `faultline-inject recover`.
 */
#ifndef FAULTLINE_JOB_MEMORY_GROUP_H
#define FAULTLINE_JOB_MEMORY_GROUP_H

#include <stddef.h>

struct memory_group {
	char directory[256]; /* "": there is none */
	char reason[400];    /* then why */
	char before[256];    /* where the process that entered it was */
};

/* Makes an empty one, or says why none can be made. In the guardian. */
void memory_group_make(struct memory_group *group);
/* The calling process, all of its threads, and the children that it has from now on. Negative errno with a sentence. */
int memory_group_enter(struct memory_group *group);
/* Back to where it was; then the group is removed if nobody else is in it. */
void memory_group_leave(struct memory_group *group);
/* Once its processes have ended, which is waited for a little. */
void memory_group_remove(const struct memory_group *group);
/* Those of dead runs. Returns how many. */
int memory_group_remove_stale(void);

#endif
