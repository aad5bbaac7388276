// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/memory_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cgroup.h"
#include "lib/base/fail.h"
#include "lib/capture/process.h"

#define GROUP_MODE	0755
#define REMOVE_TRIES	200
#define REMOVE_PAUSE_US 10000
#define GROUP_NAME	"faultline-%u-%llu"

/* One line of a file of the hierarchy's; "" if there is none. */
static void group_line(const char *directory, const char *name, char *line, int size)
{
	char path[512];
	FILE *file;

	*line = '\0';
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (file && fgets(line, size, file))
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
}

static bool has_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = line; (at = strstr(at, word)); at += length)
		if ((at == line || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static int group_write(const char *directory, const char *name, const char *text)
{
	char path[512];
	int file, err = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, text, strlen(text)) < 0)
		err = failed(-errno, "%s: %s", path, strerror(errno));
	if (file >= 0)
		close(file);
	return err;
}

void memory_group_make(struct memory_group *group)
{
	const char *root = cgroup_root();
	char line[256];

	*group = (struct memory_group){0};
	if (!root) {
		snprintf(group->reason, sizeof(group->reason), "cgroup version 2 is not mounted");
		return;
	}
	(void)memory_group_remove_stale();
	group_line(root, "cgroup.subtree_control", line, sizeof(line));
	if (!has_word(line, "memory")) {
		group_line(root, "cgroup.controllers", line, sizeof(line));
		snprintf(group->reason, sizeof(group->reason), "%s/cgroup.%s has no memory%s", root,
			 has_word(line, "memory") ? "subtree_control" : "controllers",
			 has_word(line, "memory") ? ""
						  : ": version 1 has it, or the kernel has not");
		return;
	}
	snprintf(group->directory, sizeof(group->directory), "%s/" GROUP_NAME, root,
		 (unsigned int)getpid(), process_start((__u32)getpid()));
	if (mkdir(group->directory, GROUP_MODE) && errno != EEXIST) {
		snprintf(group->reason, sizeof(group->reason), "%s: %s", group->directory,
			 strerror(errno));
		*group->directory = '\0';
	}
}

int memory_group_enter(struct memory_group *group)
{
	if (!*group->directory)
		return 0;
	(void)cgroup_of(getpid(), group->before, sizeof(group->before));
	return group_write(group->directory, "cgroup.procs", "0");
}

void memory_group_leave(struct memory_group *group)
{
	if (!*group->directory || !*group->before)
		return;
	if (!group_write(group->before, "cgroup.procs", "0"))
		rmdir(group->directory);
}

/* The last threads of a killed process leave it a little after the process is gone. */
static bool remove_directory(const char *directory)
{
	for (int tries = 0; tries < REMOVE_TRIES; tries++) {
		if (!rmdir(directory))
			return true;
		if (errno != EBUSY)
			return false;
		usleep(REMOVE_PAUSE_US);
	}
	return false;
}

void memory_group_remove(const struct memory_group *group)
{
	if (*group->directory)
		(void)remove_directory(group->directory);
}

static int remove_stale_below(const char *root)
{
	DIR *list = opendir(root);
	struct dirent *entry;
	int removed = 0;

	while (list && (entry = readdir(list))) {
		unsigned long long start;
		unsigned int pid;
		char path[512];
		int end = 0;

		snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
		if (sscanf(entry->d_name, GROUP_NAME "%n", &pid, &start, &end) == 2 && end &&
		    !entry->d_name[end] && !process_runs(pid, start) && remove_directory(path))
			removed++;
	}
	if (list)
		closedir(list);
	return removed;
}

int memory_group_remove_stale(void)
{
	const char *root = cgroup_root();

	return root ? remove_stale_below(root) : 0;
}
