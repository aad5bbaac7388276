// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/block_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

static bool is_set(const char *text)
{
	return text && *text;
}

static int refuse_kind(const struct stat *status, const char *path)
{
	if (S_ISREG(status->st_mode) || S_ISBLK(status->st_mode))
		return 0;
	return failed(-EINVAL, "%s: a disk needs a regular file or a block device", path);
}

/* Size of what was opened. */
static int medium_bytes(int descriptor, const struct stat *status, const char *path, __u64 *bytes)
{
	*bytes = (__u64)status->st_size;
	if (S_ISBLK(status->st_mode) && ioctl(descriptor, BLKGETSIZE64, bytes))
		return failed(-errno, "%s: cannot tell its size: %s", path, strerror(errno));
	return 0;
}

static int cannot_open(const struct device_setup *setup, int error)
{
	return failed(-error, "%s: cannot open it for reading%s%s: %s%s", setup->file,
		      setup->file_writable ? " and writing" : "",
		      setup->file_direct ? " with O_DIRECT" : "", strerror(error),
		      error == EBUSY ? " (it is mounted, or somebody else's)" : "");
}

/* A disk of which loop devices are made is theirs: they are written behind the back of what is mounted on them. */
static int refuse_loop_backing(const struct stat *status, const char *path)
{
	glob_t loops = {0};
	int err = 0;

	if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &loops))
		return 0;
	for (size_t i = 0; !err && i < loops.gl_pathc; i++) {
		char backing[PATH_MAX] = "", device[32];
		FILE *file = fopen(loops.gl_pathv[i], "re");
		struct stat theirs;

		if (file && fgets(backing, sizeof(backing), file))
			backing[strcspn(backing, "\n")] = '\0';
		if (file)
			fclose(file);
		sscanf(loops.gl_pathv[i], "/sys/block/%31[^/]", device);
		if (!stat(backing, &theirs) && same_file(&theirs, status))
			err = failed(-EBUSY,
				     "%s: /dev/%s is made of it; detach that first (losetup -d)",
				     path, device);
	}
	globfree(&loops);
	return err;
}

/*
 * What it is is asked before, since opening some devices has effects, and afterwards, since it may have
 * become another. O_EXCL: a block device that is mounted, or part of another, is not written.
 */
static int open_checked(const struct device_setup *setup, struct stat *status)
{
	int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (setup->file_direct ? O_DIRECT : 0);
	int descriptor, err;

	if (stat(setup->file, status))
		return cannot_open(setup, errno);
	err = refuse_kind(status, setup->file);
	if (err)
		return err;
	/* One that is written was resolved before anybody consented. */
	flags |= setup->file_writable ? O_RDWR | O_NOFOLLOW : O_RDONLY;
	if (S_ISBLK(status->st_mode) && setup->file_writable) {
		if (!setup->file_consented)
			return failed(-EPERM,
				      "%s is a block device that this job would write; add "
				      "--yes-i-mean-it %s",
				      setup->file, setup->file);
		flags |= O_EXCL;
	}
	descriptor = open(setup->file, flags);
	if (descriptor < 0)
		return cannot_open(setup, errno);
	err = fstat(descriptor, status) ? cannot_open(setup, errno)
					: refuse_kind(status, setup->file);
	if (!err && setup->file_writable)
		err = refuse_loop_backing(status, setup->file);
	if (!err && S_ISBLK(status->st_mode) && setup->file_writable && !(flags & O_EXCL))
		err = failed(-EBUSY, "%s: has become a block device meanwhile", setup->file);
	if (!err)
		return descriptor;
	close(descriptor);
	return err;
}

static int open_given(struct block_file *file, const struct device_setup *setup)
{
	struct stat status;
	__u64 bytes = 0;
	int err;

	file->descriptor = open_checked(setup, &status);
	if (file->descriptor < 0)
		return file->descriptor;
	err = medium_bytes(file->descriptor, &status, setup->file, &bytes);
	if (!err && setup->file_bytes > bytes)
		err = failed(-EINVAL, "%s: holds %llu bytes, the disk wants %llu", setup->file,
			     bytes, setup->file_bytes);
	if (!err && bytes < RING_SECTOR)
		err = failed(-EINVAL, "%s: %llu bytes are less than a sector of %d", setup->file,
			     bytes, RING_SECTOR);
	if (err) {
		close(file->descriptor);
		return err;
	}
	file->bytes = setup->file_bytes ? setup->file_bytes : bytes;
	file->bytes -= file->bytes % RING_SECTOR;
	return 0;
}

/* O_TMPFILE where the file system has it, else create and unlink at once. */
static int open_unlinked(const char *directory, int flags)
{
	char path[512];
	int descriptor;

	descriptor = open(directory, flags | O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return descriptor;
	if ((size_t)snprintf(path, sizeof(path), "%s/faultline-disk-XXXXXX", directory) >=
	    sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	descriptor = mkostemp(path, O_CLOEXEC | flags);
	if (descriptor >= 0)
		unlink(path);
	return descriptor;
}

static int open_own(struct block_file *file, const struct device_setup *setup)
{
	const char *directory = setup->directory;

	if (!is_set(directory))
		directory = getenv("TMPDIR");
	if (!is_set(directory))
		directory = "/var/tmp";
	if (setup->file_bytes < RING_SECTOR || setup->file_bytes % RING_SECTOR)
		return failed(-EINVAL, "file_bytes=%llu: accepted: multiples of %d",
			      setup->file_bytes, RING_SECTOR);
	file->descriptor = open_unlinked(directory, setup->file_direct ? O_DIRECT : 0);
	if (file->descriptor < 0)
		return failed(-errno, "%s: cannot create a disk's file there%s: %s", directory,
			      setup->file_direct ? " with O_DIRECT" : "", strerror(errno));
	if (ftruncate(file->descriptor, (off_t)setup->file_bytes)) {
		int err = failed(-errno, "%s: cannot make a disk of %llu bytes there: %s",
				 directory, setup->file_bytes, strerror(errno));

		close(file->descriptor);
		return err;
	}
	file->bytes = setup->file_bytes;
	file->zeroed = true;
	return 0;
}

int block_file_open(struct block_file *file, const struct device_setup *setup)
{
	*file = (struct block_file){.descriptor = -1};
	return is_set(setup->file) ? open_given(file, setup) : open_own(file, setup);
}

void block_file_close(struct block_file *file)
{
	close(file->descriptor);
}
