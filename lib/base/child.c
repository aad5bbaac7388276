// SPDX-License-Identifier: GPL-2.0
#include "lib/base/child.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"

pid_t child_start(int number)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, number);
	if (getppid() != parent)
		_exit(EXIT_INTERRUPTED);
	return 0;
}

int child_await(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
