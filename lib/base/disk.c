// SPDX-License-Identifier: GPL-2.0
#include "lib/base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/fail.h"

/*
 * By identity: the kernel's name of a loop device's file is one of another mount namespace, or of a link
 * that is gone.
 */
struct disk {
	dev_t number; /* of a block device; 0: a file */
	dev_t device;
	ino_t inode;
};

static struct disk disk_identify(const struct stat *status)
{
	return (struct disk){S_ISBLK(status->st_mode) ? status->st_rdev : 0, status->st_dev,
			     status->st_ino};
}

/* As sysfs has it in a file; 0 if that is not there. */
static dev_t read_number(const char *path)
{
	unsigned int high = 0, low = 0;
	FILE *file = fopen(path, "re");
	bool known = file && fscanf(file, "%u:%u", &high, &low) == 2;

	if (file)
		fclose(file);
	return known ? makedev(high, low) : 0;
}

/* What a partition is a part of, else the device itself. */
static dev_t whole_of(dev_t number)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(number),
		 minor(number));
	if (access(path, F_OK))
		return number;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major(number), minor(number));
	return read_number(path);
}

static bool overlap(const struct disk *a, const struct disk *b)
{
	if (a->number && b->number)
		return a->number == b->number || whole_of(a->number) == b->number ||
		       whole_of(b->number) == a->number;
	return !a->number && !b->number && a->device == b->device && a->inode == b->inode;
}

/* As loop_info64 has a number: huge_encode_dev() of the kernel. */
static dev_t number_of_loop_info(__u64 encoded)
{
	return makedev(encoded >> 8 & 0xfff, (encoded & 0xff) | (encoded >> 12 & 0xfff00));
}

static void device_path(dev_t number, char path[PATH_MAX])
{
	char link[64], target[PATH_MAX] = "";
	const char *slash;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(number), minor(number));
	if (readlink(link, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	slash = strrchr(target, '/');
	snprintf(path, PATH_MAX, "/dev/%.255s", slash ? slash + 1 : "?");
	for (char *mark = strchr(path, '!'); mark; mark = strchr(mark, '!'))
		*mark = '/';
}

static bool asked_below(dev_t loop, struct disk *below)
{
	struct loop_info64 info = {};
	struct stat status;
	char path[PATH_MAX];
	int descriptor;
	bool known;

	device_path(loop, path);
	descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (descriptor < 0)
		return false;
	known = !fstat(descriptor, &status) && S_ISBLK(status.st_mode) && status.st_rdev == loop &&
		!ioctl(descriptor, LOOP_GET_STATUS64, &info);
	close(descriptor);
	*below = (struct disk){number_of_loop_info(info.lo_rdevice),
			       number_of_loop_info(info.lo_device), info.lo_inode};
	return known;
}

/* For a loop device that has no node here, or that may not be opened. */
static bool named_below(dev_t loop, struct disk *below)
{
	char backing[PATH_MAX] = "";
	struct stat status;
	FILE *file;

	snprintf(backing, sizeof(backing), "/sys/dev/block/%u:%u/loop/backing_file", major(loop),
		 minor(loop));
	file = fopen(backing, "re");
	if (!file)
		return false;
	if (!fgets(backing, sizeof(backing), file))
		backing[0] = '\0';
	fclose(file);
	backing[strcspn(backing, "\n")] = '\0';
	if (stat(backing, &status))
		return false;
	*below = disk_identify(&status);
	return true;
}

/* What a loop device is made of. */
static bool find_below(dev_t loop, struct disk *below)
{
	return asked_below(loop, below) || named_below(loop, below);
}

/* A disk of which loop devices are made is theirs; `way` is the one by which we came to it, or 0. */
static int refuse_loops(const struct disk *disk, dev_t way, const char *path)
{
	glob_t loops = {0};
	int err = 0;

	if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &loops))
		return 0;
	for (size_t i = 0; !err && i < loops.gl_pathc; i++) {
		char attribute[64], name[32] = "", device[PATH_MAX];
		struct disk below;
		dev_t loop;

		sscanf(loops.gl_pathv[i], "/sys/block/%31[^/]", name);
		snprintf(attribute, sizeof(attribute), "/sys/block/%s/dev", name);
		loop = read_number(attribute);
		if (loop == way || !find_below(loop, &below) || !overlap(&below, disk))
			continue;
		device_path(loop, device);
		err = failed(-EBUSY, "%s: %s is made of %s; detach that first (losetup -d)", path,
			     device, way ? "the same" : "it");
	}
	globfree(&loops);
	return err;
}

/* The claim that a mount has on what is below is none on the loop device above. */
static int refuse_claimed(dev_t number, const char *path)
{
	char device[PATH_MAX];
	struct stat status;
	int descriptor, err = 0;

	device_path(number, device);
	descriptor = open(device, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	if (descriptor < 0 || fstat(descriptor, &status))
		err = failed(-errno, "%s: is made of %s, which cannot be opened: %s%s", path,
			     device, strerror(errno),
			     errno == EBUSY ? " (it is mounted, or somebody else's)" : "");
	else if (!S_ISBLK(status.st_mode) || status.st_rdev != number)
		err = failed(-ENXIO, "%s: is made of a block device that is not %s", path, device);
	if (descriptor >= 0)
		close(descriptor);
	return err;
}

int disk_refuse_shared(const struct stat *status, const char *path)
{
	struct disk disk = disk_identify(status), below;
	dev_t way = 0;

	for (;;) {
		int err = refuse_loops(&disk, way, path);

		if (err || !disk.number)
			return err;
		way = whole_of(disk.number);
		if (!find_below(way, &below))
			return 0;
		disk = below;
		err = disk.number ? refuse_claimed(disk.number, path) : 0;
		if (err)
			return err;
	}
}
