// SPDX-License-Identifier: GPL-2.0
#include "lib/base/mount.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mount.h>
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
