// SPDX-License-Identifier: GPL-2.0
/*
 * What /proc says of processes. One whose first thread has ended is a zombie by its state, and lives as
 * long as the others do.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descendants.h"
#include "lib/base/mount.h"
#include "lib/base/proc.h"
#include "lib/capture/process.h"
#include "tests/unit/child.h"

static void *stay(void *unused)
{
	pause();
	return unused;
}

/* The state of /proc/PID/stat. */
static char state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
	fclose(file);
	return state;
}

static pid_t without_first_thread(void)
{
	pid_t pid = child_fork();
	pthread_t thread;

	assert_true(pid >= 0);
	if (!pid) {
		if (pthread_create(&thread, NULL, stay, NULL))
			_exit(EXIT_FAILURE);
		pthread_exit(NULL);
	}
	while (state_of(pid) != 'Z')
		usleep(1000);
	return pid;
}

static void it_runs_until_the_last_has_ended(void **state)
{
	pid_t pid = without_first_thread();
	__u64 start = process_start(pid);

	assert_true(process_runs(pid, start));
	assert_int_equal(descendants_signal(0), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_false(process_runs(pid, start));
	assert_int_equal(descendants_signal(0), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void it_is_signalled_with_its_family(void **state)
{
	pid_t pid = without_first_thread();
	int status;

	assert_int_equal(descendants_signal(SIGTERM), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static __u64 ticks_since_boot(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec) / PROCESS_TICK_NS;
}

static void its_name_may_hold_anything(void **state)
{
	struct proc_stat child, own;
	__u64 before, after;
	pid_t pid;

	assert_int_equal(prctl(PR_SET_NAME, ") Z 1 2 (x) R 3"), 0);
	before = ticks_since_boot();
	pid = child_fork();
	if (!pid)
		_exit(0);
	after = ticks_since_boot();
	assert_int_equal(waitid(P_PID, pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_stat(pid, &child), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(child.parent, getpid());
	assert_in_range(child.start, before, after);
	assert_true(child.ended);
	assert_int_equal(proc_stat_own(&own), 0);
	assert_int_equal(own.parent, getppid());
	assert_in_range(own.start, 1, before);
	assert_false(own.ended);
	assert_int_equal(proc_stat(0, &own), -ENOENT);
}

/* 0: it began between then and now. In a child whose host was suspended for a while, as its clocks have it. */
static int began_since(__u64 before_ns)
{
	__u64 start = process_start_ns(process_start((__u32)getpid()));

	return start + 2 * PROCESS_TICK_NS < before_ns || start > monotonic_ns();
}

static void a_suspended_host_does_not_delay_its_start(void **state)
{
	__u64 before = monotonic_ns();
	int status;
	pid_t pid = child_fork();

	if (!pid) {
		FILE *offsets =
			unshare(CLONE_NEWTIME) ? NULL : fopen("/proc/self/timens_offsets", "w");

		if (!offsets || fprintf(offsets, "boottime 100000 0\n") < 0 || fclose(offsets))
			_exit(2);
		pid = fork();
		if (!pid)
			_exit(began_since(before));
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									   : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(began_since(0), 0);
}

/* In any directory that we see. */
static bool is_mounted(dev_t device)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	unsigned int major, minor;
	bool found = false;
	char line[4096];

	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 &&
			makedev(major, minor) == device;
	fclose(file);
	return found;
}

static void a_mount_of_our_own_is_unseen(void **state)
{
	int mount = mount_unseen("tmpfs");
	struct stat seen, unseen;

	if (mount == -EPERM)
		skip();
	assert_int_equal(fstat(mount, &unseen), 0);
	assert_int_equal(stat("/proc/self", &seen), 0);
	assert_true(is_mounted(seen.st_dev));
	assert_false(is_mounted(unseen.st_dev));
	assert_int_equal(fcntl(mount, F_GETFD), FD_CLOEXEC);
	assert_int_equal(openat(mount, "file", O_CREAT | O_WRONLY, 0600), -1);
	assert_int_equal(errno, EROFS);
	close(mount);
	assert_int_equal(mount_unseen("nonsense"), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_until_the_last_has_ended),
		cmocka_unit_test(it_is_signalled_with_its_family),
		cmocka_unit_test(its_name_may_hold_anything),
		cmocka_unit_test(a_suspended_host_does_not_delay_its_start),
		cmocka_unit_test(a_mount_of_our_own_is_unseen),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
