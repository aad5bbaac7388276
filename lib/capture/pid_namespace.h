/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two numbers of one process: the kernel's own, which events carry, and the one in the pid namespace
 * in which this program runs, which users, /proc and peers speak of. In the initial namespace, that
 * of the host, they are one; in another (a container) the kernel is asked for the pairs.
 */
#ifndef FAULTLINE_PID_NAMESPACE_H
#define FAULTLINE_PID_NAMESPACE_H

#include <linux/types.h>
#include <stdbool.h>

bool pid_namespace_is_initial(void);

/* 0 with a sentence in failure_text(): there is no such process, or the kernel cannot be asked. */
__u32 pid_to_kernel(__u32 local);
/* 0: the process is not in our namespace, or has gone. */
__u32 pid_to_local(__u32 kernel);

#endif
