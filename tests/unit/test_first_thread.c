// SPDX-License-Identifier: GPL-2.0
/* A process whose first thread has ended is a zombie by its state, and lives as long as the others do. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/descendants.h"
#include "lib/capture/process.h"

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
	pid_t pid = fork();
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

	(void)state;
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

	(void)state;
	assert_int_equal(descendants_signal(SIGTERM), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_until_the_last_has_ended),
		cmocka_unit_test(it_is_signalled_with_its_family),
	};

	return cmocka_run_group_tests_name("first_thread", tests, NULL, NULL);
}
