// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/process.h"

#include "lib/base/cgroup.h"
#include "lib/base/clock.h"
#include "lib/base/proc.h"
#include "lib/capture/pid_namespace.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static bool read_file(__u32 pid, const char *name, char *text, size_t bytes)
{
	char path[64];
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/%s", proc_root(), pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fread(text, 1, bytes - 1, file);
	fclose(file);
	text[got] = '\0';
	return got > 0;
}

__u64 process_start(__u32 pid)
{
	struct proc_stat stat;

	return proc_stat((pid_t)pid, &stat) ? 0 : stat.start;
}

/* How long the host has been suspended since boot: too much, if we are kept from running, rather than too little. */
static __u64 suspended_ns(void)
{
	__u64 least = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		__u64 before = monotonic_ns(), behind;
		struct timespec boot;

		clock_gettime(CLOCK_BOOTTIME, &boot);
		behind = (__u64)boot.tv_sec * NSEC_PER_SEC + (__u64)boot.tv_nsec - before;
		least = behind < least ? behind : least;
	}
	return least;
}

__u64 process_start_ns(__u64 start)
{
	__u64 since_boot = start * PROCESS_TICK_NS, suspended = suspended_ns();

	return since_boot > suspended ? since_boot - suspended : 0;
}

bool process_runs(__u32 pid, __u64 start)
{
	struct proc_stat stat;

	return !proc_stat((pid_t)pid, &stat) && stat.start == start && start && !stat.ended;
}

void process_describe(__u32 kernel_pid, char comm[16], __u64 *cgroup)
{
	__u32 pid = pid_to_local(kernel_pid);
	char text[PATH_MAX];
	struct stat status;

	if (read_file(pid, "comm", text, 17)) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(comm, 16, "%.15s", text);
	}
	/* The id of a cgroup of version 2 is the inode number of its directory. */
	if (!cgroup_of((pid_t)pid, text, sizeof(text)) && !stat(text, &status))
		*cgroup = status.st_ino;
}
