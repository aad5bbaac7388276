// SPDX-License-Identifier: GPL-2.0
#include "lib/base/signals.h"

static struct {
	struct sigaction action;
	bool changed;
} before[NSIG];

static sigset_t inherited;
static bool unblocked;

void signals_unblock(void)
{
	static const int file_too_large = SIGXFSZ;
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	static const int heard[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGCONT, SIGBUS};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++)
		sigaddset(&set, heard[i]);
	unblocked = !sigprocmask(SIG_UNBLOCK, &set, &inherited);
	signals_catch(&ignore, &file_too_large, 1);
}

bool signals_wanted(int number)
{
	struct sigaction action;

	return number != SIGHUP || sigaction(number, NULL, &action) || action.sa_handler != SIG_IGN;
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

void signals_restore(void)
{
	for (int number = 1; number < NSIG; number++)
		if (before[number].changed)
			sigaction(number, &before[number].action, NULL);
	if (unblocked)
		sigprocmask(SIG_SETMASK, &inherited, NULL);
}
