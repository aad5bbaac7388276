// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/net/netns.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

#define SETTING_TEXT 256
#define SETTING_PATH (SETTING_TEXT + 16)
#define SETTING_IS   "accepted: net.NAME=VALUE, several with commas between them"

/* Letters, digits, _ and - with single dots between them: nothing that leads out of /proc/sys/net. */
static bool setting_name_is_safe(const char *name)
{
	const char *known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	return !strncmp(name, "net.", 4) && name[4] && name[4] != '.' &&
	       !name[strspn(name, known)] && !strstr(name, "..") && name[strlen(name) - 1] != '.';
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length && strchr(" \t", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int take_setting(char *word,
			int (*each)(void *argument, const char *name, const char *value),
			void *argument)
{
	char *equals = strchr(word, '='), *name, *value;

	if (!equals)
		return failed(-EINVAL, "sysctl: '%s' has no value; " SETTING_IS, trim(word));
	*equals = '\0';
	name = trim(word);
	value = trim(equals + 1);
	if (!setting_name_is_safe(name))
		return failed(-EINVAL, "sysctl: '%s' is no setting of a network; " SETTING_IS,
			      name);
	if (!*value)
		return failed(-EINVAL, "sysctl: '%s' has no value; " SETTING_IS, name);
	return each(argument, name, value);
}

int setting_each(const char *list, int (*each)(void *argument, const char *name, const char *value),
		 void *argument)
{
	const char *next = list;
	int err = 0;

	if (!list[strspn(list, " \t")])
		return 0;
	while (!err && next) {
		size_t length = strcspn(next, ",");
		char word[SETTING_TEXT];

		if (length >= sizeof(word))
			return failed(
				-EINVAL,
				"sysctl: '%.32s...' is longer than %d characters; " SETTING_IS,
				next, SETTING_TEXT - 1);
		snprintf(word, sizeof(word), "%.*s", (int)length, next);
		err = take_setting(word, each, argument);
		next = next[length] ? next + length + 1 : NULL;
	}
	return err;
}

/* In the other namespace. */
struct setting_place {
	const char *path;
	int fd; /* keeps the inode from being given to another file */
};

static int setting_look(void *argument)
{
	struct setting_place *place = argument;

	place->fd = open(place->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return 0;
}

/* A file of /proc/sys that both see is one setting; what a namespace has for itself is a file of its own. 1: shared. */
static int setting_is_shared(const char *path, int fd, int outside)
{
	struct setting_place place = {.path = path, .fd = -1};
	struct stat here, there;
	int same, err = netns_run(outside, setting_look, &place);

	/* What cannot be shown to be apart is not touched. */
	if (err)
		return err;
	same = place.fd >= 0 &&
	       (fstat(fd, &here) || fstat(place.fd, &there) || same_file(&here, &there));
	if (place.fd >= 0)
		close(place.fd);
	return same;
}

/* One line, its numbers with blanks between them. */
static void setting_read(const char *path, char text[SETTING_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t size = fd < 0 ? 0 : read(fd, text, SETTING_TEXT - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *c = text; *c; c++)
		*c = *c == '\t' ? ' ' : *c;
}

static int setting_put(int fd, const char *path, const char *name, const char *value)
{
	ssize_t size = write(fd, value, strlen(value));
	int error = size < 0 ? errno : EINVAL;
	char now[SETTING_TEXT];

	if (size == (ssize_t)strlen(value))
		return 0;
	setting_read(path, now);
	return failed(-error, "sysctl: %s=%s: the kernel refuses the value: %s; it has '%s'", name,
		      value, size < 0 ? strerror(error) : "not all of it was taken", now);
}

int setting_write(const char *name, const char *value, int outside)
{
	char path[SETTING_PATH];
	int fd, err;

	if (!setting_name_is_safe(name))
		return failed(-EINVAL, "sysctl: '%s' is no setting of a network; " SETTING_IS,
			      name);
	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	for (char *c = path + strlen("/proc/sys/"); *c; c++)
		*c = *c == '.' ? '/' : *c;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return failed(-EINVAL,
			      "sysctl: %s: a network namespace has no such setting; accepted: "
			      "those of `unshare -n sysctl -a`",
			      name);
	if (fd < 0)
		return failed(-errno, "sysctl: %s in a network namespace: %s", name,
			      strerror(errno));
	err = setting_is_shared(path, fd, outside);
	if (err > 0)
		err = failed(-EINVAL,
			     "sysctl: %s is the whole host's; accepted: settings that a namespace "
			     "has for itself",
			     name);
	else if (!err)
		err = setting_put(fd, path, name, value);
	close(fd);
	return err;
}
