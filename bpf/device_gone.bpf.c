// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that go. They are known by the address of their struct device, disks by their number, RDMA
 * devices by their name, which the next one may get: all that is kept by them, or by the place on the bus,
 * is forgotten as the last reference goes. Until then a driver that is being unbound still gives its mappings back.
 */
#include "bpf/kernel.h"

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline bool is_called(const char *name, const char *wanted, int bytes)
{
	char text[16] = "";

	bpf_probe_read_kernel_str(text, sizeof(text), name);
	for (int i = 0; i < bytes; i++)
		if (text[i] != wanted[i])
			return false;
	return true;
}

#define IS_CALLED(name, wanted) is_called(name, wanted, sizeof(wanted))

/* `id`: of the device that goes; DEVICE_NONE if no more than its place can be known. */
static __always_inline void forget_place(struct device *kernel_device, __u32 id)
{
	__u32 rid = pci_rid(kernel_device);
	struct device_key key = {.kind = DEVICE_PCI, .source = rid};
	struct pci_function *function = bpf_map_lookup_elem(&pci_functions, &rid);

	/* What has come to this place meanwhile keeps it. */
	if (function && function->device != id)
		return;
	bpf_map_delete_elem(&pci_functions, &rid);
	if (bpf_map_lookup_elem(&devices, &key) && probe_hit(PROBE_DEVICE_RELEASE))
		device_leave(&key);
}

static __always_inline void forget_address(struct device *kernel_device)
{
	struct device_key key = {
		.kind = DEVICE_BY_ADDRESS,
		.source = (__u64)kernel_device,
	};
	struct device_state *device = bpf_map_lookup_elem(&devices, &key);

	if (!probe_again(PROBE_DEVICE_RELEASE))
		return;
	if (IS_CALLED(BPF_CORE_READ(kernel_device, bus, name), "pci"))
		forget_place(kernel_device, device ? device->id : DEVICE_NONE);
	if (device && probe_hit(PROBE_DEVICE_RELEASE))
		device_leave(&key);
}

/* Of those that are known by a number or a name of their class. */
static __always_inline void forget_by_class(struct device *kernel_device)
{
	struct device_key disk = {.kind = DEVICE_BLOCK,
				  .source = BPF_CORE_READ(kernel_device, devt)};
	struct device_key adapter = {.kind = DEVICE_IB};
	const char *class = BPF_CORE_READ(kernel_device, class, name);
	char name[DEVICE_TEXT] = "";

	/* Numbers of disks and of character devices are not the same. */
	if (IS_CALLED(class, "block")) {
		if (bpf_map_lookup_elem(&devices, &disk) && probe_hit(PROBE_DEVICE_RELEASE))
			device_leave(&disk);
	} else if (IS_CALLED(class, "infiniband")) {
		bpf_probe_read_kernel_str(name, sizeof(name),
					  BPF_CORE_READ(kernel_device, kobj.name));
		adapter.source = device_name_number(name);
		if (bpf_map_lookup_elem(&devices, &adapter) && probe_hit(PROBE_DEVICE_RELEASE))
			device_leave(&adapter);
	}
}

SEC("fentry/device_release")
int BPF_PROG(device_released, struct kobject *kobj)
{
	struct device *kernel_device = (void *)kobj - bpf_core_field_offset(struct device, kobj);

	forget_address(kernel_device);
	forget_by_class(kernel_device);
	return 0;
}

/* Where no program is let onto functions: its driver is gone by then, too. */
SEC("tp_btf/remove_device_from_group")
int BPF_PROG(device_left_group, int group, struct device *kernel_device)
{
	forget_address(kernel_device);
	return 0;
}
