// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU core's tracepoints. map and unmap carry neither device nor domain: events and counts
 * say so, and nothing is guessed. io_page_fault is raised by drivers that call
 * report_iommu_fault() (AMD, Arm SMMUv2), never by Intel's.
 */
#include "bpf/kernel.h"

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FAULT_WRITE 0x01 /* IOMMU_FAULT_WRITE of include/linux/iommu.h */

static __always_inline int range_changed(__u32 probe, __u32 kind, __u64 iova, __u64 bytes,
					 __u64 value)
{
	struct probe_counter *counter = probe_hit(probe);
	struct event *event;

	if (!counter)
		return 0;
	if (!kind_single(kind)) {
		struct aggregate_key key = {
			.window = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS,
			.pid = bpf_get_current_pid_tgid() >> 32,
			.kind = kind,
			.queue = QUEUE_NONE,
		};

		aggregate_add(&key, bytes, 0);
		return 0;
	}
	event = event_reserve(counter, kind);
	if (!event)
		return 0;
	event->address = iova;
	event->length = bytes;
	event->value = value;
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/map")
int BPF_PROG(map, unsigned long iova, __u64 paddr, size_t size)
{
	return range_changed(PROBE_IOMMU_MAP, EVENT_IOMMU_MAP, iova, size, paddr);
}

SEC("tp_btf/unmap")
int BPF_PROG(unmap, unsigned long iova, size_t size, size_t unmapped)
{
	return range_changed(PROBE_IOMMU_UNMAP, EVENT_IOMMU_UNMAP, iova, size, unmapped);
}

SEC("tp_btf/io_page_fault")
int BPF_PROG(io_page_fault, struct device *dev, unsigned long iova, int flags)
{
	struct probe_counter *counter = probe_hit(PROBE_IOMMU_IO_PAGE_FAULT);
	struct device_state *device;
	struct event *event;

	if (!counter)
		return 0;
	device = device_by_address(counter, dev);
	if (device_dropped(device))
		return 0;
	event = event_reserve(counter, EVENT_IOMMU_IO_PAGE_FAULT);
	if (!event)
		return 0;
	event->address = iova;
	event->value = flags;
	event->device = device ? device->id : DEVICE_NONE;
	event->flags = flags & FAULT_WRITE ? EVENT_WRITE : EVENT_READ;
	event_submit(counter, event);
	return 0;
}
