/* SPDX-License-Identifier: GPL-2.0 */
/* What the memory tests need of the kernel: its own count of CPU page faults, a file system that is
 * soon full. */
#ifndef FAULTLINE_TEST_CPU_FAULTS_H
#define FAULTLINE_TEST_CPU_FAULTS_H

#include <linux/types.h>

/* Counts exceptions:page_fault_user of the calling thread. */
struct cpu_faults {
	int event;
};

/* Negative errno with a sentence where the host has no tracefs or no rights are given. */
int cpu_faults_open(struct cpu_faults *faults);
void cpu_faults_start(struct cpu_faults *faults);
__u64 cpu_faults_stop(struct cpu_faults *faults);
void cpu_faults_close(struct cpu_faults *faults);

int tiny_filesystem_mount(const char *directory, const char *size);
void tiny_filesystem_unmount(const char *directory);

#endif
