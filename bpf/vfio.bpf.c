// SPDX-License-Identifier: GPL-2.0
/*
 * VFIO's type1 IOMMU: a process maps its memory for its devices and the kernel pins it. Maps, pins
 * and what undoes them are counted unless asked for one by one.
 */
#include "bpf/kernel.h"

#include <linux/vfio.h>

#include "bpf/mappings.bpf.h"
#include "bpf/vfio.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The container is new: what it may still map is the limit. */
SEC("fexit/vfio_iommu_type1_open")
int BPF_PROG(container_open, unsigned long type, struct vfio_iommu *iommu)
{
	__u64 address = (__u64)iommu;
	struct container *container;
	struct probe_counter *counter;

	if (!iommu || address >= ERROR_POINTERS)
		return 0;
	counter = probe_hit(PROBE_VFIO_OPEN);
	if (!counter)
		return 0;
	container = container_enter(counter, address, false);
	if (!container)
		return 0;
	container->entries = BPF_CORE_READ(iommu, dma_avail);
	memlock_emit(counter, container, false, false);
	entries_emit(counter, container, iommu, false);
	return 0;
}

SEC("fexit/vfio_iommu_type1_release")
int BPF_PROG(container_release, struct vfio_iommu *iommu)
{
	struct probe_counter *counter = probe_hit(PROBE_VFIO_RELEASE);
	__u64 address = (__u64)iommu;

	if (counter)
		container_leave(address);
	return 0;
}

/* From now on what the group's devices do is explained by this container's mappings. */
SEC("fexit/vfio_iommu_type1_attach_group")
int BPF_PROG(group_attach, void *iommu, void *group, int type, int result)
{
	__u64 address = (__u64)iommu;
	struct container *container;
	struct probe_counter *counter;

	if (result)
		return 0;
	counter = probe_hit(PROBE_VFIO_ATTACH);
	if (!counter)
		return 0;
	container = container_get(counter, address, false);
	if (container)
		mapping_space_set((__u64)group, container->id);
	return 0;
}

SEC("fentry/vfio_iommu_type1_detach_group")
int BPF_PROG(group_detach, void *iommu, void *group)
{
	if (probe_hit(PROBE_VFIO_DETACH))
		mapping_space_set((__u64)group, DEVICE_NONE);
	return 0;
}

/* A change of what the container has mapped and pinned. */
static __always_inline int limits_emit(struct probe_counter *counter, struct vfio_iommu *iommu,
				       bool refused)
{
	__u64 address = (__u64)iommu;
	struct container *container = bpf_map_lookup_elem(&containers, &address);

	if (!container)
		return 0;
	memlock_emit(counter, container, false, refused);
	entries_emit(counter, container, iommu, refused);
	return 0;
}

SEC("fentry/vfio_iommu_type1_ioctl")
int BPF_PROG(map_begin, void *iommu, unsigned int command)
{
	__u64 address = (__u64)iommu;

	return command == VFIO_IOMMU_MAP_DMA
		       ? request_begin(address, false, STEP_MAP, PROBE_VFIO_MAP)
		       : 0;
}

/* A later fault of the address names who mapped it. */
static __always_inline void enter_mapping(void *ctx, const struct vfio_operation *map)
{
	struct mapping_request request = {
		.address = map->address,
		.length = map->bytes,
		.bytes = map->bytes,
		.device = map->device,
		.stack = mapping_stack(ctx),
		.kind = EVENT_VFIO_MAP,
		.flags = map->flags,
	};

	if (!mapping_enter(&request))
		state_failed();
}

SEC("fexit/vfio_iommu_type1_ioctl")
int BPF_PROG(map_end, void *iommu, unsigned int command, unsigned long argument, long result)
{
	struct vfio_iommu_type1_dma_map map = {};
	struct vfio_operation o = {.kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE};
	struct probe_counter *counter;

	if (command != VFIO_IOMMU_MAP_DMA)
		return 0;
	counter = step_end(vfio_call(), STEP_MAP, PROBE_VFIO_MAP, &o);
	if (!counter)
		return 0;
	bpf_probe_read_user(&map, sizeof(map), (void *)argument);
	o.address = map.iova;
	o.bytes = map.size;
	o.code = errno_of(result);
	o.flags = map.flags & (EVENT_READ | EVENT_WRITE);
	vfio_report(counter, &o);
	if (!result)
		enter_mapping(ctx, &o);
	return limits_emit(counter, iommu, result < 0);
}

