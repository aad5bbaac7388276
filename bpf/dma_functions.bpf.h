/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DMA API by its functions: all of it on kernels without its tracepoints (6.1), where the time
 * a call took is known too; and on newer ones the calls that bypass the tracepoints: dma_iova_*
 * (Linux 6.16 and later), by which block devices and others fill an IOVA range piece by piece.
 *
 * Part of dma.bpf.c. What a call ends is ended at its entry: at its return another CPU may already
 * have been given the same address.
 */
#ifndef FAULTLINE_DMA_FUNCTIONS_BPF_H
#define FAULTLINE_DMA_FUNCTIONS_BPF_H

#include "bpf/call.bpf.h"
#include "bpf/dma.bpf.h"

/* Calls of a task that have not returned; one of an interrupt in between makes the outer one untimed. */
enum timed_call { CALL_MAP, CALL_MAP_SG, CALL_UNMAP, CALL_UNMAP_SG, CALL_ALLOC, CALL_COUNT };

struct dma_calls {
	struct call calls[CALL_COUNT];
};

TASK_STORAGE(dma_calls, struct dma_calls);

static __always_inline void dma_begins(enum timed_call call, struct device *dev, __u64 what,
				       __u64 size)
{
	struct dma_calls *calls = task_entry_ensure(&dma_calls);

	call_begins(calls ? &calls->calls[call] : NULL, call, (__u64)dev, what, size);
}

/* How long the call took, 0 if that is not known. */
static __always_inline __u64 dma_ends(enum timed_call call, struct device *dev, __u64 what,
				      __u64 size)
{
	struct dma_calls *calls = task_entry(&dma_calls, 0);
	struct call ended;

	if (!call_ends(calls ? &calls->calls[call] : NULL, call, what, &ended) ||
	    ended.object != (__u64)dev || ended.size != size)
		return 0;
	return bpf_ktime_get_ns() - ended.started_ns;
}

SEC("fentry/dma_map_page_attrs")
int BPF_PROG(calls_map, struct device *dev, void *page, size_t offset, size_t size)
{
	dma_begins(CALL_MAP, dev, (__u64)page, offset + size);
	return 0;
}

SEC("fexit/dma_map_page_attrs")
int BPF_PROG(called_map, struct device *dev, void *page, size_t offset, size_t size,
	     unsigned int direction, unsigned long attributes, __u64 address)
{
	struct dma_operation o = {address,   size,
				  0,	     dma_ends(CALL_MAP, dev, (__u64)page, offset + size),
				  direction, EVENT_DMA_MAP};

	return address == DMA_FAILED ? 0 : dma_range(ctx, PROBE_DMA_MAP, dev, &o, DMA_MAP);
}

SEC("fexit/dma_map_resource")
int BPF_PROG(called_map_resource, struct device *dev, __u64 physical, size_t size,
	     unsigned int direction, unsigned long attributes, __u64 address)
{
	struct dma_operation o = {address, size, physical, 0, direction, EVENT_DMA_MAP};

	return address == DMA_FAILED ? 0 : dma_range(ctx, PROBE_DMA_MAP_RESOURCE, dev, &o, DMA_MAP);
}

/* The table first, the count at the return, where the time is known. */
static __always_inline int unmap_begins(__u32 probe, enum timed_call call, struct device *dev,
					__u64 address, __u64 size)
{
	struct probe_counter *counter = probe_hit(probe);
	struct dma_operation o = {.address = address, .bytes = size};
	__u32 device;

	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	dma_leave(device, &o);
	dma_begins(call, dev, address, size);
	return 0;
}

SEC("fentry/dma_unmap_page_attrs")
int BPF_PROG(calls_unmap, struct device *dev, __u64 address, size_t size)
{
	return unmap_begins(PROBE_DMA_UNMAP, CALL_UNMAP, dev, address, size);
}

/* Not probe_hit(): one call is one hit of the row. */
static __always_inline int call_report(__u32 probe, struct device *dev, struct dma_operation *o)
{
	struct probe_counter *counter = probe_again(probe);
	__u32 device;

	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	return dma_report(counter, device, o);
}

SEC("fexit/dma_unmap_page_attrs")
int BPF_PROG(called_unmap, struct device *dev, __u64 address, size_t size, unsigned int direction)
{
	struct dma_operation o = {address,   size,
				  0,	     dma_ends(CALL_UNMAP, dev, address, size),
				  direction, EVENT_DMA_UNMAP};

	return call_report(PROBE_DMA_UNMAP, dev, &o);
}

