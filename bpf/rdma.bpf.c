// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA on-demand paging (ODP), the "network page fault" of NPF: a device that has its own translation
 * meets a page that is not there, and the kernel's page-fault service brings it.
 *
 * The part that all drivers share is ib_umem_odp_map_dma_and_lock(): its entry is the handler's
 * start, hmm_range_fault() within (or its companion that lets the lock go) makes the memory present,
 * its return has entered the pages. It also runs at registration (a look without faults, which is no
 * fault) and for prefetch advice. All of it happens in kernel workers: the owner is the process that
 * registered the region.
 */
#include "bpf/kernel.h"

#include "bpf/group.bpf.h"
#include "bpf/rdma.bpf.h"
#include "bpf/resolving.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* From here on the task's CPU faults belong to this fault. */
static __always_inline void task_resolves(const struct odp_task *task)
{
	struct group_key key = {
		.device = task->device,
		.pasid = PASID_NONE,
		.group = task->group,
	};

	resolving_begin(RESOLVING_ODP, &key, task->instance);
}

static __always_inline void task_resolved(void)
{
	resolving_end(RESOLVING_ODP);
}

static __always_inline struct event *rdma_fault_event(struct probe_counter *counter,
						      const struct odp_task *task, __u16 kind)
{
	struct event *event = event_if_wanted(counter, kind);

	if (!event)
		return NULL;
	event->device = task->device;
	event->group = task->group;
	event->instance = task->instance;
	event->pid = task->owner;
	event->address = task->address;
	event->length = task->length;
	event->flags = task->access;
	/* mlx5 serves what one page fault of the device needs in several calls: it stays one. */
	if (task->pagefault)
		event->flags |= EVENT_GROUP;
	return event;
}

static __always_inline void fault_begins(struct probe_counter *counter, struct odp_task *task)
{
	struct event *event;

	/* On mlx5 its page-fault worker has begun it already. */
	if (task->pagefault)
		return;
	task->instance = instance_new();
	task_resolves(task);
	event = rdma_fault_event(counter, task, EVENT_FAULT_HANDLER);
	if (!event)
		return;
	event->flags |= EVENT_GROUP;
	event_submit(counter, event);
}

SEC("fentry/ib_umem_odp_map_dma_and_lock")
int BPF_PROG(odp_fault_entry, struct ib_umem_odp *umem, __u64 address, __u64 bytes,
	     __u64 access_mask, bool fault)
{
	struct probe_counter *counter = probe_hit(PROBE_ODP_FAULT);
	struct odp_task *task = counter ? odp_task_make() : NULL;
	struct rdma_region *region = task ? region_meet(counter, umem) : NULL;

	if (!region)
		return 0;
	task->began_ns = bpf_ktime_get_ns();
	task->key = region->key;
	task->owner = region->owner;
	task->address = address;
	task->length = bytes;
	task->access = access_mask & (ODP_WRITE_ALLOWED | HMM_PFN_WRITE) ? EVENT_WRITE : EVENT_READ;
	task->resolved = 0;
	task->call = task->advised ? ODP_PREFETCH : fault ? ODP_FAULT : ODP_LOOK;
	if (!task->pagefault) {
		task->device = region->device;
		task->group = region->key;
	}
	if (task->call == ODP_FAULT)
		fault_begins(counter, task);
	return 0;
}

static __always_inline void fault_ends(struct probe_counter *counter, struct odp_task *task,
				       int pages)
{
	struct event *event;

	if (task->pagefault) {
		task->pages = pages;
		return;
	}
	task_resolved();
	event = rdma_fault_event(counter, task,
				 pages < 0 ? EVENT_FAULT_RESPONSE : EVENT_FAULT_MAPPED);
	if (!event)
		return;
	event->flags |= EVENT_LAST;
	if (pages < 0)
		event->code = RESPONSE_INVALID;
	else
		event->value = (__u64)pages << 32 | task->key;
	event_submit(counter, event);
}

static __always_inline void prefetch_ends(struct probe_counter *counter,
					  const struct odp_task *task, int pages)
{
	struct event *event = event_if_wanted(counter, EVENT_ODP_PREFETCH);

	if (!event)
		return;
	event->device = task->device;
	event->group = task->key;
	event->pid = task->owner;
	event->address = task->address;
	event->length = task->length;
	event->flags = task->access;
	event->value = event->time_ns - task->began_ns;
	if (pages < 0)
		event->code = -pages;
	else
		event->instance = pages;
	event_submit(counter, event);
}

