// SPDX-License-Identifier: GPL-2.0
#include "lib/base/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/descendants.h"
#include "lib/base/proc.h"

struct keeper {
	int channel;
	pid_t command; /* 0: ended */
	bool stay;
};

static void keeper_tell(const struct keeper *keeper, int what, int value)
{
	const struct keeper_word word = {.what = what, .value = value};

	/* If nobody listens any more, the channel's end is seen next. */
	(void)!send(keeper->channel, &word, sizeof(word), MSG_NOSIGNAL);
}

/* Children are the command and the orphans of what it has started. Returns whether there are any more. */
static bool keeper_reap(struct keeper *keeper)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != keeper->command)
			continue;
		keeper->command = 0;
		keeper_tell(keeper, KEEPER_ENDED, status);
	}
	return !pid;
}

/* We have gone without an end. What is forked meanwhile is found by the next round. */
static _Noreturn void end_all(struct keeper *keeper)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};

	while (keeper_reap(keeper)) {
		descendants_signal(SIGKILL);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

static void on_child(int number)
{
	(void)number;
}

static void keeper_watch(struct keeper *keeper)
{
	const struct sigaction action = {.sa_handler = on_child};
	struct pollfd channel = {.fd = keeper->channel, .events = POLLIN};
	sigset_t blocked, open;
	char word;

	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &open);
	sigdelset(&open, SIGCHLD);
	while (keeper_reap(keeper) && (keeper->command || keeper->stay)) {
		if (ppoll(&channel, 1, NULL, &open) <= 0)
			continue; /* a child has ended */
		if (recv(keeper->channel, &word, 1, 0) != 1)
			end_all(keeper);
		keeper->stay = true;
	}
}

/* Those who ask us to end ask the command through us, or the terminal has asked it already. */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

/* What is open in us stays open in nobody else: files that we write, the kernel's maps. */
static void close_others(unsigned int channel)
{
	if (channel > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, channel - 1, 0);
	close_range(channel + 1, ~0u, 0);
	proc_forget();
}

_Noreturn void keeper_main(int channel, void (*body)(pid_t keeper, void *argument), void *argument)
{
	struct keeper keeper = {.channel = channel};
	pid_t self = getpid();

	keeper.command = descendants_adopt() ? -1 : fork();
	if (keeper.command < 0) {
		keeper_tell(&keeper, KEEPER_FAILED, errno);
		_exit(0);
	}
	if (!keeper.command) {
		body(self, argument);
		_exit(0);
	}
	ignore_signals();
	close_others((unsigned int)channel);
	keeper_tell(&keeper, KEEPER_STARTED, keeper.command);
	keeper_watch(&keeper);
	_exit(0);
}
