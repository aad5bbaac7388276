// SPDX-License-Identifier: GPL-2.0
#include "lib/base/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/proc.h"

const char *cgroup_root(void)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char path[64];

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", roots[i]);
		if (!access(path, F_OK))
			return roots[i];
	}
	return NULL;
}

int cgroup_of(pid_t pid, char *directory, size_t size)
{
	char path[64], line[PATH_MAX];
	const char *root = cgroup_root();
	int err = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root(), pid);
	file = root ? fopen(path, "re") : NULL;
	while (file && err && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* The one line of version 2: "0::/PATH". */
		if (!strncmp(line, "0::", 3))
			err = snprintf(directory, size, "%s%s", root, line + 3) < (int)size
				      ? 0
				      : -ENAMETOOLONG;
	}
	if (file)
		fclose(file);
	if (err)
		*directory = '\0';
	return err;
}
