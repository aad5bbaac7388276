// SPDX-License-Identifier: GPL-2.0
#include "lib/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/user.h"

static int remove_regular(int directory, const char *path)
{
	struct stat status;

	if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : failed(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return failed(-EEXIST, "%s: exists and is no regular file; choose another name",
			      path);
	if (unlinkat(directory, path, 0) && errno != ENOENT)
		return failed(-errno, "%s: cannot be replaced: %s", path, strerror(errno));
	return 0;
}

/* What `sudo faultline` writes, its caller reads without sudo; on a file system without owners it
 * stays root's. */
static void hand_over(int fd)
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

int files_create(int directory, const char *path, mode_t mode, bool overwrite)
{
	int fd, err;

	if (overwrite) {
		err = remove_regular(directory, path);
		if (err)
			return err;
	}
	fd = openat(directory, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd >= 0) {
		hand_over(fd);
		return fd;
	}
	err = -errno;
	if (err == -EEXIST)
		return in_the_way(path);
	return failed(err, "%s: cannot be created: %s", path, strerror(-err));
}

int files_create_unnamed(int directory, const char *path, mode_t mode, bool overwrite)
{
	struct stat status;
	int fd;

	if (!fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) &&
	    (!overwrite || !S_ISREG(status.st_mode)))
		return files_create(directory, path, mode, overwrite); /* refuses */
	fd = openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	if (fd < 0)
		return files_create(directory, path, mode, overwrite);
	hand_over(fd);
	return fd;
}

int files_name(int fd, int directory, const char *path, bool overwrite)
{
	char link[32];
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return failed(-errno, "%s: %s", path, strerror(errno));
	if (status.st_nlink)
		return 0;
	if (overwrite && (err = remove_regular(directory, path)))
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!linkat(AT_FDCWD, link, directory, path, AT_SYMLINK_FOLLOW))
		return 0;
	err = -errno;
	return err == -EEXIST ? in_the_way(path)
			      : failed(err, "%s: cannot be created: %s", path, strerror(-err));
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
