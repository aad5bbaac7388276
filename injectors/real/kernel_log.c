// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define LINE_BYTES 8192

int kernel_log_open(struct kernel_log *log)
{
	*log = (struct kernel_log){.fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
	if (log->fd < 0 || lseek(log->fd, 0, SEEK_END) < 0)
		return failed(-errno, "/dev/kmsg: %s", strerror(errno));
	return 0;
}

void kernel_log_close(struct kernel_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

/* "DMAR: [DMA Write PASID 0x0] Request device [00:02.0] fault addr 0x800000 [fault reason ...]" */
bool kernel_log_line(struct kernel_log *log, const char *line)
{
	static const char suppressed[] = "dmar_fault: ";
	const char *address = strstr(line, "fault addr 0x"), *count = strstr(line, suppressed);

	if (count && strstr(count, "callbacks suppressed"))
		log->suppressed += strtoull(count + strlen(suppressed), NULL, 10);
	if (!address || !strstr(line, "DMAR: [DMA"))
		return false;
	log->faults++;
	log->newest = strtoull(address + strlen("fault addr "), NULL, 16);
	return true;
}

int kernel_log_read(struct kernel_log *log)
{
	char line[LINE_BYTES];
	ssize_t bytes;

	for (;;) {
		bytes = read(log->fd, line, sizeof(line) - 1);
		if (bytes < 0 && errno == EAGAIN)
			return 0;
		/* The next read goes on after the lines that were overwritten before we came. */
		log->overwritten += bytes < 0 && errno == EPIPE;
		if (bytes < 0 && errno != EPIPE && errno != EINTR)
			return failed(-errno, "/dev/kmsg: %s", strerror(errno));
		if (bytes <= 0)
			continue;
		line[bytes] = '\0';
		kernel_log_line(log, line);
	}
}

bool kernel_log_wait(struct kernel_log *log, __u64 address, __u64 timeout_ns)
{
	struct pollfd ready = {.fd = log->fd, .events = POLLIN};
	__u64 until = monotonic_ns() + timeout_ns, before = log->faults;

	for (;;) {
		if (kernel_log_read(log))
			return false;
		if (log->faults != before && log->newest == (address & ~(PAGE_BYTES - 1)))
			return true;
		if (monotonic_ns() >= until)
			return false;
		poll(&ready, 1, 10);
	}
}
