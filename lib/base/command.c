// SPDX-License-Identifier: GPL-2.0
#include "lib/base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descendants.h"
#include "lib/base/fail.h"
#include "lib/base/keeper.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/signals.h"
#include "lib/base/user.h"

const char *command_missing(char *const *argv, bool quoted)
{
	/* What a variable that is not set leaves of a command is no wish to go on without one. */
	return (argv ? !*argv[0] : quoted)
		       ? "--: no command behind it; accepted: -- COMMAND, or none of both"
		       : NULL;
}

bool command_search(const char *name, char path[PATH_MAX], struct stat *status)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && !stat(name, status);
	while (at && *at) {
		size_t length = strcspn(at, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)length, at, name) < PATH_MAX &&
		    !access(path, X_OK) && !stat(path, status) && S_ISREG(status->st_mode))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

bool command_find(const char *name, struct stat *status)
{
	char path[PATH_MAX];

	return command_search(name, path, status);
}

/* What a child that cannot become the command tells before it ends. */
struct refusal {
	bool user; /* it could not become the other user */
	int error; /* errno */
};

/* What the child needs of us. */
struct child {
	const char *path;
	char **argv;
	const struct command_user *user;
	int output; /* that becomes its stdout */
	int held;   /* read end */
	int told;   /* write end, closed by exec */
};

static _Noreturn void command_refuse(int told, bool user)
{
	const struct refusal refusal = {.user = user, .error = errno};

	_exit(write(told, &refusal, sizeof(refusal)) == sizeof(refusal) ? EXIT_FAIL : EXIT_USAGE);
}

/* In the child: waits for the word, then becomes the command. */
static void be_command(pid_t keeper, void *argument)
{
	const struct child *child = argument;
	char word;

	signals_restore();
	limits_restore();
	files_restore_umask();
	/* These are handed on, also where we were started with them ignored. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (read(child->held, &word, 1) != 1)
		_exit(0); /* we gave up before it began */
	if (child->output != STDOUT_FILENO && dup2(child->output, STDOUT_FILENO) < 0)
		command_refuse(child->told, false);
	if (child->user && !user_become(child->user->uid, child->user->gid))
		command_refuse(child->told, true);
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper)
		_exit(0);
	/* Not execvp(): that hands whatever is no program to the shell, line by line. */
	execv(child->path, child->argv);
	command_refuse(child->told, false);
}

static void close_both(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

struct ends {
	int hold[2], tell[2], channel[2];
};

static int open_ends(struct ends *ends)
{
	int err;

	if (pipe2(ends->hold, O_CLOEXEC))
		return failed(-errno, "holding the command: %s", strerror(errno));
	if (pipe2(ends->tell, O_CLOEXEC)) {
		err = failed(-errno, "holding the command: %s", strerror(errno));
		close_both(ends->hold);
		return err;
	}
	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends->channel))
		return 0;
	err = failed(-errno, "holding the command: %s", strerror(errno));
	close_both(ends->hold);
	close_both(ends->tell);
	return err;
}

/* Who the command is. */
static int await_start(struct command *command)
{
	struct keeper_word word;
	ssize_t size;

	do
		size = recv(command->channel, &word, sizeof(word), 0);
	while (size < 0 && errno == EINTR);
	if (size == sizeof(word) && word.what == KEEPER_STARTED) {
		command->pid = word.value;
		return 0;
	}
	if (size != sizeof(word))
		word.value = size ? errno : ECHILD;
	return failed(-word.value, "starting %s: %s", command->name, strerror(word.value));
}

int command_prepare(struct command *command, char **argv, const struct command_user *user,
		    int output)
{
	char path[PATH_MAX];
	struct stat program;
	struct ends ends;
	int err;

	memset(command, 0, sizeof(*command));
	command->name = argv[0];
	if (!command_search(argv[0], path, &program))
		return failed(-ENOENT, "%s: no such command", argv[0]);
	err = descendants_adopt();
	if (!err)
		err = open_ends(&ends);
	if (err)
		return err;
	command->keeper = fork();
	if (!command->keeper) {
		struct child child = {path, argv, user, output, ends.hold[0], ends.tell[1]};

		close(ends.hold[1]);
		close(ends.tell[0]);
		close(ends.channel[0]);
		keeper_main(ends.channel[1], be_command, &child);
	}
	err = command->keeper < 0 ? failed(-errno, "starting %s: %s", argv[0], strerror(errno)) : 0;
	close(ends.hold[0]);
	close(ends.tell[1]);
	close(ends.channel[1]);
	command->go = ends.hold[1];
	command->told = ends.tell[0];
	command->channel = ends.channel[0];
	command->alive = !err;
	return err ? err : await_start(command);
}

int command_go(struct command *command)
{
	ssize_t size = write(command->go, "g", 1);
	struct refusal refusal;

	close(command->go);
	command->go = -1;
	/* EPIPE: a signal to all of us has ended it before it began, which is told as any end of it. */
	if (size != 1 && errno != EPIPE)
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

static void command_note_end(struct command *command, int status)
{
	command->status = status;
	command->ended = true;
	command->pid = 0;
}

static void command_hear(struct command *command)
{
	struct keeper_word word;

	if (!command->ended &&
	    recv(command->channel, &word, sizeof(word), MSG_DONTWAIT) == sizeof(word))
		command_note_end(command, word.value);
}

/* Orphans that a keeper left are our children, too. Returns whether there are any. */
static bool command_reap(struct command *command)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		command_hear(command);
		if (pid != command->keeper || command->ended)
			continue;
		/* Killed: the command has died with it, what that started is left to us. */
		command_note_end(command, status);
		command->told_to_end = true;
	}
	return !pid;
}

bool command_is_alive(struct command *command)
{
	if (command->alive)
		command_hear(command);
	command->alive = command->alive && command_reap(command);
	return command->alive;
}

void command_signal(struct command *command, int signal)
{
	const char word = KEEPER_STAY;

	command->told_to_end = true;
	/* One that is gone has left what there is to us. */
	(void)!send(command->channel, &word, sizeof(word), MSG_NOSIGNAL);
	descendants_signal(signal);
}

static void close_once(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = -1;
}

void command_end(struct command *command)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};

	close_once(&command->go);
	close_once(&command->told);
	if (command->pid || command->told_to_end)
		/* What is forked meanwhile is found by the next round. */
		while (command_is_alive(command)) {
			descendants_signal(SIGKILL);
			nanosleep(&pause, NULL);
		}
	close_once(&command->channel);
}

int command_exit_code(const struct command *command)
{
	if (!command->ended)
		return 0;
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}
