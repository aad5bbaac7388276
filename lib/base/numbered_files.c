// SPDX-License-Identifier: GPL-2.0
#include "lib/base/numbered_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

static int too_long(const char *path)
{
	return failed(-ENAMETOOLONG, "%.64s...: the name is too long", path);
}

int numbered_files_behind(struct numbered_files *files, const char *path)
{
	*files = (struct numbered_files){.digits = 6};
	if (snprintf(files->before, PATH_MAX, "%s.", path) >= PATH_MAX)
		return too_long(path);
	return 0;
}

int numbered_files_beside(struct numbered_files *files, const char *path, const char *word)
{
	size_t length = strlen(path);

	*files = (struct numbered_files){.digits = 3, .after = ".flt"};
	if (length > 4 && !strcmp(path + length - 4, ".flt"))
		length -= 4;
	if (snprintf(files->before, PATH_MAX, "%.*s.%s-", (int)length, path, word) >= PATH_MAX)
		return too_long(path);
	return 0;
}

int numbered_files_path(const struct numbered_files *files, __u32 number, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s%0*u%s", files->before, (int)files->digits, number,
			      files->after);

	return length < PATH_MAX ? 0 : too_long(files->before);
}

/* The number in the name of a file, 0 if that is another. There is one way to write a number. */
static __u32 number_in(const struct numbered_files *files, const char *before, const char *name)
{
	char written[NAME_MAX + 1];
	unsigned long number;

	if (strncmp(name, before, strlen(before)) != 0)
		return 0;
	name += strlen(before);
	number = isdigit((unsigned char)*name) ? strtoul(name, NULL, 10) : 0;
	snprintf(written, sizeof(written), "%0*lu%s", (int)files->digits, number, files->after);
	return number > UINT32_MAX || strcmp(name, written) != 0 ? 0 : (__u32)number;
}

static int numbers_add(struct numbers *numbers, __u32 number)
{
	if (!array_grow(&numbers->all, &numbers->room, numbers->count + 1, sizeof(number),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for a list of files");
	numbers->all[numbers->count++] = number;
	return 0;
}

static int numbers_compare(const void *a, const void *b)
{
	__u32 left = *(const __u32 *)a, right = *(const __u32 *)b;

	return left < right ? -1 : left > right;
}

int numbered_files_list(const struct numbered_files *files, struct numbers *numbers)
{
	const char *slash = strrchr(files->before, '/');
	const char *before = slash ? slash + 1 : files->before;
	char directory[PATH_MAX];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	*numbers = (struct numbers){0};
	dir = opendir(files_folder(files->before, directory));
	if (!dir)
		return failed(-errno, "%s: cannot be listed: %s", directory, strerror(errno));
	while (!err && (entry = readdir(dir))) {
		__u32 number = number_in(files, before, entry->d_name);

		if (number)
			err = numbers_add(numbers, number);
	}
	closedir(dir);
	if (numbers->count)
		qsort(numbers->all, numbers->count, sizeof(*numbers->all), numbers_compare);
	return err;
}

int numbered_files_next(const struct numbered_files *files,
			bool (*counts)(const char *path, __u32 number), __u32 *next)
{
	struct numbers numbers;
	char path[PATH_MAX];
	int err = numbered_files_list(files, &numbers);
	size_t i = numbers.count;

	while (i && (numbered_files_path(files, numbers.all[i - 1], path) ||
		     !counts(path, numbers.all[i - 1])))
		i--;
	*next = i ? numbers.all[i - 1] + 1 : 1;
	numbers_free(&numbers);
	return err;
}

void numbers_free(struct numbers *numbers)
{
	free(numbers->all);
	*numbers = (struct numbers){0};
}
