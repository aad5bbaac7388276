// SPDX-License-Identifier: GPL-2.0
/* What a device is called and what is known of it: by sysfs and by the kernel side itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/capture/devices_private.h"
#include "lib/capture/paths.h"
#include "lib/capture/process.h"

/* "0000:00:02.0" as one number: domain, bus, device and function. */
static __u64 pci_address(const char *name)
{
	unsigned int domain, bus, device, function;

	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return 0;
	return (__u64)domain << 16 | bus << 8 | device << 3 | function;
}

static __s32 iommu_group(const char *bus, const char *name)
{
	char path[128], target[128];
	const char *number;
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/iommu_group", bus, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return -1;
	target[length] = '\0';
	number = strrchr(target, '/');
	return number ? atoi(number + 1) : -1;
}

/* A function that only the number of its place names; its driver is asked of sysfs. */
static void describe_function(struct device_info *info)
{
	__u64 rid = info->source_id;
	char path[128], target[128];
	ssize_t length;

	snprintf(info->name, sizeof(info->name), "%04llx:%02llx:%02llx.%llx", rid >> 16,
		 rid >> 8 & 0xff, rid >> 3 & 0x1f, rid & 7);
	info->iommu_group = iommu_group("pci", info->name);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", info->name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	snprintf(info->model, sizeof(info->model), "%.*s", NAME_TEXT - 1,
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

/* What the kernel's own names of a device tell. Its address in the kernel stays inside. */
static void describe_by_bus(const struct device_state *state, struct device_info *info)
{
	info->kind = DEVICE_UNKNOWN;
	info->source_id = 0;
	if (!strcmp(state->bus, "pci")) {
		info->kind = DEVICE_PCI;
		info->source_id = pci_address(state->name);
	} else if (!strcmp(state->bus, "platform")) {
		info->kind = DEVICE_PLATFORM;
	}
	if (state->bus[0])
		info->iommu_group = iommu_group(state->bus, state->name);
}

void device_describe(const struct device_key *key, const struct device_state *state,
		     struct device_info *info)
{
	memset(info, 0, sizeof(*info));
	info->first_ns = monotonic_ns();
	info->iommu_group = -1;
	info->kind = key->kind;
	info->pid = key->owner;
	info->pid_start_ns = key->owner_start ? process_start_ns(key->owner_start) : 0;
	info->source_id = key->source;
	if (key->owner)
		process_describe(key->owner, info->comm, &info->cgroup);
	snprintf(info->model, sizeof(info->model), "%s", state->driver);
	if (key->kind == DEVICE_BY_ADDRESS)
		describe_by_bus(state, info);
	if (key->kind == DEVICE_PCI)
		describe_function(info);
	else if (state->name[0])
		snprintf(info->name, sizeof(info->name), "%s", state->name);
	else
		snprintf(info->name, sizeof(info->name), "emulated:%u/%llu", key->owner,
			 key->source);
	paths_describe(key, state, info);
}
