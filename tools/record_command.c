// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/user.h"
#include "tools/record.h"

/* The file that execvp() would run. */
static bool find_program(const char *name, struct stat *status)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return !stat(name, status);
	while (at && *at) {
		size_t length = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, name);
		if (!access(path, X_OK) && !stat(path, status))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

static bool same_file(const char *program, const char *emulator)
{
	struct stat ours, theirs;

	return emulator && find_program(program, &ours) && !stat(emulator, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Becomes the sudo caller for good; false if the system refused any of it. */
static bool drop_to(uid_t uid, gid_t gid)
{
	const struct passwd *user = getpwuid(uid);

	if (user ? initgroups(user->pw_name, gid) : setgroups(0, NULL))
		return false;
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return false;
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return true;
}

static void complain(const char *program, const char *what)
{
	fprintf(stderr, "faultline: %s: %s: %s\n", program, what, strerror(errno));
}

/* In the child: waits for the word, then becomes the command. Exit codes as a shell's. */
static _Noreturn void be_command(char **argv, int held, pid_t parent, bool drop, uid_t uid,
				 gid_t gid)
{
	char word;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (read(held, &word, 1) != 1)
		_exit(0); /* the recorder gave up before it began */
	if (drop && !drop_to(uid, gid)) {
		complain(argv[0], "cannot become the user who called sudo");
		_exit(126);
	}
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	execvp(argv[0], argv);
	complain(argv[0], "cannot be run");
	_exit(errno == ENOENT ? 127 : 126);
}

int command_prepare(struct command *command, char **argv, bool as_root, const char *emulator)
{
	uid_t uid = 0;
	gid_t gid = 0;
	bool drop = !as_root && user_behind_sudo(&uid, &gid) && !same_file(argv[0], emulator);
	pid_t parent = getpid();
	struct stat program;
	int hold[2];

	memset(command, 0, sizeof(*command));
	if (!find_program(argv[0], &program))
		return failed(-ENOENT, "%s: no such command", argv[0]);
	if (pipe2(hold, O_CLOEXEC))
		return failed(-errno, "holding the command: %s", strerror(errno));
	command->pid = fork();
	if (command->pid < 0) {
		close(hold[0]);
		close(hold[1]);
		return failed(-errno, "starting %s: %s", argv[0], strerror(errno));
	}
	if (!command->pid) {
		close(hold[1]);
		be_command(argv, hold[0], parent, drop, uid, gid);
	}
	close(hold[0]);
	command->go = hold[1];
	return 0;
}

int command_go(struct command *command)
{
	ssize_t written = write(command->go, "g", 1);

	close(command->go);
	command->go = -1;
	return written == 1 ? 0 : failed(-errno, "starting the command: %s", strerror(errno));
}

static void note_end(struct command *command, int options)
{
	if (!command->pid || waitpid(command->pid, &command->status, options) != command->pid)
		return;
	command->ended = true;
	command->pid = 0;
}

void command_reap(struct command *command)
{
	note_end(command, WNOHANG);
}

void command_signal(const struct command *command, int signal)
{
	if (command->pid)
		kill(command->pid, signal);
}

void command_end(struct command *command)
{
	if (!command->pid)
		return;
	if (command->go > 0)
		close(command->go);
	kill(command->pid, SIGKILL);
	note_end(command, 0);
}

int command_exit_code(const struct command *command)
{
	if (!command->ended)
		return 0;
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}
