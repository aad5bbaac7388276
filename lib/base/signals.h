/* SPDX-License-Identifier: GPL-2.0 */
/* Signals that ask a program to end, and what a program that it starts must not inherit of that. */
#ifndef FAULTLINE_SIGNALS_H
#define FAULTLINE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * First of all: whoever started us may have blocked what is to end us, or what a fault of the machine's
 * own memory raises. A file beyond RLIMIT_FSIZE is a write that fails, with its sentence.
 */
void signals_unblock(void);

/* False for a SIGHUP that was ignored when we were started: nohup(1) means that we stay. */
bool signals_wanted(int number);

/* Installs `action` for those of the signals that are wanted. */
void signals_catch(const struct sigaction *action, const int *numbers, size_t count);

/* What signals_catch() and signals_unblock() have changed as it was: for a child, ahead of its exec. */
void signals_restore(void);

#endif
