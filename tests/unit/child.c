// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/child.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

pid_t child_fork(void)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it was killed before this was said */
	/* An assertion jumps to whoever runs the tests, who is the parent. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return 0;
}
