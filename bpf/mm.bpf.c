// SPDX-License-Identifier: GPL-2.0
/*
 * CPU page faults: recorded one by one inside an I/O fault handler and for the processes asked for,
 * counted per second and process for everyone else.
 */
#include "bpf/kernel.h"

#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u8 access_flags(__u64 error_code, bool kernel)
{
	__u8 flags = kernel ? EVENT_PRIV : 0;

	if (error_code & PAGE_FAULT_WRITE)
		return flags | EVENT_WRITE;
	if (error_code & PAGE_FAULT_EXEC)
		return flags | EVENT_EXEC;
	return flags | EVENT_READ;
}

/* The fault that this task is resolving, NULL if none: for most hosts one load. */
static __always_inline struct resolving *resolving_now(void)
{
	struct capture_state *shared = shared_state();
	struct resolving *resolving;

	if (!shared || !shared->handlers)
		return NULL;
	resolving = bpf_task_storage_get(&resolving_tasks, bpf_get_current_task_btf(), 0, 0);
	return resolving && resolving->active ? resolving : NULL;
}

/* Most recordings ask for one process, which spares them the look into the map. */
static __always_inline bool pid_wanted(__u32 pid)
{
	struct capture_state *shared = shared_state();

	return (shared && shared->pid == pid) || bpf_map_lookup_elem(&pids, &pid);
}

static __always_inline int page_fault(__u32 probe, __u64 address, __u64 error_code, bool kernel)
{
	struct probe_counter *counter = probe_hit(probe);
	struct resolving *resolving = resolving_now();
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct event *event;

	if (!counter)
		return 0;
	if (!resolving && !pid_wanted(pid)) {
		struct aggregate_key key = {
			.window = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS,
			.device = DEVICE_NONE,
			.pid = pid,
			.kind = EVENT_CPU_FAULT,
			.queue = QUEUE_NONE,
			.flags = access_flags(error_code, kernel),
		};

		aggregate_add(&key, 0, 0);
		return 0;
	}
	event = event_reserve(counter, EVENT_CPU_FAULT);
	if (!event)
		return 0;
	event->address = address;
	event->value = error_code;
	event->flags = access_flags(error_code, kernel);
	if (resolving) {
		event->device = resolving->device;
		event->pasid = resolving->pasid;
		event->group = resolving->group;
		event->instance = resolving->instance;
	}
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	return page_fault(PROBE_PAGE_FAULT_USER, address, error_code, false);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel, unsigned long address, struct pt_regs *regs,
	     unsigned long error_code)
{
	return page_fault(PROBE_PAGE_FAULT_KERNEL, address, error_code, true);
}
