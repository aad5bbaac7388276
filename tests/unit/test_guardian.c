// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/job/guardian.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"

/* Seen by the test and by the guarded child. */
struct shared {
	pid_t pid;
	int stopped;
	int progressed;
};

static struct shared *shared;

static int setup(void **state)
{
	/* Not the machines' directory: nothing of this test belongs there. */
	setenv("FAULTLINE_RUN_DIR", "/run/faultline-test-guardian", 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED;
}

static int teardown(void **state)
{
	rmdir("/run/faultline-test-guardian");
	return munmap(shared, sizeof(*shared));
}

static void end_by_itself(void *argument)
{
	((struct shared *)argument)->pid = getpid();
}

static void end_by_signal(void *argument)
{
	(void)argument;
	raise(SIGKILL);
}

/* Asks its parent to stop, as Ctrl-C would, then waits to be told. */
static void wait_for_stop(void *argument)
{
	struct shared *mine = argument;

	while (!__atomic_load_n(&mine->progressed, __ATOMIC_ACQUIRE))
		usleep(1000);
	kill(getppid(), SIGINT);
	while (!guardian_stop)
		usleep(1000);
	mine->stopped = guardian_stop;
}

static void count_progress(void *argument, double seconds)
{
	__atomic_add_fetch(&((struct shared *)argument)->progressed, seconds > 0, __ATOMIC_RELEASE);
}

static void a_child_that_ends_is_no_error(void **state)
{
	struct guardian_task task = {.body = end_by_itself, .argument = shared};
	pid_t pid = 0;

	assert_int_equal(guardian_run(&task, &pid), 0);
	assert_int_equal(shared->pid, pid);
	assert_int_not_equal(pid, getpid());
}

static void a_killed_child_is_named(void **state)
{
	struct guardian_task task = {.body = end_by_signal, .argument = shared};
	pid_t pid;

	assert_int_equal(guardian_run(&task, &pid), -EIO);
	assert_non_null(strstr(failure_text(), "died of signal 9"));
}

static void a_signal_reaches_the_child(void **state)
{
	struct guardian_task task = {.body = wait_for_stop,
				     .argument = shared,
				     .progress = count_progress,
				     .progress_argument = shared};
	pid_t pid;

	assert_int_equal(guardian_run(&task, &pid), -EINTR);
	assert_int_equal(shared->stopped, 1);
	assert_true(shared->progressed > 0);
	/* In the guardian itself nothing was left behind: signals are as they were. */
	assert_int_equal(guardian_stop, 0);
}

/* As if Ctrl-C came at the very moment the child ends: both are there before the guardian looks again. */
static void stop_and_let_it_end(void *argument, double seconds)
{
	siginfo_t ended;

	(void)seconds;
	kill(getpid(), SIGTERM);
	__atomic_store_n(&((struct shared *)argument)->progressed, 1, __ATOMIC_RELEASE);
	waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
}

static void end_when_told(void *argument)
{
	while (!__atomic_load_n(&((struct shared *)argument)->progressed, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void a_stop_as_the_child_ends_counts(void **state)
{
	struct guardian_task task = {.body = end_when_told,
				     .argument = shared,
				     .progress = stop_and_let_it_end,
				     .progress_argument = shared};
	pid_t pid;

	shared->progressed = 0;
	assert_int_equal(guardian_run(&task, &pid), -EINTR);
}

/* In a process of its own, as the disposition stays: what guardian_run() returns after a stop. */
static void run_after_a_stop(void)
{
	struct guardian_task task = {.body = end_by_itself, .argument = shared};
	pid_t pid;

	guardian_catch_stops();
	raise(SIGTERM);
	_exit(guardian_run(&task, &pid) == -EINTR ? EXIT_INTERRUPTED : EXIT_FAIL);
}

static void a_stop_between_two_children_counts(void **state)
{
	int status;
	pid_t pid;

	shared->pid = 0;
	pid = child_fork();
	if (!pid)
		run_after_a_stop();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_INTERRUPTED);
	assert_int_equal(shared->pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_that_ends_is_no_error),
		cmocka_unit_test(a_killed_child_is_named),
		cmocka_unit_test(a_signal_reaches_the_child),
		cmocka_unit_test(a_stop_as_the_child_ends_counts),
		cmocka_unit_test(a_stop_between_two_children_counts),
	};

	return cmocka_run_group_tests_name("guardian", tests, setup, teardown);
}
