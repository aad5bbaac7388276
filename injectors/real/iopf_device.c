// SPDX-License-Identifier: GPL-2.0
/* The module's device file: opened with a word about what is missing, called with sentences. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "injectors/real/iopf.h"

static int explain_open(int error)
{
	switch (error) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return failed(-ENODEV,
			      "no " FAULTLINE_DEVICE_PATH
			      ": load the kernel module faultline_device "
			      "(injectors/kmod/README.md), in a guest or on a test machine");
	case EACCES:
	case EPERM:
		return failed(-EPERM, FAULTLINE_DEVICE_PATH ": %s: run with sudo", strerror(error));
	default:
		return failed(-error, FAULTLINE_DEVICE_PATH ": %s", strerror(error));
	}
}

int iopf_call(const struct iopf_device *device, unsigned long command, void *argument,
	      const char *what)
{
	if (!ioctl(device->fd, command, argument))
		return 0;
	switch (errno) {
	case ENOSPC:
		return failed(-ENOSPC,
			      "%s: the module's log is full: `faultline-inject iopf clear`", what);
	case EINTR:
		return failed(-EINTR, "%s: interrupted", what);
	case ETIME:
		return failed(-ETIME, "%s: not all were answered within the time given", what);
	default:
		return failed(-errno, "%s: %s", what, strerror(errno));
	}
}

int iopf_open(struct iopf_device *device)
{
	int err;

	device->fd = open(FAULTLINE_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device->fd < 0)
		return explain_open(errno);
	if (ioctl(device->fd, FAULTLINE_IOC_INFO, &device->info)) {
		err = errno == ENOTTY
			      ? failed(-EPROTO, "the loaded module faultline_device has another "
						"interface than this program: build both from the "
						"same sources")
			      : failed(-errno, FAULTLINE_DEVICE_PATH ": %s", strerror(errno));
	} else if (device->info.abi != FAULTLINE_DEVICE_ABI) {
		err = failed(-EPROTO,
			     "the loaded module faultline_device has version %u of its interface, "
			     "this program has %d: build both from the same sources",
			     device->info.abi, FAULTLINE_DEVICE_ABI);
	} else {
		return 0;
	}
	iopf_close(device);
	return err;
}

void iopf_close(struct iopf_device *device)
{
	if (device->fd >= 0)
		close(device->fd);
	device->fd = -1;
}

const char *iopf_device_name(const struct iopf_device *device, __u32 number)
{
	return number < FAULTLINE_DEVICES_MAX ? device->info.names[number] : "";
}

const char *iopf_consumer_name(__u32 consumer)
{
	switch (consumer) {
	case FAULTLINE_CONSUMER_KERNEL:
		return "the kernel's own, all of it";
	case FAULTLINE_CONSUMER_QUEUE:
		return "the kernel's, registered by the module";
	case FAULTLINE_CONSUMER_MODULE:
		return "the module's, for report, groups and response the kernel's";
	default:
		return "unknown";
	}
}
