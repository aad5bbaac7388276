// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/devices/block_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/medium.h"
#include "lib/base/fail.h"

static bool is_set(const char *text)
{
	return text && *text;
}

static int open_given(struct block_file *file, const struct device_setup *setup)
{
	const struct medium_request request = {.path = setup->file,
					       .writable = setup->file_writable,
					       .consented = setup->file_consented,
					       .direct = setup->file_direct};
	__u64 bytes = 0;
	int err = 0;

	file->descriptor = medium_open(&request, &bytes);
	if (file->descriptor < 0)
		return file->descriptor;
	if (setup->file_bytes > bytes)
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
