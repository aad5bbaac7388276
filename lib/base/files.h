/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Creating and writing files as root in directories of others: never through a link, never over
 * what somebody else put there. And whether two names are of one file.
 */
#ifndef FAULTLINE_FILES_H
#define FAULTLINE_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * First of all: whatever umask we were started with, what we make is its owner's to use. The rest of the
 * umask holds. files_restore_umask() is for a child, ahead of its exec.
 */
void files_keep_owner(void);
void files_restore_umask(void);

/* Whether both are of one file, whatever its names. */
bool same_file(const struct stat *a, const struct stat *b);

/* A regular file whose owner is who we run as, or sudo's caller. */
bool file_is_ours(const struct stat *status);

/*
 * Creates `path` (relative to the directory descriptor, or AT_FDCWD) with O_EXCL|O_NOFOLLOW.
 * Under sudo the file belongs to sudo's caller.
 * Returns a descriptor (O_CLOEXEC, read and write), or -EEXIST and so on with a sentence.
 */
int files_create(int directory, const char *path, mode_t mode);

/*
 * The same in two steps: a file without a name, which is gone if the process ends, and the name once
 * it is worth one. With `overwrite` the second step puts it in the place of a regular file of that
 * name, which stays as it is until then; there is no instant without one of them. What else is in
 * the way is refused at the first step.
 *
 * Where the file system knows no files without a name the first step makes "PATH.new-PID" (with
 * `overwrite`) or gives the file its name at once. All three want the same `path` and `overwrite`,
 * by the same process.
 *
 * The first step removes files of that name, our own, whose process was killed between the two.
 *
 * What the file holds is on the disk before it gets its name, and the name before files_name() returns: a
 * power failure leaves what was there or the whole of what takes its place.
 */
int files_create_unnamed(int directory, const char *path, mode_t mode, bool overwrite);
int files_name(int fd, int directory, const char *path, bool overwrite);
/* Instead of the second step: leaves nothing behind, and what was there as it was. */
void files_discard(int fd, int directory, const char *path, bool overwrite);

/* The folder of a path shorter than PATH_MAX, "." if it names none; returns `folder`. */
const char *files_folder(const char *path, char folder[PATH_MAX]);

/* "a directory", "a pipe", "a device or socket"; NULL of a regular file. */
const char *files_kind(const struct stat *status);

/*
 * Opens for reading what somebody named: a regular file, or one of the descriptors that we were given
 * (/dev/stdin, /dev/fd/63 of a shell's <()). Whatever else is there may make us wait for ever, or do something by
 * being opened: it is refused with -EISDIR or -EPROTO and a sentence that ends with what is `accepted`.
 * Returns a descriptor (O_CLOEXEC), or a negative errno; any other one is why it cannot be opened, without a
 * sentence.
 */
int files_open_input(const char *path, const char *accepted);

/* Creates the directory if it is missing and opens it; a link in its place is refused. */
int files_open_directory(const char *path, bool create);

/*
 * Waits until what was written to the file is on its disk, or a file's name in its folder is. Returns 0 or a
 * negative errno: also of what the kernel could not write since the file was opened. Where there is no such
 * disk it is 0.
 */
int files_sync(int fd, const char *path);
int files_sync_directory(int directory, const char *path);

/* Closes it in any case; a server's files are written only here. Returns 0 or a negative errno. */
int files_close(int fd, const char *path);

/*
 * Writes all bytes, over EINTR and short writes. Returns 0 or a negative errno; `path` is for the
 * sentence. `written` (may be NULL) is set even on failure.
 */
int files_write(int fd, const char *path, const void *bytes, size_t size, size_t *written);

#endif
