// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA API's tracepoints (Linux 6.12 and later; dma_map_page became dma_map_phys in 6.18):
 * counted per second, device and direction unless their kinds were asked for one by one.
 */
#include "bpf/kernel.h"

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SG_ENTRIES_MAX 128 /* per call; what lies beyond is not added to the bytes */

struct dma_operation {
	__u64 address;
	__u64 bytes;
	__u64 value;
	__u32 direction;
	__u16 kind;
};

static __always_inline __u8 direction_flags(__u32 direction)
{
	if (direction == DMA_TO_DEVICE)
		return EVENT_READ;
	if (direction == DMA_FROM_DEVICE)
		return EVENT_WRITE;
	return EVENT_READ | EVENT_WRITE;
}

static __always_inline int dma(__u32 probe, struct device *dev, const struct dma_operation *o)
{
	struct probe_counter *counter = probe_hit(probe);
	struct device_state *device;
	struct event *event;

	if (!counter)
		return 0;
	device = device_by_address(counter, dev);
	if (device_dropped(device))
		return 0;
	if (!kind_single(o->kind)) {
		struct aggregate_key key = {
			.window = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS,
			.device = device ? device->id : DEVICE_NONE,
			.kind = o->kind,
			.queue = QUEUE_NONE,
			.flags = direction_flags(o->direction),
		};

		aggregate_add(&key, o->bytes, 0);
		return 0;
	}
	event = event_reserve(counter, o->kind);
	if (!event)
		return 0;
	event->address = o->address;
	event->length = o->bytes;
	event->value = o->value;
	event->device = device ? device->id : DEVICE_NONE;
	event->flags = direction_flags(o->direction);
	event_submit(counter, event);
	return 0;
}

static __always_inline int map_range(struct device *dev, __u64 physical, __u64 address, __u64 size,
				     __u32 direction)
{
	struct dma_operation o = {address, size, physical, direction, EVENT_DMA_MAP};

	return address == DMA_FAILED ? 0 : dma(PROBE_DMA_MAP, dev, &o);
}

SEC("tp_btf/dma_map_phys")
int BPF_PROG(dma_map_phys, struct device *dev, __u64 physical, __u64 address, size_t size,
	     unsigned int direction)
{
	return map_range(dev, physical, address, size, direction);
}

SEC("tp_btf/dma_map_page")
int BPF_PROG(dma_map_page, struct device *dev, __u64 physical, __u64 address, size_t size,
	     unsigned int direction)
{
	return map_range(dev, physical, address, size, direction);
}

static __always_inline int unmap_range(struct device *dev, __u64 address, __u64 size,
				       __u32 direction)
{
	struct dma_operation o = {address, size, 0, direction, EVENT_DMA_UNMAP};

	return dma(PROBE_DMA_UNMAP, dev, &o);
}

SEC("tp_btf/dma_unmap_phys")
int BPF_PROG(dma_unmap_phys, struct device *dev, __u64 address, size_t size, unsigned int direction)
{
	return unmap_range(dev, address, size, direction);
}

SEC("tp_btf/dma_unmap_page")
int BPF_PROG(dma_unmap_page, struct device *dev, __u64 address, size_t size, unsigned int direction)
{
	return unmap_range(dev, address, size, direction);
}

/* Address of the first entry and bytes of all, following the chain. */
static __always_inline void walk_list(struct scatterlist *entry, int count, struct dma_operation *o)
{
	for (int i = 0; i < SG_ENTRIES_MAX && i < count && entry; i++) {
		unsigned long link = BPF_CORE_READ(entry, page_link);

		if (link & SG_CHAIN) {
			entry = (void *)(link & ~(unsigned long)SG_LINK_BITS);
			link = BPF_CORE_READ(entry, page_link);
		}
		if (!i)
			o->address = BPF_CORE_READ(entry, dma_address);
		if (bpf_core_field_exists(entry->dma_length))
			o->bytes += BPF_CORE_READ(entry, dma_length);
		else
			o->bytes += BPF_CORE_READ(entry, length);
		entry = (void *)entry + bpf_core_type_size(struct scatterlist);
	}
	o->value = count;
}

static __always_inline int list_operation(__u32 probe, __u16 kind, struct device *dev,
					  struct scatterlist *list, int count, __u32 direction)
{
	struct dma_operation o = {.direction = direction, .kind = kind};

	walk_list(list, count, &o);
	return dma(probe, dev, &o);
}

SEC("tp_btf/dma_map_sg")
int BPF_PROG(dma_map_sg, struct device *dev, struct scatterlist *list, int nents, int mapped,
	     unsigned int direction)
{
	return list_operation(PROBE_DMA_MAP_SG, EVENT_DMA_MAP, dev, list, mapped, direction);
}

SEC("tp_btf/dma_unmap_sg")
int BPF_PROG(dma_unmap_sg, struct device *dev, struct scatterlist *list, int nents,
	     unsigned int direction)
{
	return list_operation(PROBE_DMA_UNMAP_SG, EVENT_DMA_UNMAP, dev, list, nents, direction);
}

SEC("tp_btf/dma_alloc")
int BPF_PROG(dma_alloc, struct device *dev, void *cpu_address, __u64 address, size_t size)
{
	struct dma_operation o = {address, size, 0, 0, EVENT_DMA_ALLOC};

	return dma(PROBE_DMA_ALLOC, dev, &o);
}

SEC("tp_btf/dma_free")
int BPF_PROG(dma_free, struct device *dev, void *cpu_address, __u64 address, size_t size)
{
	struct dma_operation o = {address, size, 0, 0, EVENT_DMA_FREE};

	return dma(PROBE_DMA_FREE, dev, &o);
}

SEC("tp_btf/dma_sync_single_for_cpu")
int BPF_PROG(dma_sync_single_for_cpu, struct device *dev, __u64 address, size_t size,
	     unsigned int direction)
{
	struct dma_operation o = {address, size, 0, direction, EVENT_DMA_SYNC};

	return dma(PROBE_DMA_SYNC_CPU, dev, &o);
}

SEC("tp_btf/dma_sync_single_for_device")
int BPF_PROG(dma_sync_single_for_device, struct device *dev, __u64 address, size_t size,
	     unsigned int direction)
{
	struct dma_operation o = {address, size, 0, direction, EVENT_DMA_SYNC};

	return dma(PROBE_DMA_SYNC_DEVICE, dev, &o);
}

SEC("tp_btf/dma_sync_sg_for_cpu")
int BPF_PROG(dma_sync_sg_for_cpu, struct device *dev, struct scatterlist *list, int nents,
	     unsigned int direction)
{
	return list_operation(PROBE_DMA_SYNC_SG_CPU, EVENT_DMA_SYNC, dev, list, nents, direction);
}

SEC("tp_btf/dma_sync_sg_for_device")
int BPF_PROG(dma_sync_sg_for_device, struct device *dev, struct scatterlist *list, int nents,
	     unsigned int direction)
{
	return list_operation(PROBE_DMA_SYNC_SG_DEVICE, EVENT_DMA_SYNC, dev, list, nents,
			      direction);
}
