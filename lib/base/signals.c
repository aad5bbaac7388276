// SPDX-License-Identifier: GPL-2.0
#include "lib/base/signals.h"

static struct {
	struct sigaction action;
	bool changed;
} before[NSIG];

const int signals_end[SIGNALS_END] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t inherited;
static bool unblocked;

void signals_unblock(void)
{
	static const int heard[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGCONT, SIGBUS};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++)
		sigaddset(&set, heard[i]);
	unblocked = !sigprocmask(SIG_UNBLOCK, &set, &inherited);
	signals_ignore(SIGXFSZ);
}

bool signals_wanted(int number)
{
	return number != SIGHUP || !signals_ignored(number);
}

bool signals_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

void signals_catch(const struct sigaction *action, const int *numbers, size_t count)
{
	struct sigaction old;

	for (size_t i = 0; i < count; i++) {
		int number = numbers[i];

		if (!signals_wanted(number) || sigaction(number, action, &old) ||
		    before[number].changed)
			continue;
		before[number].action = old;
		before[number].changed = true;
	}
}

void signals_catch_end(const struct sigaction *action)
{
	signals_catch(action, signals_end, SIGNALS_END);
}

void signals_ignore(int number)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	signals_catch(&ignore, &number, 1);
}

/* Blocked before the thread exists: there is no moment in which it could get one. */
int signals_start_thread(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*main)(void *argument), void *argument)
{
	static const int synchronous[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
	sigset_t blocked, before_start;
	int error;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(&blocked, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &before_start);
	error = pthread_create(thread, attributes, main, argument);
	pthread_sigmask(SIG_SETMASK, &before_start, NULL);
	return error;
}

void signals_restore(void)
{
	for (int number = 1; number < NSIG; number++)
		if (before[number].changed)
			sigaction(number, &before[number].action, NULL);
	if (unblocked)
		sigprocmask(SIG_SETMASK, &inherited, NULL);
}
