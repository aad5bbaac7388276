/* SPDX-License-Identifier: GPL-2.0 */
/* What a long computation tells of itself on a terminal, and how a signal ends it. */
#ifndef FAULTLINE_TOOLS_PROGRESS_H
#define FAULTLINE_TOOLS_PROGRESS_H

#include <linux/types.h>
#include <stddef.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP end the process at once with EXIT_INTERRUPTED and a sentence,
 * unless they are ignored. There is nothing to clean up: files have no name before they are whole.
 */
void progress_end_on_signals(void);

/* What the line counts instead of "points". */
void progress_parts(const char *word);
/* Packets or accesses that a source has given, from any thread. */
void progress_add(__u64 count);
/* Rewrites the line on stderr, if that is a terminal and two seconds have passed since the first call. `what`: "packets". */
void progress_show(size_t done, size_t points, const char *what);
/* Removes the line. */
void progress_end(void);

#endif
