/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shipped job files, which have names: "demo" is always the shipped job, whatever lies in the current
 * folder; what has a slash or ends in ".ini" is always a file.
 */
#ifndef FAULTLINE_SHELF_H
#define FAULTLINE_SHELF_H

#include <stddef.h>

struct shelf {
	const char *folder;    /* in the source tree, which the program is built in */
	const char *installed; /* under PREFIX/share/faultline */
};

/* The file that the user means. -ENOENT, with the shipped names, for a name that none has. */
int shelf_find(const struct shelf *shelf, const char *name, char *path, size_t size);

/* Calls `each` with the directory and the file's name of each shipped job, in order of names. */
int shelf_list(const struct shelf *shelf,
	       void (*each)(void *argument, const char *directory, const char *file),
	       void *argument);

#endif
