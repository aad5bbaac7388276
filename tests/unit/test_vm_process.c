// SPDX-License-Identifier: GPL-2.0
/* QEMU's process, with shells in its place: held, let go, ended; what it prints, and how it came to its end. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/job/vm_console.h"
#include "injectors/job/vm_process.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define LONG_NS (120 * SECOND) /* on any machine, however busy */

struct shell {
	struct vm_console *console;
	struct vm_process *process;
	char *argv[4];
};

static void hold_monitored(struct shell *shell, const char *script, int monitor)
{
	struct vm_process_config config = {.name = "vm",
					   .path = "/bin/sh",
					   .library = "",
					   .socket = "/none/vm.socket",
					   .monitor = monitor};

	*shell = (struct shell){.argv = {"sh", "-c", (char *)script, NULL}};
	shell->console = vm_console_create("vm", NULL);
	config.argv = shell->argv;
	config.console = shell->console;
	assert_int_equal(vm_process_hold(&shell->process, &config), 0);
}

static void hold(struct shell *shell, const char *script)
{
	hold_monitored(shell, script, 0);
}

static void release(struct shell *shell)
{
	vm_process_free(shell->process);
	vm_console_destroy(shell->console);
}

static void it_runs_once_it_is_let_go(void **state)
{
	struct shell shell;
	int status;

	hold(&shell, "echo faultline-guest: reads 31; echo its last words >&2; exit 7");
	assert_int_equal(vm_process_wait(shell.process, 20 * MS, &status), -ETIMEDOUT);
	assert_true(vm_process_pid(shell.process) > 0);
	assert_int_equal(vm_process_go(shell.process), 0);
	assert_int_equal(vm_process_wait(shell.process, LONG_NS, &status), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	assert_string_equal(vm_console_last(shell.console), "faultline-guest: reads 31");
	assert_string_equal(vm_console_error(shell.console), "its last words");
	assert_false(vm_process_was_stopped(shell.process));
	release(&shell);
}

static void one_that_is_held_ends_with_us(void **state)
{
	struct shell shell;

	hold(&shell, "echo never");
	vm_process_stop(shell.process, LONG_NS);
	assert_int_equal(vm_process_wait(shell.process, 0, NULL), 0);
	assert_string_equal(vm_console_last(shell.console), "");
	assert_true(vm_process_was_stopped(shell.process));
	release(&shell);
}

static void its_environment_is_the_library_s(void **state)
{
	struct shell shell;

	setenv("FAULTLINE_VM", "/another", 1);
	/* Without a pipe, which would be one of the shell's own. */
	hold(&shell, "for number in 3 4 5 6 7 8 9; do "
		     "[ -e /proc/$$/fd/$number ] && open=$open$number; done; "
		     "echo $FAULTLINE_VM open:$open");
	unsetenv("FAULTLINE_VM");
	assert_int_equal(vm_process_go(shell.process), 0);
	assert_int_equal(vm_process_wait(shell.process, LONG_NS, NULL), 0);
	/* No descriptor of ours but the three. */
	assert_string_equal(vm_console_last(shell.console), "/none/vm.socket open:");
	release(&shell);
}

/* Wherever our end and the pipes are: QEMU finds it at its number. */
static void it_has_its_monitor(void **state)
{
	struct shell shell;
	char text[64] = "";
	int ends[2], taken[12];

	for (int i = 0; i < (int)COUNT(taken); i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		hold_monitored(&shell,
			       "for number in 3 4 6 7 8 9; do "
			       "[ -e /proc/$$/fd/$number ] && open=$open$number; done; "
			       "echo its monitor $open >&5; read line <&5; echo $line",
			       ends[1]);
		close(ends[1]);
		assert_int_equal(vm_process_go(shell.process), 0);
		assert_int_equal(read(ends[0], text, sizeof(text)), strlen("its monitor\n"));
		assert_memory_equal(text, "its monitor\n", strlen("its monitor\n"));
		/* Nothing but QEMU has it: its end is the connection's. */
		assert_int_equal(write(ends[0], "heard\n", 6), 6);
		assert_int_equal(vm_process_wait(shell.process, LONG_NS, NULL), 0);
		assert_string_equal(vm_console_last(shell.console), "heard");
		assert_int_equal(read(ends[0], text, sizeof(text)), 0);
		release(&shell);
		close(ends[0]);
		/* The next one is elsewhere. */
		taken[i] = dup(STDIN_FILENO);
	}
	for (int i = 0; i < (int)COUNT(taken); i++)
		close(taken[i]);
}

/* Until it has said so. */
static void await_panic(struct shell *shell)
{
	__u64 end_ns = monotonic_ns() + LONG_NS;

	while (!vm_process_panicked(shell->process) && monotonic_ns() < end_ns)
		usleep(1000);
	assert_true(vm_process_panicked(shell->process));
}

static void what_does_not_end_is_killed(void **state)
{
	struct shell shell;
	int status;

	hold(&shell,
	     "trap '' TERM; echo 'Kernel panic - not syncing: x'; while :; do sleep 1; done");
	assert_int_equal(vm_process_go(shell.process), 0);
	await_panic(&shell);
	vm_process_stop(shell.process, 50 * MS);
	assert_int_equal(vm_process_wait(shell.process, 0, &status), 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(kill(vm_process_pid(shell.process), 0), -1);
	release(&shell);
}

/* Whether it is gone, or waits for its parent to see that. */
static bool has_ended(pid_t pid)
{
	char path[32], text[256] = "";
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return true;
	(void)!fgets(text, sizeof(text), stat);
	fclose(stat);
	return strstr(text, ") Z ") || strstr(text, ") X ");
}

static void await_end(pid_t pid)
{
	__u64 end_ns = monotonic_ns() + LONG_NS;

	assert_true(pid > 0);
	while (!has_ended(pid) && monotonic_ns() < end_ns)
		usleep(1000);
	assert_true(has_ended(pid));
}

/* Also what it has started, and one that was stopped by a signal. */
static void nothing_is_left_of_it(void **state)
{
	struct shell shell;

	hold(&shell,
	     "sleep 1000 & echo $! >&2; echo 'Kernel panic - not syncing: x'; kill -STOP $$");
	assert_int_equal(vm_process_go(shell.process), 0);
	await_panic(&shell);
	vm_process_stop(shell.process, LONG_NS);
	await_end(atoi(vm_console_error(shell.console)));
	release(&shell);
}

static void what_cannot_be_run_is_said(void **state)
{
	struct vm_console *console = vm_console_create("vm", NULL);
	char *const argv[] = {"qemu", NULL};
	const struct vm_process_config config = {.name = "vm7",
						 .path = "/none/qemu",
						 .argv = argv,
						 .library = "",
						 .socket = "",
						 .console = console};
	struct vm_process *process;

	assert_int_equal(vm_process_hold(&process, &config), 0);
	assert_int_equal(vm_process_go(process), -EIO);
	assert_non_null(strstr(failure_text(), "vm7: /none/qemu cannot be run: No such file"));
	vm_process_free(process);
	vm_console_destroy(console);
}

/* It is ended with whoever has started it, however that ends. */
static void it_does_not_outlive_us(void **state)
{
	int told[2];
	pid_t machine, qemu = 0;
	char byte;

	assert_int_equal(pipe(told), 0);
	machine = fork();
	if (!machine) {
		struct shell shell;

		hold(&shell, "while :; do sleep 1; done");
		(void)vm_process_go(shell.process);
		qemu = vm_process_pid(shell.process);
		(void)!write(told[1], &qemu, sizeof(qemu));
		raise(SIGKILL);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &qemu, sizeof(qemu)), sizeof(qemu));
	/* QEMU has no copy of this pipe: it ends with the machine's process. */
	assert_int_equal(read(told[0], &byte, 1), 0);
	close(told[0]);
	assert_int_equal(waitpid(machine, NULL, 0), machine);
	await_end(qemu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_once_it_is_let_go),
		cmocka_unit_test(one_that_is_held_ends_with_us),
		cmocka_unit_test(its_environment_is_the_library_s),
		cmocka_unit_test(it_has_its_monitor),
		cmocka_unit_test(what_does_not_end_is_killed),
		cmocka_unit_test(nothing_is_left_of_it),
		cmocka_unit_test(what_cannot_be_run_is_said),
		cmocka_unit_test(it_does_not_outlive_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
