// SPDX-License-Identifier: GPL-2.0
#include "lib/base/mount.h"

#include <errno.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

int mount_unseen(const char *type)
{
	int context = fsopen(type, FSOPEN_CLOEXEC), mount = -1, error;

	if (context >= 0 && !fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	error = mount < 0 ? -errno : mount;
	if (context >= 0)
		close(context);
	return error;
}

static bool is_of_type(const char *path, __fsword_t magic)
{
	struct statfs status;

	return !statfs(path, &status) && status.f_type == magic;
}

/* A sandbox may show nothing but parts of it, in a folder of its own. */
bool mount_has_sys(void)
{
	return is_of_type("/sys", SYSFS_MAGIC) || is_of_type("/sys/kernel", SYSFS_MAGIC);
}

bool mount_has_proc(void)
{
	return is_of_type("/proc", PROC_SUPER_MAGIC);
}

const char *mount_lacking(void)
{
	bool sys = mount_has_sys(), proc = mount_has_proc();

	if (sys)
		return proc ? NULL : "/proc is not mounted";
	return proc ? "/sys is not mounted" : "/sys and /proc are not mounted";
}

const char *mount_remedy(void)
{
	if (mount_has_sys())
		return "mount -t proc proc /proc";
	return mount_has_proc() ? "mount -t sysfs sysfs /sys"
				: "mount -t sysfs sysfs /sys; mount -t proc proc /proc";
}
