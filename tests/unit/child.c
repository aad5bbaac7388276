// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/child.h"

#include <signal.h>
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
	return 0;
}
