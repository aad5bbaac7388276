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

static int open_given(struct block_file *file, const struct block_settings *settings)
{
	const struct device_file *given = &settings->file;
	const struct medium_request request = {.path = given->path,
					       .writable = given->writable,
					       .consented = given->consented,
					       .direct = settings->file_direct};
	__u64 bytes = 0;
	int err;

	file->descriptor = medium_open(&request, &bytes);
	if (file->descriptor < 0)
		return file->descriptor;
	if (bytes < RING_SECTOR) {
		err = failed(-EINVAL, "%s: %llu bytes are less than a sector of %d", given->path,
			     bytes, RING_SECTOR);
		close(file->descriptor);
		return err;
	}
	file->bytes = bytes - bytes % RING_SECTOR;
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

static int open_own(struct block_file *file, const struct block_settings *settings,
		    const char *directory)
{
	if (!is_set(directory))
		directory = getenv("TMPDIR");
	if (!is_set(directory))
		directory = "/var/tmp";
	if (settings->file_bytes < RING_SECTOR || settings->file_bytes % RING_SECTOR)
		return failed(-EINVAL, "file_bytes=%llu: accepted: multiples of %d",
			      settings->file_bytes, RING_SECTOR);
	file->descriptor = open_unlinked(directory, settings->file_direct ? O_DIRECT : 0);
	if (file->descriptor < 0)
		return failed(-errno, "%s: cannot create a disk's file there%s: %s", directory,
			      settings->file_direct ? " with O_DIRECT" : "", strerror(errno));
	if (ftruncate(file->descriptor, (off_t)settings->file_bytes)) {
		int err = failed(-errno, "%s: cannot make a disk of %llu bytes there: %s",
				 directory, settings->file_bytes, strerror(errno));

		close(file->descriptor);
		return err;
	}
	file->bytes = settings->file_bytes;
	file->zeroed = true;
	return 0;
}

int block_file_open(struct block_file *file, const struct block_settings *settings,
		    const char *directory)
{
	*file = (struct block_file){.descriptor = -1};
	return is_set(settings->file.path) ? open_given(file, settings)
					   : open_own(file, settings, directory);
}

void block_file_close(struct block_file *file)
{
	close(file->descriptor);
}
