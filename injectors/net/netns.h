/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work within a network namespace: of a thread that enters it and ends, so that no other thread of this
 * process ever leaves its own. There a thread finds the namespace's settings in /proc/sys/net and its counters
 * in /proc/thread-self/net (/proc/net is the main thread's).
 */
#ifndef FAULTLINE_NET_NETNS_H
#define FAULTLINE_NET_NETNS_H

#include <linux/types.h>

#define NETNS_NEW (-1) /* instead of a descriptor: a new namespace, which ends with its last user */

/*
 * Runs `body` in the namespace `netns` and waits for it. Returns what it returned, its sentence with it, or a
 * negative errno with a sentence if the namespace could not be entered.
 */
int netns_run(int netns, int (*body)(void *argument), void *argument);

/* Of the calling thread's namespace: a descriptor (O_CLOEXEC) that keeps it, or a negative errno. */
int netns_open_own(void);

/* What tells the namespace of such a descriptor from others ("net:[INODE]"); 0 if it is none. */
__u64 netns_inode(int netns);

#endif
