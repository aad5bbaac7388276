/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Creating and writing files as root in directories of others: never through a link, never over
 * what somebody else put there.
 */
#ifndef FAULTLINE_FILES_H
#define FAULTLINE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Creates `path` (relative to the directory descriptor, or AT_FDCWD) with O_EXCL|O_NOFOLLOW.
 * With `overwrite` a regular file of that name is removed first, anything else is refused.
 * Under sudo the file belongs to sudo's caller.
 * Returns a descriptor (O_CLOEXEC, read and write), or -EEXIST and so on with a sentence.
 */
int files_create(int directory, const char *path, mode_t mode, bool overwrite);

/*
 * The same in two steps: a file without a name, which is gone if the process ends, and the name once
 * it is whole. Where the file system knows no such files the first step gives it its name at once.
 * What is in the way is refused at the first step.
 */
int files_create_unnamed(int directory, const char *path, mode_t mode, bool overwrite);
int files_name(int fd, int directory, const char *path, bool overwrite);

/* Creates the directory if it is missing and opens it; a link in its place is refused. */
int files_open_directory(const char *path, bool create);

/*
 * Writes all bytes, over EINTR and short writes. Returns 0 or a negative errno; `path` is for the
 * sentence. `written` (may be NULL) is set even on failure.
 */
int files_write(int fd, const char *path, const void *bytes, size_t size, size_t *written);

#endif
