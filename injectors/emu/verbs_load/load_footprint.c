// SPDX-License-Identifier: GPL-2.0
/* What the kernel says of a process's memory: pins prove themselves from outside. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

int load_footprint(pid_t process, struct verbs_load_footprint *footprint)
{
	char path[64] = "/proc/self/status", line[256];
	unsigned long long kib;
	FILE *file;

	if (process)
		snprintf(path, sizeof(path), "/proc/%d/status", process);
	file = fopen(path, "re");
	if (!file)
		return failed(-errno, "%s: %m", path);
	*footprint = (struct verbs_load_footprint){0};
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmPin: %llu kB", &kib) == 1)
			footprint->pinned = kib << 10;
		if (sscanf(line, "VmRSS: %llu kB", &kib) == 1)
			footprint->resident = kib << 10;
	}
	fclose(file);
	return 0;
}

int load_look(struct load_end *end)
{
	int error = load_footprint(0, &end->share->guest);

	return error ?: load_footprint(end->share->machine, &end->share->machine_footprint);
}
