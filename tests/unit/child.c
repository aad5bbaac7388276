// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/child.h"

#include <signal.h>
#include <stdlib.h>

#include "lib/base/child.h"

pid_t child_fork(void)
{
	pid_t child = child_start(SIGKILL);

	if (child)
		return child;
	/* An assertion jumps to whoever runs the tests, who is the parent. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return 0;
}