SEC("fentry/dma_unmap_resource")
int BPF_PROG(called_unmap_resource, struct device *dev, __u64 address, size_t size,
	     unsigned int direction)
{
	struct dma_operation o = {address, size, 0, 0, direction, EVENT_DMA_UNMAP};

	return dma_range(ctx, PROBE_DMA_UNMAP_RESOURCE, dev, &o, DMA_UNMAP);
}

SEC("fentry/__dma_map_sg_attrs")
int BPF_PROG(calls_map_sg, struct device *dev, struct scatterlist *list)
{
	dma_begins(CALL_MAP_SG, dev, (__u64)list, 0);
	return 0;
}

SEC("fexit/__dma_map_sg_attrs")
int BPF_PROG(called_map_sg, struct device *dev, struct scatterlist *list, int nents,
	     unsigned int direction, unsigned long attributes, int mapped)
{
	struct sg_walk walk = {.sum = {.direction = direction,
				       .kind = EVENT_DMA_MAP,
				       .latency_ns = dma_ends(CALL_MAP_SG, dev, (__u64)list, 0)}};

	return dma_list(ctx, PROBE_DMA_MAP_SG, dev, list, mapped, &walk, DMA_MAP);
}

SEC("fentry/dma_unmap_sg_attrs")
int BPF_PROG(called_unmap_sg, struct device *dev, struct scatterlist *list, int nents,
	     unsigned int direction)
{
	struct sg_walk walk = {.sum = {.direction = direction, .kind = EVENT_DMA_UNMAP}};

	return dma_list(ctx, PROBE_DMA_UNMAP_SG, dev, list, nents, &walk, DMA_UNMAP);
}

SEC("fentry/dma_alloc_attrs")
int BPF_PROG(calls_alloc, struct device *dev, size_t size)
{
	dma_begins(CALL_ALLOC, dev, 0, size);
	return 0;
}

static __always_inline __u64 handle_of(const __u64 *handle)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), handle);
	return address;
}

SEC("fexit/dma_alloc_attrs")
int BPF_PROG(called_alloc, struct device *dev, size_t size, __u64 *handle, unsigned int flags,
	     unsigned long attributes, void *memory)
{
	struct dma_operation o = {handle_of(handle), size, 0, dma_ends(CALL_ALLOC, dev, 0, size), 0,
				  EVENT_DMA_ALLOC};

	return memory ? dma_range(ctx, PROBE_DMA_ALLOC, dev, &o, DMA_MAP) : 0;
}

SEC("fexit/dma_alloc_pages")
int BPF_PROG(called_alloc_pages, struct device *dev, size_t size, __u64 *handle,
	     unsigned int direction, unsigned int flags, void *page)
{
	struct dma_operation o = {handle_of(handle), size, 0, 0, direction, EVENT_DMA_ALLOC};

	return page ? dma_range(ctx, PROBE_DMA_ALLOC_PAGES, dev, &o, DMA_MAP) : 0;
}

SEC("fexit/dma_alloc_noncontiguous")
int BPF_PROG(called_alloc_sgt, struct device *dev, size_t size, unsigned int direction,
	     unsigned int flags, unsigned long attributes, struct sg_table *table)
{
	struct dma_operation o = {
		BPF_CORE_READ(table, sgl, dma_address), size, 0, 0, direction, EVENT_DMA_ALLOC};

	return table ? dma_range(ctx, PROBE_DMA_ALLOC_SGT, dev, &o, DMA_MAP) : 0;
}

SEC("fentry/dma_free_attrs")
int BPF_PROG(called_free, struct device *dev, size_t size, void *memory, __u64 address)
{
	struct dma_operation o = {address, size, 0, 0, 0, EVENT_DMA_FREE};

	return memory ? dma_range(ctx, PROBE_DMA_FREE, dev, &o, DMA_UNMAP) : 0;
}

SEC("fentry/dma_free_pages")
int BPF_PROG(called_free_pages, struct device *dev, size_t size, void *page, __u64 address,
	     unsigned int direction)
{
	struct dma_operation o = {address, size, 0, 0, direction, EVENT_DMA_FREE};

	return dma_range(ctx, PROBE_DMA_FREE_PAGES, dev, &o, DMA_UNMAP);
}

SEC("fentry/dma_free_noncontiguous")
int BPF_PROG(called_free_sgt, struct device *dev, size_t size, struct sg_table *table,
	     unsigned int direction)
{
	struct dma_operation o = {
		BPF_CORE_READ(table, sgl, dma_address), size, 0, 0, direction, EVENT_DMA_FREE};

	return dma_range(ctx, PROBE_DMA_FREE_SGT, dev, &o, DMA_UNMAP);
}

