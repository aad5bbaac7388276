// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/clock.h"

static size_t read_small(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		got = 0;
	text[got] = '\0';
	return got;
}

/* One that is too long ends after a whole argument, with "...". */
static void describe_command(char command[HOST_TEXT])
{
	static const char more[] = " ...";
	size_t bytes = read_small("/proc/self/cmdline", command, HOST_TEXT);

	if (bytes == HOST_TEXT - 1 && command[bytes - 1]) {
		bytes -= sizeof(more);
		while (bytes > 0 && command[bytes])
			bytes--;
		memcpy(command + bytes, more, sizeof(more));
	}
	for (size_t i = 0; i + 1 < bytes; i++)
		if (!command[i])
			command[i] = ' ';
}

void host_describe(struct host_info *host)
{
	struct utsname name;

	memset(host, 0, sizeof(*host));
	uname(&name);
	snprintf(host->hostname, sizeof(host->hostname), "%.63s", name.nodename);
	snprintf(host->kernel, sizeof(host->kernel), "%s %s", name.release, name.version);
	read_small("/proc/sys/kernel/random/boot_id", host->boot_id, sizeof(host->boot_id));
	host->boot_id[strcspn(host->boot_id, "\n")] = '\0';
	snprintf(host->version, sizeof(host->version), "%s", FAULTLINE_VERSION);
	describe_command(host->command);
	host->cpus = sysconf(_SC_NPROCESSORS_CONF);
	host->page_size = sysconf(_SC_PAGESIZE);
	host->start_ns = monotonic_ns();
}

void host_anchor(struct clock_anchor *anchor)
{
	__u64 before = monotonic_ns();

	anchor->realtime_ns = clock_ns(CLOCK_REALTIME);
	anchor->monotonic_ns = before + (monotonic_ns() - before) / 2;
}

bool host_clock_stepped(const struct clock_anchor *before, const struct clock_anchor *now)
{
	__s64 moved = (__s64)((now->realtime_ns - before->realtime_ns) -
			      (now->monotonic_ns - before->monotonic_ns));

	return moved > (__s64)NSEC_PER_MSEC || moved < -(__s64)NSEC_PER_MSEC;
}
