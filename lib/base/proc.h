/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where to read of processes by their numbers in our own pid namespace. What is mounted at /proc may be
 * of another one (`unshare --pid --fork` without --mount-proc), where the same number is another process.
 */
#ifndef FAULTLINE_PROC_H
#define FAULTLINE_PROC_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* "/proc", else a mount of our own that nobody else sees; without either a path that leads nowhere. */
const char *proc_root(void);
/* After a child has closed what it did not open: its next look has a mount of its own. */
void proc_forget(void);
/* Whether /proc is mounted, and leads somewhere; the sentence if not. */
bool proc_is_ours(void);
/* Whether /proc itself is of another namespace, mount of our own or not. */
bool proc_is_foreign(void);

struct proc_stat {
	pid_t parent;
	__u64 start; /* clock ticks since boot: tells a process from a later one of its number */
	bool ended;  /* it only waits to be reaped; not while any of its threads lives */
};

/* What /proc/PID/stat says. Returns 0 or a negative errno, without a sentence. */
int proc_stat(pid_t pid, struct proc_stat *stat);
/* Of ourselves, which any /proc tells. */
int proc_stat_own(struct proc_stat *stat);

#endif
