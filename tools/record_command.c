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
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descendants.h"
#include "lib/base/fail.h"
#include "lib/base/signals.h"
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

/* What a child that cannot become the command tells before it ends. */
struct refusal {
	bool user; /* it could not become the sudo caller */
	int error; /* errno */
};

static _Noreturn void refuse(int told, bool user)
{
	const struct refusal refusal = {.user = user, .error = errno};

	_exit(write(told, &refusal, sizeof(refusal)) == sizeof(refusal) ? EXIT_FAIL : EXIT_USAGE);
}

/* In the child: waits for the word, then becomes the command, which closes `told`. */
static _Noreturn void be_command(char **argv, int held, int told, pid_t parent, bool drop,
				 uid_t uid, gid_t gid)
{
	char word;

	signals_restore();
	/* The recorder hands these on, also where it was started with them ignored. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (read(held, &word, 1) != 1)
		_exit(0); /* the recorder gave up before it began */
	if (drop && !drop_to(uid, gid))
		refuse(told, true);
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	execvp(argv[0], argv);
	refuse(told, false);
}

static void close_both(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

int command_prepare(struct command *command, char **argv, bool as_root, const char *emulator)
{
	uid_t uid = 0;
	gid_t gid = 0;
	bool drop = !as_root && user_behind_sudo(&uid, &gid) && !same_file(argv[0], emulator);
	pid_t parent = getpid();
	struct stat program;
	int hold[2], tell[2], err;

	memset(command, 0, sizeof(*command));
	command->name = argv[0];
	if (!find_program(argv[0], &program))
		return failed(-ENOENT, "%s: no such command", argv[0]);
	err = descendants_adopt();
	if (err)
		return err;
	if (pipe2(hold, O_CLOEXEC))
		return failed(-errno, "holding the command: %s", strerror(errno));
	if (pipe2(tell, O_CLOEXEC)) {
		err = failed(-errno, "holding the command: %s", strerror(errno));
		close_both(hold);
		return err;
	}
	command->pid = fork();
	if (command->pid < 0) {
		err = failed(-errno, "starting %s: %s", argv[0], strerror(errno));
		command->pid = 0;
		close_both(hold);
		close_both(tell);
		return err;
	}
	if (!command->pid) {
		close(hold[1]);
		close(tell[0]);
		be_command(argv, hold[0], tell[1], parent, drop, uid, gid);
	}
	close(hold[0]);
	close(tell[1]);
	command->alive = true;
	command->go = hold[1];
	command->told = tell[0];
	return 0;
}

int command_go(struct command *command)
{
	ssize_t size = write(command->go, "g", 1);
	struct refusal refusal;

	close(command->go);
	command->go = -1;
	if (size != 1)
		return failed(-errno, "starting the command: %s", strerror(errno));
	do
		size = read(command->told, &refusal, sizeof(refusal));
	while (size < 0 && errno == EINTR);
	close(command->told);
	command->told = -1;
	if (size != sizeof(refusal))
		return 0;
	return failed(-refusal.error, "%s: %s: %s", command->name,
		      refusal.user ? "cannot become the user who called sudo" : "cannot be run",
		      strerror(refusal.error));
}

/* Orphans of the command are our children, too. Returns whether there are any more. */
static bool reap(struct command *command)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command->pid)
			continue;
		command->status = status;
		command->ended = true;
		command->pid = 0;
	}
	return !pid;
}

bool command_is_alive(struct command *command)
{
	command->alive = command->alive && reap(command);
	return command->alive;
}

void command_signal(struct command *command, int signal)
{
	command->told_to_end = true;
	descendants_signal(signal);
}

void command_end(struct command *command)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};

	if (command->go > 0)
		close(command->go);
	if (command->told > 0)
		close(command->told);
	command->go = command->told = -1;
	if (!command->pid && !command->told_to_end)
		return;
	/* What is forked meanwhile is found by the next round. */
	while (command_is_alive(command)) {
		descendants_signal(SIGKILL);
		nanosleep(&pause, NULL);
	}
}

int command_exit_code(const struct command *command)
{
	if (!command->ended)
		return 0;
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}