SEC("fexit/ib_umem_odp_map_dma_and_lock")
int BPF_PROG(odp_fault_return, struct ib_umem_odp *umem, __u64 address, __u64 bytes,
	     __u64 access_mask, bool fault, int pages)
{
	struct probe_counter *counter = probe_hit(PROBE_ODP_FAULT);
	struct odp_task *task = odp_task_find();
	__u32 call;

	if (!task)
		return 0;
	call = task->call;
	task->call = ODP_NOTHING;
	if (!counter) {
		if (call == ODP_FAULT)
			task_resolved();
		return 0;
	}
	if (call == ODP_FAULT)
		fault_ends(counter, task, pages);
	else if (call == ODP_PREFETCH)
		prefetch_ends(counter, task, pages);
	return 0;
}

/*
 * Also used by graphics drivers: only those within a call of ours count, and of these the first that
 * succeeds. One that an invalidation made void is repeated, and one function may call the other.
 */
static __always_inline int resolved(int error)
{
	struct odp_task *task = odp_task_find();
	struct resolving *resolving = resolving_now();
	struct probe_counter *counter;
	struct event *event;

	if (error || !task || task->call != ODP_FAULT || task->resolved)
		return 0;
	task->resolved = 1;
	counter = probe_hit(PROBE_ODP_RESOLVED);
	event = counter ? rdma_fault_event(counter, task, EVENT_FAULT_RESOLVED) : NULL;
	if (!event)
		return 0;
	if (resolving) {
		event->value = resolving->mm_ns;
		event->code = resolving->mm_cause;
		event->flags |= resolving->mm_major ? EVENT_MAJOR : 0;
	}
	event_submit(counter, event);
	return 0;
}

SEC("fexit/hmm_range_fault")
int BPF_PROG(odp_resolved, void *range, int error)
{
	return resolved(error);
}

/* Likewise, where it has a companion that lets the lock go while it waits. */
SEC("fexit/hmm_range_fault")
int BPF_PROG(odp_resolved_locked, void *range, int error)
{
	return resolved(error);
}

SEC("fexit/hmm_range_fault_unlocked_timeout")
int BPF_PROG(odp_resolved_unlocked, void *range, unsigned long timeout, int error)
{
	return resolved(error);
}

SEC("fexit/ib_umem_odp_get")
int BPF_PROG(odp_region, void *device, unsigned long address, size_t size, int access, void *ops,
	     struct ib_umem_odp *umem)
{
	struct probe_counter *counter = probe_hit(PROBE_ODP_REGION);
	struct rdma_region fresh = {.created = 1};
	__u64 key = (__u64)umem;

	/* Its driver and its key are not there yet: the look at its pages that follows has them. */
	if (counter && key < -4095ull && bpf_map_update_elem(&odp_regions, &key, &fresh, BPF_ANY))
		state_failed();
	return 0;
}

SEC("fentry/ib_umem_odp_release")
int BPF_PROG(odp_release, struct ib_umem_odp *umem)
{
	struct probe_counter *counter = probe_hit(PROBE_ODP_RELEASE);
	__u64 key = (__u64)umem;
	struct rdma_region *region = bpf_map_lookup_elem(&odp_regions, &key);

	if (!region)
		return 0;
	if (counter && region->met)
		region_event(counter, umem, region, ODP_REGION_GONE);
	bpf_map_delete_elem(&odp_regions, &key);
	return 0;
}

/* Its name is what it is known by: under another one it is another device. */
SEC("fentry/ib_device_rename")
int BPF_PROG(rdma_rename_entry, struct ib_device *kernel_device)
{
	struct odp_task *task = odp_task_make();
	char name[DEVICE_TEXT] = "";

	if (!task)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), kernel_device->name);
	task->renames = device_name_number(name);
	return 0;
}

SEC("fexit/ib_device_rename")
int BPF_PROG(rdma_rename_return, struct ib_device *kernel_device, const char *wanted, int error)
{
	struct device_key key = {.kind = DEVICE_IB};
	struct odp_task *task = odp_task_find();
	char name[DEVICE_TEXT] = "";

	if (!task || error)
		return 0;
	key.source = task->renames;
	bpf_probe_read_kernel_str(name, sizeof(name), kernel_device->name);
	if (device_name_number(name) != key.source && probe_hit(PROBE_RDMA_RENAME))
		device_leave(&key);
	return 0;
}

