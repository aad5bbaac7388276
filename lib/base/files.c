// SPDX-License-Identifier: GPL-2.0
#include "lib/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/user.h"

static mode_t inherited;
static bool changed;

void files_keep_owner(void)
{
	inherited = umask(077);
	umask(inherited & ~0700u);
	changed = true;
}

void files_restore_umask(void)
{
	if (changed)
		umask(inherited);
}

bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What `sudo faultline` writes, its caller reads without sudo; on a file system without owners it
 * stays root's. */
static void file_hand_over(int fd)
{
	uid_t user;
	gid_t group;

	if (user_behind_sudo(&user, &group) && fchown(fd, user, group))
		return;
}

static int in_the_way(const char *path)
{
	return failed(-EEXIST, "%s: exists already; choose another name or remove it", path);
}

int files_create(int directory, const char *path, mode_t mode)
{
	int fd = openat(directory, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd >= 0) {
		file_hand_over(fd);
		return fd;
	}
	if (errno == EEXIST)
		return in_the_way(path);
	return failed(-errno, "%s: cannot be created: %s", path, strerror(errno));
}

/* What may not be replaced is refused. */
static int file_check_place(int directory, const char *path, bool overwrite)
{
	struct stat status;

	if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!overwrite)
		return in_the_way(path);
	return S_ISREG(status.st_mode)
		       ? 0
		       : failed(-EEXIST, "%s: exists and is no regular file; choose another name",
				path);
}

/* Where the file is until it gets its name, on file systems that know no files without one. */
static int temporary_name(const char *path, char name[PATH_MAX])
{
	if (snprintf(name, PATH_MAX, "%s.new-%d", path, getpid()) < PATH_MAX)
		return 0;
	return failed(-ENAMETOOLONG, "%.64s...: the name is too long", path);
}

const char *files_folder(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	return folder;
}

/* The process in "BASE.new-PID", 0 if that is another name. */
static pid_t maker_of(const char *name, const char *base)
{
	size_t length = strlen(base);
	char written[NAME_MAX + 1];
	long pid;

	if (strncmp(name, base, length) != 0 || strncmp(name + length, ".new-", 5) != 0)
		return 0;
	pid = strtol(name + length + 5, NULL, 10);
	snprintf(written, sizeof(written), "%s.new-%ld", base, pid);
	return pid > 0 && pid <= INT_MAX && !strcmp(name, written) ? (pid_t)pid : 0;
}

bool file_is_ours(const struct stat *status)
{
	uid_t user;
	gid_t group;

	return S_ISREG(status->st_mode) &&
	       (status->st_uid == geteuid() ||
		(user_behind_sudo(&user, &group) && status->st_uid == user));
}

