// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/emulator.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"

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
	       !access(path, X_OK);
}

static bool in_path(char *path, size_t bytes)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t length = strcspn(at, ":");

		if (length &&
		    (size_t)snprintf(path, bytes, "%.*s/%s", (int)length, at, EMULATOR_NAME) <
			    bytes &&
		    !access(path, X_OK))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

int emulator_find(const char *asked, char *path, size_t bytes)
{
	if (asked) {
		if (access(asked, R_OK))
			return failed(-errno, "emulator %s: %s", asked, strerror(errno));
		snprintf(path, bytes, "%s", asked);
		return 0;
	}
	if (beside_ourselves(path, bytes) || in_path(path, bytes))
		return 0;
	return failed(-ENOENT, "no " EMULATOR_NAME " beside this program or in $PATH");
}
