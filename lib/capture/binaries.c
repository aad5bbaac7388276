// SPDX-License-Identifier: GPL-2.0
/* The binaries of emulated machines that probes are attached to. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/emulator.h"
#include "lib/capture/inside.h"

/* Machines that come one after another meet probes that are there already. */
#define IDLE_NS NSEC_PER_SEC

static bool is_same_file(const struct emulator_binary *binary, const struct stat *file)
{
	return binary->inode == file->st_ino && binary->device == file->st_dev;
}

/* A file that is executed cannot be written: only what nobody runs may be another by now. */
static bool is_unchanged(const struct emulator_binary *binary, const struct stat *file)
{
	return binary->machines ||
	       (binary->bytes == file->st_size &&
		!memcmp(&binary->written, &file->st_mtim, sizeof(file->st_mtim)));
}

static int find(struct capture *c, const struct stat *file)
{
	for (int i = 0; i < EMULATORS_MAX; i++)
		if (is_same_file(&c->emulators[i], file) && is_unchanged(&c->emulators[i], file)) {
			c->emulators[i].used_ns = monotonic_ns();
			return i;
		}
	return -ENOENT;
}

static void forget(struct capture *c, int place)
{
	probe_set_detach_emulator(c->probes, place);
	c->emulators[place] = (struct emulator_binary){.used_ns = c->emulators[place].used_ns};
	if (c->emulator == place)
		c->emulator = -ENOENT;
}

/* The file's own, if it was written anew; else the one that nobody has used for longest. */
static int make_room(struct capture *c, const struct stat *file)
{
	int longest = -ENOSPC;

	for (int i = 0; i < EMULATORS_MAX; i++) {
		const struct emulator_binary *binary = &c->emulators[i];

		if (is_same_file(binary, file)) {
			longest = i;
			break;
		}
		if (!binary->machines &&
		    (longest < 0 || binary->used_ns < c->emulators[longest].used_ns))
			longest = i;
	}
	if (longest >= 0)
		forget(c, longest);
	return longest;
}

static int attach(struct capture *c, int fd, const struct stat *file, const char *path)
{
	int place = make_room(c, file), error;

	if (place < 0)
		return failed(place, "%s: at most %d different emulators are watched at once", path,
			      EMULATORS_MAX);
	error = probe_set_attach_emulator(c->probes, place, fd, path);
	if (error < 0)
		return error;
	c->emulators[place] = (struct emulator_binary){
		.device = file->st_dev,
		.inode = file->st_ino,
		.bytes = file->st_size,
		.written = file->st_mtim,
		.used_ns = monotonic_ns(),
	};
	return place;
}

static int enter(struct capture *c, int place)
{
	if (place >= 0)
		c->emulators[place].machines++;
	return place;
}

int capture_binary_enter(struct capture *c, const struct stat *file)
{
	return enter(c, find(c, file));
}

int capture_binary_adopt(struct capture *c, int fd, const struct stat *file, const char *path)
{
	return enter(c, attach(c, fd, file, path));
}

void capture_binary_leave(void *capture, int place)
{
	struct emulator_binary *binary = &((struct capture *)capture)->emulators[place];

	binary->machines--;
	binary->used_ns = monotonic_ns();
}

static int find_configured(struct capture *c)
{
	struct stat file;
	char path[PATH_MAX];
	int fd, place = emulator_find(c->config.emulator, path, sizeof(path));

	if (place < 0)
		return place;
	if (!stat(path, &file) && (place = find(c, &file)) >= 0)
		return place;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file))
		place = failed(-errno, "%s: %s", path, strerror(errno));
	else
		place = attach(c, fd, &file, path);
	if (fd >= 0)
		close(fd);
	return place;
}

void capture_find_emulator(struct capture *c)
{
	c->emulator = find_configured(c);
	/* Said once: later reasons, such as a machine that is refused, tell more. */
	if (c->emulator < 0 && !c->emulator_missed)
		probe_set_no_emulator(c->probes, failure_text());
	c->emulator_missed = c->emulator < 0;
}

void capture_forget_idle_binaries(struct capture *c)
{
	__u64 now = monotonic_ns();

	for (int i = 0; i < EMULATORS_MAX; i++) {
		const struct emulator_binary *binary = &c->emulators[i];

		if (binary->inode && i != c->emulator && !binary->machines &&
		    now - binary->used_ns > IDLE_NS)
			forget(c, i);
	}
}