/* A process of another PID namespace is not seen; it has locked its file. */
static void remove_leftover(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return;
	if (!fstat(fd, &status) && file_is_ours(&status) && !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(folder, name, 0);
	close(fd);
}

/* Files that processes were about to put in the place of `path` when they were killed. */
static void remove_leftovers(int directory, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int fd;

	fd = openat(directory, files_folder(path, folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		pid_t maker = maker_of(entry->d_name, base);

		if (maker && kill(maker, 0) && errno == ESRCH)
			remove_leftover(fd, entry->d_name);
	}
	closedir(dir);
}

static int create_unnamed(int directory, const char *path, mode_t mode, bool overwrite)
{
	char name[PATH_MAX];
	int fd, err = file_check_place(directory, path, overwrite);

	err = err ? err : temporary_name(path, name);
	if (err)
		return err;
	fd = openat(directory, files_folder(path, name), O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	if (fd >= 0) {
		file_hand_over(fd);
		return fd;
	}
	if (!overwrite)
		return files_create(directory, path, mode);
	temporary_name(path, name);
	return files_create(directory, name, mode);
}

int files_create_unnamed(int directory, const char *path, mode_t mode, bool overwrite)
{
	int fd;

	remove_leftovers(directory, path);
	fd = create_unnamed(directory, path, mode, overwrite);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* What a file system keeps nowhere need not get there. */
static int sync_whole(int fd)
{
	while (fsync(fd))
		if (errno != EINTR)
			return errno == EINVAL || errno == EROFS ? 0 : -errno;
	return 0;
}

int files_sync(int fd, const char *path)
{
	int err = sync_whole(fd);

	return err ? failed(err, "%s: cannot be written to the disk: %s", path, strerror(-err)) : 0;
}

int files_sync_directory(int directory, const char *path)
{
	char folder[PATH_MAX];
	int fd, err;

	if (strlen(path) >= PATH_MAX)
		return failed(-ENAMETOOLONG, "%.64s...: the name is too long", path);
	fd = openat(directory, files_folder(path, folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Files can be made in a folder that may not be read; nobody can wait for their names then. */
	if (fd < 0 && errno == EACCES)
		return 0;
	err = fd < 0 ? -errno : sync_whole(fd);
	if (fd >= 0)
		close(fd);
	return err ? failed(err, "%s: its name cannot be written to the disk: %s", path,
			    strerror(-err))
		   : 0;
}

int files_close(int fd, const char *path)
{
	return close(fd) ? failed(-errno, "%s: cannot be written: %s", path, strerror(errno)) : 0;
}

static bool is_named(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_nlink;
}

static int give_name(int fd, int directory, const char *path, bool overwrite)
{
	bool named = is_named(fd);
	char link[32], temporary[PATH_MAX];
	const char *name = overwrite ? temporary : path;
	int err = overwrite ? file_check_place(directory, path, true) : 0;

	err = err ? err : temporary_name(path, temporary);
	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!named && linkat(AT_FDCWD, link, directory, name, AT_SYMLINK_FOLLOW))
		return errno == EEXIST
			       ? in_the_way(name)
			       : failed(-errno, "%s: cannot be created: %s", name, strerror(errno));
	if (!overwrite || !renameat(directory, temporary, directory, path))
		return 0;
	err = failed(-errno, "%s: cannot be replaced: %s", path, strerror(errno));
	unlinkat(directory, temporary, 0);
	return err;
}

int files_name(int fd, int directory, const char *path, bool overwrite)
{
	return files_sync(fd, path)
		       ?: give_name(fd, directory, path, overwrite)
		       ?: files_sync_directory(directory, path);
}

void files_discard(int fd, int directory, const char *path, bool overwrite)
{
	char temporary[PATH_MAX];

	if (is_named(fd) && !temporary_name(path, temporary))
		unlinkat(directory, overwrite ? temporary : path, 0);
}

const char *files_kind(const struct stat *status)
{
	if (S_ISREG(status->st_mode))
		return NULL;
	if (S_ISDIR(status->st_mode))
		return "a directory";
	return S_ISFIFO(status->st_mode) ? "a pipe" : "a device or socket";
}

static bool is_own_descriptor(const char *path)
{
	return !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/self/fd/", 14);
}

int files_open_input(const char *path, const char *accepted)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err;
	bool given = is_own_descriptor(path);
	struct stat status;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &status) ? -errno : 0;
	if (!err && files_kind(&status) && (!given || S_ISDIR(status.st_mode)))
		err = failed(S_ISDIR(status.st_mode) ? -EISDIR : -EPROTO, "%s: is %s; accepted: %s",
			     path, files_kind(&status), accepted);
	if (!err && given && fcntl(fd, F_SETFL, 0))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int files_open_directory(const char *path, bool create)
{
	int fd;

	if (create && mkdir(path, 0777) && errno != EEXIST)
		return failed(-errno, "%s: cannot create the directory: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(-errno, "%s: cannot open the directory: %s", path, strerror(errno));
	return fd;
}

int files_write(int fd, const char *path, const void *bytes, size_t size, size_t *written)
{
	const char *next = bytes;
	size_t left = size;
	int err = 0;

	while (left) {
		ssize_t n = write(fd, next, left);

		if (n > 0) {
			next += n;
			left -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = fd, .events = POLLOUT};

			/* A pipe that somebody else made non-blocking. */
			poll(&wait, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			err = n ? -errno : -EIO;
			break;
		}
	}
	if (written)
		*written = size - left;
	return err ? failed(err, "%s: cannot be written: %s", path, strerror(-err)) : 0;
}
