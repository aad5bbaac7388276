/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VFIO containers and iommufd address spaces on the kernel side: who owns one, what its owner is in
 * the middle of, how much of its limits is used.
 */
#ifndef FAULTLINE_VFIO_BPF_H
#define FAULTLINE_VFIO_BPF_H

#include "bpf/device.bpf.h"
#include "bpf/page.h"

#define CONTAINERS_MAX	1024
#define LIMIT_QUIET_NS	100000000ull   /* of a limit that moves but makes no new peak */
#define IOMMUFD_NUMBERS (1ull << 32)   /* apart from those of type1, which are counted elsewhere */
#define ERROR_POINTERS	(~0ull - 4094) /* include/linux/err.h */

HASH_ON_DEMAND(containers, CONTAINERS_MAX, __u64, struct container);

/* What a task can be in the middle of: requests do not nest, what they call does. */
enum vfio_step { STEP_MAP, STEP_UNMAP, STEP_PIN, STEP_REMOVE, STEPS };

struct vfio_call {
	__u64 since_ns[STEPS]; /* 0: not in it */
	__u64 removing;	       /* bytes */
	__u32 container;
	__u32 reserved;
};

TASK_STORAGE(vfio_calls, struct vfio_call);

/* Numbers containers; [0] is the last number given out. */
MAP(container_numbers, ARRAY, 1, __u32, __u64);

static __always_inline struct vfio_call *vfio_call(void)
{
	return task_entry(&vfio_calls, 0);
}

/* For the beginning of a step; NULL and counted without memory. */
static __always_inline struct vfio_call *vfio_call_begin(void)
{
	return capture_running() ? task_entry_make(&vfio_calls) : NULL;
}

struct vfio_operation {
	__u64 address;
	__u64 bytes;
	__u64 ns;
	__u32 device;
	__u16 kind;
	__u16 queue;
	__u8 code;
	__u8 flags;
};

static __always_inline void step_begin(struct vfio_call *call, enum vfio_step step)
{
	if (call)
		call->since_ns[step] = bpf_ktime_get_ns();
}

/*
 * The end of a step that this task began: how long it took and whose it was. NULL if its beginning
 * was not seen, or capture is not running any more.
 */
static __always_inline struct probe_counter *step_end(struct vfio_call *call, enum vfio_step step,
						      __u32 probe, struct vfio_operation *o)
{
	if (!call || !call->since_ns[step])
		return NULL;
	o->ns = bpf_ktime_get_ns() - call->since_ns[step];
	o->device = call->container;
	call->since_ns[step] = 0;
	return probe_hit(probe);
}

/* One by one if that was asked for, else into the counts of this second. */
static __always_inline void vfio_report(struct probe_counter *counter,
					const struct vfio_operation *o)
{
	struct aggregate_key key = {
		.device = o->device,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.kind = o->kind,
		.queue = o->queue,
		.code = o->code,
		.flags = o->flags & EVENT_PRIV,
	};
	struct event *event = event_or_count(counter, &key, o->bytes, o->ns);

	if (!event)
		return;
	event->address = o->address;
	event->length = o->bytes;
	event->value = o->ns;
	event->flags = o->flags;
	event_submit(counter, event);
}

/* Gives it a device, under a new number, if there is a slot for one. */
static __always_inline bool container_name(struct probe_counter *counter,
					   struct container *container, bool iommufd)
{
	struct device_key device = {
		.kind = DEVICE_VFIO_CONTAINER,
		.owner = bpf_get_current_pid_tgid() >> 32,
		.owner_start = owner_start_ticks(),
	};
	struct device_state names = {};
	__u64 *number = map_only(&container_numbers);

	if (!number || !slot_take(&device))
		return false;
	device.source = __sync_fetch_and_add(number, 1) + 1;
	if (iommufd) {
		device.source += IOMMUFD_NUMBERS;
		__builtin_memcpy(names.driver, "iommufd", sizeof("iommufd"));
	} else {
		__builtin_memcpy(names.driver, "type1", sizeof("type1"));
	}
	bpf_get_current_comm(names.bus, sizeof(names.bus));
	if (!device_insert(&device, &names))
		return false;
	container->device = device;
	container->id = names.id;
	device_announce(counter, &device, names.id);
	return true;
}

