// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/cgroup.h"
#include "lib/base/cgroup.h"
#include "lib/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int own_directory(const struct target *target, char *name, size_t size)
{
	int err;

	if (!cgroup_root())
		return failed(-ENOENT, "--reclaim: cgroup v2 is not mounted: mount -t cgroup2 none "
				       "/sys/fs/cgroup");
	err = cgroup_of(target->pid, name, size);
	return err ? failed(err, "%s/%d/cgroup: names no cgroup of version 2", proc_root(),
			    target->pid)
		   : 0;
}

/* Processes other than the target in this one directory. */
static unsigned int others_in(const char *directory, pid_t target)
{
	unsigned int count = 0;
	char path[PATH_MAX];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		count += pid != target;
	if (file)
		fclose(file);
	return count;
}

static unsigned int others_below(const char *directory, pid_t target)
{
	char *const paths[] = {(char *)directory, NULL};
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	unsigned int count = 0;
	FTSENT *entry;

	while (tree && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_D)
			count += others_in(entry->fts_path, target);
	if (tree)
		fts_close(tree);
	return count;
}

int cgroup_open_reclaim(const char *directory, const struct target *target,
			const struct verb_options *options, int *descriptor, char *name,
			size_t size)
{
	char path[PATH_MAX], what[PATH_MAX];
	unsigned int others;
	int err = 0;

	if (directory)
		snprintf(name, size, "%s", directory);
	else
		err = own_directory(target, name, size);
	if (err)
		return err;
	others = others_below(name, target->pid);
	snprintf(what, sizeof(what), "cgroup %s holds %u other process%s, which lose pages too; it",
		 name, others, others == 1 ? "" : "es");
	if (others)
		err = verb_require_consent(options, name, what);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/memory.reclaim", name);
	*descriptor = open(path, O_WRONLY | O_CLOEXEC);
	if (*descriptor >= 0)
		return 0;
	if (errno == ENOENT)
		return failed(-ENOENT,
			      "%s: not there: it needs Linux 5.19 and the memory controller in "
			      "cgroup.subtree_control of the parent",
			      path);
	return failed(-errno, "%s: %s", path, strerror(errno));
}