SEC("fentry/vfio_iommu_type1_ioctl")
int BPF_PROG(unmap_begin, void *iommu, unsigned int command)
{
	__u64 address = (__u64)iommu;

	return command == VFIO_IOMMU_UNMAP_DMA
		       ? request_begin(address, false, STEP_UNMAP, PROBE_VFIO_UNMAP)
		       : 0;
}

/* The kernel has written into the request how much it unmapped. */
SEC("fexit/vfio_iommu_type1_ioctl")
int BPF_PROG(unmap_end, void *iommu, unsigned int command, unsigned long argument, long result)
{
	struct vfio_iommu_type1_dma_unmap unmap = {};
	struct vfio_operation o = {.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE};
	struct probe_counter *counter;

	if (command != VFIO_IOMMU_UNMAP_DMA)
		return 0;
	counter = step_end(vfio_call(), STEP_UNMAP, PROBE_VFIO_UNMAP, &o);
	if (!counter)
		return 0;
	bpf_probe_read_user(&unmap, sizeof(unmap), (void *)argument);
	o.address = unmap.iova;
	o.bytes = unmap.size;
	o.code = errno_of(result);
	vfio_report(counter, &o);
	return limits_emit(counter, iommu, false);
}

/* Outside a request the container is being closed and the kernel takes back what is left. */
SEC("fentry/vfio_remove_dma")
int BPF_PROG(remove_begin, struct vfio_iommu *iommu, struct vfio_dma *dma)
{
	__u64 address = (__u64)iommu;
	struct vfio_call *call = vfio_call_begin();
	struct container *container;
	__u64 bytes;

	if (!call)
		return 0;
	container = bpf_map_lookup_elem(&containers, &address);
	bytes = BPF_CORE_READ(dma, size);
	if (container)
		mapping_leave(container->id, BPF_CORE_READ(dma, iova), bytes);
	if (call->since_ns[STEP_MAP] || call->since_ns[STEP_UNMAP])
		return 0;
	call->container = container ? container->id : DEVICE_NONE;
	call->removing = bytes;
	step_begin(call, STEP_REMOVE);
	return 0;
}

SEC("fexit/vfio_remove_dma")
int BPF_PROG(remove_end)
{
	struct vfio_call *call = vfio_call();
	struct vfio_operation o = {
		.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE, .flags = EVENT_PRIV};
	struct probe_counter *counter = step_end(call, STEP_REMOVE, PROBE_VFIO_REMOVE, &o);

	if (!counter)
		return 0;
	o.bytes = call->removing;
	call->container = DEVICE_NONE;
	vfio_report(counter, &o);
	return 0;
}

SEC("fentry/vfio_pin_pages_remote")
int BPF_PROG(pin_begin)
{
	step_begin(vfio_call_begin(), STEP_PIN);
	return 0;
}

static __always_inline __u16 order_of(__u64 pages)
{
	return pages ? histogram_msb(pages) : QUEUE_NONE;
}

SEC("fexit/vfio_pin_pages_remote")
int BPF_PROG(pin_end, void *dma, unsigned long address, unsigned long npage, void *base,
	     unsigned long limit, void *batch, long result)
{
	struct vfio_operation o = {.kind = EVENT_VFIO_PIN, .queue = QUEUE_NONE};
	struct probe_counter *counter = step_end(vfio_call(), STEP_PIN, PROBE_VFIO_PIN, &o);

	if (!counter)
		return 0;
	o.address = address;
	o.code = errno_of(result);
	if (result > 0) {
		o.bytes = (__u64)result << PAGE_BITS;
		o.queue = order_of(result);
	}
	vfio_report(counter, &o);
	return 0;
}

SEC("fentry/vfio_unpin_pages_remote")
int BPF_PROG(unpin, void *dma, __u64 iova, unsigned long pfn, long pages)
{
	struct probe_counter *counter = probe_hit(PROBE_VFIO_UNPIN);
	struct vfio_operation o = {.kind = EVENT_VFIO_UNPIN, .queue = QUEUE_NONE};
	struct vfio_call *call;

	if (!counter)
		return 0;
	call = vfio_call();
	o.address = iova;
	o.bytes = (__u64)pages << PAGE_BITS;
	o.device = call ? call->container : DEVICE_NONE;
	vfio_report(counter, &o);
	return 0;
}
