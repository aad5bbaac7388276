// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/child.h"

/* Or it would go on with the tests that its parent runs, too, and end as if all had been well. */
static void a_failed_assertion_ends_the_child(void **state)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = child_fork();
	if (!child) {
		prctl(PR_SET_DUMPABLE, 0); /* leave no core */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		assert_int_equal(getpid(), 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void a_child_that_is_killed_was_killed(void **state)
{
	pid_t child = child_fork();
	int status;

	if (!child)
		pause();
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_assertion_ends_the_child),
		cmocka_unit_test(a_child_that_is_killed_was_killed),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
