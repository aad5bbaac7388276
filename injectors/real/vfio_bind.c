// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/vfio_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define DEVICES "/sys/bus/pci/devices/"
#define PROBE	"/sys/bus/pci/drivers_probe"
#define DRIVERS "/sys/bus/pci/drivers/"

/* The last part of what a link points to, "" if there is none. */
static void link_name(const char *path, char *name, size_t size)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *last;

	*name = '\0';
	if (length <= 0)
		return;
	target[length] = '\0';
	last = strrchr(target, '/');
	snprintf(name, size, "%.*s", (int)size - 1, last ? last + 1 : target);
}

/* With native multipath a controller has paths, nvme0c1n2, without a node: what is mounted is their head, nvme0n2. */
static void head_of(const char *name, char *node, size_t size)
{
	unsigned int subsystem, controller, space;

	if (sscanf(name, "nvme%uc%un%u", &subsystem, &controller, &space) == 3)
		snprintf(node, size, "/dev/nvme%un%u", subsystem, space);
	else
		snprintf(node, size, "/dev/%s", name);
}

/*
 * Mounted, swapped to, part of another device: then the kernel refuses an exclusive open. One that cannot be
 * opened at all is not known to be free.
 */
static int check_disks(const char *address)
{
	char pattern[PATH_MAX], node[PATH_MAX];
	glob_t disks = {0};
	int error = 0;

	snprintf(pattern, sizeof(pattern), DEVICES "%s/nvme/nvme*/nvme*n*", address);
	if (glob(pattern, 0, NULL, &disks))
		return 0;
	for (size_t i = 0; !error && i < disks.gl_pathc; i++) {
		int fd;

		head_of(strrchr(disks.gl_pathv[i], '/') + 1, node, sizeof(node));
		fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		else if (errno == EBUSY)
			error = failed(-EBUSY, "%s: its disk %s is in use; unmount it first",
				       address, node);
		else
			error = failed(-errno,
				       "%s: whether its disk %s is in use cannot be told: %s",
				       address, node, strerror(errno));
	}
	globfree(&disks);
	return error;
}

/* Undone from the last to the first: off vfio-pci, the old override, the old driver if there was one. */
static int change_driver(struct journal *journal, const char *address, const char *driver)
{
	char override[PATH_MAX], unbind[PATH_MAX], bind[PATH_MAX];
	int error = 0;

	snprintf(override, sizeof(override), DEVICES "%s/driver_override", address);
	snprintf(unbind, sizeof(unbind), DEVICES "%s/driver/unbind", address);
	snprintf(bind, sizeof(bind), DRIVERS "%s/bind", driver);
	if (*driver)
		error = journal_act(journal, NULL, NULL, bind, address);
	error = error ? error : journal_set(journal, override, "vfio-pci");
	if (!error && *driver)
		error = journal_act(journal, unbind, address, NULL, NULL);
	return error ? error
		     : journal_act(journal, PROBE, address, DRIVERS "vfio-pci/unbind", address);
}

int vfio_bind(struct journal *journal, const char *address, bool dry_run)
{
	char path[PATH_MAX], driver[NAME_MAX];
	int error;

	snprintf(path, sizeof(path), DEVICES "%s/driver", address);
	link_name(path, driver, sizeof(driver));
	if (!strcmp(driver, "vfio-pci"))
		return 0;
	if (access(DRIVERS "vfio-pci", F_OK))
		return failed(-ENODEV, "vfio-pci is not loaded: modprobe vfio-pci");
	error = check_disks(address);
	error = error ? error : change_driver(journal, address, driver);
	if (error || dry_run)
		return error;
	link_name(path, driver, sizeof(driver));
	if (strcmp(driver, "vfio-pci") != 0)
		return failed(-ENODEV, "%s: vfio-pci did not take it: is it behind an IOMMU?",
			      address);
	return 0;
}
