/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/base/command.c: the process between us and a command, which outlives us by a moment. */
#ifndef FAULTLINE_KEEPER_H
#define FAULTLINE_KEEPER_H

#include <sys/types.h>

/* What a keeper tells through its channel: first the command's pid, then its status. */
struct keeper_word {
	enum { KEEPER_STARTED, KEEPER_ENDED, KEEPER_FAILED } what;
	int value; /* pid; status as of waitpid(); errno of what failed */
};

/*
 * What we tell it through the channel, as one byte: the command has been asked to end, so stay until all
 * that it has started is gone. Without that a keeper ends with its command.
 */
#define KEEPER_STAY 's'

/*
 * Becomes the keeper: forks the child that `body` makes the command of, ends with it, and kills what is left
 * if the other end of `channel` closes before. `body` does not return.
 */
_Noreturn void keeper_main(int channel, void (*body)(pid_t keeper, void *argument), void *argument);

#endif
