// SPDX-License-Identifier: GPL-2.0
/*
 * The emulated machine's I/O page-fault path, seen through its USDT probes. Their arguments are
 * described in injectors/emu/probes.h; they come from another process and are not trusted: they
 * become numbers in events and keys of bounded maps, nothing else.
 */
#include "bpf/kernel.h"

#include <bpf/usdt.bpf.h>

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EMULATED 1 /* DEVICE_EMULATED of lib/base/stream.h */

struct fault_arguments {
	__u64 device, queue, pasid, group, address, length, flags_code, value;
};

static __always_inline __u64 argument(struct pt_regs *ctx, __u64 number)
{
	long value = 0;

	bpf_usdt_arg(ctx, number, &value);
	return value;
}

static __always_inline struct device_state *emulated_device(struct probe_counter *counter,
							    __u64 index)
{
	struct device_key key = {
		.kind = EMULATED,
		.owner = bpf_get_current_pid_tgid() >> 32,
		.owner_start = owner_start_ticks(),
		.source = index,
	};

	return device_find(counter, &key, NULL);
}

static __always_inline __u32 instance_new(void)
{
	struct capture_state *shared = shared_state();

	return shared ? __sync_fetch_and_add(&shared->instances, 1) + 1 : 0;
}

/* The device has taken this group's number for a new group: nothing more comes for the old one. */
static __always_inline void group_unfinished(struct probe_counter *counter,
					     const struct group_key *key,
					     const struct group_state *group, __u64 now)
{
	struct event *event;

	if (!kind_wanted(EVENT_FAULT_UNFINISHED))
		return;
	event = event_reserve(counter, EVENT_FAULT_UNFINISHED);
	if (!event)
		return;
	event->address = group->address;
	event->value = now - group->first_ns;
	event->device = key->device;
	event->pasid = key->pasid;
	event->group = key->group;
	event->instance = group->instance;
	event->queue = group->queue;
	event->code = group->latest;
	event->flags = EVENT_GROUP;
	event_submit(counter, event);
}

static __always_inline struct group_state *group_open(const struct group_key *key,
						      const struct fault_arguments *a, __u64 now)
{
	struct group_state fresh = {
		.first_ns = now,
		.address = a->address,
		.instance = instance_new(),
		.owner = bpf_get_current_pid_tgid() >> 32,
		.queue = a->queue,
	};
	struct group_state *group;

	bpf_map_update_elem(&groups, key, &fresh, BPF_NOEXIST);
	group = bpf_map_lookup_elem(&groups, key);
	if (!group)
		state_failed();
	return group;
}

/*
 * Which fault this is. A detect on a group that has its last request, or has gone beyond being
 * requested, means that the number was reused. A response or resume without a group gets an
 * instance of its own and opens nothing: it belongs to a fault whose start nobody saw.
 */
static __always_inline __u32 group_instance(struct probe_counter *counter,
					    const struct group_key *key,
					    const struct fault_arguments *a, __u32 kind, __u64 now)
{
	const __u32 requested = GROUP_STAGE(EVENT_FAULT_DETECT) | GROUP_STAGE(EVENT_FAULT_REQUEST);
	struct group_state *group = bpf_map_lookup_elem(&groups, key);
	__u32 instance;

	if (group && kind == EVENT_FAULT_DETECT && (group->stages & ~requested)) {
		group_unfinished(counter, key, group, now);
		bpf_map_delete_elem(&groups, key);
		group = NULL;
	}
	if (!group) {
		if (kind >= EVENT_FAULT_RESPONSE)
			return instance_new();
		group = group_open(key, a, now);
		if (!group)
			return 0;
	}
	instance = group->instance;
	if (kind == EVENT_FAULT_RESUME) {
		bpf_map_delete_elem(&groups, key);
		return instance;
	}
	group->latest = kind;
	if (kind <= EVENT_FAULT_RESUME) {
		__u32 stages = GROUP_STAGE(kind);

		if (kind == EVENT_FAULT_REQUEST && (a->flags_code & EVENT_LAST))
			stages |= GROUP_LAST;
		__sync_fetch_and_or(&group->stages, stages);
	}
	return instance;
}

/* The bottom half runs in one task from handler to response. */
static __always_inline void task_resolves(const struct group_key *key, __u32 instance, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct resolving *resolving;

	if (kind == EVENT_FAULT_RESPONSE) {
		resolving = bpf_task_storage_get(&resolving_tasks, task, 0, 0);
		if (resolving)
			resolving->active = 0;
		return;
	}
	resolving = bpf_task_storage_get(&resolving_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!resolving) {
		state_failed();
		return;
	}
	resolving->device = key->device;
	resolving->pasid = key->pasid;
	resolving->group = key->group;
	resolving->instance = instance;
	resolving->active = 1;
}

static __always_inline void handler_register(void)
{
	if (!bpf_task_storage_get(&handler_threads, bpf_get_current_task_btf(), 0,
				  BPF_LOCAL_STORAGE_GET_F_CREATE))
		state_failed();
}

static __always_inline bool is_group_stage(__u32 kind)
{
	return kind == EVENT_FAULT_HANDLER || kind == EVENT_FAULT_RESPONSE ||
	       kind == EVENT_FAULT_RESUME;
}

