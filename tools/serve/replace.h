/* SPDX-License-Identifier: GPL-2.0 */
/* Files that are replaced once a second: whoever reads one finds the whole of an old or of a new one. */
#ifndef FAULTLINE_SERVE_REPLACE_H
#define FAULTLINE_SERVE_REPLACE_H

#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct replaced {
	int folder;	     /* -1: there is no such file */
	int lock;	     /* of the file beside it by which it is ours; -1: none could be had */
	char path[PATH_MAX]; /* for sentences */
	char name[NAME_MAX + 1]; /* in the folder */
	mode_t mode;
	bool failing; /* and it was told */
	unsigned long long failures;
};

/* Opens the folder of `path`. A negative errno with a sentence; what has the name must be a file, or nothing,
 * and no other process may replace it: -EBUSY. Processes forked from this one do not keep others off. */
int replaced_open(struct replaced *file, const char *path, mode_t mode);
void replaced_close(struct replaced *file);
/*
 * Through a file of another name beside it; what an earlier one has left of that goes. Not brought to the disk: after a
 * power failure the old one may be there. What fails is told on stderr, once until it succeeds again.
 */
void replaced_write(struct replaced *file, const void *bytes, size_t size);

#endif
