// SPDX-License-Identifier: GPL-2.0
#include "injectors/medium.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/disk.h"
#include "lib/base/fail.h"

static int refuse_kind(const struct stat *status, const char *path)
{
	if (S_ISREG(status->st_mode) || S_ISBLK(status->st_mode))
		return 0;
	return failed(-EINVAL, "%s: neither a regular file nor a block device", path);
}

/* Size of what was opened. */
static int size_of(int descriptor, const struct stat *status, const char *path, __u64 *bytes)
{
	*bytes = (__u64)status->st_size;
	if (S_ISBLK(status->st_mode) && ioctl(descriptor, BLKGETSIZE64, bytes))
		return failed(-errno, "%s: cannot read its size: %s", path, strerror(errno));
	return 0;
}

static int cannot_open(const struct medium_request *request, int error)
{
	return failed(-error, "%s: cannot open it for reading%s%s: %s%s", request->path,
		      request->writable ? " and writing" : "",
		      request->direct ? " with O_DIRECT" : "", strerror(error),
		      error == EBUSY ? " (it is mounted, or somebody else's)" : "");
}

/*
 * What it is is asked before, since opening some devices has effects, and afterwards, since it may have
 * become another. O_EXCL: a block device that is mounted, or part of another, is not written.
 */
static int open_checked(const struct medium_request *request, struct stat *status)
{
	int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (request->direct ? O_DIRECT : 0);
	int descriptor, err;

	if (stat(request->path, status))
		return cannot_open(request, errno);
	err = refuse_kind(status, request->path);
	if (err)
		return err;
	/* One that is written was resolved before anybody consented. */
	flags |= request->writable ? O_RDWR | O_NOFOLLOW : O_RDONLY;
	if (S_ISBLK(status->st_mode) && request->writable) {
		if (!request->consented)
			return failed(-EPERM,
				      "%s is a block device that would be written; add "
				      "--yes-i-mean-it %s",
				      request->path, request->path);
		flags |= O_EXCL;
	}
	descriptor = open(request->path, flags);
	if (descriptor < 0)
		return cannot_open(request, errno);
	err = fstat(descriptor, status) ? cannot_open(request, errno)
					: refuse_kind(status, request->path);
	if (!err && request->writable)
		err = disk_refuse_shared(status, request->path);
	if (!err && S_ISBLK(status->st_mode) && request->writable && !(flags & O_EXCL))
		err = failed(-EBUSY, "%s: has become a block device meanwhile", request->path);
	if (!err)
		return descriptor;
	close(descriptor);
	return err;
}

int medium_open(const struct medium_request *request, __u64 *bytes)
{
	struct stat status;
	int descriptor = open_checked(request, &status), err;

	if (descriptor < 0)
		return descriptor;
	err = size_of(descriptor, &status, request->path, bytes);
	if (!err)
		return descriptor;
	close(descriptor);
	return err;
}
