// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/cpu_faults.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fail.h"

/* From a tracefs of our own: the host's may not be mounted. */
static int tracepoint_id(unsigned int *id)
{
	char directory[] = "/tmp/faultline-tracefs-XXXXXX", path[128];
	int error = 0;
	FILE *file;

	if (!mkdtemp(directory))
		return -errno;
	if (mount("tracefs", directory, "tracefs", 0, NULL)) {
		error = -errno;
		rmdir(directory);
		return error;
	}
	snprintf(path, sizeof(path), "%s/events/exceptions/page_fault_user/id", directory);
	file = fopen(path, "re");
	if (!file)
		error = -errno;
	else if (fscanf(file, "%u", id) != 1)
		error = -EIO;
	if (file)
		fclose(file);
	umount(directory);
	rmdir(directory);
	return error;
}

int cpu_faults_open(struct cpu_faults *faults)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attributes), .disabled = 1};
	unsigned int id;
	int error = tracepoint_id(&id);

	if (error)
		return failed(error, "tracepoint exceptions:page_fault_user: %s", strerror(-error));
	attributes.config = id;
	faults->event = syscall(__NR_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (faults->event < 0)
		return failed(-errno, "perf_event_open: %s", strerror(errno));
	return 0;
}

void cpu_faults_start(struct cpu_faults *faults)
{
	ioctl(faults->event, PERF_EVENT_IOC_RESET, 0);
	ioctl(faults->event, PERF_EVENT_IOC_ENABLE, 0);
}

__u64 cpu_faults_stop(struct cpu_faults *faults)
{
	__u64 count = ~0ull;

	ioctl(faults->event, PERF_EVENT_IOC_DISABLE, 0);
	if (read(faults->event, &count, sizeof(count)) != sizeof(count))
		return ~0ull;
	return count;
}

void cpu_faults_close(struct cpu_faults *faults)
{
	close(faults->event);
}

int tiny_filesystem_mount(const char *directory, const char *size)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%s", size);
	return mount("tmpfs", directory, "tmpfs", 0, options) ? -errno : 0;
}

void tiny_filesystem_unmount(const char *directory)
{
	umount(directory);
	rmdir(directory);
}
