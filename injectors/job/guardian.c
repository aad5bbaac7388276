// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/guardian.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/registry.h"
#include "injectors/emu/thread.h"
#include "lib/base/child.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/signals.h"

#define STOP_SECONDS 4 /* for the child to stop by itself once it was told to */
#define PROGRESS_NS  (NSEC_PER_SEC / 4)

volatile sig_atomic_t guardian_stop;
static pid_t guardian; /* in the child; 0: none */

/* In the campaign's own process, which ends as soon as it looks. */
static void guardian_on_stop_between(int number)
{
	(void)number;
	guardian_stop = 1;
}

static void guardian_on_stop(int number)
{
	(void)number;
	/* A machine that cannot be stopped must not outlive its campaign: SIGALRM ends it. */
	if (!guardian_stop)
		alarm(STOP_SECONDS);
	guardian_stop = 1;
}

void guardian_catch_stops(void)
{
	const struct sigaction action = {.sa_handler = guardian_on_stop_between};

	signals_catch_end(&action);
}

static void child_main(const struct guardian_task *task, const sigset_t *mask)
{
	const struct sigaction action = {.sa_handler = guardian_on_stop};

	signals_catch_end(&action);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	task->body(task->argument);
	_exit(EXIT_OK);
}

bool guardian_gone(void)
{
	return guardian && getppid() != guardian;
}

int guardian_stopped(void)
{
	return failed(-EINTR, "stopped by a signal; everything injected is undone");
}

static int guardian_outcome(int status, bool stopped)
{
	registry_remove_stale();
	if (WIFSIGNALED(status) && !stopped)
		return failed(-EIO, "the machine's process died of signal %d (%s)%s",
			      WTERMSIG(status), strsignal(WTERMSIG(status)),
			      WTERMSIG(status) == SIGKILL ? "; was it killed, or out of memory?"
							  : "");
	return stopped ? guardian_stopped() : 0;
}

/* Waits for the child; passes on signals, ends it by force if it does not stop. */
static int guardian_watch(const struct guardian_task *task, pid_t child, const sigset_t *signals)
{
	const struct timespec interval = {.tv_nsec = PROGRESS_NS};
	__u64 begin = monotonic_ns(), kill_at = UINT64_MAX;
	bool told, stopped = false;
	int status;

	for (;;) {
		int number = sigtimedwait(signals, NULL, &interval);

		/* It is ours now, even if the child has ended meanwhile: nobody else will hear of it. */
		told = (number > 0 && number != SIGCHLD) || guardian_stop;
		if (waitpid(child, &status, WNOHANG) == child)
			return guardian_outcome(status, told || stopped);
		if (told && !stopped) {
			stopped = true;
			kill(child, SIGTERM);
			kill_at = monotonic_ns() + (STOP_SECONDS + 1) * NSEC_PER_SEC;
		}
		if (monotonic_ns() > kill_at)
			kill(child, SIGKILL);
		if (number < 0 && task->progress && !stopped)
			task->progress(task->progress_argument,
				       (double)(monotonic_ns() - begin) / NSEC_PER_SEC);
	}
}

int guardian_run(const struct guardian_task *task, pid_t *pid)
{
	const pid_t self = getpid();
	sigset_t signals, before;
	pid_t child;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	/* One that is ignored would be waited for all the same. */
	for (size_t i = 0; i < SIGNALS_END; i++)
		if (signals_wanted(signals_end[i]))
			sigaddset(&signals, signals_end[i]);
	/* Blocked from before the fork: one that comes now is seen by guardian_watch(), or by the child. */
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	if (guardian_stop) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return guardian_stopped();
	}
	child = child_start(SIGTERM);
	if (child < 0) {
		err = failed(-errno, "cannot start the machine's process: %s", strerror(errno));
	} else if (!child) {
		guardian = self;
		child_main(task, &before);
	} else {
		*pid = child;
		err = guardian_watch(task, child, &signals);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
