// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/emulator.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/capture_private.h"

/* Machines that come one after another meet probes that are there already. */
#define IDLE_NS NSEC_PER_SEC

/* Reading of a pipe would wait for whoever writes to it. */
static int emulator_refused(const char *path, int mode)
{
	struct stat status;

	if (access(path, mode) || stat(path, &status))
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : -EINVAL;
}

int emulator_check(const char *path)
{
	int error = emulator_refused(path, R_OK);

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
	       !emulator_refused(path, X_OK);
}

static bool in_path(char *path, size_t bytes)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t length = strcspn(at, ":");

		if (length &&
		    (size_t)snprintf(path, bytes, "%.*s/%s", (int)length, at, EMULATOR_NAME) <
			    bytes &&
		    !emulator_refused(path, X_OK))
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

static bool is_same_file(const struct emulator *emulator, const struct stat *file)
{
	return emulator->inode == file->st_ino && emulator->device == file->st_dev;
}

/* A file that is executed cannot be written: only what nobody runs may be another by now. */
static bool is_unchanged(const struct emulator *emulator, const struct stat *file)
{
	return emulator->machines ||
	       (emulator->bytes == file->st_size &&
		!memcmp(&emulator->written, &file->st_mtim, sizeof(file->st_mtim)));
}

static int find_place(struct capture *c, const struct stat *file)
{
	for (int i = 0; i < EMULATORS_MAX; i++)
		if (is_same_file(&c->emulators[i], file) && is_unchanged(&c->emulators[i], file)) {
			c->emulators[i].used_ns = monotonic_ns();
			return i;
		}
	return -ENOENT;
}

static void emulator_forget(struct capture *c, int place)
{
	probe_set_detach_emulator(c->probes, place);
	c->emulators[place] = (struct emulator){.used_ns = c->emulators[place].used_ns};
	if (c->emulator == place)
		c->emulator = -ENOENT;
}

/* The file's own, if it was written anew; else the one that nobody has used for longest. */
static int emulator_make_room(struct capture *c, const struct stat *file)
{
	int longest = -ENOSPC;

	for (int i = 0; i < EMULATORS_MAX; i++) {
		const struct emulator *emulator = &c->emulators[i];

		if (is_same_file(emulator, file)) {
			longest = i;
			break;
		}
		if (!emulator->machines &&
		    (longest < 0 || emulator->used_ns < c->emulators[longest].used_ns))
			longest = i;
	}
	if (longest >= 0)
		emulator_forget(c, longest);
	return longest;
}

static int attach_to(struct capture *c, int fd, const struct stat *file, const char *path)
{
	int place = emulator_make_room(c, file), error;

	if (place < 0)
		return failed(place, "%s: at most %d different emulators are watched at once", path,
			      EMULATORS_MAX);
	error = probe_set_attach_emulator(c->probes, place, fd, path);
	if (error < 0)
		return error;
	c->emulators[place] = (struct emulator){
		.device = file->st_dev,
		.inode = file->st_ino,
		.bytes = file->st_size,
		.written = file->st_mtim,
		.used_ns = monotonic_ns(),
		.since_ns = monotonic_ns(),
	};
	return place;
}

static int use(struct capture *c, int place)
{
	if (place >= 0)
		c->emulators[place].machines++;
	return place;
}

int emulator_enter(struct capture *c, const struct stat *file)
{
	return use(c, find_place(c, file));
}

int emulator_adopt(struct capture *c, int fd, const struct stat *file, const char *path)
{
	return use(c, attach_to(c, fd, file, path));
}

void emulator_leave(void *capture, int place)
{
	struct emulator *emulator = &((struct capture *)capture)->emulators[place];

	emulator->machines--;
	emulator->used_ns = monotonic_ns();
}

__u64 emulator_watched_since(void *capture, int place)
{
	return ((struct capture *)capture)->emulators[place].since_ns;
}

static int find_configured(struct capture *c)
{
	struct stat file;
	char path[PATH_MAX];
	int fd, place = emulator_find(c->config.emulator, path, sizeof(path));

	if (place < 0)
		return place;
	if (!stat(path, &file) && (place = find_place(c, &file)) >= 0)
		return place;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file))
		place = failed(-errno, "%s: %s", path, strerror(errno));
	else
		place = attach_to(c, fd, &file, path);
	if (fd >= 0)
		close(fd);
	return place;
}

static void emulators_forget_idle(struct capture *c)
{
	__u64 now = monotonic_ns();

	for (int i = 0; i < EMULATORS_MAX; i++) {
		const struct emulator *emulator = &c->emulators[i];

		if (emulator->inode && i != c->emulator && !emulator->machines &&
		    now - emulator->used_ns > IDLE_NS)
			emulator_forget(c, i);
	}
}

void emulators_look(struct capture *c)
{
	c->emulator = find_configured(c);
	/* Said once: later reasons, such as a machine that is refused, tell more. */
	if (c->emulator < 0 && !c->emulator_missed)
		probe_set_no_emulator(c->probes, failure_text());
	c->emulator_missed = c->emulator < 0;
	emulators_forget_idle(c);
}
