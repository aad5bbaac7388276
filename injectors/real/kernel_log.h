/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says of unrecoverable DMA faults, read from /dev/kmsg as it says it. */
#ifndef FAULTLINE_REAL_KERNEL_LOG_H
#define FAULTLINE_REAL_KERNEL_LOG_H

#include <linux/types.h>
#include <stdbool.h>

struct kernel_log {
	int fd;
	__u64 faults;	  /* lines with a fault's address */
	__u64 suppressed; /* what the kernel's rate limit says it has left out */
	__u64 newest;	  /* address of the newest fault */
	__u64 overwritten; /* how often lines were gone before they were read: what is counted is a floor */
};

/* From the newest line on. */
int kernel_log_open(struct kernel_log *log);
void kernel_log_close(struct kernel_log *log);
/* Takes in what has been said since. */
int kernel_log_read(struct kernel_log *log);
/* Until a fault of the page at this address is reported; false: not within timeout_ns. */
bool kernel_log_wait(struct kernel_log *log, __u64 address, __u64 timeout_ns);
/* One line's meaning; true if it told of a fault. */
bool kernel_log_line(struct kernel_log *log, const char *line);

#endif
