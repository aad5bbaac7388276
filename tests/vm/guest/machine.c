// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool mounted(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (!mount(type, where, type, 0, NULL) || errno == EBUSY)
		return true;
	fprintf(stderr, "guest: cannot mount %s: %s\n", where, strerror(errno));
	return false;
}

/* Modules lie in the order in which they must be loaded: 00-NAME.ko and so on. */
static bool modules_loaded(const char *directory)
{
	struct dirent **found;
	int count = scandir(directory, &found, NULL, alphasort);
	bool good = count > 0;

	for (int i = 0; i < count; i++) {
		char path[300];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", directory, found[i]->d_name);
		free(found[i]);
		if (!strstr(path, ".ko"))
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0)) {
			fprintf(stderr, "guest: cannot load %s: %s\n", path, strerror(errno));
			good = false;
		}
		if (fd >= 0)
			close(fd);
	}
	if (count >= 0)
		free(found);
	return good;
}

/*
 * CPUs that `maxcpus=1` of the kernel's command line has kept off. QEMU before 8.1 may run an instruction that another CPU has just patched
 * (docs/vm.md, Traps): most of what a kernel patches it patches as it boots, before this.
 */
static bool processors_on(void)
{
	for (int cpu = 1;; cpu++) {
		char path[64], on = '1';
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return true;
		if (read(fd, &on, 1) == 1 && on == '0' && pwrite(fd, "1", 1, 0) != 1) {
			fprintf(stderr, "guest: CPU %d: %s\n", cpu, strerror(errno));
			close(fd);
			return false;
		}
		close(fd);
	}
}

bool machine_begin(void)
{
	return mounted("proc", "/proc") && mounted("sysfs", "/sys") &&
	       mounted("devtmpfs", "/dev") && mounted("tmpfs", "/tmp") &&
	       modules_loaded("/lib/modules") && processors_on();
}

static void shell(void)
{
	pid_t child = fork();

	if (child == 0) {
		setsid();
		setenv("PATH", "/bin", 1);
		setenv("PS1", "guest # ", 1);
		execl("/bin/busybox", "busybox", "cttyhack", "sh", (char *)NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

void machine_end(const char *how)
{
	if (!strcmp(how, "shell"))
		shell();
	while (!strcmp(how, "stay"))
		pause();
	sync();
	reboot(!strcmp(how, "reboot") ? RB_AUTOBOOT : RB_POWER_OFF);
	fprintf(stderr, "guest: cannot end: %s\n", strerror(errno));
	for (;;)
		pause();
}
