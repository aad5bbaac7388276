// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU core: mapping, attaching, flushing, and faults that drivers report with
 * report_iommu_fault() (AMD, Arm SMMUv2); Intel's own faults are in iommu_vtd.bpf.h.
 *
 * The tracepoints map and unmap carry neither device nor domain. The functions around them do: they
 * leave the domain with the task, together with the time, and a domain's device is known from its
 * attachment, or from the first DMA mapping of a device that was attached before.
 */
#include "bpf/kernel.h"

#include "bpf/call.bpf.h"
#include "bpf/device.bpf.h"
#include "bpf/iommu_owner.bpf.h"
#include "bpf/iommu_vtd.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FAULT_WRITE 0x01 /* IOMMU_FAULT_WRITE of include/linux/iommu.h */

/* Calls that a task is in: of the IOMMU core, and flushes. */
enum iommu_call { CALL_DOMAIN, CALL_SUBMIT, CALL_SYNC };

/* Of a domain, at an address in it. */
TASK_STORAGE(domain_calls, struct call);

static __always_inline int domain_begins(__u64 domain, __u64 iova)
{
	call_begins(task_entry_ensure(&domain_calls), CALL_DOMAIN, domain, iova, 0);
	return 0;
}

static __always_inline int range_changed(__u32 probe, __u32 kind, __u64 iova, __u64 bytes,
					 __u64 value)
{
	struct probe_counter *counter = probe_hit(probe);
	struct aggregate_key key = {
		.device = DEVICE_NONE,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.kind = kind,
		.queue = QUEUE_NONE,
	};
	struct call call;
	__u64 latency_ns = 0;
	struct event *event;

	if (!counter)
		return 0;
	/* What the function around the tracepoint left. */
	if (call_ends(task_entry(&domain_calls, 0), CALL_DOMAIN, iova, &call)) {
		key.device = domain_device(call.object);
		latency_ns = bpf_ktime_get_ns() - call.started_ns;
	}
	event = event_or_count(counter, &key, bytes, latency_ns);
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
	return range_changed(PROBE_IOMMU_UNMAP, EVENT_IOMMU_UNMAP, iova, unmapped, unmapped);
}