/* First its place among the containers: without one it would be another device with each request. */
static __always_inline struct container *container_enter(struct probe_counter *counter,
							 __u64 address, bool iommufd)
{
	struct container fresh = {}, *container;

	bpf_map_update_elem(&containers, &address, &fresh, BPF_ANY);
	container = bpf_map_lookup_elem(&containers, &address);
	if (container && container_name(counter, container, iommufd))
		return container;
	state_failed();
	bpf_map_delete_elem(&containers, &address);
	return NULL;
}

/* It is closed: what it took is free for the next. */
static __always_inline void container_leave(__u64 address)
{
	struct container *container = bpf_map_lookup_elem(&containers, &address);
	struct device_key device;

	if (!container)
		return;
	device = container->device;
	if (!bpf_map_delete_elem(&containers, &address))
		device_leave(&device);
}

/* The container behind an address in the kernel, entered at first sight. */
static __always_inline struct container *container_get(struct probe_counter *counter, __u64 address,
						       bool iommufd)
{
	struct container *container = bpf_map_lookup_elem(&containers, &address);

	return container ? container : container_enter(counter, address, iommufd);
}

/* A request begins: what it pins and unpins belongs to this container. */
static __always_inline int request_begin(__u64 address, bool iommufd, enum vfio_step step,
					 __u32 probe)
{
	struct probe_counter *counter = bpf_map_lookup_elem(&counters, &probe);
	struct vfio_call *call = vfio_call_begin();
	struct container *container;

	if (!call || !counter)
		return 0;
	container = container_get(counter, address, iommufd);
	call->container = container ? container->id : DEVICE_NONE;
	step_begin(call, step);
	return 0;
}

static __always_inline bool limit_silent(const struct container_limit *limit, __u64 used,
					 __u64 maximum, bool refused, __u64 now)
{
	if (!limit->emitted_ns || limit->limit != maximum || used > limit->peak)
		return false;
	return (used == limit->used && !refused) || now - limit->emitted_ns < LIMIT_QUIET_NS;
}

/*
 * Emits how much of a limit is used: every new peak, every change of the limit, and what else moves
 * ten times a second.
 */
static __always_inline void limit_emit(struct probe_counter *counter, struct container *container,
				       __u32 code, __u64 used, __u64 maximum, __u8 flags,
				       bool refused)
{
	struct container_limit *limit = &container->limits[code & 1];
	__u64 now = bpf_ktime_get_ns();
	struct event *event;

	if (!kind_wanted(EVENT_VFIO_LIMIT) || limit_silent(limit, used, maximum, refused, now))
		return;
	limit->used = used;
	limit->limit = maximum;
	limit->emitted_ns = now;
	if (used > limit->peak)
		limit->peak = used;
	event = event_reserve(counter, EVENT_VFIO_LIMIT);
	if (!event)
		return;
	event->device = container->id;
	event->value = used;
	event->length = maximum;
	event->code = code;
	event->flags = flags;
	event_submit(counter, event);
}

static __always_inline bool may_exceed_memlock(const struct cred *cred)
{
	__u8 bits = 0;

	bpf_probe_read_kernel(&bits, 1,
			      (const char *)cred + bpf_core_field_offset(cred->cap_effective) +
				      CAP_IPC_LOCK / 8);
	return bits >> CAP_IPC_LOCK % 8 & 1;
}

/*
 * type1 charges the memory of a process; one with CAP_IPC_LOCK it does not hold to the limit. iommufd
 * charges the user, and those with CAP_IPC_LOCK not at all.
 */
static __always_inline void memlock_emit(struct probe_counter *counter, struct container *container,
					 bool iommufd, bool refused)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const struct cred *cred = BPF_CORE_READ(task, cred);
	__u64 used = iommufd ? (__u64)BPF_CORE_READ(cred, user, locked_vm.counter)
			     : BPF_CORE_READ(task, mm, locked_vm);
	__u64 limit = BPF_CORE_READ(task, signal, rlim[RLIMIT_MEMLOCK].rlim_cur);

	limit_emit(counter, container, LIMIT_MEMLOCK, used << PAGE_BITS, limit,
		   may_exceed_memlock(cred) ? EVENT_PRIV : 0, refused);
}

static __always_inline void entries_emit(struct probe_counter *counter, struct container *container,
					 struct vfio_iommu *iommu, bool refused)
{
	__u64 limit = container->entries ? container->entries : filter.vfio_entries;
	__u64 left = BPF_CORE_READ(iommu, dma_avail);

	if (limit >= left && limit)
		limit_emit(counter, container, LIMIT_DMA_ENTRIES, limit - left, limit, 0, refused);
}

#endif