#define IOVA_SIZE_BITS ((1ull << 63) - 1)

static __always_inline __u64 iova_size(struct dma_iova_state *iova)
{
	return BPF_CORE_READ(iova, __size) & IOVA_SIZE_BITS;
}

/* The range is reserved but nothing is mapped yet: it enters empty and is filled by links. */
SEC("fexit/dma_iova_try_alloc")
int BPF_PROG(called_iova_alloc, struct device *dev, struct dma_iova_state *iova, __u64 physical,
	     size_t size, bool allocated)
{
	struct mapping_request request = {.kind = EVENT_DMA_MAP, .flags = EVENT_READ | EVENT_WRITE};
	struct probe_counter *counter;

	if (!allocated)
		return 0;
	counter = probe_hit(PROBE_DMA_IOVA_ALLOC);
	if (!counter || !device_wanted(counter, dev, &request.device))
		return 0;
	request.address = BPF_CORE_READ(iova, addr);
	request.length = iova_size(iova);
	request.stack = mapping_stack(ctx);
	if (!mapping_enter(&request))
		dma_astray(request.device, LIVE_REFUSED, 0);
	return 0;
}

static __always_inline int iova_filled(__u32 probe, struct device *dev, struct dma_iova_state *iova,
				       __u64 offset, __s64 bytes, struct dma_operation *o)
{
	struct probe_counter *counter = probe_hit(probe);
	__u32 device;

	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	o->address = BPF_CORE_READ(iova, addr) + offset;
	if (!mapping_fill(device, BPF_CORE_READ(iova, addr), iova_size(iova), bytes))
		dma_astray(device, bytes < 0 ? LIVE_UNKNOWN : LIVE_REFUSED, o->bytes);
	return dma_report(counter, device, o);
}

SEC("fexit/dma_iova_link")
int BPF_PROG(called_iova_link, struct device *dev, struct dma_iova_state *iova, __u64 physical,
	     size_t offset, size_t size, unsigned int direction, unsigned long attributes,
	     int error)
{
	struct dma_operation o = {0, size, physical, 0, direction, EVENT_DMA_MAP};

	return error ? 0 : iova_filled(PROBE_DMA_IOVA_LINK, dev, iova, offset, size, &o);
}

/* The range that dma_iova_destroy() ends on this CPU: since Linux 7.3 that calls dma_iova_unlink(). */
MAP(destroyed_ranges, PERCPU_ARRAY, 1, __u32, __u64);

SEC("fentry/dma_iova_unlink")
int BPF_PROG(called_iova_unlink, struct device *dev, struct dma_iova_state *iova, size_t offset,
	     size_t size, unsigned int direction)
{
	struct dma_operation o = {0, size, 0, 0, direction, EVENT_DMA_UNMAP};
	__u64 *destroyed = map_only(&destroyed_ranges);

	if (destroyed && *destroyed == (__u64)iova) {
		*destroyed = 0;
		probe_hit(PROBE_DMA_IOVA_UNLINK);
		return 0;
	}
	return iova_filled(PROBE_DMA_IOVA_UNLINK, dev, iova, offset, -(__s64)size, &o);
}

/* Also called by dma_iova_destroy(), which has ended the range already. */
SEC("fentry/dma_iova_free")
int BPF_PROG(called_iova_free, struct device *dev, struct dma_iova_state *iova)
{
	struct probe_counter *counter = probe_hit(PROBE_DMA_IOVA_FREE);
	__u32 device;

	if (counter && device_wanted(counter, dev, &device))
		mapping_leave(device, BPF_CORE_READ(iova, addr), iova_size(iova));
	return 0;
}

SEC("fentry/dma_iova_destroy")
int BPF_PROG(called_iova_destroy, struct device *dev, struct dma_iova_state *iova, size_t mapped,
	     unsigned int direction)
{
	struct probe_counter *counter = probe_hit(PROBE_DMA_IOVA_DESTROY);
	struct dma_operation o = {0, mapped, 0, 0, direction, EVENT_DMA_UNMAP};
	__u64 *destroyed = map_only(&destroyed_ranges);
	__u32 device;

	if (destroyed)
		*destroyed = mapped ? (__u64)iova : 0;
	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	o.address = BPF_CORE_READ(iova, addr);
	if (!mapping_leave(device, o.address, iova_size(iova)))
		dma_astray(device, LIVE_UNKNOWN, mapped);
	return mapped ? dma_report(counter, device, &o) : 0;
}

#endif