#define DOMAIN_BEGINS(function, name, probe)                                      \
	SEC("fentry/" #function)                                                  \
	int BPF_PROG(name, void *domain, unsigned long iova)                      \
	{                                                                         \
		return probe_hit(probe) ? domain_begins((__u64)domain, iova) : 0; \
	}

DOMAIN_BEGINS(iommu_map_nosync, maps_nosync, PROBE_IOMMU_MAP_DOMAIN)
DOMAIN_BEGINS(__iommu_map, maps, PROBE_IOMMU_MAP_DOMAIN)
DOMAIN_BEGINS(__iommu_unmap, unmaps, PROBE_IOMMU_UNMAP_DOMAIN)

static __always_inline int attached(struct device *dev, struct iommu_domain *domain, int error)
{
	struct probe_counter *counter;
	struct device_state *device;
	struct event *event;

	if (error)
		return 0;
	counter = probe_hit(PROBE_IOMMU_ATTACH);
	if (!counter)
		return 0;
	device = device_by_address(counter, dev);
	if (!device)
		return 0;
	if (domain)
		domain_learn((__u64)domain, device->id);
	event = device_dropped(device) ? NULL : event_if_wanted(counter, EVENT_IOMMU_ATTACH);
	if (!event)
		return 0;
	event->device = device->id;
	event->value = domain ? domain_number((__u64)domain) : 0;
	event->code = domain ? BPF_CORE_READ(domain, type) : 0;
	event_submit(counter, event);
	return 0;
}

SEC("fexit/__iommu_attach_device")
int BPF_PROG(attached_in_two, struct iommu_domain *domain, struct device *dev, int error)
{
	return attached(dev, domain, error);
}

SEC("fexit/__iommu_attach_device")
int BPF_PROG(attached_in_three, struct iommu_domain *domain, struct device *dev,
	     struct iommu_domain *old, int error)
{
	return attached(dev, domain, error);
}

SEC("tp_btf/attach_device_to_domain")
int BPF_PROG(attach_device_to_domain, struct device *dev)
{
	return attached(dev, NULL, 0);
}

SEC("fentry/iommu_domain_free")
int BPF_PROG(domain_freed, void *domain)
{
	__u64 key = (__u64)domain;

	if (probe_hit(PROBE_IOMMU_DOMAIN_FREE))
		bpf_map_delete_elem(&domains, &key);
	return 0;
}

SEC("tp_btf/io_page_fault")
int BPF_PROG(io_page_fault, struct device *dev, unsigned long iova, int flags)
{
	struct probe_counter *counter = probe_hit(PROBE_IOMMU_IO_PAGE_FAULT);
	struct event *event;
	__u32 device;

	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	event = event_reserve(counter, EVENT_IOMMU_IO_PAGE_FAULT);
	if (!event)
		return 0;
	event->address = iova;
	event->value = flags;
	event->device = device;
	event->flags = flags & FAULT_WRITE ? EVENT_WRITE : EVENT_READ;
	event_submit(counter, event);
	owner_emit(counter, device, device_group(dev), iova, 1);
	return 0;
}

/* Flushes: how long the IOMMU took. Nothing of another task or interrupt comes in between on a CPU
 * that matters: the call is the task's own. */
struct flush_calls {
	struct call submit, sync;
};

TASK_STORAGE(flush_calls, struct flush_calls);

static __always_inline struct call *flush_noted(struct flush_calls *calls, bool submit)
{
	return calls ? submit ? &calls->submit : &calls->sync : NULL;
}

static __always_inline int flush_begins(bool submit, __u64 what)
{
	call_begins(flush_noted(task_entry_ensure(&flush_calls), submit),
		    submit ? CALL_SUBMIT : CALL_SYNC, 0, what, 0);
	return 0;
}

static __always_inline int flush_ends(__u32 probe, bool submit, __u64 what, __u32 device, __u8 code)
{
	struct probe_counter *counter = probe_hit(probe);
	struct aggregate_key key = {
		.device = device,
		.kind = EVENT_IOMMU_FLUSH,
		.queue = QUEUE_NONE,
		.code = code,
	};
	struct call call;
	struct event *event;
	__u64 latency_ns = 0;

	if (!counter)
		return 0;
	if (call_ends(flush_noted(task_entry(&flush_calls, 0), submit),
		      submit ? CALL_SUBMIT : CALL_SYNC, what, &call))
		latency_ns = bpf_ktime_get_ns() - call.started_ns;
	event = event_or_count(counter, &key, 0, latency_ns);
	if (!event)
		return 0;
	event->value = latency_ns;
	event_submit(counter, event);
	return 0;
}

/* Types of VT-d's invalidation descriptors (specification 6.5.2). */
static __always_inline __u8 descriptor_kind(struct qi_desc *descriptor)
{
	switch (BPF_CORE_READ(descriptor, qw0) & 0xf) {
	case 1:
	case 7:
		return FLUSH_CONTEXT;
	case 2:
	case 6:
		return FLUSH_IOTLB;
	case 3:
	case 8:
		return FLUSH_DEVICE_TLB;
	case 4:
		return FLUSH_INTERRUPT;
	default:
		return FLUSH_OTHER;
	}
}

SEC("fentry/qi_submit_sync")
int BPF_PROG(submits_flush, void *iommu, struct qi_desc *descriptor)
{
	return flush_begins(true, (__u64)descriptor);
}

SEC("fexit/qi_submit_sync")
int BPF_PROG(submitted_flush, void *iommu, struct qi_desc *descriptor, unsigned int count,
	     unsigned long options)
{
	return flush_ends(PROBE_IOMMU_FLUSH, true, (__u64)descriptor, DEVICE_NONE,
			  descriptor_kind(descriptor));
}

#define DOMAIN_FLUSH(function, begins, ends, probe, code)                                    \
	SEC("fentry/" #function)                                                             \
	int BPF_PROG(begins, void *domain)                                                   \
	{                                                                                    \
		return flush_begins(false, (__u64)domain);                                   \
	}                                                                                    \
	SEC("fexit/" #function)                                                              \
	int BPF_PROG(ends, void *domain)                                                     \
	{                                                                                    \
		return flush_ends(probe, false, (__u64)domain, domain_device((__u64)domain), \
				  code);                                                     \
	}

DOMAIN_FLUSH(intel_iommu_tlb_sync, intel_syncs, intel_synced, PROBE_IOMMU_SYNC, FLUSH_DOMAIN)
DOMAIN_FLUSH(amd_iommu_iotlb_sync, amd_syncs, amd_synced, PROBE_IOMMU_SYNC, FLUSH_DOMAIN)
DOMAIN_FLUSH(intel_flush_iotlb_all, intel_flushes, intel_flushed, PROBE_IOMMU_FLUSH_ALL, FLUSH_ALL)
DOMAIN_FLUSH(amd_iommu_flush_iotlb_all, amd_flushes, amd_flushed, PROBE_IOMMU_FLUSH_ALL, FLUSH_ALL)
