/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of rdma.bpf.c know of tasks, memory regions and their owners. */
#ifndef FAULTLINE_RDMA_BPF_H
#define FAULTLINE_RDMA_BPF_H

#include "bpf/device.bpf.h"

#define ODP_REGIONS_MAX 65536
#define MLX5_FAULTS_MAX 16384

enum odp_call {
	ODP_NOTHING,
	ODP_LOOK, /* which pages are there? None is brought. */
	ODP_FAULT,
	ODP_PREFETCH,
};

/* What a task is doing. An invalidation may hit it within its own fault, when that reclaims memory. */
struct odp_task {
	__u64 began_ns;
	__u64 address, length; /* asked for */
	__u64 pagefault;       /* of mlx5: the struct mlx5_pagefault, 0: none */
	__u64 invalidate_ns;
	__u64 renames; /* the device of this name, as device_name_number() */
	__u32 call;    /* enum odp_call */
	__u32 device;
	__u32 group;
	__u32 instance;
	__u32 key; /* of the region */
	__u32 owner;
	__s32 pages;
	__s32 mapped_before;
	__u32 unmapped;
	__u8 access; /* enum event_flags */
	__u8 advised;
	__u8 invalidating;
	__u8 resolved; /* this call has emitted that the memory is present */
};

TASK_STORAGE(odp_tasks, struct odp_task);

/* A region, by the address of its struct ib_umem_odp, from its first sight to its release. */
struct rdma_region {
	__u32 device;
	__u32 key;
	__u32 owner;
	__u8 created; /* while we watched */
	__u8 met;     /* the other fields are set */
	__u8 part;    /* of an implicit region */
	__u8 reserved;
};

HASH_ON_DEMAND(odp_regions, ODP_REGIONS_MAX, __u64, struct rdma_region);

/* Page faults between interrupt and worker: the instance, by struct mlx5_pagefault. */
HASH_ON_DEMAND(mlx5_faults, MLX5_FAULTS_MAX, __u64, __u32);

/* The page-fault event queue that this CPU drains, 0: none. */
MAP(mlx5_draining, PERCPU_ARRAY, 1, __u32, __u64);

static __always_inline struct odp_task *odp_task_find(void)
{
	return task_entry(&odp_tasks, 0);
}

static __always_inline struct odp_task *odp_task_make(void)
{
	return task_entry_make(&odp_tasks);
}

static __always_inline __u64 *mlx5_drained(void)
{
	return map_only(&mlx5_draining);
}

static __always_inline struct device_state *rdma_device(struct probe_counter *counter,
							struct ib_device *kernel_device)
{
	struct device_key key = {.kind = DEVICE_IB};
	struct device_state fresh = {}, *device;

	if (!kernel_device)
		return NULL;
	bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name), kernel_device->name);
	key.source = device_name_number(fresh.name);
	device = bpf_map_lookup_elem(&devices, &key);
	return device ? device : device_enter(counter, &key, &fresh);
}

/* The process gets a name now: it may be gone before user space could ask. */
static __always_inline void owner_meet(struct ib_umem_odp *umem, __u32 pid)
{
	struct task_struct *task = BPF_CORE_READ(umem, umem.owning_mm, owner);
	struct process_name name = {};

	if (!task || (__u32)BPF_CORE_READ(task, tgid) != pid)
		return;
	BPF_CORE_READ_STR_INTO(&name.comm, task, group_leader, comm);
	bpf_map_update_elem(&process_names, &pid, &name, BPF_ANY);
}

static __always_inline void region_key(struct ib_umem_odp *umem, struct rdma_region *region)
{
	enum rdma_driver_id driver = BPF_CORE_READ(umem, umem.ibdev, ops.driver_id);
	void *private = BPF_CORE_READ(umem, private);

	if (!private)
		return;
	if (driver == RDMA_DRIVER_RXE && bpf_core_type_exists(struct rxe_mr)) {
		region->key = BPF_CORE_READ((struct rxe_mr *)private, ibmr.lkey);
	} else if (driver == RDMA_DRIVER_MLX5 && bpf_core_type_exists(struct mlx5_ib_mr)) {
		struct mlx5_ib_mr *mr = private, *parent = BPF_CORE_READ(mr, parent);

		region->part = !!parent;
		region->key = BPF_CORE_READ(parent ?: mr, ibmr.lkey);
	}
}

static __always_inline void region_event(struct probe_counter *counter, struct ib_umem_odp *umem,
					 const struct rdma_region *region, __u8 state)
{
	struct event *event = event_if_wanted(counter, EVENT_ODP_REGION);

	if (!event)
		return;
	event->device = region->device;
	event->group = region->key;
	event->pid = region->owner;
	event->address = BPF_CORE_READ(umem, umem.address);
	event->length = BPF_CORE_READ(umem, umem.length);
	event->code = state;
	event_submit(counter, event);
}

