// SPDX-License-Identifier: GPL-2.0
/* `faultline-inject slow -- COMMAND` without a device: what its command gets, what becomes of it and its children. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/real/slow.h"
#include "lib/base/descendants.h"

/* Says of itself that it is there, in a session of its own, and only a SIGKILL ends it. */
#define STUBBORN \
	"setsid sh -c 'trap \"\" TERM INT HUP; echo there; while :; do sleep 0.01; done' & "

struct started {
	pid_t slow;
	FILE *said; /* what the command prints; ends when nobody of it is left */
};

/* `ignored`: a signal that was ignored from before, 0: none. */
static struct started start(const char *script, int ignored)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
	struct started started;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	started.slow = fork();
	assert_true(started.slow >= 0);
	if (!started.slow) {
		struct command command;

		dup2(ends[1], STDOUT_FILENO);
		if (ignored)
			signal(ignored, SIG_IGN);
		verb_catch_signals();
		_exit(command_prepare(&command, argv, NULL, STDOUT_FILENO)
			      ? 99
			      : slow_run_command(&command));
	}
	close(ends[1]);
	started.said = fdopen(ends[0], "r");
	assert_non_null(started.said);
	return started;
}

static void expect_line(const struct started *started, const char *line)
{
	char text[256];

	assert_non_null(fgets(text, sizeof(text), started->said));
	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, line);
}

static int status_of(const struct started *started)
{
	int status;

	assert_int_equal(waitpid(started->slow, &status, 0), started->slow);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Nobody has its standard output any more, so that nobody of the command is left. Waits for that. */
static void expect_nobody(const struct started *started)
{
	assert_int_equal(fgetc(started->said), EOF);
	fclose(started->said);
}

static void its_status_is_the_command_s(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = {{"exit 0", 0},
		     {"exit 3", 3},
		     {"kill -TERM $$", 128 + SIGTERM},
		     {"kill -KILL $$", 128 + SIGKILL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct started started = start(cases[i].script, 0);

		assert_int_equal(status_of(&started), cases[i].status);
		expect_nobody(&started);
	}
}

static void what_is_no_command_is_refused(void **state)
{
	char *argv[] = {(char *)"no-such-command", NULL};
	struct command command;

	assert_int_equal(command_prepare(&command, argv, NULL, STDOUT_FILENO), -ENOENT);
	assert_string_equal(failure_text(), "no-such-command: no such command");
	command_end(&command);
}

static void a_command_stands_behind_its_dashes(void **state)
{
	char *some[] = {(char *)"true", NULL}, *empty[] = {(char *)"", NULL};

	assert_null(command_missing(NULL, false));
	assert_null(command_missing(some, true));
	assert_null(command_missing(some, false));
	assert_non_null(command_missing(NULL, true));
	assert_non_null(command_missing(empty, true));
	assert_non_null(command_missing(empty, false));
}

static void each_signal_ends_all_of_it(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < 3; i++) {
		struct started started = start(STUBBORN "wait", 0);

		expect_line(&started, "there");
		kill(started.slow, signals[i]);
		assert_int_equal(status_of(&started), EXIT_INTERRUPTED);
		expect_nobody(&started);
	}
}

static void a_command_may_end_in_its_own_time(void **state)
{
	struct started started = start(
		"trap 'sleep 3; echo cleaned; exit 0' TERM; echo there; while :; do sleep 0.01; done",
		0);

	expect_line(&started, "there");
	kill(started.slow, SIGINT);
	expect_line(&started, "cleaned");
	assert_int_equal(status_of(&started), EXIT_INTERRUPTED);
	expect_nobody(&started);
}

static void a_second_signal_kills(void **state)
{
	struct started started =
		start("trap 'echo asked' TERM; echo there; while :; do sleep 0.01; done", 0);

	expect_line(&started, "there");
	kill(started.slow, SIGTERM);
	expect_line(&started, "asked");
	kill(started.slow, SIGTERM);
	assert_int_equal(status_of(&started), EXIT_INTERRUPTED);
	expect_nobody(&started);
}

static void killed_it_leaves_nobody(void **state)
{
	struct started started = start(STUBBORN "wait", 0);

	expect_line(&started, "there");
	kill(started.slow, SIGKILL);
	assert_int_equal(status_of(&started), 1000 + SIGKILL);
	expect_nobody(&started);
}

/* What a command leaves that ended by itself was left on purpose. */
static void a_daemon_goes_on(void **state)
{
	struct started started =
		start("setsid sh -c 'echo $$; while :; do sleep 0.01; done' &\n"
		      "until [ \"$(ps -o sid= $!)\" != \"$(ps -o sid= $$)\" ]; do :; done",
		      0);
	int daemon = 0;

	assert_int_equal(status_of(&started), 0);
	assert_int_equal(fscanf(started.said, "%d", &daemon), 1);
	assert_int_equal(kill(daemon, 0), 0);
	kill(daemon, SIGKILL);
	fgetc(started.said);
	expect_nobody(&started);
}

/*
 * Signals ignored in the command: of a shell's words, those that were ignored before, and SIGPIPE is
 * not. Of the first 28: 32 and 33 are the C library's own, ignored in what posix_spawn() has started, as
 * tests/watchdog.py does.
 */
static void it_inherits_no_signal_handling(void **state)
{
	static const struct {
		int ignored;
		const char *mask;
	} cases[] = {
		{0, "0000000"}, {SIGHUP, "0000001"}, {SIGPIPE, "0001000"}, {SIGINT, "0000000"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct started started = start(
			"exec sed -n 's/^SigIgn:.\\{10\\}//p' /proc/self/status", cases[i].ignored);

		expect_line(&started, cases[i].mask);
		assert_int_equal(status_of(&started), 0);
		expect_nobody(&started);
	}
}

/* What is printed for nobody is an error, after which what was built is taken down. */
static void a_reader_that_is_gone_is_no_end(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		int ends[2];

		signal(SIGPIPE, SIG_DFL);
		verb_catch_signals();
		if (pipe(ends) || close(ends[0]))
			_exit(1);
		_exit(write(ends[1], "x", 1) < 0 && errno == EPIPE ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Under nohup(1) the end of a session ends neither us nor the command. */
static void an_ignored_hangup_is_nobody_s_end(void **state)
{
	struct started started = start("echo there; while :; do sleep 0.01; done", SIGHUP);

	expect_line(&started, "there");
	kill(started.slow, SIGHUP);
	kill(started.slow, SIGTERM);
	assert_int_equal(status_of(&started), EXIT_INTERRUPTED);
	expect_nobody(&started);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_status_is_the_command_s),
		cmocka_unit_test(what_is_no_command_is_refused),
		cmocka_unit_test(a_command_stands_behind_its_dashes),
		cmocka_unit_test(each_signal_ends_all_of_it),
		cmocka_unit_test(a_command_may_end_in_its_own_time),
		cmocka_unit_test(a_second_signal_kills),
		cmocka_unit_test(killed_it_leaves_nobody),
		cmocka_unit_test(a_daemon_goes_on),
		cmocka_unit_test(it_inherits_no_signal_handling),
		cmocka_unit_test(a_reader_that_is_gone_is_no_end),
		cmocka_unit_test(an_ignored_hangup_is_nobody_s_end),
	};

	/* A shell ignores these in what it runs in the background. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/* A daemon that is left is found as our child. */
	descendants_adopt();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
