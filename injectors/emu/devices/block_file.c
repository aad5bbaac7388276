// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/block_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"

static bool is_set(const char *text)
{
	return text && *text;
}

/* Size of what was opened; anything but a file or a block device is refused. */
static int medium_bytes(int descriptor, const char *path, __u64 *bytes)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return failed(-errno, "%s: %s", path, strerror(errno));
	if (S_ISBLK(status.st_mode)) {
		if (ioctl(descriptor, BLKGETSIZE64, bytes))
			return failed(-errno, "%s: cannot tell its size: %s", path,
				      strerror(errno));
		return 0;
	}
	if (!S_ISREG(status.st_mode))
		return failed(-EINVAL, "%s: a disk needs a regular file or a block device", path);
	*bytes = (__u64)status.st_size;
	return 0;
}

static int open_given(struct block_file *file, const struct device_setup *setup)
{
	int flags = O_RDWR | O_CLOEXEC | (setup->file_direct ? O_DIRECT : 0);
	__u64 bytes = 0;
	int err;

	file->descriptor = open(setup->file, flags);
	if (file->descriptor < 0)
		return failed(-errno, "%s: cannot open it for reading and writing%s: %s",
			      setup->file, setup->file_direct ? " with O_DIRECT" : "",
			      strerror(errno));
	err = medium_bytes(file->descriptor, setup->file, &bytes);
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
