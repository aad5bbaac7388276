/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel side's table of who owns an IOVA (bpf/mappings.h), its stacks, and its searches.
 *
 * What maps memory for a device enters it here: the DMA API (dma.bpf.c) under the device's own
 * number, VFIO (vfio.bpf.c) under that of the container, which mapping_space_set() ties to the
 * IOMMU groups that use it. What sees a fault asks mapping_owner().
 */
#ifndef FAULTLINE_MAPPINGS_BPF_H
#define FAULTLINE_MAPPINGS_BPF_H

#include "bpf/emit.bpf.h"
#include "bpf/mappings.h"

MAP_FLAGS(mappings, ARRAY, BPF_F_MMAPABLE, MAPPING_SETS, __u32, struct mapping_set);

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

/* struct iommu_group of the kernel -> device_state.id of the container that it is attached to */
HASH_ON_DEMAND(mapping_spaces, SPACES_MAX, __u64, __u32);

/* Stacks taken by this CPU in this second. */
struct stack_budget {
	__u64 second;
	__u64 taken;
};

MAP(stack_budgets, PERCPU_ARRAY, 1, __u32, struct stack_budget);

/*
 * The calling stack's id plus one, or 0: over this second's budget, or no room for a new one. `ctx`
 * is the program's own context.
 */
static __always_inline __u32 mapping_stack(void *ctx)
{
	struct stack_budget *budget = map_only(&stack_budgets);
	__u64 second;
	long id;

	if (!budget || !filter.stacks_per_second)
		return 0;
	second = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS;
	if (budget->second != second) {
		budget->second = second;
		budget->taken = 0;
	}
	if (budget->taken >= filter.stacks_per_second)
		return 0;
	budget->taken++;
	id = bpf_get_stackid(ctx, &stacks, 0);
	return id < 0 ? 0 : id + 1;
}

struct mapping_request {
	__u64 address, length;
	__u64 bytes;  /* mapped of it now: the length, or 0 if it is filled piece by piece */
	__u32 device; /* device_state.id */
	__u32 stack;  /* mapping_stack() */
	__u16 kind;   /* EVENT_DMA_MAP, EVENT_DMA_ALLOC, EVENT_VFIO_MAP */
	__u8 flags;   /* EVENT_READ, EVENT_WRITE */
};

/*
 * Enters a new mapping with the running task as its owner; false if there was no room, which the
 * caller counts.
 */
global_function int mapping_enter(const struct mapping_request *request)
{
	struct capture_state *shared = shared_state();
	__u64 now_ns = bpf_ktime_get_ns(), task = bpf_get_current_pid_tgid();
	struct mapping_hold hold = {};
	struct mapping_place place;
	struct mapping *mapping;
	bool taken = false;

	if (!shared || !request || !request->device || !request->length)
		return false;
	mapping_place(&place, request->device, request->address, request->length);
	/* Twice each: another CPU may take the very slot between looking and claiming. */
	for (int attempt = 0; attempt < 4 && !taken; attempt++) {
		__u32 index = place.sets[attempt >> 1];
		struct mapping_set *set = bpf_map_lookup_elem(&mappings, &index);

		taken = set && mapping_take(&hold, set, place.tag, now_ns);
	}
	if (!taken)
		return false;
	if (!(shared->mapping_classes >> place.size_class & 1))
		__sync_fetch_and_or(&shared->mapping_classes, 1ull << place.size_class);
	mapping = mapping_held(&hold);
	mapping->address = request->address;
	mapping->length = request->length;
	mapping->mapped_ns = now_ns;
	mapping->unmapped_ns = 0;
	mapping->device = request->device;
	mapping->pid = task >> 32;
	mapping->tid = (__u32)task;
	mapping->stack = request->stack;
	mapping->unmapper = 0;
	mapping->kind = request->kind;
	mapping->flags = request->flags;
	mapping->bytes = request->bytes;
	bpf_get_current_comm(mapping->comm, sizeof(mapping->comm));
	mapping->unmapper_comm[0] = '\0';
	mapping_settle(&hold, place.tag, MAPPING_LIVE, now_ns);
	return true;
}

