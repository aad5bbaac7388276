// SPDX-License-Identifier: GPL-2.0
#include "lib/base/run_directory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

const char *run_directory(void)
{
	const char *other = getenv(RUN_DIRECTORY_VAR);

	return other && *other ? other : RUN_DIRECTORY;
}

int run_directory_check(void)
{
	const char *path = run_directory();

	return path[0] == '/' ? 0
			      : failed(-EBADMSG, "%s=%s: must be an absolute path",
				       RUN_DIRECTORY_VAR, path);
}

int run_directory_open(bool create)
{
	const char *path = run_directory();
	struct stat status;
	int directory, err = run_directory_check();

	if (err)
		return err;
	if (create && mkdir(path, 0700) && errno != EEXIST)
		return failed(-errno, "%s: cannot create it: %s", path, strerror(errno));
	directory = files_open_directory(path, false);
	if (directory < 0 && directory != -ENOTDIR && directory != -ELOOP)
		return directory;
	if (directory < 0 || fstat(directory, &status) || status.st_uid != 0 ||
	    (status.st_mode & 07777) != 0700) {
		if (directory >= 0)
			close(directory);
		return failed(-EPERM,
			      "%s: must be a directory, no link, of root with mode 0700: nothing "
			      "there can be trusted otherwise",
			      path);
	}
	return directory;
}

bool run_directory_is_foreign(void)
{
	int directory = run_directory_open(false);

	if (directory >= 0)
		close(directory);
	return directory == -EPERM;
}

bool run_directory_is_homeless(void)
{
	const char *path = run_directory(), *end = path + strlen(path);
	char parent[PATH_MAX];
	struct stat status;

	while (end > path && end[-1] == '/')
		end--;
	while (end > path && end[-1] != '/')
		end--;
	if (end == path || (size_t)(end - path) >= sizeof(parent) || !stat(path, &status))
		return false;
	snprintf(parent, sizeof(parent), "%.*s", (int)(end - path), path);
	if (!stat(parent, &status) || errno != ENOENT)
		return false;
	failed(-ENOENT, "%s: cannot be made: there is no %s", path, parent);
	return true;
}

bool run_directory_is_missed(void)
{
	int directory = run_directory_open(false);

	if (directory >= 0)
		close(directory);
	return directory == -EPERM ||
	       (directory < 0 && strcmp(run_directory(), RUN_DIRECTORY) != 0);
}
