// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/preload_library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"

int preload_library_find(const char *name, const char *who, char path[PATH_MAX])
{
	static const char *const places[] = {"", "../lib/faultline/", "../lib/"};
	char directory[PATH_MAX - 64], *slash;
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);

	if (length < 0)
		return failed(-errno, "where this program is: %s", strerror(errno));
	directory[length] = '\0';
	slash = strrchr(directory, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, PATH_MAX, "%s/%s%.48s", directory, places[i], name);
		if (!access(path, R_OK))
			return 0;
	}
	return failed(-ENOENT, "%s/%s is not there: %s need it; build or install it", directory,
		      name, who);
}