static __always_inline bool mapping_hold_live(struct mapping_hold *hold,
					      struct mapping_place *place, __u32 device,
					      __u64 address, __u64 length, __u64 now_ns)
{
	bool found = false;

	mapping_place(place, device, address, length);
	for (int choice = 0; choice < 2 && !found; choice++) {
		struct mapping_set *set = bpf_map_lookup_elem(&mappings, &place->sets[choice]);

		found = set && mapping_find(hold, set, place->tag, device, address, length, now_ns);
	}
	return found;
}

/*
 * Ends the mapping of just this range; false if it is not known (mapped before capture began, or
 * not entered).
 */
global_function int mapping_leave(__u32 device, __u64 address, __u64 length)
{
	struct mapping_hold hold = {};
	struct mapping_place place;
	__u64 now_ns = bpf_ktime_get_ns();
	struct mapping *mapping;

	if (!mapping_hold_live(&hold, &place, device, address, length, now_ns))
		return false;
	mapping = mapping_held(&hold);
	mapping->unmapped_ns = now_ns;
	mapping->unmapper = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(mapping->unmapper_comm, sizeof(mapping->unmapper_comm));
	mapping_settle(&hold, place.tag, MAPPING_GONE, now_ns);
	return true;
}

/* So many bytes more (or less) of this range are mapped now; false if it is not known. */
global_function int mapping_fill(__u32 device, __u64 address, __u64 length, __s64 bytes)
{
	struct mapping_hold hold = {};
	struct mapping_place place;

	if (!mapping_hold_live(&hold, &place, device, address, length, bpf_ktime_get_ns()))
		return false;
	mapping_held(&hold)->bytes += bytes;
	mapping_settle(&hold, place.tag, MAPPING_LIVE, mapping_held(&hold)->mapped_ns);
	return true;
}

/* From now on the group's devices translate through this container; 0: no more. */
static __always_inline void mapping_space_set(__u64 group, __u32 device)
{
	if (!device)
		bpf_map_delete_elem(&mapping_spaces, &group);
	else if (bpf_map_update_elem(&mapping_spaces, &group, &device, BPF_ANY))
		state_failed();
}

struct mapping_search {
	__u64 address;
	__u64 classes;
	__u32 device;
	__u32 span;
	struct mapping *best;
};

static __always_inline long mapping_search_step(__u32 step, struct mapping_search *search)
{
	struct mapping_set *set;
	struct mapping_step at;
	__u32 index;

	mapping_step(&at, search->address, step);
	if (!(search->classes >> (at.size_class & 63) & 1))
		return 0;
	index = mapping_set_of(search->device, at.size_class, at.block, at.choice);
	set = bpf_map_lookup_elem(&mappings, &index);
	if (set)
		mapping_probe(set, search->device, search->address, search->span, search->best);
	return 0;
}

static long mapping_search_small(__u32 step, void *search)
{
	return mapping_search_step(step, search);
}

static long mapping_search_large(__u32 step, void *search)
{
	return mapping_search_step(MAPPING_SMALL_STEPS + step, search);
}

/*
 * Who owns a byte of [address, address + span) in this device's (or container's) address space now,
 * or owned it last; span 1 or, where faults name pages, MAPPING_PAGE. False: nobody known, and
 * best->length is 0.
 */
global_function int mapping_owner(__u32 device, __u64 address, __u32 span, struct mapping *best)
{
	struct capture_state *shared = shared_state();
	struct mapping_search search = {.address = address, .device = device, .span = span};

	if (!best)
		return false;
	best->length = 0;
	if (!shared)
		return false;
	search.best = best;
	search.classes = shared->mapping_classes;
	/* Most systems map no part of a page: then nine tenths of the steps would be in vain. */
	if (search.classes & ((1ull << PAGE_BITS) - 1))
		bpf_loop(MAPPING_SMALL_STEPS, mapping_search_small, &search, 0);
	bpf_loop(MAPPING_PROBES - MAPPING_SMALL_STEPS, mapping_search_large, &search, 0);
	return best->length > 0;
}

#endif
