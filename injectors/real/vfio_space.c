// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/vfio_space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vfio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/fail.h"

/* include/uapi/linux/iommufd.h and vfio.h of 6.6 and later, which Debian 12's headers predate. */
#define IOAS_ALLOC   _IO(VFIO_TYPE, 0x81)
#define IOAS_MAP     _IO(VFIO_TYPE, 0x85)
#define IOAS_UNMAP   _IO(VFIO_TYPE, 0x86)
#define BIND_IOMMUFD _IO(VFIO_TYPE, VFIO_BASE + 18)
#define ATTACH_PT    _IO(VFIO_TYPE, VFIO_BASE + 19)

enum { IOAS_FIXED_IOVA = 1, IOAS_WRITEABLE = 2, IOAS_READABLE = 4 };

struct ioas_alloc {
	__u32 size, flags, out_ioas_id;
};

struct ioas_map {
	__u32 size, flags, ioas_id, reserved;
	__aligned_u64 user_va, length, iova;
};

struct ioas_unmap {
	__u32 size, ioas_id;
	__aligned_u64 iova, length;
};

struct device_bind {
	__u32 argsz, flags;
	__s32 iommufd;
	__u32 out_devid;
};

struct device_attach {
	__u32 argsz, flags, pt_id;
};

const char *space_kind_name(enum space_kind kind)
{
	return kind == SPACE_IOMMUFD ? "iommufd" : "type1";
}

static int open_node(const char *path, const char *remedy)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return failed(errno == ENOENT ? -ENODEV : -errno, "%s: %s; %s", path,
			      strerror(errno), remedy);
	return fd;
}

static int space_open_iommufd(struct space *space)
{
	struct ioas_alloc alloc = {.size = sizeof(alloc)};

	space->fd = open_node("/dev/iommu",
			      "iommufd needs Linux 6.2 or later built with CONFIG_IOMMUFD");
	if (space->fd < 0)
		return space->fd;
	if (ioctl(space->fd, IOAS_ALLOC, &alloc))
		return failed(-errno, "/dev/iommu: no new address space: %s", strerror(errno));
	space->ioas = alloc.out_ioas_id;
	return 0;
}

int space_open(struct space *space, enum space_kind kind)
{
	*space = (struct space){.kind = kind, .fd = -1};
	if (kind == SPACE_IOMMUFD)
		return space_open_iommufd(space);
	space->fd = open_node("/dev/vfio/vfio", "load vfio_iommu_type1 and vfio-pci");
	if (space->fd < 0)
		return space->fd;
	if (ioctl(space->fd, VFIO_GET_API_VERSION) != VFIO_API_VERSION ||
	    ioctl(space->fd, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1)
		return failed(-ENODEV, "/dev/vfio/vfio has no type1 IOMMU: load vfio_iommu_type1");
	return 0;
}

void space_close(struct space *space)
{
	for (unsigned int i = 0; i < space->group_count; i++)
		close(space->groups[i]);
	space->group_count = 0;
	if (space->fd >= 0)
		close(space->fd);
	space->fd = -1;
}

static int group_of(const char *address, int *number)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return failed(-ENODEV,
			      "%s is behind no IOMMU: boot with intel_iommu=on or amd_iommu=on",
			      address);
	target[length] = '\0';
	last = strrchr(target, '/');
	*number = (int)strtol(last ? last + 1 : target, NULL, 10);
	return 0;
}

/* The group's descriptor; opened and put into the container by its first device. */
static int join_group(struct space *space, int number)
{
	struct vfio_group_status status = {.argsz = sizeof(status)};
	char path[64];
	int fd, error;

	for (unsigned int i = 0; i < space->group_count; i++)
		if (space->group_numbers[i] == number)
			return space->groups[i];
	if (space->group_count == SPACE_GROUPS)
		return failed(-E2BIG, "devices of more than %d IOMMU groups", SPACE_GROUPS);
	snprintf(path, sizeof(path), "/dev/vfio/%d", number);
	fd = open_node(path, "is the device bound to vfio-pci, and nobody else's?");
	if (fd < 0)
		return fd;
	if (ioctl(fd, VFIO_GROUP_GET_STATUS, &status) ||
	    !(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		close(fd);
		return failed(-EBUSY,
			      "IOMMU group %d holds other devices that the host's drivers use; "
			      "name them too, each with its consent",
			      number);
	}
	error = ioctl(fd, VFIO_GROUP_SET_CONTAINER, &space->fd);
	if (!error && !space->group_count)
		error = ioctl(space->fd, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU);
	if (error) {
		error = failed(-errno, "IOMMU group %d cannot join the container: %s", number,
			       strerror(errno));
		close(fd);
		return error;
	}
	space->group_numbers[space->group_count] = number;
	space->groups[space->group_count++] = fd;
	return fd;
}

static int add_by_group(struct space *space, const char *address)
{
	int number, group, fd, error = group_of(address, &number);

	if (error)
		return error;
	group = join_group(space, number);
	if (group < 0)
		return group;
	fd = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, address);
	return fd < 0 ? failed(-errno, "%s: VFIO gives no descriptor: %s", address, strerror(errno))
		      : fd;
}

