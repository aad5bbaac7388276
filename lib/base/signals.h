/* SPDX-License-Identifier: GPL-2.0 */
/* Signals that ask a program to end, and what a program that it starts must not inherit of that. */
#ifndef FAULTLINE_SIGNALS_H
#define FAULTLINE_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * First of all: whoever started us may have blocked what is to end us, or what a fault of the machine's
 * own memory raises. A file beyond RLIMIT_FSIZE is a write that fails, with its sentence; RLIMIT_CPU
 * ends with one, too, and EXIT_FAIL, unless it is ignored.
 */
void signals_unblock(void);

/* False for a SIGHUP that was ignored when we were started: nohup(1) means that we stay. */
bool signals_wanted(int number);

/* True if whoever started us, or signals_ignore(), has it ignored. */
bool signals_ignored(int number);

/* Installs `action` for those of the signals that are wanted. */
void signals_catch(const struct sigaction *action, const int *numbers, size_t count);

/*
 * The same for all that ask a program to end: SIGINT, SIGTERM, SIGHUP. From now on the limit of CPU time,
 * of this process or of one forked from it, is like a SIGTERM.
 */
#define SIGNALS_END 3
extern const int signals_end[SIGNALS_END];
void signals_catch_end(const struct sigaction *action);

/* On stderr, for whoever has ended in order: that it was the limit of CPU time, if it was. */
void signals_tell_cpu_limit(void);

/* Writing to a closed pipe (SIGPIPE) or beyond a limit (SIGXFSZ) is then an error like any other. */
void signals_ignore(int number);

/*
 * pthread_create() of a thread that leaves signals to the others, but for those that its own instructions
 * raise. 0 or an errno.
 */
int signals_start_thread(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*main)(void *argument), void *argument);

/* What signals_catch() and signals_unblock() have changed as it was: for a child, ahead of its exec. */
void signals_restore(void);

#endif