/* What an invalidation takes from the device: exact, the region's lock is held. */
SEC("fentry/ib_umem_odp_unmap_dma_pages")
int BPF_PROG(odp_unmap_entry, struct ib_umem_odp *umem, __u64 start, __u64 end)
{
	struct odp_task *task = odp_task_find();

	if (!task || !task->invalidating || !probe_hit(PROBE_ODP_UNMAP))
		return 0;
	if (bpf_core_field_exists(umem->map))
		task->unmapped += region_present(umem, start, end);
	else
		task->mapped_before = BPF_CORE_READ(umem, npages);
	return 0;
}

SEC("fexit/ib_umem_odp_unmap_dma_pages")
int BPF_PROG(odp_unmap_return, struct ib_umem_odp *umem)
{
	struct odp_task *task = odp_task_find();

	if (task && task->invalidating && !bpf_core_field_exists(umem->map))
		task->unmapped += task->mapped_before - BPF_CORE_READ(umem, npages);
	return 0;
}

static __always_inline int invalidate_entry(__u32 probe)
{
	struct probe_counter *counter = probe_hit(probe);
	struct odp_task *task = counter ? odp_task_make() : NULL;

	if (!task)
		return 0;
	task->unmapped = 0;
	task->invalidating = 1;
	task->invalidate_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int invalidate_return(__u32 probe, void *notifier,
					     const struct mmu_notifier_range *range)
{
	struct probe_counter *counter = probe_hit(probe);
	struct odp_task *task = odp_task_find();
	struct ib_umem_odp *umem = notifier - bpf_core_field_offset(struct ib_umem_odp, notifier);
	struct rdma_region *region;
	struct event *event;

	if (!task || !task->invalidating)
		return 0;
	task->invalidating = 0;
	region = counter ? region_meet(counter, umem) : NULL;
	event = region ? event_if_wanted(counter, EVENT_ODP_INVALIDATE) : NULL;
	if (!event)
		return 0;
	event->device = region->device;
	event->group = region->key;
	event->pid = region->owner;
	region_clip(event, umem, BPF_CORE_READ(range, start), BPF_CORE_READ(range, end));
	event->value = event->time_ns - task->invalidate_ns;
	event->instance = task->unmapped;
	event->code = BPF_CORE_READ(range, event);
	event_submit(counter, event);
	return 0;
}

#define INVALIDATION(function, begins, ends, probe)                                \
	SEC("fentry/" #function)                                                   \
	int BPF_PROG(begins)                                                       \
	{                                                                          \
		return invalidate_entry(probe);                                    \
	}                                                                          \
	SEC("fexit/" #function)                                                    \
	int BPF_PROG(ends, void *notifier, const struct mmu_notifier_range *range) \
	{                                                                          \
		return invalidate_return(probe, notifier, range);                  \
	}

INVALIDATION(rxe_ib_invalidate_range, rxe_invalidate_entry, rxe_invalidate_return,
	     PROBE_RXE_INVALIDATE)
INVALIDATION(mlx5_ib_invalidate_range, mlx5_invalidate_entry, mlx5_invalidate_return,
	     PROBE_MLX5_INVALIDATE)

/* Advice is followed in the caller's task, or in a worker later. */
static __always_inline int advice(__u32 probe, bool begins)
{
	struct probe_counter *counter = probe_hit(probe);
	struct odp_task *task = begins && counter ? odp_task_make() : odp_task_find();

	if (task)
		task->advised = begins && counter;
	return 0;
}

#define ADVICE(function, begins, ends, probe) \
	SEC("fentry/" #function)              \
	int BPF_PROG(begins)                  \
	{                                     \
		return advice(probe, true);   \
	}                                     \
	SEC("fexit/" #function)               \
	int BPF_PROG(ends)                    \
	{                                     \
		return advice(probe, false);  \
	}

ADVICE(rxe_ib_advise_mr, rxe_prefetch_entry, rxe_prefetch_return, PROBE_RXE_PREFETCH)
ADVICE(rxe_ib_prefetch_mr_work, rxe_prefetch_work_entry, rxe_prefetch_work_return,
       PROBE_RXE_PREFETCH_WORK)
ADVICE(mlx5_ib_advise_mr_prefetch, mlx5_prefetch_entry, mlx5_prefetch_return, PROBE_MLX5_PREFETCH)
ADVICE(mlx5_ib_prefetch_mr_work, mlx5_prefetch_work_entry, mlx5_prefetch_work_return,
       PROBE_MLX5_PREFETCH_WORK)

/*
 * mlx5's own stages. Its event queue is drained with interrupts off: work queued on this CPU
 * meanwhile is a page fault, or the drain itself asked for again.
 */
SEC("fentry/mlx5_ib_eq_pf_process")
int BPF_PROG(mlx5_fault_event_entry, struct mlx5_ib_pf_eq *queue)
{
	__u64 *draining = mlx5_drained();

	if (draining && probe_hit(PROBE_MLX5_FAULT_EVENT))
		*draining = (__u64)queue;
	return 0;
}

SEC("fexit/mlx5_ib_eq_pf_process")
int BPF_PROG(mlx5_fault_event_return)
{
	__u64 *draining = mlx5_drained();

	if (draining)
		*draining = 0;
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(mlx5_fault_queued, int cpu, void *pool, struct work_struct *work)
{
	__u64 *draining = mlx5_drained();
	struct odp_task fault = {};
	struct probe_counter *counter;
	struct event *event;

	/* Every work of the host passes here. */
	if (!draining || !*draining)
		return 0;
	if ((__u64)work == *draining + bpf_core_field_offset(struct mlx5_ib_pf_eq, work))
		return 0;
	counter = probe_hit(PROBE_MLX5_FAULT_QUEUED);
	if (!counter)
		return 0;
	mlx5_read(counter, &fault, work);
	fault.instance = instance_new();
	if (bpf_map_update_elem(&mlx5_faults, &fault.pagefault, &fault.instance, BPF_ANY))
		state_failed();
	event = rdma_fault_event(counter, &fault, EVENT_FAULT_ISR);
	if (event)
		event_submit(counter, event);
	return 0;
}

SEC("fentry/mlx5_ib_eqe_pf_action")
int BPF_PROG(mlx5_fault_handler_entry, struct work_struct *work)
{
	struct probe_counter *counter = probe_hit(PROBE_MLX5_FAULT_HANDLER);
	struct odp_task *task = counter ? odp_task_make() : NULL;
	struct event *event;
	__u32 *instance;

	if (!task)
		return 0;
	mlx5_read(counter, task, work);
	instance = bpf_map_lookup_elem(&mlx5_faults, &task->pagefault);
	task->instance = instance ? *instance : instance_new();
	bpf_map_delete_elem(&mlx5_faults, &task->pagefault);
	task_resolves(task);
	event = rdma_fault_event(counter, task, EVENT_FAULT_HANDLER);
	if (event)
		event_submit(counter, event);
	return 0;
}

SEC("fexit/mlx5_ib_eqe_pf_action")
int BPF_PROG(mlx5_fault_handler_return)
{
	struct odp_task *task = odp_task_find();

	if (!task)
		return 0;
	if (task->pagefault)
		task_resolved();
	task->pagefault = 0;
	return 0;
}

/* The device's translation table has the pages. One more argument since 7.2: none is read. */
SEC("fexit/mlx5r_umr_update_xlt")
int mlx5_fault_mapped(__u64 *ctx)
{
	struct odp_task *task = odp_task_find();
	struct probe_counter *counter;
	struct event *event;
	__u64 error = 0;

	if (!task || !task->pagefault)
		return 0;
	bpf_get_func_ret(ctx, &error);
	counter = probe_hit(PROBE_MLX5_FAULT_MAPPED);
	event = counter && !(__u32)error ? rdma_fault_event(counter, task, EVENT_FAULT_MAPPED)
					 : NULL;
	if (!event)
		return 0;
	event->value = (__u64)task->pages << 32 | task->key;
	event_submit(counter, event);
	return 0;
}

SEC("fexit/mlx5_ib_page_fault_resume")
int BPF_PROG(mlx5_fault_resume, void *device, void *pagefault, int error)
{
	struct probe_counter *counter = probe_hit(PROBE_MLX5_FAULT_RESUME);
	struct odp_task *task = odp_task_find();
	struct event *event;

	if (!counter || !task || task->pagefault != (__u64)pagefault)
		return 0;
	event = rdma_fault_event(counter, task, EVENT_FAULT_RESPONSE);
	if (!event)
		return 0;
	event->flags |= EVENT_LAST;
	event->code = error ? RESPONSE_FAILURE : RESPONSE_SUCCESS;
	event_submit(counter, event);
	return 0;
}