/* "vfio0": what the device's character device is called. */
static int character_device(const char *address, char *name, size_t size)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vfio-dev", address);
	directory = opendir(path);
	*name = '\0';
	while (directory && (entry = readdir(directory)))
		if (!strncmp(entry->d_name, "vfio", 4))
			snprintf(name, size, "%s", entry->d_name);
	if (directory)
		closedir(directory);
	if (!*name)
		return failed(-ENODEV,
			      "%s has no VFIO character device: it needs vfio-pci of a kernel with "
			      "CONFIG_VFIO_DEVICE_CDEV",
			      address);
	return 0;
}

static int add_by_character_device(struct space *space, const char *address)
{
	struct device_bind bind = {.argsz = sizeof(bind), .iommufd = space->fd};
	struct device_attach attach = {.argsz = sizeof(attach), .pt_id = space->ioas};
	char name[256], path[288];
	int fd, error = character_device(address, name, sizeof(name));

	if (error)
		return error;
	snprintf(path, sizeof(path), "/dev/vfio/devices/%s", name);
	fd = open_node(path, "is the device bound to vfio-pci?");
	if (fd < 0)
		return fd;
	if (ioctl(fd, BIND_IOMMUFD, &bind) || ioctl(fd, ATTACH_PT, &attach)) {
		error = failed(-errno, "%s cannot join the address space: %s", address,
			       strerror(errno));
		close(fd);
		return error;
	}
	return fd;
}

int space_add_device(struct space *space, const char *address)
{
	return space->kind == SPACE_IOMMUFD ? add_by_character_device(space, address)
					    : add_by_group(space, address);
}

static int space_call_map(struct space *space, void *memory, __u64 iova, __u64 bytes)
{
	struct vfio_iommu_type1_dma_map type1 = {
		.argsz = sizeof(type1),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)memory,
		.iova = iova,
		.size = bytes,
	};
	struct ioas_map ioas = {
		.size = sizeof(ioas),
		.flags = IOAS_FIXED_IOVA | IOAS_WRITEABLE | IOAS_READABLE,
		.ioas_id = space->ioas,
		.user_va = (uintptr_t)memory,
		.length = bytes,
		.iova = iova,
	};

	if (space->kind == SPACE_IOMMUFD)
		return ioctl(space->fd, IOAS_MAP, &ioas) ? -errno : 0;
	return ioctl(space->fd, VFIO_IOMMU_MAP_DMA, &type1) ? -errno : 0;
}

int space_map(struct space *space, void *memory, __u64 iova, __u64 bytes)
{
	int error = space_call_map(space, memory, iova, bytes);

	if (error) {
		space->counts.maps_failed++;
		space->counts.map_errno = -error;
		return error;
	}
	space->counts.maps++;
	space->counts.mapped += bytes;
	return 0;
}

static int space_call_unmap(struct space *space, __u64 iova, __u64 bytes, __u64 *unmapped)
{
	struct vfio_iommu_type1_dma_unmap type1 = {
		.argsz = sizeof(type1), .iova = iova, .size = bytes};
	struct ioas_unmap ioas = {
		.size = sizeof(ioas), .ioas_id = space->ioas, .iova = iova, .length = bytes};
	int error;

	if (space->kind == SPACE_IOMMUFD) {
		error = ioctl(space->fd, IOAS_UNMAP, &ioas) ? -errno : 0;
		*unmapped = ioas.length;
	} else {
		error = ioctl(space->fd, VFIO_IOMMU_UNMAP_DMA, &type1) ? -errno : 0;
		*unmapped = type1.size;
	}
	return error;
}

int space_unmap(struct space *space, __u64 iova, __u64 bytes)
{
	__u64 unmapped = 0;
	int error = space_call_unmap(space, iova, bytes, &unmapped);

	if (error) {
		space->counts.unmaps_failed++;
		return error;
	}
	space->counts.unmaps++;
	space->counts.unmapped += unmapped;
	return 0;
}
