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
	struct container_key key = {.address = (__u64)iommu};
	struct container *container;
	struct probe_counter *counter;

	if (!iommu || key.address >= ERROR_POINTERS)
		return 0;
	counter = probe_hit(PROBE_VFIO_OPEN);
	if (!counter)
		return 0;
	container = container_enter(counter, &key, false);
	if (!container)
		return 0;
	container->entries = BPF_CORE_READ(iommu, dma_avail);
	tell_memlock(counter, container, false);
	tell_entries(counter, container, iommu, false);
	return 0;
}

SEC("fexit/vfio_iommu_type1_release")
int BPF_PROG(container_release, struct vfio_iommu *iommu)
{
	struct probe_counter *counter = probe_hit(PROBE_VFIO_RELEASE);
	struct container_key key = {.address = (__u64)iommu};

	if (counter)
		bpf_map_delete_elem(&containers, &key);
	return 0;
}

/* From now on what the group's devices do is explained by this container's mappings. */
SEC("fexit/vfio_iommu_type1_attach_group")
int BPF_PROG(group_attach, void *iommu, void *group, int type, int result)
{
	struct container_key key = {.address = (__u64)iommu};
	struct container *container;
	struct probe_counter *counter;

	if (result)
		return 0;
	counter = probe_hit(PROBE_VFIO_ATTACH);
	if (!counter)
		return 0;
	container = container_get(counter, &key, false);
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

/* A request begins: what it pins and unpins belongs to this container. */
static __always_inline struct vfio_call *request_begin(const struct container_key *key, __u32 probe)
{
	struct probe_counter *counter = bpf_map_lookup_elem(&counters, &probe);
	struct vfio_call *call = vfio_call_begin();
	struct container *container;

	if (!call || !counter)
		return NULL;
	container = container_get(counter, key, false);
	call->container = container ? container->id : DEVICE_NONE;
	return call;
}

SEC("fentry/vfio_iommu_type1_ioctl")
int BPF_PROG(map_begin, void *iommu, unsigned int command)
{
	struct container_key key = {.address = (__u64)iommu};
	struct vfio_call *call;

	if (command != VFIO_IOMMU_MAP_DMA)
		return 0;
	call = request_begin(&key, PROBE_VFIO_MAP);
	if (call)
		call->map_ns = bpf_ktime_get_ns();
	return 0;
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
	struct container_key key = {.address = (__u64)iommu};
	struct vfio_iommu_type1_dma_map map = {};
	struct vfio_operation o = {.kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE};
	struct container *container;
	struct probe_counter *counter;
	struct vfio_call *call;

	if (command != VFIO_IOMMU_MAP_DMA)
		return 0;
	call = vfio_call();
	if (!call || !call->map_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->map_ns;
	o.device = call->container;
	call->map_ns = 0;
	counter = probe_hit(PROBE_VFIO_MAP);
	if (!counter)
		return 0;
	bpf_probe_read_user(&map, sizeof(map), (void *)argument);
	o.address = map.iova;
	o.bytes = map.size;
	o.code = errno_of(result);
	o.flags = map.flags & (EVENT_READ | EVENT_WRITE);
	tell(counter, &o);
	if (!result)
		enter_mapping(ctx, &o);
	container = bpf_map_lookup_elem(&containers, &key);
	if (!container)
		return 0;
	tell_memlock(counter, container, result < 0);
	tell_entries(counter, container, iommu, result < 0);
	return 0;
}

SEC("fentry/vfio_iommu_type1_ioctl")
int BPF_PROG(unmap_begin, void *iommu, unsigned int command)
{
	struct container_key key = {.address = (__u64)iommu};
	struct vfio_call *call;

	if (command != VFIO_IOMMU_UNMAP_DMA)
		return 0;
	call = request_begin(&key, PROBE_VFIO_UNMAP);
	if (call)
		call->unmap_ns = bpf_ktime_get_ns();
	return 0;
}

/* The kernel has written into the request how much it unmapped. */
SEC("fexit/vfio_iommu_type1_ioctl")
int BPF_PROG(unmap_end, void *iommu, unsigned int command, unsigned long argument, long result)
{
	struct container_key key = {.address = (__u64)iommu};
	struct vfio_iommu_type1_dma_unmap unmap = {};
	struct vfio_operation o = {.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE};
	struct container *container;
	struct probe_counter *counter;
	struct vfio_call *call;

	if (command != VFIO_IOMMU_UNMAP_DMA)
		return 0;
	call = vfio_call();
	if (!call || !call->unmap_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->unmap_ns;
	o.device = call->container;
	call->unmap_ns = 0;
	counter = probe_hit(PROBE_VFIO_UNMAP);
	if (!counter)
		return 0;
	bpf_probe_read_user(&unmap, sizeof(unmap), (void *)argument);
	o.address = unmap.iova;
	o.bytes = unmap.size;
	o.code = errno_of(result);
	tell(counter, &o);
	container = bpf_map_lookup_elem(&containers, &key);
	if (!container)
		return 0;
	tell_memlock(counter, container, false);
	tell_entries(counter, container, iommu, false);
	return 0;
}

/* Outside a request the container is being closed and the kernel takes back what is left. */
SEC("fentry/vfio_remove_dma")
int BPF_PROG(remove_begin, struct vfio_iommu *iommu, struct vfio_dma *dma)
{
	struct container_key key = {.address = (__u64)iommu};
	struct vfio_call *call = vfio_call_begin();
	struct container *container;
	__u64 bytes;

	if (!call)
		return 0;
	container = bpf_map_lookup_elem(&containers, &key);
	bytes = BPF_CORE_READ(dma, size);
	if (container)
		mapping_leave(container->id, BPF_CORE_READ(dma, iova), bytes);
	if (call->map_ns || call->unmap_ns)
		return 0;
	call->container = container ? container->id : DEVICE_NONE;
	call->removing = bytes;
	call->remove_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/vfio_remove_dma")
int BPF_PROG(remove_end)
{
	struct vfio_call *call = vfio_call();
	struct vfio_operation o = {
		.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE, .flags = EVENT_PRIV};
	struct probe_counter *counter;

	if (!call || !call->remove_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->remove_ns;
	o.bytes = call->removing;
	o.device = call->container;
	call->remove_ns = 0;
	call->container = DEVICE_NONE;
	counter = probe_hit(PROBE_VFIO_REMOVE);
	if (counter)
		tell(counter, &o);
	return 0;
}

SEC("fentry/vfio_pin_pages_remote")
int BPF_PROG(pin_begin)
{
	struct vfio_call *call = vfio_call_begin();

	if (call)
		call->pin_ns = bpf_ktime_get_ns();
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
	struct vfio_call *call = vfio_call();
	struct vfio_operation o = {.kind = EVENT_VFIO_PIN, .queue = QUEUE_NONE};
	struct probe_counter *counter;

	if (!call || !call->pin_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->pin_ns;
	o.device = call->container;
	call->pin_ns = 0;
	counter = probe_hit(PROBE_VFIO_PIN);
	if (!counter)
		return 0;
	o.address = address;
	o.code = errno_of(result);
	if (result > 0) {
		o.bytes = (__u64)result << PAGE_BITS;
		o.queue = order_of(result);
	}
	tell(counter, &o);
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
	tell(counter, &o);
	return 0;
}
