// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/child.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/child.h"

#ifdef __SANITIZE_ADDRESS__
static bool sleeps(const char *thread)
{
	char path[300], state = 'S';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
	file = fopen(path, "r");
	if (!file)
		return true;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'S';
	fclose(file);
	return state == 'S';
}

static bool others_sleep(void)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *entry;
	bool sleep = true;

	while (threads && (entry = readdir(threads)))
		if (*entry->d_name != '.' && strtol(entry->d_name, NULL, 10) != gettid())
			sleep &= sleeps(entry->d_name);
	if (threads)
		closedir(threads);
	return sleep;
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
