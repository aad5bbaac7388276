// SPDX-License-Identifier: GPL-2.0
/* Which process a PASID means, from when to when. */
#include "bpf/kernel.h"

#include "bpf/iopf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("fexit/iommu_attach_device_pasid")
int BPF_PROG(pasid_attach, struct iommu_domain *domain, struct device *dev, __u32 pasid,
	     void *handle, int error)
{
	struct probe_counter *counter = probe_hit(PROBE_PASID_ATTACH);
	struct device_state *device;

	if (!counter || error || !(BPF_CORE_READ(domain, type) & IOMMU_DOMAIN_TYPE_SVA))
		return 0;
	device = device_kept(counter, dev);
	if (device)
		pasid_means(counter, device->id, pasid, BPF_CORE_READ(domain, mm));
	return 0;
}

SEC("fentry/iommu_detach_device_pasid")
int BPF_PROG(pasid_detach, struct iommu_domain *domain, struct device *dev, __u32 pasid)
{
	struct probe_counter *counter = probe_hit(PROBE_PASID_DETACH);
	struct device_state *device;
	struct pasid_key key = {.pasid = pasid}, *bound;
	struct pasid_meaning *meaning;
	struct event *event;
	__u64 memory;

	if (!counter)
		return 0;
	device = device_kept(counter, dev);
	if (!device)
		return 0;
	key.device = device->id;
	meaning = bpf_map_lookup_elem(&pasids, &key);
	if (meaning) {
		memory = meaning->memory;
		bound = bpf_map_lookup_elem(&bound_memory, &memory);
		if (bound && bound->device == key.device && bound->pasid == pasid)
			bpf_map_delete_elem(&bound_memory, &memory);
		bpf_map_delete_elem(&pasids, &key);
	}
	event = event_if_wanted(counter, EVENT_PASID_DETACH);
	if (!event)
		return 0;
	event->device = device->id;
	event->pasid = pasid;
	event_submit(counter, event);
	return 0;
}

/* Linux 6.1: a PASID means the same memory on every device. */
SEC("fexit/iommu_sva_alloc_pasid")
int BPF_PROG(pasid_alloc, struct mm_struct *mm, __u32 low, __u32 high, int error)
{
	struct probe_counter *counter = probe_hit(PROBE_PASID_ATTACH);
	struct mm_struct___6_1 *before = (void *)mm;

	if (counter && !error && bpf_core_field_exists(before->pasid))
		pasid_means(counter, DEVICE_NONE, BPF_CORE_READ(before, pasid), mm);
	return 0;
}

/* Linux 6.1: the handler looks the memory up, whose PASID may be older than this capture. */
SEC("fexit/iommu_sva_find")
int BPF_PROG(pasid_find, __u32 pasid, struct mm_struct *mm)
{
	struct probe_counter *counter = probe_hit(PROBE_PASID_FIND);
	struct resolving *resolving = resolving_now();

	if (counter && resolving && resolving->active == RESOLVING_IOPF && (__u64)mm < (__u64)-4095)
		pasid_means(counter, DEVICE_NONE, pasid, mm);
	return 0;
}
