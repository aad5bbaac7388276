// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/printable.h"

#define PASSING_NAME (NAME_MAX + 8)
#define LOCK_STEP_NS 20000000l
#define LOCK_STEPS   25u

/*
 * POSIX locks end with their process, however it does, and are not inherited. One that was killed may be on its way
 * out still, so this waits for a moment.
 */
static int take_lock(int fd)
{
	const struct timespec moment = {.tv_nsec = LOCK_STEP_NS};

	for (unsigned int i = 0;; i++) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		if (!fcntl(fd, F_SETLK, &lock))
			return 0;
		if ((errno != EAGAIN && errno != EACCES) || i == LOCK_STEPS)
			return -errno;
		nanosleep(&moment, NULL);
	}
}

static const char *lock_name(const struct replaced *file, char name[PASSING_NAME])
{
	snprintf(name, PASSING_NAME, ".%s.lock", file->name);
	return name;
}

/* Another server may have taken the file away between our opening it and our lock. */
static bool lock_is_there(const struct replaced *file, const char *name)
{
	struct stat ours, there;

	return !fstat(file->lock, &ours) &&
	       !fstatat(file->folder, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* Where no lock can be had, such as in a folder that cannot be written, writing will tell why. */
static int replaced_lock(struct replaced *file)
{
	struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[PASSING_NAME];
	int err;

	lock_name(file, name);
	for (unsigned int i = 0; i < LOCK_STEPS; i++) {
		file->lock = openat(file->folder, name,
				    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
		if (file->lock < 0)
			return 0;
		err = take_lock(file->lock);
		if (err == -EAGAIN || err == -EACCES)
			break;
		if (err || lock_is_there(file, name))
			return 0;
		close(file->lock);
		file->lock = -1;
	}
	if (file->lock < 0)
		return 0;
	if (fcntl(file->lock, F_GETLK, &held) || held.l_type == F_UNLCK)
		held.l_pid = 0;
	close(file->lock);
	file->lock = -1;
	return failed(
		-EBUSY,
		"%s: another server (process %d) writes it; accepted: a file of its own for each",
		file->path, (int)held.l_pid);
}

int replaced_open(struct replaced *file, const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	struct stat status;
	int err;

	*file = (struct replaced){.folder = -1, .lock = -1, .mode = mode};
	if (strlen(path) >= sizeof(file->path) || !*name || strlen(name) > NAME_MAX - 8)
		return failed(-EINVAL, "%s: is no name for a file", path);
	snprintf(file->path, sizeof(file->path), "%s", path);
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->folder = open(files_folder(path, folder), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (file->folder < 0)
		return failed(-errno, "%s: cannot be opened: %s", folder, strerror(errno));
	if (!fstatat(file->folder, name, &status, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(status.st_mode)) {
		replaced_close(file);
		return failed(-EEXIST, "%s: is no regular file; accepted: a file, or nothing",
			      path);
	}
	err = replaced_lock(file);
	if (err)
		replaced_close(file);
	return err;
}

void replaced_close(struct replaced *file)
{
	char name[PASSING_NAME];

	if (file->lock >= 0) {
		unlinkat(file->folder, lock_name(file, name), 0);
		close(file->lock);
	}
	if (file->folder >= 0)
		close(file->folder);
	file->folder = file->lock = -1;
}

static int write_passing(const struct replaced *file, const char *passing, const void *bytes,
			 size_t size)
{
	int fd, err;

	unlinkat(file->folder, passing, 0);
	fd = openat(file->folder, passing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	err = files_write(fd, file->path, bytes, size, NULL);
	if (!err && fchmod(fd, file->mode))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(file->folder, passing, file->folder, file->name))
		err = -errno;
	if (err)
		unlinkat(file->folder, passing, 0);
	return err;
}

void replaced_write(struct replaced *file, const void *bytes, size_t size)
{
	char passing[PASSING_NAME];
	int err;

	if (file->folder < 0)
		return;
	snprintf(passing, sizeof(passing), ".%s.new", file->name);
	err = write_passing(file, passing, bytes, size);
	file->failures += err != 0;
	if (err && !file->failing)
		fprintf(stderr,
			"faultline: %s: cannot be written: %s; it stays as it is, and is tried again\n",
			printable_of(file->path).text, strerror(-err));
	else if (!err && file->failing)
		fprintf(stderr, "faultline: %s: is written again\n", printable_of(file->path).text);
	file->failing = err != 0;
}
