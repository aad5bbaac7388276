// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/files.h"
#include "lib/base/proc.h"
#include "lib/capture/machines.h"
#include "lib/capture/process.h"

#define ANCESTORS_MAX 64
#define MEET_NS	      (300 * NSEC_PER_MSEC) /* for machines to say hello */

/* faultline-inject itself, or the faultline beside it. */
static bool runs_our_program(pid_t pid)
{
	char path[64], own[PATH_MAX], sibling[PATH_MAX + 16];
	struct stat theirs, ours;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%d/exe", proc_root(), pid);
	if (stat(path, &theirs) || stat("/proc/self/exe", &ours))
		return false;
	if (same_file(&theirs, &ours))
		return true;
	length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	if (length < 0)
		return false;
	own[length] = '\0';
	*(strrchr(own, '/') + 1) = '\0';
	snprintf(sibling, sizeof(sibling), "%sfaultline", own);
	return !stat(sibling, &ours) && same_file(&theirs, &ours);
}

static pid_t parent_of(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat(pid, &stat) ? 0 : stat.parent;
}

static bool started_by_us(pid_t pid)
{
	for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++, pid = parent_of(pid))
		if (runs_our_program(pid))
			return true;
	return false;
}

static int require_memory(const struct target *target)
{
	char path[64];
	FILE *file;
	int c;

	snprintf(path, sizeof(path), "%s/%d/maps", proc_root(), target->pid);
	file = fopen(path, "re");
	if (!file)
		return failed(-errno, "%s: %s", path, strerror(errno));
	c = getc(file);
	fclose(file);
	if (c == EOF)
		return failed(-EINVAL,
			      "process %d (%s) has no memory of its own: it is a thread of the "
			      "kernel, or has ended",
			      target->pid, target->name);
	return 0;
}

static int require_consent(const struct target *target, const char *device,
			   const struct verb_options *options)
{
	char name[16], what[64];

	if (target->ours || (device && consent_given(&options->consents, device)))
		return 0;
	snprintf(name, sizeof(name), "%d", target->pid);
	snprintf(what, sizeof(what), "process %d (%s)", target->pid, target->name);
	return verb_require_consent(options, name, what);
}

int target_open(struct target *target, pid_t pid, const char *device,
		const struct verb_options *options)
{
	__u64 cgroup;
	int err;

	*target = (struct target){.pid = pid, .pidfd = -1, .start = process_start((__u32)pid)};
	if (!proc_is_ours())
		return failed_in(-ENOTSUP, "process %d", pid);
	if (!target->start)
		return failed(-ESRCH, "there is no process %d", pid);
	process_describe((__u32)pid, target->name, &cgroup);
	target->ours = started_by_us(pid);
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target->pidfd < 0)
		return failed(-errno, "process %d: pidfd_open: %s", pid, strerror(errno));
	/* Everything above may have been read from a predecessor under this number. */
	err = process_start((__u32)pid) == target->start && target_alive(target)
		      ? require_memory(target)
		      : failed(-ESRCH, "process %d has ended", pid);
	if (!err)
		err = require_consent(target, device, options);
	if (err)
		target_close(target);
	return err;
}

void target_close(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

bool target_alive(const struct target *target)
{
	struct pollfd ended = {.fd = target->pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 0;
}

static bool has_open(pid_t pid, dev_t device)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat status;
	bool found = false;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/%d/fd", proc_root(), pid);
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory)) != NULL)
		found = !fstatat(dirfd(directory), entry->d_name, &status, 0) &&
			S_ISCHR(status.st_mode) && status.st_rdev == device;
	if (directory)
		closedir(directory);
	return found;
}

static int holders_of_file(const char *path, pid_t *pids, size_t most)
{
	struct dirent *entry;
	struct stat status;
	size_t count = 0;
	DIR *directory;

	if (stat(path, &status))
		return failed(-errno, "--device %s: %s", path, strerror(errno));
	if (!S_ISCHR(status.st_mode))
		return failed(-EINVAL,
			      "--device %s: accepted: a character device that processes hold open "
			      "(/dev/vfio/12, /dev/infiniband/uverbs0), or the name of an emulated "
			      "device (tenant/device)",
			      path);
	directory = opendir(proc_root());
	while (directory && count < most && (entry = readdir(directory)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && pid != getpid() &&
		    has_open(pid, status.st_rdev))
			pids[count++] = pid;
	}
	if (directory)
		closedir(directory);
	if (!count)
		return failed(-ENOENT, "--device %s: no process has it open", path);
	return (int)count;
}

struct machine_search {
	const char *device;
	pid_t pid;
	__u32 seen;
};

static int target_trust(void *self, __u32 pid, int executable)
{
	struct stat theirs, ours;

	(void)self, (void)pid;
	if (fstat(executable, &theirs) || stat("/proc/self/exe", &ours) ||
	    !same_file(&theirs, &ours))
		return -EPERM;
	return 0;
}

static void target_leave(void *self, int binary)
{
	(void)self;
	(void)binary;
}

static void target_refused(void *self)
{
	(void)self;
}

static __u32 device_seen(void *self, const struct hello *hello, const struct hello_device *device)
{
	struct machine_search *search = self;

	if (!strcmp(device->name, search->device))
		search->pid = (pid_t)hello->pid;
	return ++search->seen;
}

static int access_seen(void *self, __u32 pid, const struct capture_machine_device *device,
		       const struct access_record *record)
{
	(void)self, (void)pid, (void)device, (void)record;
	return 0;
}

static int target_machine_gone(void *self, __u32 pid, __u64 start_time)
{
	(void)self, (void)pid, (void)start_time;
	return 0;
}

static int holder_of_emulated(const char *device, pid_t *pid)
{
	static const struct machines_ops ops = {
		.trust = target_trust,
		.leave = target_leave,
		.refused = target_refused,
		.device = device_seen,
		.access = access_seen,
		.gone = target_machine_gone,
	};
	struct machine_search search = {.device = device};
	__u64 until = monotonic_ns() + MEET_NS;
	struct machines *machines = NULL;
	int err = machines_create(&machines, &ops, &search);

	while (!err && !search.pid && monotonic_ns() < until) {
		err = machines_poll(machines, monotonic_ns());
		usleep(10000);
	}
	if (machines)
		machines_destroy(machines);
	if (err)
		return err;
	if (!search.pid)
		return failed(-ENOENT,
			      "--device %s: no emulated machine that runs has such a device; "
			      "accepted: tenant/device, or the path of a character device",
			      device);
	*pid = search.pid;
	return 1;
}

int target_holders(const char *device, pid_t *pids, size_t most)
{
	if (device[0] == '/')
		return holders_of_file(device, pids, most);
	return holder_of_emulated(device, pids);
}
