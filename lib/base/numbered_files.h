/* SPDX-License-Identifier: GPL-2.0 */
/* Files of one directory whose names differ by a number: "run.flt.000007", "run.trigger-007.flt". */
#ifndef FAULTLINE_NUMBERED_FILES_H
#define FAULTLINE_NUMBERED_FILES_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct numbered_files {
	char before[PATH_MAX]; /* the number, with the directory */
	char after[8];
	unsigned int digits; /* at least */
};

/* "PATH.000007": numbers of six digits. Returns 0 or -ENAMETOOLONG, as the next. */
int numbered_files_behind(struct numbered_files *files, const char *path);
/* "STEM.WORD-007.flt", where `path` is "STEM.flt" or, without that ending, "STEM". */
int numbered_files_beside(struct numbered_files *files, const char *path, const char *word);
int numbered_files_path(const struct numbered_files *files, __u32 number, char path[PATH_MAX]);

struct numbers {
	__u32 *all; /* ascending, none of them 0 */
	size_t count, room;
};

/* The numbers that are there; none is no error. */
int numbered_files_list(const struct numbered_files *files, struct numbers *numbers);
/*
 * The number behind all that count, as others may make files of such names: 0 and *next, which is 0 where no
 * number is left, or a negative errno. That name may be taken.
 */
int numbered_files_next(const struct numbered_files *files,
			bool (*counts)(const char *path, __u32 number), __u32 *next);
void numbers_free(struct numbers *numbers);

#endif