static __always_inline struct rdma_region *region_meet(struct probe_counter *counter,
						       struct ib_umem_odp *umem)
{
	__u64 address = (__u64)umem;
	struct rdma_region *known = bpf_map_lookup_elem(&odp_regions, &address);
	struct rdma_region region = {.met = 1};
	struct device_state *device;

	if (known && known->met)
		return known;
	region.created = known ? known->created : 0;
	device = rdma_device(counter, BPF_CORE_READ(umem, umem.ibdev));
	region.device = device ? device->id : DEVICE_NONE;
	region.owner = BPF_CORE_READ(umem, tgid, numbers[0].nr);
	region_key(umem, &region);
	owner_meet(umem, region.owner);
	if (bpf_map_update_elem(&odp_regions, &address, &region, BPF_ANY)) {
		state_failed();
		return NULL;
	}
	region_event(counter, umem, &region,
		     region.part      ? ODP_REGION_PART
		     : region.created ? ODP_REGION_NEW
				      : ODP_REGION_FOUND);
	return bpf_map_lookup_elem(&odp_regions, &address);
}

/* A range of the notifier reaches beyond the region that it hits. */
static __always_inline void region_clip(struct event *event, struct ib_umem_odp *umem, __u64 start,
					__u64 end)
{
	__u64 first = BPF_CORE_READ(umem, umem.address);
	__u64 beyond = first + BPF_CORE_READ(umem, umem.length);

	event->address = start > first ? start : first;
	beyond = end < beyond ? end : beyond;
	event->length = beyond > event->address ? beyond - event->address : 0;
}

#define PFNS_AT_ONCE 32
#define PFN_ROUNDS   32768 /* 4 GiB of pages; an invalidation of more is counted up to there */

struct pfn_walk {
	const unsigned long *pfns;
	__u64 count;
	__u32 present;
};

static long count_pfns(__u32 round, void *argument)
{
	struct pfn_walk *walk = argument;
	unsigned long pfns[PFNS_AT_ONCE] = {};
	__u64 count = walk->count < PFNS_AT_ONCE ? walk->count : PFNS_AT_ONCE;

	if (!count || bpf_probe_read_kernel(pfns, count * sizeof(pfns[0]), walk->pfns))
		return 1;
	for (int i = 0; i < PFNS_AT_ONCE; i++)
		walk->present += pfns[i] >> 63; /* HMM_PFN_VALID */
	walk->pfns += count;
	walk->count -= count;
	return 0;
}

/* The pages of the region in the range that the device may use: since 6.16 no counter has them. */
static __always_inline __u32 region_present(struct ib_umem_odp *umem, __u64 start, __u64 end)
{
	__u32 shift = BPF_CORE_READ(umem, page_shift) & 63;
	__u64 first = BPF_CORE_READ(umem, umem.address) >> shift << shift;
	struct pfn_walk walk = {.pfns = BPF_CORE_READ(umem, map.pfn_list)};

	if (!walk.pfns || start < first || end <= start)
		return 0;
	walk.pfns += (start - first) >> shift;
	walk.count = (end - start + (1ull << shift) - 1) >> shift;
	bpf_loop(PFN_ROUNDS, count_pfns, &walk, 0);
	return walk.present;
}

enum { MLX5_OF_QUEUE, MLX5_OF_REQUEST, MLX5_OF_MEMORY }; /* event_subtype */

/* What the device asks for. Of a work queue entry only the queue is known. */
static __always_inline void mlx5_read(struct probe_counter *counter, struct odp_task *fault,
				      struct work_struct *work)
{
	struct mlx5_pagefault *from =
		(void *)work - bpf_core_field_offset(struct mlx5_pagefault, work);
	struct mlx5_ib_dev *mlx5 = BPF_CORE_READ(from, eq, dev);
	struct device_state *device = mlx5 ? rdma_device(counter, &mlx5->ib_dev) : NULL;
	__u8 subtype = BPF_CORE_READ(from, event_subtype);

	fault->pagefault = (__u64)from;
	fault->device = device ? device->id : DEVICE_NONE;
	fault->call = ODP_NOTHING;
	fault->address = 0;
	fault->length = 0;
	fault->owner = 0;
	fault->access = 0;
	if (subtype == MLX5_OF_REQUEST) {
		fault->group = BPF_CORE_READ(from, rdma.r_key);
		fault->address = BPF_CORE_READ(from, rdma.rdma_va);
		fault->length = BPF_CORE_READ(from, rdma.packet_size);
	} else if (subtype == MLX5_OF_MEMORY && bpf_core_field_exists(from->memory)) {
		fault->group = BPF_CORE_READ(from, memory.mkey);
		fault->address = BPF_CORE_READ(from, memory.va);
		fault->length = BPF_CORE_READ(from, memory.fault_byte_count);
	} else {
		fault->group = BPF_CORE_READ(from, wqe.wq_num);
		fault->length = BPF_CORE_READ(from, wqe.packet_size);
	}
}

#endif
