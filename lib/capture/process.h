/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc says of a process. */
#ifndef FAULTLINE_PROCESS_H
#define FAULTLINE_PROCESS_H

#include <linux/types.h>
#include <stdbool.h>

#define PROCESS_TICK_NS 10000000ull /* one clock tick of /proc/PID/stat: USER_HZ is 100 */

/* Start time in clock ticks since boot (field 22 of stat), 0 if there is no such process. */
__u64 process_start(__u32 pid);
/* The same at CLOCK_MONOTONIC, which stands still while the host is suspended. */
__u64 process_start_ns(__u64 start);
/* Whether the process that started then still runs; one that only waits to be reaped does not. */
bool process_runs(__u32 pid, __u64 start);
/* Name and cgroup v2 id as of now; left alone what cannot be read. */
void process_describe(__u32 pid, char comm[16], __u64 *cgroup);

#endif
