// SPDX-License-Identifier: GPL-2.0
#include "lib/base/user.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define NOBODY 65534

static bool read_id(const char *name, long minimum, long *id)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return false;
	*id = strtol(text, &end, 10);
	return !*end && *id >= minimum && *id < INT_MAX;
}

bool user_behind_sudo(uid_t *uid, gid_t *gid)
{
	long user, group;

	if (geteuid() || !read_id("SUDO_UID", 1, &user) || !read_id("SUDO_GID", 0, &group))
		return false;
	*uid = (uid_t)user;
	*gid = (gid_t)group;
	return true;
}

int user_check_sudo(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	long user = 0, group;

	if (geteuid() || !uid)
		return 0;
	if (!read_id("SUDO_UID", 0, &user))
		return failed(-EBADMSG, "SUDO_UID=%s: is not a user's number", uid);
	if (user && !read_id("SUDO_GID", 0, &group))
		return failed(-EBADMSG, "SUDO_GID=%s: is not a group's number", gid ? gid : "");
	return 0;
}

bool user_become(uid_t uid, gid_t gid)
{
	const struct passwd *user = getpwuid(uid);

	if (user ? initgroups(user->pw_name, gid) : setgroups(0, NULL))
		return false;
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return false;
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return true;
}

void user_of_programs(uid_t *uid, gid_t *gid)
{
	const struct passwd *nobody;

	if (user_behind_sudo(uid, gid))
		return;
	nobody = getpwnam("nobody");
	*uid = nobody ? nobody->pw_uid : NOBODY;
	*gid = nobody ? nobody->pw_gid : NOBODY;
}
