// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that go. They are known by the address of their struct device, disks by their number, which
 * the next one may get: all that is kept by them, or by the place on the bus, is forgotten as the last
 * reference goes. Until then a driver that is being unbound still gives its mappings back.
 */
#include "bpf/kernel.h"

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define BLOCK 4 /* DEVICE_BLOCK of lib/base/stream.h */

static __always_inline void forget_key(const struct device_key *key,
				       const struct device_state *device)
{
	struct device_key gone = {
		.kind = DEVICE_GONE | key->kind,
		.owner_start = key->source,
		.source = device->id,
	};

	/* User space may not have asked for its name yet. */
	if (bpf_map_update_elem(&devices, &gone, device, BPF_NOEXIST))
		state_failed();
	bpf_map_delete_elem(&devices, key);
}

static __always_inline void forget_place(struct device *kernel_device, __u32 id)
{
	__u32 rid = pci_rid(kernel_device);
	struct device_key key = {.kind = PCI_FUNCTION, .source = rid};
	struct pci_function *function = bpf_map_lookup_elem(&pci_functions, &rid);
	struct device_state *device = bpf_map_lookup_elem(&devices, &key);

	/* What has come to this place meanwhile keeps it. */
	if (function && function->device != id)
		return;
	bpf_map_delete_elem(&pci_functions, &rid);
	if (device)
		forget_key(&key, device);
}

static __always_inline void forget_address(struct device *kernel_device)
{
	struct device_key key = {
		.kind = DEVICE_BY_ADDRESS,
		.source = (__u64)kernel_device,
	};
	struct device_state *device = bpf_map_lookup_elem(&devices, &key);

	if (!device || !probe_hit(PROBE_DEVICE_RELEASE))
		return;
	if (device->bus[0] == 'p' && device->bus[1] == 'c' && device->bus[2] == 'i' &&
	    !device->bus[3])
		forget_place(kernel_device, device->id);
	forget_key(&key, device);
}

static __always_inline void forget_disk(struct device *kernel_device)
{
	struct device_key key = {.kind = BLOCK, .source = BPF_CORE_READ(kernel_device, devt)};
	struct device_state *device = bpf_map_lookup_elem(&devices, &key);
	char class[6] = "";

	if (!device)
		return;
	/* Numbers of disks and of character devices are not the same. */
	bpf_probe_read_kernel_str(class, sizeof(class), BPF_CORE_READ(kernel_device, class, name));
	if (class[0] != 'b' || class[1] != 'l' || class[2] != 'o' || class[3] != 'c' ||
	    class[4] != 'k' || !probe_hit(PROBE_DEVICE_RELEASE))
		return;
	forget_key(&key, device);
}

SEC("fentry/device_release")
int BPF_PROG(device_released, struct kobject *kobj)
{
	struct device *kernel_device = (void *)kobj - bpf_core_field_offset(struct device, kobj);

	forget_address(kernel_device);
	forget_disk(kernel_device);
	return 0;
}

/* Where no program is let onto functions: its driver is gone by then, too. */
SEC("tp_btf/remove_device_from_group")
int BPF_PROG(device_left_group, int group, struct device *kernel_device)
{
	forget_address(kernel_device);
	return 0;
}
