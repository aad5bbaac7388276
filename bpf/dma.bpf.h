/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every program on the DMA API does: enters and ends mappings in the table of owners
 * (bpf/mappings.bpf.h), counts them per second, device and direction, or emits them one by one if
 * their kind was asked for.
 */
#ifndef FAULTLINE_DMA_BPF_H
#define FAULTLINE_DMA_BPF_H

#include "bpf/device.bpf.h"
#include "bpf/mappings.bpf.h"

#define SG_ENTRIES_MAX 4096 /* per call; what lies beyond is counted as refused */

struct dma_operation {
	__u64 address;
	__u64 bytes;
	__u64 value;
	__u64 latency_ns; /* 0: not known */
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

/* Counts a mapping that the table could not take, or an unmap without one. */
global_function int dma_astray(__u32 device, __u32 code, __u64 bytes)
{
	struct aggregate_key key = {
		.device = device,
		.kind = EVENT_DMA_LIVE,
		.queue = QUEUE_NONE,
		.code = code,
	};

	aggregate_now(&key, bytes, 0);
	return 0;
}

/* One operation as a count or an event. */
static __always_inline int dma_report(struct probe_counter *counter, __u32 device,
				      const struct dma_operation *o)
{
	struct aggregate_key key = {
		.device = device,
		.kind = o->kind,
		.queue = QUEUE_NONE,
		.flags = direction_flags(o->direction),
	};
	struct event *event = event_or_count(counter, &key, o->bytes, o->latency_ns);

	if (!event)
		return 0;
	event->address = o->address;
	event->length = o->bytes;
	event->value = o->value;
	event_submit(counter, event);
	return 0;
}

static __always_inline void dma_enter(__u32 device, __u32 stack, const struct dma_operation *o)
{
	struct mapping_request request = {
		.address = o->address,
		.length = o->bytes,
		.bytes = o->bytes,
		.device = device,
		.stack = stack,
		.kind = o->kind,
		.flags = direction_flags(o->direction),
	};

	if (!mapping_enter(&request))
		dma_astray(device, LIVE_REFUSED, o->bytes);
}

static __always_inline void dma_leave(__u32 device, const struct dma_operation *o)
{
	if (!mapping_leave(device, o->address, o->bytes))
		dma_astray(device, LIVE_UNKNOWN, o->bytes);
}

/* What an operation does to the table of owners. */
enum dma_purpose { DMA_MAP, DMA_UNMAP, DMA_LOOK };

/* One operation on one range. `ctx`, of which the stack is taken, only matters for DMA_MAP. */
static __always_inline int dma_range(void *ctx, __u32 probe, struct device *dev,
				     const struct dma_operation *o, enum dma_purpose purpose)
{
	struct probe_counter *counter = probe_hit(probe);
	__u32 device;

	if (!counter || !device_wanted(counter, dev, &device))
		return 0;
	if (purpose == DMA_MAP)
		dma_enter(device, mapping_stack(ctx), o);
	else if (purpose == DMA_UNMAP)
		dma_leave(device, o);
	return dma_report(counter, device, o);
}

/* A walk over a scatterlist's mapped segments; mapping and unmapping take each of its own. */
struct sg_walk {
	__u64 entry; /* struct scatterlist of the kernel */
	struct dma_operation sum;
	__u32 device;
	__u32 stack;
};

static __always_inline void sg_segment(struct sg_walk *walk, enum dma_purpose purpose,
				       __u64 address, __u64 bytes)
{
	struct dma_operation o = {
		.address = address,
		.bytes = bytes,
		.direction = walk->sum.direction,
		.kind = walk->sum.kind,
	};

	if (purpose == DMA_MAP)
		dma_enter(walk->device, walk->stack, &o);
	else if (purpose == DMA_UNMAP)
		dma_leave(walk->device, &o);
}

/* Takes the next entry; nonzero: it was the last. */
static __always_inline int sg_take(struct sg_walk *walk, enum dma_purpose purpose)
{
	struct scatterlist *entry;
	__u64 link, address, bytes;

	if (!walk)
		return 1;
	entry = (void *)walk->entry;
	link = BPF_CORE_READ(entry, page_link);
	if (link & SG_CHAIN) {
		entry = (void *)(link & ~(unsigned long)SG_LINK_BITS);
		link = BPF_CORE_READ(entry, page_link);
	}
	address = BPF_CORE_READ(entry, dma_address);
	bytes = bpf_core_field_exists(entry->dma_length) ? BPF_CORE_READ(entry, dma_length)
							 : BPF_CORE_READ(entry, length);
	/* Entries were merged while mapping: behind the mapped ones come empty ones. */
	if (!bytes)
		return 1;
	if (!walk->sum.bytes)
		walk->sum.address = address;
	walk->sum.bytes += bytes;
	if (purpose != DMA_LOOK)
		sg_segment(walk, purpose, address, bytes);
	walk->entry = (__u64)entry + bpf_core_type_size(struct scatterlist);
	return 0;
}

/* For each purpose: a program is verified with all that what it calls may do. */
#define SG_STEP(name, purpose)                          \
	global_function int name(struct sg_walk *walk)  \
	{                                               \
		return sg_take(walk, purpose);          \
	}                                               \
	static long name##_step(__u32 step, void *walk) \
	{                                               \
		return name(walk) ? 1 : 0;              \
	}

SG_STEP(sg_map, DMA_MAP)
SG_STEP(sg_unmap, DMA_UNMAP)
SG_STEP(sg_look, DMA_LOOK)

static __always_inline int dma_list(void *ctx, __u32 probe, struct device *dev,
				    struct scatterlist *list, int count, struct sg_walk *walk,
				    enum dma_purpose purpose)
{
	struct probe_counter *counter = probe_hit(probe);
	__u32 steps;

	if (!counter || count <= 0 || !device_wanted(counter, dev, &walk->device))
		return 0;
	walk->entry = (__u64)list;
	walk->sum.value = count;
	walk->stack = purpose == DMA_MAP ? mapping_stack(ctx) : 0;
	steps = count < SG_ENTRIES_MAX ? count : SG_ENTRIES_MAX;
	if (purpose == DMA_MAP)
		bpf_loop(steps, sg_map_step, walk, 0);
	else if (purpose == DMA_UNMAP)
		bpf_loop(steps, sg_unmap_step, walk, 0);
	else
		bpf_loop(steps, sg_look_step, walk, 0);
	if (purpose == DMA_MAP && count > SG_ENTRIES_MAX)
		dma_astray(walk->device, LIVE_REFUSED, 0);
	return dma_report(counter, walk->device, &walk->sum);
}

#endif
