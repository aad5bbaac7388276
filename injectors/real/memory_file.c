// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/medium.h"

int memory_file_consent(const struct verb_options *options, const char *path)
{
	char resolved[PATH_MAX], what[PATH_MAX + 8];
	struct stat status;

	if (!realpath(path, resolved) || stat(resolved, &status))
		return failed(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISBLK(status.st_mode))
		return 0;
	snprintf(what, sizeof(what), "disk %s", resolved);
	return verb_require_consent(options, resolved, what);
}

/* Now, as there is no telling later: a page that finds no room is a SIGBUS. */
static int memory_file_make_room(int descriptor, __u64 bytes, bool grow)
{
	struct stat status;
	int err = fstat(descriptor, &status) ? -errno : 0;

	if (err || !grow || !S_ISREG(status.st_mode))
		return err;
	return -posix_fallocate(descriptor, 0, (off_t)bytes);
}

int memory_file_open(const struct verb_options *options, const char *option, const char *path,
		     __u64 bytes, bool grow)
{
	char resolved[PATH_MAX];
	struct medium_request request = {.path = resolved, .writable = true};
	__u64 there = 0;
	int descriptor, err;

	if (!realpath(path, resolved))
		return failed(-errno, "%s %s: %s", option, path, strerror(errno));
	request.consented = consent_given(&options->consents, resolved);
	descriptor = medium_open(&request, &there);
	if (descriptor < 0)
		return failed_in(descriptor, "%s", option);
	err = memory_file_make_room(descriptor, bytes, grow);
	if (err)
		failed(err, "%s %s: cannot be made %llu bytes: %s", option, path, bytes,
		       strerror(-err));
	else if (there < bytes && lseek(descriptor, 0, SEEK_END) < (off_t)bytes)
		err = failed(-EINVAL, "%s %s: holds %llu bytes, this needs %llu", option, path,
			     there, bytes);
	if (!err)
		return descriptor;
	close(descriptor);
	return err;
}
