// SPDX-License-Identifier: GPL-2.0
#include "lib/base/signals.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define CPU_LIMIT "faultline: the limit of CPU time was reached (RLIMIT_CPU); raise it: ulimit -t\n"

static struct {
	struct sigaction action;
	bool changed;
} before[NSIG];

const int signals_end[SIGNALS_END] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t inherited;
static bool unblocked;

static pid_t first; /* the process that was started as the program */
static volatile sig_atomic_t cpu_limit_reached;
static struct sigaction end_in_order; /* without a handler: there is nothing to put in order */

static _Noreturn void end_at_once(void)
{
	static const char sentence[] = CPU_LIMIT;

	if (write(STDERR_FILENO, sentence, sizeof(sentence) - 1) < 0)
		_exit(EXIT_FAIL);
	_exit(EXIT_FAIL);
}

/* In a process that we have forked: whoever waits for it is to end as well, and to say why. */
static void on_cpu_limit(int number, siginfo_t *info, void *context)
{
	siginfo_t as_if = {.si_signo = SIGTERM, .si_code = SI_USER};
	int error = errno;

	(void)info;
	cpu_limit_reached = 1;
	/* Who has lost its parent has another by now, who has nothing to do with it. */
	if (getpid() != first && getppid() == first)
		kill(first, number);
	if (end_in_order.sa_flags & SA_SIGINFO)
		end_in_order.sa_sigaction(SIGTERM, &as_if, context);
	else if (end_in_order.sa_handler)
		end_in_order.sa_handler(SIGTERM);
	else
		end_at_once();
	errno = error;
}

static void catch_cpu_limit(void)
{
	const struct sigaction action = {.sa_sigaction = on_cpu_limit, .sa_flags = SA_SIGINFO};
	static const int number = SIGXCPU;

	first = getpid();
	if (!signals_ignored(number))
		signals_catch(&action, &number, 1);
}

void signals_tell_cpu_limit(void)
{
	if (cpu_limit_reached)
		fputs(CPU_LIMIT, stderr);
}

void signals_unblock(void)
{
	static const int heard[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				    SIGALRM, SIGCONT, SIGBUS,  SIGXCPU};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++)
		sigaddset(&set, heard[i]);
	unblocked = !sigprocmask(SIG_UNBLOCK, &set, &inherited);
	signals_ignore(SIGXFSZ);
	catch_cpu_limit();
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
	end_in_order = *action;
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
