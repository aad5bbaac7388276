// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA API: tracepoints (Linux 6.12 and later; dma_map_page became dma_map_phys in 6.18) or, where
 * there are none, its functions (dma_functions.bpf.h). Counted per second, device and direction
 * unless their kinds were asked for one by one; every mapping enters the table of owners.
 *
 * A tracepoint comes after the work: what an address was given out to again may be entered before
 * its former unmap is seen, which the table allows for.
 */
#include "bpf/kernel.h"

#include "bpf/dma.bpf.h"
#include "bpf/dma_functions.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAP_RANGE(section, name, probe)                                                          \
	SEC(section)                                                                             \
	int BPF_PROG(name, struct device *dev, __u64 physical, __u64 address, size_t size,       \
		     unsigned int direction)                                                     \
	{                                                                                        \
		struct dma_operation o = {address, size, physical, 0, direction, EVENT_DMA_MAP}; \
                                                                                                 \
		return address == DMA_FAILED ? 0 : dma_range(ctx, probe, dev, &o, DMA_MAP);      \
	}

#define MAPPED_RANGE(section, name, probe, what, step)                                             \
	SEC(section)                                                                               \
	int BPF_PROG(name, struct device *dev, __u64 address, size_t size, unsigned int direction) \
	{                                                                                          \
		struct dma_operation o = {address, size, 0, 0, direction, what};                   \
                                                                                                   \
		return dma_range(ctx, probe, dev, &o, step);                                       \
	}
#define UNMAP_RANGE(section, name, probe) \
	MAPPED_RANGE(section, name, probe, EVENT_DMA_UNMAP, DMA_UNMAP)
#define SYNC_RANGE(section, name, probe) \
	MAPPED_RANGE(section, name, probe, EVENT_DMA_SYNC, DMA_LOOK)

#define MAPPED_LIST(section, name, probe, what, step)                                  \
	SEC(section)                                                                   \
	int BPF_PROG(name, struct device *dev, struct scatterlist *list, int nents,    \
		     unsigned int direction)                                           \
	{                                                                              \
		struct sg_walk walk = {.sum = {.direction = direction, .kind = what}}; \
                                                                                       \
		return dma_list(ctx, probe, dev, list, nents, &walk, step);            \
	}
#define SYNC_LIST(section, name, probe) MAPPED_LIST(section, name, probe, EVENT_DMA_SYNC, DMA_LOOK)

MAP_RANGE("tp_btf/dma_map_phys", dma_map_phys, PROBE_DMA_MAP)
MAP_RANGE("tp_btf/dma_map_page", dma_map_page, PROBE_DMA_MAP)
MAP_RANGE("tp_btf/dma_map_resource", dma_map_resource, PROBE_DMA_MAP_RESOURCE)
UNMAP_RANGE("tp_btf/dma_unmap_phys", dma_unmap_phys, PROBE_DMA_UNMAP)
UNMAP_RANGE("tp_btf/dma_unmap_page", dma_unmap_page, PROBE_DMA_UNMAP)
UNMAP_RANGE("tp_btf/dma_unmap_resource", dma_unmap_resource, PROBE_DMA_UNMAP_RESOURCE)

SEC("tp_btf/dma_map_sg")
int BPF_PROG(dma_map_sg, struct device *dev, struct scatterlist *list, int nents, int mapped,
	     unsigned int direction)
{
	struct sg_walk walk = {.sum = {.direction = direction, .kind = EVENT_DMA_MAP}};

	return dma_list(ctx, PROBE_DMA_MAP_SG, dev, list, mapped, &walk, DMA_MAP);
}

MAPPED_LIST("tp_btf/dma_unmap_sg", dma_unmap_sg, PROBE_DMA_UNMAP_SG, EVENT_DMA_UNMAP, DMA_UNMAP)

static __always_inline int alloc_range(void *ctx, __u32 probe, struct device *dev, void *memory,
				       __u64 address, __u64 size)
{
	struct dma_operation o = {address, size, 0, 0, 0, EVENT_DMA_ALLOC};

	return memory ? dma_range(ctx, probe, dev, &o, DMA_MAP) : 0;
}

SEC("tp_btf/dma_alloc")
int BPF_PROG(dma_alloc, struct device *dev, void *memory, __u64 address, size_t size)
{
	return alloc_range(ctx, PROBE_DMA_ALLOC, dev, memory, address, size);
}

SEC("tp_btf/dma_alloc_pages")
int BPF_PROG(dma_alloc_pages, struct device *dev, void *memory, __u64 address, size_t size)
{
	return alloc_range(ctx, PROBE_DMA_ALLOC_PAGES, dev, memory, address, size);
}

SEC("tp_btf/dma_alloc_sgt")
int BPF_PROG(dma_alloc_sgt, struct device *dev, struct sg_table *table, size_t size)
{
	return alloc_range(ctx, PROBE_DMA_ALLOC_SGT, dev, table,
			   BPF_CORE_READ(table, sgl, dma_address), size);
}

static __always_inline int free_range(void *ctx, __u32 probe, struct device *dev, void *memory,
				      __u64 address, __u64 size)
{
	struct dma_operation o = {address, size, 0, 0, 0, EVENT_DMA_FREE};

	return memory ? dma_range(ctx, probe, dev, &o, DMA_UNMAP) : 0;
}

SEC("tp_btf/dma_free")
int BPF_PROG(dma_free, struct device *dev, void *memory, __u64 address, size_t size)
{
	return free_range(ctx, PROBE_DMA_FREE, dev, memory, address, size);
}

SEC("tp_btf/dma_free_pages")
int BPF_PROG(dma_free_pages, struct device *dev, void *memory, __u64 address, size_t size)
{
	return free_range(ctx, PROBE_DMA_FREE_PAGES, dev, memory, address, size);
}

SEC("tp_btf/dma_free_sgt")
int BPF_PROG(dma_free_sgt, struct device *dev, struct sg_table *table, size_t size)
{
	return free_range(ctx, PROBE_DMA_FREE_SGT, dev, table,
			  BPF_CORE_READ(table, sgl, dma_address), size);
}

SYNC_RANGE("tp_btf/dma_sync_single_for_cpu", dma_sync_single_for_cpu, PROBE_DMA_SYNC_CPU)
SYNC_RANGE("tp_btf/dma_sync_single_for_device", dma_sync_single_for_device, PROBE_DMA_SYNC_DEVICE)
SYNC_LIST("tp_btf/dma_sync_sg_for_cpu", dma_sync_sg_for_cpu, PROBE_DMA_SYNC_SG_CPU)
SYNC_LIST("tp_btf/dma_sync_sg_for_device", dma_sync_sg_for_device, PROBE_DMA_SYNC_SG_DEVICE)
SYNC_RANGE("fentry/dma_sync_single_for_cpu", called_sync_cpu, PROBE_DMA_SYNC_CPU)
SYNC_RANGE("fentry/dma_sync_single_for_device", called_sync_device, PROBE_DMA_SYNC_DEVICE)
SYNC_LIST("fentry/dma_sync_sg_for_cpu", called_sync_sg_cpu, PROBE_DMA_SYNC_SG_CPU)
SYNC_LIST("fentry/dma_sync_sg_for_device", called_sync_sg_device, PROBE_DMA_SYNC_SG_DEVICE)
