/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that a command has started, with theirs, whatever became of those in between: sessions,
 * process groups and double forks change nothing.
 */
#ifndef FAULTLINE_DESCENDANTS_H
#define FAULTLINE_DESCENDANTS_H

/* From now on orphans among our descendants become our children. Returns 0 or a negative errno. */
int descendants_adopt(void);

/* Sends a signal to each descendant. Returns how many there were. */
unsigned int descendants_signal(int number);

#endif
