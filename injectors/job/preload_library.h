/* SPDX-License-Identifier: GPL-2.0 */
/* Where the libraries are that other programs have preloaded. */
#ifndef FAULTLINE_JOB_PRELOAD_LIBRARY_H
#define FAULTLINE_JOB_PRELOAD_LIBRARY_H

#include <limits.h>

/*
 * Beside this program, as it is built, or where it is installed. -ENOENT with a sentence: `who`, such as "programs of guests", need
 * it.
 */
int preload_library_find(const char *name, const char *who, char path[PATH_MAX]);

#endif
