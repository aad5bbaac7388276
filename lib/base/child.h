/* SPDX-License-Identifier: GPL-2.0 */
/* A process that is a part of us: forked, and ended with us. */
#ifndef FAULTLINE_CHILD_H
#define FAULTLINE_CHILD_H

#include <sys/types.h>

/* fork(); the child gets signal `number` when we end, or ends if we have ended before it could ask for that. */
pid_t child_start(int number);
/* Waits for its end, whatever signals come meanwhile; its status as of waitpid(). */
int child_await(pid_t child);

#endif