static __always_inline int fault_stage(struct pt_regs *ctx, __u32 probe, __u32 kind)
{
	struct probe_counter *counter = probe_hit(probe);
	struct group_key key = {};
	struct device_state *device;
	struct fault_arguments a;
	struct event *event = NULL;
	__u32 instance;

	if (!counter)
		return 0;
	if (kind_wanted(kind))
		event = event_reserve(counter, kind);
	a.device = argument(ctx, 0);
	a.queue = argument(ctx, 1);
	a.pasid = argument(ctx, 2);
	a.group = argument(ctx, 3);
	a.address = argument(ctx, 4);
	a.length = argument(ctx, 5);
	a.flags_code = argument(ctx, 6);
	a.value = argument(ctx, 7);

	device = emulated_device(counter, a.device);
	if (device && device->verdict == DEVICE_DROP) {
		if (event)
			bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		return 0;
	}
	key.device = device ? device->id : DEVICE_NONE;
	key.pasid = a.pasid;
	key.group = a.group;
	instance = group_instance(counter, &key, &a, kind,
				  event ? event->time_ns : bpf_ktime_get_ns());
	if (kind == EVENT_FAULT_HANDLER)
		handler_register();
	if (kind == EVENT_FAULT_HANDLER || kind == EVENT_FAULT_RESPONSE)
		task_resolves(&key, instance, kind);
	if (!event)
		return 0;
	event->address = a.address;
	event->length = a.length;
	event->value = a.value;
	event->device = key.device;
	event->pasid = key.pasid;
	event->group = key.group;
	event->instance = instance;
	event->queue = a.queue;
	event->code = a.flags_code >> 8;
	event->flags = (__u8)a.flags_code & ~(EVENT_GROUP | EVENT_LATE);
	if (is_group_stage(kind))
		event->flags |= EVENT_GROUP;
	event_submit(counter, event);
	return 0;
}

#define FAULT_STAGE(stage, STAGE)                                                  \
	SEC("usdt")                                                                \
	int fault_##stage(struct pt_regs *ctx)                                     \
	{                                                                          \
		return fault_stage(ctx, PROBE_FAULT_##STAGE, EVENT_FAULT_##STAGE); \
	}

FAULT_STAGE(detect, DETECT)
FAULT_STAGE(request, REQUEST)
FAULT_STAGE(isr, ISR)
FAULT_STAGE(handler, HANDLER)
FAULT_STAGE(resolved, RESOLVED)
FAULT_STAGE(mapped, MAPPED)
FAULT_STAGE(response, RESPONSE)
FAULT_STAGE(resume, RESUME)
FAULT_STAGE(overflow, OVERFLOW)

static __always_inline int invalidate_step(struct pt_regs *ctx, __u32 probe, __u32 kind)
{
	struct probe_counter *counter = probe_hit(probe);
	struct device_state *device;
	struct event *event;

	if (!counter || !kind_wanted(kind))
		return 0;
	event = event_reserve(counter, kind);
	if (!event)
		return 0;
	device = emulated_device(counter, argument(ctx, 0));
	if (device && device->verdict == DEVICE_DROP) {
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		return 0;
	}
	event->device = device ? device->id : DEVICE_NONE;
	event->pasid = argument(ctx, 1);
	event->address = argument(ctx, 2);
	event->length = argument(ctx, 3);
	event->value = argument(ctx, 4);
	event->flags = argument(ctx, 5) & ~(EVENT_GROUP | EVENT_LATE);
	event_submit(counter, event);
	return 0;
}

#define INVALIDATE_STEP(step, STEP)                                                            \
	SEC("usdt")                                                                            \
	int invalidate_##step(struct pt_regs *ctx)                                             \
	{                                                                                      \
		return invalidate_step(ctx, PROBE_INVALIDATE_##STEP, EVENT_INVALIDATE_##STEP); \
	}

INVALIDATE_STEP(start, START)
INVALIDATE_STEP(device, DEVICE)
INVALIDATE_STEP(ack, ACK)
INVALIDATE_STEP(freed, FREED)

static __always_inline int inject_edge(struct pt_regs *ctx, __u32 probe, __u32 kind)
{
	struct probe_counter *counter = probe_hit(probe);
	struct device_state *device = NULL;
	struct event *event;
	__u32 index;

	if (!counter || !kind_wanted(kind))
		return 0;
	event = event_reserve(counter, kind);
	if (!event)
		return 0;
	index = argument(ctx, 0);
	if (index != 0xffffffff) /* not aimed at every device */
		device = emulated_device(counter, index);
	event->device = device ? device->id : DEVICE_NONE;
	event->code = argument(ctx, 1);
	event->value = argument(ctx, 2);
	event_submit(counter, event);
	return 0;
}

SEC("usdt")
int inject_start(struct pt_regs *ctx)
{
	return inject_edge(ctx, PROBE_INJECT_START, EVENT_INJECT_START);
}

SEC("usdt")
int inject_stop(struct pt_regs *ctx)
{
	return inject_edge(ctx, PROBE_INJECT_STOP, EVENT_INJECT_STOP);
}

SEC("usdt")
int handler_thread(struct pt_regs *ctx)
{
	if (probe_hit(PROBE_HANDLER_THREAD))
		handler_register();
	return 0;
}
