// SPDX-License-Identifier: GPL-2.0
#include "lib/base/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/proc.h"

struct process {
	pid_t pid;
	struct proc_stat stat;
	bool ours;
};

int descendants_adopt(void)
{
	if (!prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 0;
	return failed(-errno, "adopting what the command starts: %s", strerror(errno));
}

/* False for what is gone, or has ended and only waits to be reaped. */
static bool process_look_up(pid_t pid, struct process *process)
{
	*process = (struct process){.pid = pid};
	return !proc_stat(pid, &process->stat) && !process->stat.ended;
}

static size_t process_list(struct process **processes)
{
	size_t count = 0, room = 0;
	struct dirent *entry;
	DIR *directory = opendir(proc_root());

	*processes = NULL;
	while (directory && (entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (!array_grow(processes, &room, count + 1, sizeof(**processes), ARRAY_PLAIN))
			break;
		count += process_look_up((pid_t)strtol(entry->d_name, NULL, 10),
					 &(*processes)[count]);
	}
	if (directory)
		closedir(directory);
	return count;
}

static bool process_is_ours(const struct process *processes, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (processes[i].pid == pid)
			return processes[i].ours;
	return false;
}

/* Until nothing more is found: a child's number may be lower than its parent's. */
static void process_mark(struct process *processes, size_t count)
{
	pid_t self = getpid();
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < count; i++) {
			struct process *p = &processes[i];

			if (!p->ours && (p->stat.parent == self ||
					 process_is_ours(processes, count, p->stat.parent)))
				p->ours = found = true;
		}
	}
}

/* Through a descriptor, so that a number that was given to another process since hits nobody. */
static bool send_signal(const struct process *process, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct process now;
	bool sent;

	if (fd < 0)
		return false;
	sent = process_look_up(process->pid, &now) && now.stat.start == process->stat.start &&
	       !syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
	close(fd);
	return sent;
}

unsigned int descendants_signal(int number)
{
	struct process *processes;
	size_t count = process_list(&processes);
	unsigned int sent = 0;

	process_mark(processes, count);
	for (size_t i = 0; i < count; i++)
		if (processes[i].ours)
			sent += send_signal(&processes[i], number);
	free(processes);
	return sent;
}
