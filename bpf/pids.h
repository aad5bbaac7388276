/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf/pids.bpf.c returns for a process. */
#ifndef FAULTLINE_PIDS_H
#define FAULTLINE_PIDS_H

#include <linux/types.h>

struct pid_pair {
	__u32 kernel; /* in the initial pid namespace */
	__u32 local;  /* in the reader's */
};

#endif
