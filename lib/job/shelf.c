// SPDX-License-Identifier: GPL-2.0
#include "lib/job/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define SUFFIX ".ini"

/* Where they are: beside this program. -ENOENT with a sentence. */
static int shelf_directory(const struct shelf *shelf, char *path, size_t size)
{
	const struct {
		const char *up, *folder;
	} places[] = {
		{"", shelf->folder},
		{"../", shelf->folder},
		{"../../", shelf->folder},
		{"../share/faultline/", shelf->installed},
	};
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return failed(-errno, "cannot find this program: %s", strerror(errno));
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int written =
			snprintf(path, size, "%s/%s%s", program, places[i].up, places[i].folder);

		if (written > 0 && (size_t)written < size && !access(path, R_OK | X_OK))
			return 0;
	}
	return failed(-ENOENT, "no shipped jobs beside %s", program);
}

static bool is_file_name(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && !strcmp(name + length - strlen(SUFFIX), SUFFIX);
}

static int is_job(const struct dirent *entry)
{
	return is_file_name(entry->d_name);
}

int shelf_list(const struct shelf *shelf,
	       void (*each)(void *argument, const char *directory, const char *file),
	       void *argument)
{
	char directory[PATH_MAX];
	struct dirent **entries;
	int count, err = shelf_directory(shelf, directory, sizeof(directory));

	if (err)
		return err;
	count = scandir(directory, &entries, is_job, alphasort);
	if (count < 0)
		return failed(-errno, "%s: %s", directory, strerror(errno));
	for (int i = 0; i < count; i++) {
		each(argument, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

struct names {
	char text[512];
	size_t used;
};

static void add_name(void *argument, const char *directory, const char *file)
{
	struct names *names = argument;

	(void)directory;
	if (names->used < sizeof(names->text))
		names->used += (size_t)snprintf(
			names->text + names->used, sizeof(names->text) - names->used, "%s%.*s",
			names->used ? ", " : "", (int)(strlen(file) - strlen(SUFFIX)), file);
}

int shelf_find(const struct shelf *shelf, const char *name, char *path, size_t size)
{
	struct names names = {.used = 0};
	char directory[PATH_MAX];
	int err;

	if (strchr(name, '/') || is_file_name(name)) {
		if ((size_t)snprintf(path, size, "%s", name) < size)
			return 0;
		return failed(-ENAMETOOLONG, "%.64s...: the name is too long", name);
	}
	err = shelf_directory(shelf, directory, sizeof(directory));
	if (err)
		return err;
	if ((size_t)snprintf(path, size, "%s/%s" SUFFIX, directory, name) < size &&
	    !access(path, F_OK))
		return 0;
	err = shelf_list(shelf, add_name, &names);
	return err ? err
		   : failed(-ENOENT,
			    "unknown job '%s'; accepted: %s, or a file: its path with a "
			    "slash or .ini, such as ./%s",
			    name, names.text, name);
}
