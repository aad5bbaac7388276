/* SPDX-License-Identifier: GPL-2.0 */
/* Part of iommu.bpf.c: domains and their devices, and who owned an address that faulted. */
#ifndef FAULTLINE_IOMMU_OWNER_BPF_H
#define FAULTLINE_IOMMU_OWNER_BPF_H

#include "bpf/device.bpf.h"
#include "bpf/mappings.bpf.h"

/* The number of a domain in the order of appearance, 0 if it is not known. */
static __always_inline __u32 domain_number(__u64 domain)
{
	struct domain_state *known = bpf_map_lookup_elem(&domains, &domain);

	return known ? known->number : 0;
}

static __always_inline __u64 device_group(struct device *dev)
{
	return dev ? (__u64)BPF_CORE_READ(dev, iommu_group) : 0;
}

/* Says who owns the address, or owned it last, right after the event of its fault. */
static __always_inline void owner_emit(struct probe_counter *counter, __u32 device, __u64 group,
				       __u64 address, __u32 span)
{
	struct mapping owner;
	struct event *event;
	__u32 *space = group ? bpf_map_lookup_elem(&mapping_spaces, &group) : NULL;
	bool found = device && mapping_owner(device, address, span, &owner);
	__u32 owner_device = device;

	if (!found && space) {
		owner_device = *space;
		found = mapping_owner(owner_device, address, span, &owner);
	}
	event = found ? event_if_wanted(counter, EVENT_FAULT_OWNER) : NULL;
	if (!event)
		return;
	event->device = owner_device;
	event->address = owner.address;
	event->length = owner.length;
	event->pid = owner.pid;
	event->tid = owner.unmapped_ns ? owner.unmapper : 0;
	event->group = owner.stack;
	event->flags = owner.flags;
	event->code = owner.unmapped_ns ? OWNER_UNMAPPED : OWNER_MAPPED;
	event->value = owner.unmapped_ns ? owner.unmapped_ns : owner.mapped_ns;
	event_submit(counter, event);
}

#endif
