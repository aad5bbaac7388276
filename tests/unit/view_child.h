/* SPDX-License-Identifier: GPL-2.0 */
/* A process that has a tenant's memory mapped and says so by its userfaultfd, as guests do. */
#ifndef FAULTLINE_TEST_VIEW_CHILD_H
#define FAULTLINE_TEST_VIEW_CHILD_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct guest_memory;

struct view_child {
	pid_t pid;
	int faults; /* its userfaultfd, this process's descriptor of it */
	__u64 base;
	int go; /* a byte lets it run */
};

struct view_child_config {
	int memory; /* the file */
	__u64 bytes;
	bool nobody; /* a user without rights, by /dev/userfaultfd */
	void (*run)(unsigned char *view, void *argument);
	void *argument;
};

/* Maps `memory` and registers it, in this process; features 0: those that a view needs. */
unsigned char *view_open(int memory, __u64 bytes, int *faults, __u64 features, __u64 mode);
void view_child_start(struct view_child *child, const struct view_child_config *config);
void view_child_run(const struct view_child *child);
/* As of waitpid(). */
int view_child_end(struct view_child *child, bool killed);
/* A frame's number by a process's pagemap, 0: none; pid 0: this one. */
__u64 frame_of(pid_t pid, const void *address);

#endif
