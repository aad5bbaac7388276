// SPDX-License-Identifier: GPL-2.0
/* How far the kernel is locked down: exactly where it tells, else by what it refuses. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/mount.h"
#include "tools/doctor_checks.h"

/* Text of `file` in `directory`; false if it cannot be read. */
static bool read_at(int directory, const char *file, char *text, size_t bytes)
{
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool read_unmounted(char *text, size_t bytes)
{
	int mount = mount_unseen("securityfs");
	bool told = mount >= 0 && read_at(mount, "lockdown", text, bytes);

	if (mount >= 0)
		close(mount);
	return told;
}

/*
 * Whether files that only lockdown keeps from root would be given to this process: with CAP_SYS_RAWIO,
 * in the first user namespace (whose number is the kernel's PROC_USER_INIT_INO), not in one of its own.
 */
static bool may_open_all(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	struct stat of_user;

	return !stat("/proc/self/ns/user", &of_user) && of_user.st_ino == 0xeffffffd &&
	       !syscall(SYS_capget, &header, sets) &&
	       sets[CAP_TO_INDEX(CAP_SYS_RAWIO)].effective & CAP_TO_MASK(CAP_SYS_RAWIO);
}

/* Opening these for reading is refused to such a process by lockdown alone, and does nothing else. */
static bool refuses(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool refused = fd < 0 && errno == EPERM;

	if (fd >= 0)
		close(fd);
	return refused;
}

void check_lockdown(struct host_check *check)
{
	bool able = may_open_all(), told, confidential, integrity;
	char text[64];

	check->name = "lockdown";
	told = read_at(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text)) ||
	       read_unmounted(text, sizeof(text));
	confidential =
		told ? strstr(text, "[confidentiality]") != NULL : able && refuses("/proc/kcore");
	integrity = told ? strstr(text, "[integrity]") != NULL
			 : able && (refuses("/dev/mem") || refuses("/dev/port"));
	if (confidential)
		check_bad(check, "confidentiality: BPF may not read kernel memory",
			  "boot with lockdown=integrity or none");
	else if (integrity)
		check_good(check, "integrity: BPF may read");
	else if (told)
		check_good(check, "none");
	else if (able)
		check_good(check, "none that shows: the kernel does not tell (no securityfs), and "
				  "refuses nothing that lockdown would");
	else if (!mount_has_proc())
		check_unmounted(check, "/proc");
	else
		check_bad(check, "cannot be told: securityfs is not mounted",
			  "CAP_SYS_ADMIN and CAP_SYS_RAWIO of the host (sudo faultline doctor; "
			  "docker: --privileged)");
}
