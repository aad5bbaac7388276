// SPDX-License-Identifier: GPL-2.0
#include "lib/base/proc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/mount.h"

#define NOWHERE "/proc/self/nowhere"

static struct {
	pthread_once_t once;
	char root[64];
	bool foreign;
	int error; /* of mounting our own */
} proc = {.once = PTHREAD_ONCE_INIT};

/* The file lists our number in the namespace that is mounted, then in each one below it, down to ours. */
static bool is_foreign(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	int first = getpid(), second = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "NSpid: %d %d", &first, &second) >= 1)
			break;
	if (file)
		fclose(file);
	return second || first != getpid();
}

static void proc_look(void)
{
	int own = 0;

	snprintf(proc.root, sizeof(proc.root), "/proc");
	proc.foreign = is_foreign();
	if (!proc.foreign)
		return;
	own = mount_unseen("proc"); /* open as long as the program runs */
	if (own < 0) {
		proc.error = own;
		snprintf(proc.root, sizeof(proc.root), NOWHERE);
	} else {
		/* `self` is right in every namespace that knows us. */
		snprintf(proc.root, sizeof(proc.root), "/proc/self/fd/%d", own);
	}
}

const char *proc_root(void)
{
	pthread_once(&proc.once, proc_look);
	return proc.root;
}

void proc_forget(void)
{
	proc.once = (pthread_once_t)PTHREAD_ONCE_INIT;
	proc.error = 0;
}

bool proc_is_ours(void)
{
	proc_root();
	if (!mount_has_proc()) {
		failed(-ENOENT, "/proc is not mounted: %s", mount_remedy());
		return false;
	}
	if (proc.error)
		failed(proc.error,
		       "/proc is of another pid namespace, and one of our own cannot be mounted: "
		       "%s; mount it (unshare --mount-proc)",
		       strerror(-proc.error));
	return !proc.error;
}

bool proc_is_foreign(void)
{
	proc_root();
	return proc.foreign;
}

static int read_stat(const char *path, struct proc_stat *stat)
{
	FILE *file = fopen(path, "re");
	char text[1024], state;
	const char *fields;
	size_t length;
	long threads;

	if (!file)
		return -errno;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* The name before may hold anything, brackets as well. */
	fields = strrchr(text, ')');
	if (!fields ||
	    sscanf(fields + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		   "%llu",
		   &state, &stat->parent, &threads, &stat->start) != 4)
		return -EINVAL;
	/* The state is the first thread's, and others may live longer. */
	stat->ended = (state == 'Z' || state == 'X') && threads <= 1;
	return 0;
}

int proc_stat(pid_t pid, struct proc_stat *stat)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%d/stat", proc_root(), pid);
	return read_stat(path, stat);
}

int proc_stat_own(struct proc_stat *stat)
{
	return read_stat("/proc/self/stat", stat);
}
