// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/child.h"

#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/child.h"

#ifdef __SANITIZE_ADDRESS__
/* But for the one that asks, which runs. */
static bool others_sleep(void)
{
	glob_t threads = {0};
	int awake = 0;

	glob("/proc/self/task/*/stat", 0, NULL, &threads);
	for (size_t i = 0; i < threads.gl_pathc; i++) {
		FILE *file = fopen(threads.gl_pathv[i], "r");
		char state = 'S';

		if (!file)
			continue;
		awake += fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'S';
		fclose(file);
	}
	globfree(&threads);
	return awake <= 1;
}

/* gcc 12's ASan, unlike malloc(), forks as it is: what a thread holds of its allocator nobody gives back in the child. */
static void await_others(void)
{
	for (int i = 0; i < 1000 && !others_sleep(); i++)
		usleep(1000);
}
#else
static void await_others(void)
{
}
#endif

pid_t child_fork(void)
{
	pid_t child;

	await_others();
	child = child_start(SIGKILL);
	if (child)
		return child;
	/* An assertion jumps to whoever runs the tests, who is the parent. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return 0;
}
