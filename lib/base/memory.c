// SPDX-License-Identifier: GPL-2.0
#include "lib/base/memory.h"

#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* "NAME:   123 kB" of a file of /proc, in bytes; 0 if it is not there. */
static __u64 proc_bytes(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	unsigned long long kib = 0;
	size_t length = strlen(name);
	char line[256];

	while (file && !kib && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':' &&
		    sscanf(line + length + 1, "%llu kB", &kib) != 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

void memory_keep_to_available(void)
{
	__u64 available = proc_bytes("/proc/meminfo", "MemAvailable");
	__u64 most = proc_bytes("/proc/self/status", "VmData") + available;
	struct rlimit limit;

	if (!available || getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	setrlimit(RLIMIT_DATA, &limit);
}
