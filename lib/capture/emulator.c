// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/emulator.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"

/* Reading of a pipe would wait for whoever writes to it. */
static int refused(const char *path, int mode)
{
	struct stat status;

	if (access(path, mode) || stat(path, &status))
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : -EINVAL;
}

int emulator_check(const char *path)
{
	int error = refused(path, R_OK);

	return error ? failed(error, "emulator '%s': %s", path,
			      error == -EINVAL ? "is no regular file" : strerror(-error))
		     : 0;
}

static bool beside_ourselves(char *path, size_t bytes)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return false;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return (size_t)snprintf(path, bytes, "%s/%s", self, EMULATOR_NAME) < bytes &&
	       !refused(path, X_OK);
}

static bool in_path(char *path, size_t bytes)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t length = strcspn(at, ":");

		if (length &&
		    (size_t)snprintf(path, bytes, "%.*s/%s", (int)length, at, EMULATOR_NAME) <
			    bytes &&
		    !refused(path, X_OK))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

int emulator_find(const char *asked, char *path, size_t bytes)
{
	if (asked) {
		snprintf(path, bytes, "%s", asked);
		return emulator_check(asked);
	}
	if (beside_ourselves(path, bytes) || in_path(path, bytes))
		return 0;
	return failed(-ENOENT, "no " EMULATOR_NAME " beside this program or in $PATH");
}
