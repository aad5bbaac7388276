// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/process.h"

#include "lib/base/proc.h"
#include "lib/capture/pid_namespace.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Fields of /proc/PID/stat, as proc(5) counts them; the name is the second. */
enum { STAT_THREADS = 20, STAT_START = 22 };

/* The start, 0 if there is no such process; whether it has ended and only waits to be reaped. */
static __u64 read_stat(__u32 pid, bool *ended)
{
	unsigned long threads = 0;
	char text[1024], *at;

	*ended = true;
	if (!read_file(pid, "stat", text, sizeof(text)))
		return 0;
	at = strrchr(text, ')'); /* the name in parentheses may hold anything */
	if (at && at[1])
		*ended = at[2] == 'Z' || at[2] == 'X';
	for (int field = 3; at && field <= STAT_START; field++) {
		at = strchr(at + 1, ' ');
		if (at && field == STAT_THREADS)
			threads = strtoul(at, NULL, 10);
	}
	/* The state is the first thread's, and others may live longer. */
	*ended = *ended && threads <= 1;
	return at ? strtoull(at, NULL, 10) : 0;
}

__u64 process_start(__u32 pid)
{
	bool ended;

	return read_stat(pid, &ended);
}

bool process_runs(__u32 pid, __u64 start)
{
	bool ended;

	return read_stat(pid, &ended) == start && start && !ended;
}

/* A cgroup v2 id is the inode number of its directory. */
static __u64 cgroup_id(const char *relative)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char path[PATH_MAX];
	struct stat status;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", roots[i]);
		if (stat(path, &status))
			continue;
		snprintf(path, sizeof(path), "%s%s", roots[i], relative);
		if (!stat(path, &status))
			return status.st_ino;
	}
	return 0;
}

void process_describe(__u32 kernel_pid, char comm[16], __u64 *cgroup)
{
	__u32 pid = pid_to_local(kernel_pid);
	char text[PATH_MAX], *line;

	if (read_file(pid, "comm", text, 17)) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(comm, 16, "%.15s", text);
	}
	if (!read_file(pid, "cgroup", text, sizeof(text)))
		return;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (!strncmp(line, "0::", 3))
			*cgroup = cgroup_id(line + 3);
}
